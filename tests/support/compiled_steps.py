"""Paths with compiled steps and without, problems for both, and their comparison."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from greedyrls import SelectionPath, greedy_path
from internals import NumericalWarning, Stop, native
from problems import Case
from traps import trapped
from tuning import tuned

# conftest.py ends a run with --require-all where there are none.
needs_compiled_steps = pytest.mark.skipif(native() is None, reason="steps are not compiled")

# The loops in C by the settings that have them run, however small X is.
LOOPS: dict[str, dict[str, int]] = {
    "kept": {},
    "packed": {"compiled_kept_elements": 0},
    "gathered": {"compiled_kept_elements": 0, "compiled_packed_bytes": 0},
}
LABELS = ("zero_one", "balanced_zero_one")
Answers = list[int | Stop]


@contextmanager
def in_loop(name: str) -> Iterator[list[Any]]:
    """Have a certain loop run; what it reads its rows from is collected."""
    rows: list[Any] = []

    def made(original: Any, self: Any, module: Any, data: Any, *others: Any) -> None:
        if name == "packed":
            data.is_shared = True  # columns are packed for several searches only
        original(self, module, data, *others)
        rows.append(self)

    with tuned(**LOOPS[name]), trapped() as traps:
        traps.around("make rows for compiled steps", made)
        yield rows


def compiled_path(case: Case, loop: str = "kept", **options: Any) -> tuple[SelectionPath, Answers]:
    """The path, the features of compiled steps, and why there were no more of them."""
    with in_loop(loop), answers_noted() as answers:
        path = _path(case, options)
    return path, answers


@contextmanager
def answers_noted() -> Iterator[Answers]:
    """The features of compiled steps, and why there were no more of them, within the context."""
    answers: Answers = []

    def noted(original: Any, *arguments: Any) -> Any:
        answer = original(*arguments)
        answers.extend([answer] if isinstance(answer, Stop) else answer.best[:, 0].tolist())
        return answer

    with trapped() as traps:
        traps.around("let C take steps", noted)
        yield answers


def _path(case: Case, options: dict[str, Any]) -> SelectionPath:
    """The path as far as rounding allows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        return greedy_path(case.X, case.y, case.n_features, **(case.options | options))


def numpy_path(case: Case, **options: Any) -> SelectionPath:
    """The path by the general engine."""
    with tuned(compiled_steps=False):
        return _path(case, options)


def n_taken(answers: Answers) -> int:
    """How many steps were compiled ones."""
    return sum(not isinstance(answer, Stop) for answer in answers)


def smallest_d(case: Case, indices: np.ndarray) -> float:
    """The smallest 1 − h of the rows of positive weight: their errors are known that well."""
    weights = np.asarray(case.options.get("sample_weight", np.ones(len(case.X))))
    X = np.asarray(case.X, dtype=float)[weights > 0][:, indices]
    weights = weights[weights > 0]
    leverages = np.zeros(len(X))
    if case.options.get("fit_intercept", True):
        X = X - np.average(X, axis=0, weights=weights)
        leverages += weights / weights.sum()
    X = X * np.sqrt(weights)[:, None]
    alpha = case.options.get("alpha", 1.0)
    upper = np.linalg.qr(np.vstack([X, np.sqrt(alpha) * np.eye(len(indices))]), mode="r")
    leverages += np.sum(np.linalg.solve(upper.T, X.T) ** 2, axis=0)
    return float(1.0 - leverages.max())


def far_from_origin(case: Case, indices: np.ndarray) -> float:
    """The largest mean of a column by its deviation, of those that vary."""
    columns = np.asarray(case.X, dtype=float)[:, indices]
    deviations = columns.std(axis=0)
    varies = deviations > 1e-12 * np.abs(columns).max(axis=0, initial=0.0)
    return float(np.max(np.abs(columns.mean(axis=0)[varies]) / deviations[varies], initial=0.0))


def lost_digits(case: Case, indices: np.ndarray) -> float:
    """How far rounding may take two losses of a model apart, relatively."""
    if len(indices) == 0:
        return 1e-12
    rounding = 1e-13 + 1e-16 * far_from_origin(case, indices)
    return 1e-12 + rounding / max(1e-12, smallest_d(case, indices))


def assert_same_path(path: SelectionPath, other: SelectionPath, case: Case) -> None:
    """The same features; losses that differ by 1e-12 of the empty model's; and all the rest.

    Where a leverage near 1 takes digits from r/(1 − h), or a large mean from a centred column, it
    takes them from both.
    """
    assert path.indices.tolist() == other.indices.tolist()
    assert path.stop_reason is other.stop_reason
    assert path.initial_loss == pytest.approx(other.initial_loss, rel=1e-14)
    scale = path.initial_loss
    lost = lost_digits(case, path.indices)
    assert_allclose(path.losses, other.losses, rtol=lost, atol=1e-12 * scale)
    # Their squares are differences of sums.
    assert_allclose(
        path.standard_errors**2,
        other.standard_errors**2,
        rtol=1e-9 + 100.0 * lost,
        atol=1e-14 * (scale + other.losses.max(initial=0.0)) ** 2,
    )
    for size, (step, twin) in enumerate(zip(path.steps, other.steps, strict=True)):
        assert (step.forced, step.action) == (twin.forced, twin.action)
        for (index, loss), (expected, of_twin) in zip(
            step.runners_up, twin.runners_up, strict=True
        ):
            lost = lost_digits(case, np.append(path.indices[:size], index))
            assert loss == pytest.approx(of_twin, rel=100.0 * lost, abs=1e-12 * scale)
            assert index == expected or lost > 1e-10
    assert_same_moments(path, other, case)


def assert_same_moments(path: SelectionPath, other: SelectionPath, case: Case) -> None:
    """The moments of both, up to what rounding of a column far from the origin leaves of them."""
    moments, twin = path.moments, other.moments
    assert moments.features == twin.features
    for name in ("correlation", "feature_means", "target_means"):
        assert_array_equal(getattr(moments, name), getattr(twin, name))
    columns = np.asarray(case.X, dtype=float)[:, list(moments.features)]
    # Of a column that does not vary, rounding of its mean may be left.
    lengths = np.sqrt(np.diagonal(twin.gram)) + 1e-16 * np.linalg.norm(columns, axis=0)
    far = far_from_origin(case, np.array(moments.features, dtype=int))
    close = 1e-14 * len(case.X) * (1.0 + far)
    assert np.all(np.abs(moments.gram - twin.gram) <= close * np.outer(lengths, lengths))


# Problems ----------------------------------------------------------------------------------------

KINDS = ["normal", "float32", "int8", "int64", "uint16", "bool", "scaled", "far", "outlier"]
ORDERS = ["C", "Fortran", "sliced", "reversed"]


def _values(rng: np.random.Generator, m: int, n: int, kind: str) -> np.ndarray:
    if kind in ("int8", "int64", "uint16"):
        return rng.integers(0 if kind == "uint16" else -3, 5, (m, n)).astype(kind)
    if kind == "bool":
        return rng.random((m, n)) < 0.4
    X = rng.standard_normal((m, n))
    if kind == "scaled":
        X *= 10.0 ** rng.integers(-3, 4, n)
    elif kind == "far":
        X += 1e5 * rng.standard_normal(n)
    elif kind == "outlier":
        X[int(rng.integers(m)), int(rng.integers(n))] = 10.0 ** rng.integers(2, 7)
    return X.astype(np.float32) if kind == "float32" else X


def ordered(X: np.ndarray, order: str) -> np.ndarray:
    """The same numbers, arranged in another way in memory."""
    m, n = X.shape
    if order == "Fortran":
        return np.asfortranarray(X)
    if order == "sliced":
        room = np.zeros((2 * m + 1, 3 * n), dtype=X.dtype)
        room[1::2, ::3] = X
        return room[1::2, ::3]
    if order == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    return np.ascontiguousarray(X)


def _related(draw: st.DrawFn, rng: np.random.Generator, X: np.ndarray) -> None:
    """Let some columns tie with others, be spanned by them, or not vary."""
    n = X.shape[1]
    for relation in draw(
        st.lists(st.sampled_from(["equal", "opposite", "sum", "flat"]), max_size=3)
    ):
        a, b, c = rng.integers(n, size=3)
        if relation == "equal":
            X[:, a] = X[:, b]
        elif relation == "opposite":
            X[:, a] = ~X[:, b] if X.dtype == bool else X[:, b].max() - X[:, b]
        elif relation == "sum" and X.dtype.kind == "f":
            X[:, a] = X[:, b] + X[:, c]
        else:
            X[:, a] = 1


def _targets(draw: st.DrawFn, rng: np.random.Generator, X: np.ndarray, is_labelled: bool) -> Any:
    m, n = X.shape
    centred = X - X.mean(axis=0)
    signal = (centred / (1e-9 + centred.std(axis=0)))[:, : min(3, n)].sum(axis=1)
    if is_labelled:
        n_classes = draw(st.sampled_from([2, 2, 3, 4]))
        classes = np.empty(m, dtype=int)
        classes[np.argsort(signal + 2.0 * rng.standard_normal(m))] = np.arange(m) * n_classes // m
        codes = 2.0 * (classes[:, None] == np.arange(n_classes)) - 1.0
        return codes[:, 1] if n_classes == 2 else codes
    targets = draw(st.sampled_from([None, None, 1, 2, 3]))
    shape = (m,) if targets is None else (m, targets)
    if draw(st.booleans()):
        return np.where(rng.random(shape) < 0.5, -1.0, 1.0)
    return rng.standard_normal(shape) + (signal if targets is None else signal[:, None])


def _weights(rng: np.random.Generator, m: int, kind: str, y: Any) -> np.ndarray | None:
    """Weights, some of which may be 0; every class keeps rows."""
    if kind == "none":
        return None
    weights = rng.random(m) + 0.1 if kind == "positive" else rng.integers(0, 3, m).astype(float)
    classes = np.zeros(m) if y.ndim == 1 else np.argmax(y, axis=1)
    for label in np.unique(classes):
        weights[np.flatnonzero(classes == label)[:3]] += 1.0
    if y.ndim == 1:
        for label in np.unique(y)[:2]:
            weights[np.flatnonzero(y == label)[:3]] += 1.0
    return weights


@st.composite
def step_cases(
    draw: st.DrawFn, *, is_labelled: bool = False, max_samples: int = 40, max_features: int = 60
) -> Case:
    """Problems whose steps may be compiled, from a single feature to more features than rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(8, max_samples)), draw(st.integers(1, max_features))
    kind = draw(st.sampled_from(KINDS))
    X = _values(rng, m, n, kind)
    _related(draw, rng, X)
    y = _targets(draw, rng, np.asarray(X, dtype=float), is_labelled)
    options: dict[str, Any] = {
        # With next to no penalty, rounding of a large mean may decide.
        "alpha": 10.0 ** draw(st.integers(-2 if kind == "far" else -8, 8)),
        "fit_intercept": kind == "far" or draw(st.booleans()),
        "n_runners_up": draw(st.sampled_from([0, 0, 1, 4, 12])),
    }
    weights = _weights(rng, m, draw(st.sampled_from(["none", "positive", "zeros"])), y)
    if weights is not None:
        options["sample_weight"] = weights
    k = draw(st.integers(1, min(n, 15)))
    features, spare = rng.permutation(n), n - k
    if spare and draw(st.booleans()):
        options["excluded_features"] = features[k : k + int(rng.integers(1, spare + 1))].tolist()
    if draw(st.booleans()):
        options["forced_features"] = features[: int(rng.integers(0, min(k, 3) + 1))].tolist()
    return Case(ordered(X, draw(st.sampled_from(ORDERS))), y, k, options)
