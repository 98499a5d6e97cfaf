"""A progress bar for long searches: tqdm, loaded only when asked for."""

from __future__ import annotations

import threading
from typing import Protocol

# Runs shorter than this show no bar.
_DELAY_SECONDS = 0.5
_WORDS = {
    "reading": {"desc": "reading", "unit": "row"},
    "search": {"desc": "selecting", "unit": "feature"},
    "nested": {"desc": "choosing alpha", "unit": "search"},
    "folds": {"desc": "assessing", "unit": "fold"},
    "resamples": {"desc": "resampling", "unit": "sample"},
    "permutations": {"desc": "permuting", "unit": "permutation"},
}


class Progress(Protocol):
    """Receives reports of a running search."""

    def update(self, loss: float | None) -> None:
        """Report that a feature was added (or a search completed), with the current loss."""

    def advance(self, count: int) -> None:
        """Advance the count."""

    def close(self) -> None:
        """Report the end of the search."""


class _Silent:
    def update(self, loss: float | None) -> None:
        pass

    def advance(self, count: int) -> None:
        pass

    def close(self) -> None:
        pass


class _Bar:
    def __init__(self, total: int | None, done: int, what: str, label: str) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as error:
            raise ImportError(
                "verbose=1 needs tqdm: pip install 'greedyrls[progress]', or use verbose=0."
            ) from error
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
        # tqdm shows nothing before the first update, which may take minutes.
        self._first = threading.Timer(_DELAY_SECONDS, self._bar.refresh)
        self._first.daemon = True
        self._first.start()

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
    return _Bar(total, done, what, label) if verbose else _Silent()
