from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.buffers import Line, LineBuffer


def line(ts, size=10):
    return Line("gpu_util/x.jsonl", float(ts), b"x" * (size - 1) + b"\n")


def stamps(buffer):
    return [one.ts for one in buffer.take(1000)]


def test_lines_come_out_in_their_order():
    buffer = LineBuffer(most_records=10, most_bytes=1000)
    buffer.push([line(1), line(2)])
    buffer.push([line(3)])
    assert [one.ts for one in buffer.take(2)] == [1.0, 2.0]
    assert stamps(buffer) == [3.0]


def test_beyond_the_cap_the_oldest_are_dropped_and_counted():
    buffer = LineBuffer(most_records=3, most_bytes=1000)
    buffer.push(line(ts) for ts in range(5))
    loss = buffer.take_loss()
    assert (loss.n, loss.first_ts, loss.last_ts) == (2, 0.0, 1.0)
    assert buffer.take_loss().n == 0
    assert stamps(buffer) == [2.0, 3.0, 4.0]


def test_bytes_are_bounded_too():
    buffer = LineBuffer(most_records=100, most_bytes=35)
    buffer.push(line(ts) for ts in range(5))
    assert buffer.take_loss().n == 2
    buffer.push([line(9, size=36)])
    assert buffer.take_loss().n == 4
    assert len(buffer) == 0


def test_what_is_put_back_comes_first_and_gives_way_first():
    buffer = LineBuffer(most_records=3, most_bytes=1000)
    buffer.push(line(ts) for ts in range(3))
    taken = buffer.take(3)
    buffer.push([line(3), line(4)])
    buffer.put_back(taken)
    loss = buffer.take_loss()
    assert (loss.n, loss.first_ts, loss.last_ts) == (2, 0.0, 1.0)
    assert stamps(buffer) == [2.0, 3.0, 4.0]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("push"), st.integers(1, 6)),
            st.tuples(st.just("fail"), st.integers(1, 6)),
            st.tuples(st.just("write"), st.integers(1, 6)),
        ),
        max_size=40,
    ),
    st.integers(1, 8),
)
def test_every_line_is_written_waiting_or_counted(actions, cap):
    buffer = LineBuffer(most_records=cap, most_bytes=10_000)
    pushed, written, lost = 0, [], 0
    for action, n in actions:
        if action == "push":
            buffer.push(line(pushed + k) for k in range(n))
            pushed += n
        else:
            taken = buffer.take(n)
            if action == "fail":
                buffer.put_back(taken)
            else:
                written += [one.ts for one in taken]
        lost += buffer.take_loss().n
        assert len(buffer) <= cap
    assert written == sorted(set(written))
    assert pushed == len(written) + len(buffer) + lost
