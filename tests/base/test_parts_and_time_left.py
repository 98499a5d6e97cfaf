"""Jobs in threads, with parts that any of them may run, and the estimate of the time left."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from internals import CopiedLock, Part, TimeLeft, in_parts, jobs_bar


def job(number: int, n_parts: int, ran: list[str] | None = None) -> Iterator[int | Part[int]]:
    def part(index: int) -> int:
        if ran is not None:
            ran.append(threading.current_thread().name)
        return 100 * number + index

    yield 100 * number
    for index in range(1, n_parts):
        yield Part(lambda index=index: part(index))  # type: ignore[misc]


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_all_parts_of_all_jobs_answer(count: int) -> None:
    jobs = [lambda number=number: job(number, 4) for number in range(5)]
    answers = list(in_parts(jobs, count))
    assert sorted(answers) == [(n, 100 * n + part) for n in range(5) for part in range(4)]
    if count == 1:
        assert answers == sorted(answers)


def test_parts_of_one_job_run_in_several_threads() -> None:
    barrier = threading.Barrier(2, timeout=20.0)

    def meet() -> int:
        barrier.wait()  # nobody passes alone
        return 1

    def one_job() -> Iterator[int | Part[int]]:
        yield 0
        yield Part(meet)
        yield Part(meet)

    assert sorted(answer for _, answer in in_parts([one_job], 2)) == [0, 1, 1]


def test_few_jobs_have_begun_but_not_ended() -> None:
    n_open, most = set[int](), 0
    lock = threading.Lock()

    def one_job(number: int) -> Iterator[int | Part[int]]:
        nonlocal most
        with lock:
            n_open.add(number)
            most = max(most, len(n_open))
        yield from job(number, 6)

    left = dict.fromkeys(range(12), 6)
    jobs = [lambda number=number: one_job(number) for number in range(12)]
    for number, _ in in_parts(jobs, 2):
        left[number] -= 1
        if not left[number]:
            with lock:
                n_open.discard(number)
    assert most <= 4


def test_an_error_ends_all() -> None:
    def fails() -> int:
        raise ValueError("this part")

    def one_job() -> Iterator[int | Part[int]]:
        yield 0
        yield Part(fails)

    with pytest.raises(ValueError, match="this part"):
        list(in_parts([one_job, one_job], 2))


def test_a_copy_has_a_lock_of_its_own() -> None:
    lock = CopiedLock()
    with lock:
        for other in (pickle.loads(pickle.dumps(lock)), copy.deepcopy(lock)):
            with other:  # would wait for ever
                pass


class Clock:
    """A clock that is set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def run(costs: list[float], guess: float, n_threads: int) -> list[tuple[float, float, float]]:
    """Jobs of so many steps, a second each: (time, share, seconds left) at every second."""
    clock = Clock()
    left = TimeLeft(len(costs), guess, clock)
    waiting, running, seen = list(range(len(costs))), dict[int, float](), []
    while waiting or running:
        while waiting and len(running) < n_threads:
            number = waiting.pop(0)
            running[number] = costs[number]
        clock.now += 1.0
        for number in list(running):
            left.advance(number, 1.0)
            running[number] -= 1.0
            if running[number] <= 0.0:
                del running[number]
                left.finish(number)
        seconds = left.seconds
        assert seconds is not None
        seen.append((clock.now, left.share, seconds))
    return seen


@pytest.mark.parametrize("n_threads", [1, 2, 5])
@pytest.mark.parametrize("guess", [20.0, 60.0, 300.0], ids="guess {}".format)
def test_the_time_left_is_about_right(n_threads: int, guess: float) -> None:
    """Within a fifth, once the first of ten jobs has ended, whatever was guessed before."""
    costs = np.random.default_rng(3).integers(50, 71, 10).astype(float).tolist()
    seen = run(costs, guess, n_threads)
    end = seen[-1][0]
    first = min(costs[:n_threads])
    for now, _, seconds in seen:
        if now >= first:
            # Those that run to the last have no company at the end.
            assert abs(seconds - (end - now)) <= 0.2 * end
    assert seen[-1][1:] == (1.0, 0.0)


def test_the_time_left_goes_back_only_when_a_job_has_taken_longer() -> None:
    seen = run([60.0] * 8, 60.0, 2)
    lefts = [seconds for _, _, seconds in seen]
    assert all(later <= before + 1e-9 for before, later in itertools.pairwise(lefts))
    # Twice as much work as expected: known as soon as the first job passes the guess, not in jumps.
    lefts = [seconds for _, _, seconds in run([60.0] * 8, 30.0, 1)]
    jumps = [later - before for before, later in itertools.pairwise(lefts)]
    assert max(jumps) <= 8.0  # a second more for each job


def test_jobs_whose_steps_nobody_counts() -> None:
    clock = Clock()
    left = TimeLeft(4, 17.0, clock)
    assert left.seconds is None
    for number in range(4):
        clock.now += 10.0
        left.finish(number)
        assert left.seconds == pytest.approx(10.0 * (3 - number))
        assert left.share == pytest.approx((number + 1) / 4)


def test_the_bar_says_how_many_have_ended(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tqdm")
    bar = jobs_bar(1, 3, 10.0, "folds")
    for number in range(3):
        bar.advance(number, 10)
        bar.finish(number, 0.25)
    bar.close()
    assert capsys.readouterr().out == ""
    silent = jobs_bar(0, 3, 10.0, "folds")
    silent.advance(0, 1)
    silent.finish(0, None)
    silent.close()
    assert capsys.readouterr() == ("", "")
