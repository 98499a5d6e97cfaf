"""Longer paths from shorter ones, and what watches a search: callback, patience, progress bar."""

from __future__ import annotations

import itertools
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from greedyrls import SelectionPath, Step, StopReason, extend_path, greedy_path
from traps import Traps

OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "no intercept": {"fit_intercept": False},
    "small penalty": {"alpha": 1e-4},
    "weights": {"sample_weight": np.random.default_rng(1).random(60)},
    "forced": {"forced_features": [9, 2]},
    "excluded": {"excluded_features": [0, 1, 5]},
    "all": {
        "alpha": 3.0,
        "forced_features": [9, 2],
        "excluded_features": [0, 1],
        "sample_weight": np.random.default_rng(1).integers(0, 3, 60).astype(float),
    },
}


def data(targets: tuple[int, ...] = (), m: int = 60, n: int = 20) -> tuple[Any, Any]:
    rng = np.random.default_rng(8)
    X = rng.standard_normal((m, n))
    y = X[:, :6] @ rng.standard_normal((6, *targets)) + rng.standard_normal((m, *targets))
    return X, y


def weights_of(options: dict[str, Any]) -> dict[str, Any]:
    """What extend_path must be given again."""
    return {key: value for key, value in options.items() if key == "sample_weight"}


def assert_same_path(path: SelectionPath, expected: SelectionPath) -> None:
    assert_array_equal(path.indices, expected.indices)
    assert_allclose(path.losses, expected.losses, rtol=1e-12)
    assert_allclose(path.standard_errors, expected.standard_errors, rtol=1e-9)
    assert path.initial_loss == pytest.approx(expected.initial_loss, rel=1e-14)
    assert [step.forced for step in path.steps] == [step.forced for step in expected.steps]
    assert path.settings == expected.settings
    assert path.stop_reason is expected.stop_reason
    for k in range(1, len(path) + 1):
        assert_allclose(path.coef(k), expected.coef(k), rtol=1e-9, atol=1e-12)
        assert_allclose(path.intercept(k), expected.intercept(k), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("search", ["exhaustive", "bounded"])
@pytest.mark.parametrize("targets", [(), (3,)])
@pytest.mark.parametrize("name", OPTIONS)
def test_an_extended_path_is_the_longer_path(
    name: str, targets: tuple[int, ...], search: Any
) -> None:
    X, y = data(targets)
    options = OPTIONS[name]
    expected = greedy_path(X, y, 12, search=search, **options)
    for k in (2, 5, 12):
        short = greedy_path(X, y, k, search=search, **options)
        before = short.to_json()
        for start in (short, SelectionPath.from_json(before), expected.truncated(k)):
            extended = extend_path(start, X, y, 12, search=search, **weights_of(options))
            assert_same_path(extended, expected)
        assert short.to_json() == before


def test_extending_in_small_steps() -> None:
    X, y = data()
    path = greedy_path(X, y, 1)
    for k in range(2, 21):
        path = extend_path(path, X, y, k)
    assert_same_path(path, greedy_path(X, y, 20))
    assert path.stop_reason is StopReason.EXHAUSTED


def test_extending_keeps_what_was_recorded() -> None:
    X, y = data()
    path = greedy_path(X, y, 4, n_runners_up=3, forced_features=[7])
    extended = extend_path(path, X, y, 6, n_runners_up=1)
    assert extended.steps[:4] == path.steps
    assert [len(runners_up) for runners_up in extended.runners_up] == [0, 3, 3, 3, 1, 1]


def test_extending_a_path_with_names() -> None:
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(20)])
    path = greedy_path(frame, y, 3, excluded_features=["gene 1"])
    expected = greedy_path(frame, y, 6, excluded_features=["gene 1"])
    assert extend_path(path, frame, y, 6).names() == expected.names()
    with pytest.raises(ValueError, match="columns of X have other names"):
        extend_path(path, frame.rename(columns={"gene 0": "gene zero"}), y, 6)
    with pytest.raises(ValueError, match="columns of X have other names"):
        extend_path(path, frame[frame.columns[::-1]], y, 6)


def test_names_are_not_lost_when_the_data_come_without() -> None:
    X, y = data()
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(20)])
    path = greedy_path(frame, y, 3)
    assert extend_path(path, X, y, 6).names() == greedy_path(frame, y, 6).names()


def test_the_known_part_is_not_searched_again(traps: Traps) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((1500, 40))
    y = X[:, :25] @ rng.random(25) + rng.standard_normal(1500)
    path = greedy_path(X, y, 20)
    choices = traps.watch("choose by leave-one-out")
    same = extend_path(path, X, y, 20)
    assert not choices
    assert same.counters.exact_evaluations - path.counters.exact_evaluations <= 20
    assert same.counters.passes - path.counters.passes <= 2
    extend_path(path, X, y, 23)
    assert len(choices) == 3


def test_counters_add_up() -> None:
    X, y = data()
    path = greedy_path(X, y, 4, search="exhaustive")
    extended = extend_path(path, X, y, 6, search="exhaustive")
    more = extended.counters.exact_evaluations - path.counters.exact_evaluations
    assert 16 + 15 <= more <= 4 + 16 + 15
    assert extended.counters.passes > path.counters.passes
    assert extended.counters.seconds > path.counters.seconds


def _wrong_data() -> dict[str, tuple[Any, Any, Any, str]]:
    X, y = data()
    other = np.random.default_rng(0).standard_normal(60)
    return {
        "other y": (X, other, None, "not those of the path: with feature"),
        "rows in another order": (X[::-1], y, None, "not those of the path: with feature"),
        "columns in another order": (X[:, ::-1], y, None, "not those of the path: with feature"),
        "scaled": (X * 2.0, y, None, "not those of the path: with feature"),
        "fewer rows": (X[:50], y[:50], None, "X is 50 × 20, the path was selected from 60 × 20"),
        "fewer columns": (X[:, :19], y, None, "X is 60 × 19, the path was selected from 60 × 20"),
        "more targets": (X, np.c_[y, y], None, "y has 2 targets; the path has 1"),
        "weights": (X, y, np.ones(60), "selected without weights"),
        "NaN": (np.where(X[7, 3] == X, np.nan, X), y, None, "row 7, column 3"),
    }


@pytest.mark.parametrize("name", _wrong_data())
def test_other_data_are_refused(name: str) -> None:
    X, y, sample_weight, message = _wrong_data()[name]
    path = greedy_path(*data(), 5)
    before = path.to_json()
    with pytest.raises(ValueError, match=message):
        extend_path(path, X, y, 8, sample_weight=sample_weight)
    assert path.to_json() == before


def test_other_weights_are_refused() -> None:
    X, y = data()
    weights = OPTIONS["weights"]["sample_weight"]
    path = greedy_path(X, y, 5, sample_weight=weights)
    with pytest.raises(ValueError, match="with sample weights; pass the same"):
        extend_path(path, X, y, 8)
    with pytest.raises(ValueError, match="not those of the path"):
        extend_path(path, X, y, 8, sample_weight=weights[::-1])


def test_sizes_that_cannot_be_extended_to() -> None:
    X, y = data()
    path = greedy_path(X, y, 5, excluded_features=[3])
    with pytest.raises(ValueError, match=r"n_features=4 is less than the 5 .* path\.truncated"):
        extend_path(path, X, y, 4)
    with pytest.raises(ValueError, match="Ask for at most 19"):
        extend_path(path, X, y, 20)
    with pytest.raises(TypeError, match="whole number"):
        extend_path(path, X, y, 8.0)


def test_the_callback_sees_each_step_when_it_is_made() -> None:
    X, y = data()
    seen: list[Step] = []
    path = greedy_path(X, y, 5, forced_features=[9], n_runners_up=1, callback=seen.append)
    assert tuple(seen) == path.steps
    assert path.stop_reason is StopReason.REACHED
    seen.clear()
    extended = extend_path(path, X, y, 8, callback=seen.append)
    assert tuple(seen) == extended.steps[5:]


@pytest.mark.parametrize("yes", [True, np.True_])
def test_the_callback_can_stop_the_search(yes: Any) -> None:
    X, y = data()
    path = greedy_path(X, y, 10, callback=lambda step: yes if step.index == 5 else None)
    expected = greedy_path(X, y, 10)
    size = expected.indices.tolist().index(5) + 1
    assert 1 < size < 10
    assert_array_equal(path.indices, expected.indices[:size])
    assert path.stop_reason is StopReason.CALLBACK
    assert not path.interrupted
    assert_allclose(path.coef(), expected.coef(size), rtol=1e-12)
    assert_same_path(extend_path(path, X, y, 10), expected)


def test_a_comparison_with_a_numpy_number_can_stop_the_search() -> None:
    X, y = data()
    expected = greedy_path(X, y, 10)
    path = greedy_path(X, y, 10, callback=lambda step: step.loss <= expected.losses[2])
    assert len(path) == 3


@pytest.mark.parametrize("no", [False, None, np.False_, 0])
def test_the_callback_may_let_it_go_on(no: Any) -> None:
    X, y = data()
    assert len(greedy_path(X, y, 4, callback=lambda step: no)) == 4


def test_errors_of_the_callback_are_not_hidden() -> None:
    def callback(step: Step) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        greedy_path(*data(), 4, callback=callback)


@pytest.mark.parametrize("patience", [1, 2, 5])
def test_patience(patience: int) -> None:
    X, y = data(m=30)
    full = greedy_path(X, y, 20, alpha=1e-3)
    best = np.minimum.accumulate(full.losses)
    last_gain = [int(np.argmax(full.losses[: k + 1] == best[k])) for k in range(20)]
    stop = next(k for k in range(20) if k - last_gain[k] == patience)
    path = greedy_path(X, y, 20, alpha=1e-3, patience=patience)
    assert path.stop_reason is StopReason.NO_IMPROVEMENT
    assert len(path) == stop + 1
    assert_array_equal(path.indices, full.indices[: stop + 1])
    again = extend_path(path.truncated(1), X, y, 20, patience=patience)
    assert_array_equal(again.indices, path.indices)


def test_patience_that_is_never_lost_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 90))
    y = X.sum(axis=1)
    path = greedy_path(X, y, 90, patience=90)
    assert_same_path(path, greedy_path(X, y, 90))


def test_patience_counts_no_forced_features() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 12)), rng.standard_normal(40)
    forced = list(range(8))
    path = greedy_path(X, y, 12, alpha=1e-3, patience=1, forced_features=forced)
    assert path.indices[:8].tolist() == forced


class _Clock:
    """Seconds that go by at each look."""

    def __init__(self, seconds: float) -> None:
        self._ticks = itertools.count()
        self._seconds = seconds

    def __call__(self) -> float:
        return 1e6 + self._seconds * next(self._ticks)


@pytest.mark.parametrize("verbose", [0, 1])
def test_the_progress_bar_of_a_long_run_goes_to_stderr(
    verbose: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tqdm.std.time", _Clock(1.0))
    X, y = data()
    path = greedy_path(X, y, 5, verbose=verbose)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert bool(printed.err) == bool(verbose)
    if verbose:
        assert "selecting" in printed.err
        assert "5/5" in printed.err
        assert f"{path.losses[-1]:.5g}" in printed.err
    extend_path(path, X, y, 8, verbose=verbose)
    assert ("8/8" in capsys.readouterr().err) == bool(verbose)


def test_a_short_run_shows_no_progress_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tqdm.std.time", _Clock(0.0))
    path = greedy_path(*data(), 5, verbose=1)
    assert capsys.readouterr() == ("", "")
    assert_array_equal(path.indices, greedy_path(*data(), 5).indices)


def test_a_progress_bar_without_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"verbose=1 needs tqdm: pip install 'greedyrls\[progr"):
        greedy_path(*data(), 2, verbose=1)
    assert len(greedy_path(*data(), 2)) == 2


@pytest.mark.parametrize("option", ["n_runners_up", "patience", "block_rows"])
def test_true_is_no_number(option: str) -> None:
    X, y = np.eye(6, 3), np.arange(6.0)
    with pytest.raises(ValueError, match=f"{option} must be .*got True"):
        greedy_path(X, y, 2, **{option: True})
