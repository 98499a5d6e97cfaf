"""A progress bar for long searches: tqdm, loaded only when asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from ._lazy import required

# Runs shorter than this show no bar.
_DELAY_SECONDS = 0.5
_WORDS = {
    "reading": {"desc": "reading", "unit": "row"},
    "search": {"desc": "selecting", "unit": "feature"},
    "nested": {"desc": "choosing alpha", "unit": "search"},
    "probabilities": {"desc": "fitting probabilities", "unit": "fold"},
    "folds": {"desc": "assessing", "unit": "fold"},
    "resamples": {"desc": "resampling", "unit": "sample"},
    "permutations": {"desc": "permuting", "unit": "permutation"},
}


class Progress:
    """Receives reports of a running search; this one shows nothing."""

    def update(self, loss: float | None) -> None:
        """Report that a feature was added (or a search completed), with the current loss."""

    def advance(self, count: int) -> None:
        """Advance the count."""

    def close(self) -> None:
        """Report the end of the search."""


def _tqdm() -> Any:
    missing = "verbose=1 needs tqdm: pip install 'greedyrls[progress]', or use verbose=0."
    return required("tqdm.auto", missing).tqdm


def _shown_soon(bar: Any) -> threading.Timer:
    """Show a bar even if its first update takes minutes: before that tqdm shows nothing."""
    timer = threading.Timer(_DELAY_SECONDS, bar.refresh)
    timer.daemon = True
    timer.start()
    return timer


class _Bar(Progress):
    def __init__(self, total: int | None, done: int, what: str, label: str) -> None:
        tqdm = _tqdm()
        words = dict(_WORDS[what])
        if label:
            words["desc"] += f", {label}"
        # Of several consecutive bars, each finished one is cleared before the next.
        self._bar = tqdm(
            total=total,
            initial=done,
            delay=_DELAY_SECONDS,
            leave=what != "reading",
            unit_scale=what == "reading",
            **words,
        )
        self._first = _shown_soon(self._bar)

    def update(self, loss: float | None) -> None:
        if loss is not None:
            self._bar.set_postfix_str(f"loss {loss:.5g}", refresh=False)
        self._bar.update(1)

    def advance(self, count: int) -> None:
        self._bar.update(count)

    def close(self) -> None:
        self._first.cancel()
        self._bar.close()


def progress_bar(
    verbose: int, total: int | None, done: int = 0, what: str = "search", label: str = ""
) -> Progress:
    """Return a bar for a search or for nested searches, or one without output, by `verbose`."""
    return _Bar(total, done, what, label) if verbose else Progress()


class TimeLeft:
    """The time left of jobs with about as much work each, any number of which run at a time.

    Work is counted in steps. How many a job has is known when it ends; until one has ended, the
    guess is `expected`. The rate is that of the whole time so far: a recent one would go up and
    down with the kind of step.
    """

    def __init__(
        self, n_jobs: int, expected: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._guess = max(1.0, expected)
        self._clock = clock
        self._began = clock()
        self._done = [0.0] * n_jobs
        self._ended: set[int] = set()

    @property
    def n_ended(self) -> int:
        """The number of jobs that have ended."""
        return len(self._ended)

    def advance(self, job: int, count: float) -> None:
        """Count steps of a job."""
        self._done[job] += count

    def finish(self, job: int) -> None:
        """Report the end of a job; if its steps were not counted, it had as many as the others."""
        self._done[job] = self._done[job] or self._expected
        self._ended.add(job)

    @property
    def _expected(self) -> float:
        """The work of a job."""
        if not self._ended:
            return max(self._guess, *self._done)
        return sum(self._done[job] for job in self._ended) / len(self._ended)

    @property
    def _left(self) -> float:
        """The work left."""
        expected = self._expected
        is_open = (job not in self._ended for job in range(len(self._done)))
        left = (max(0.0, expected - done) for done in self._done)
        return sum(work for work, is_left in zip(left, is_open, strict=True) if is_left)

    @property
    def share(self) -> float:
        """The share of the work that is done."""
        done = sum(self._done)
        return done / (done + self._left) if done else 0.0

    @property
    def seconds(self) -> float | None:
        """The estimated seconds left; None before the first step."""
        done = sum(self._done)
        return (self._clock() - self._began) * self._left / done if done else None


class Jobs:
    """Receives reports of jobs that repeat a selection; this one shows nothing."""

    def advance(self, job: int, count: int) -> None:
        """Report steps of a job, from any thread."""

    def finish(self, job: int, loss: float | None) -> None:
        """Report the end of a job, with its loss."""

    def close(self) -> None:
        """Report the end of all."""


class _JobsBar(Jobs):
    def __init__(self, n_jobs: int, expected: float, what: str) -> None:
        tqdm = _tqdm()
        words = _WORDS[what]
        self._n_jobs, self._unit, self._loss = n_jobs, words["unit"], ""
        self._left = TimeLeft(n_jobs, expected)
        self._lock = threading.Lock()
        self._bar = tqdm(
            total=1.0,
            desc=words["desc"],
            delay=_DELAY_SECONDS,
            bar_format="{desc}: {percentage:3.0f}%|{bar}| [{elapsed}{postfix}]",
        )
        self._first = _shown_soon(self._bar)

    def advance(self, job: int, count: int) -> None:
        with self._lock:
            self._left.advance(job, count)
            self._show()

    def finish(self, job: int, loss: float | None) -> None:
        with self._lock:
            self._left.finish(job)
            if loss is not None:
                self._loss = f", loss {loss:.5g}"
            self._show()

    def _show(self) -> None:
        bar, seconds = self._bar, self._left.seconds
        left = "" if seconds is None else f", {bar.format_interval(seconds)} left"
        done = f"{self._left.n_ended}/{self._n_jobs} {self._unit}s"
        bar.set_postfix_str(f"{done}{left}{self._loss}", refresh=False)
        bar.update(max(0.0, self._left.share - bar.n))  # it never goes back

    def close(self) -> None:
        self._first.cancel()
        self._bar.close()


def jobs_bar(verbose: int, n_jobs: int, expected: float, what: str) -> Jobs:
    """Return a bar for jobs of about `expected` steps each, or one without output."""
    return _JobsBar(n_jobs, expected, what) if verbose else Jobs()
