"""Tasks in process and over processes: the same results, and clear words when a worker fails."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest
from builders.tasks import Squares

from miles_report.errors import BuildError, SourceError
from miles_report.workers import perform


@dataclass(frozen=True)
class Counting:
    """Tells how often it was opened, in this process."""

    opened: list

    def open(self):
        self.opened.append(os.getpid())
        return lambda task: task


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_results_do_not_depend_on_the_number_of_workers(jobs):
    found = dict(perform([3, 1, 2], Squares(), jobs=jobs))
    assert found == {1: 1, 2: 4, 3: 9}


def test_one_job_works_here_and_in_order():
    counting = Counting([])
    assert list(perform(["b", "a"], counting, jobs=1)) == [("b", "b"), ("a", "a")]
    assert counting.opened == [os.getpid()]


def test_without_a_task_nothing_is_opened():
    counting = Counting([])
    assert list(perform([], counting, jobs=4)) == []
    assert counting.opened == []


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_on_purpose_comes_through(jobs):
    with pytest.raises(SourceError, match=r"a.pt, byte 3: torn"):
        list(perform(["source error", 1], Squares(), jobs=jobs))


def test_an_unforeseen_error_names_the_task():
    with pytest.raises(BuildError, match="zero failed: ZeroDivisionError"):
        list(perform(["zero", 1], Squares(), jobs=2))


def test_a_worker_that_dies_is_told():
    with pytest.raises(BuildError, match="A worker ended without a result at die"):
        list(perform(["die", 1], Squares(), jobs=2))
