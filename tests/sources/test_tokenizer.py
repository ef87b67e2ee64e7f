from __future__ import annotations

import time

import numpy as np
import pytest

from miles_report.sources.files import list_dump
from miles_report.sources.tokenizer import read_tokenizer


def reader(root):
    notices = []
    texts = read_tokenizer(list_dump(root, now=time.time()), notices=notices)
    return texts, notices


def test_each_id_is_decoded_alone(dumps):
    texts, notices = reader(dumps / "agentic")
    assert notices == []
    assert texts(np.array([0, 447, 0])) == [
        texts(np.array([0]))[0],
        texts(np.array([447]))[0],
        texts(np.array([0]))[0],
    ]
    assert all(texts(np.arange(50)))


def test_special_tokens_are_shown(dumps):
    texts, _ = reader(dumps / "agentic")
    assert any(text == "<|im_start|>" for text in texts(np.arange(2000)))


def test_ids_outside_the_vocabulary_are_empty(dumps):
    texts, _ = reader(dumps / "agentic")
    assert texts(np.array([-1, 2**31, 2**40, -(2**63), 2**63 - 1])) == [""] * 5
    assert texts(np.zeros(0, dtype=np.int64)) == []


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"not json", b'{"model": 5}', b"\xff\xfe", b"[" * 5000]
)
def test_an_unusable_tokenizer_is_a_notice(tmp_path, content):
    (tmp_path / "rollout_data").mkdir()
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "tokenizer.json").write_bytes(content)
    texts, notices = reader(tmp_path)
    assert texts is None
    assert [(notice.code, notice.severity) for notice in notices] == [
        ("unusable-tokenizer", "warning")
    ]
    assert notices[0].source == "tokenizer/tokenizer.json"


def test_no_tokenizer_is_an_info(tmp_path):
    (tmp_path / "rollout_data").mkdir()
    texts, notices = reader(tmp_path)
    assert texts is None
    assert [(notice.code, notice.severity) for notice in notices] == [("no-tokenizer", "info")]


def test_a_slow_tokenizer_alone_is_a_warning(tmp_path):
    (tmp_path / "rollout_data").mkdir()
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "vocab.txt").write_text("a\nb\n")
    texts, notices = reader(tmp_path)
    assert texts is None
    assert [(notice.code, notice.severity) for notice in notices] == [("no-tokenizer", "warning")]
