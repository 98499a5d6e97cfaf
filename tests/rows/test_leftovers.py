"""z of all candidates, kept from step to step or computed again: the same path to the last bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal

from greedyrls import SelectionPath, extend_path, greedy_path
from internals import UNDECIDED, Leftovers, loo_margins
from literal import literal_path
from problems import Case, fold_cases, two_classes
from sweeps import EXAMPLES
from traps import Traps, trapped
from tuning import Tune, tuned

# What a pair of row and candidate is said to cost if its z is kept: always worth it, as soon as a
# step has looked at any pair, never.
ALWAYS, SOON, NEVER = -1.0, 1e-9, 1e30
LOSSES = ["zero_one", "balanced_zero_one"]


class Calls:
    """How often z were made to be kept, and given up."""

    def __init__(self, traps: Traps) -> None:
        points = ("keep errors", "drop errors", "use kept errors")
        self._calls = [traps.watch(point) for point in points]

    @property
    def kept(self) -> int:
        return len(self._calls[0])

    @property
    def dropped(self) -> int:
        return len(self._calls[1])

    @property
    def used(self) -> int:
        return len(self._calls[2])


def path_with(cost: float, X: Any, y: Any, k: int, **options: Any) -> tuple[SelectionPath, Calls]:
    with tuned(kept_error_cost=cost, compiled_steps=False), trapped() as traps:
        calls = Calls(traps)
        return greedy_path(X, y, k, **({"n_runners_up": 2} | options)), calls


def assert_same(one: SelectionPath, other: SelectionPath) -> None:
    assert one.indices.tolist() == other.indices.tolist()
    assert_allclose(one.losses, other.losses, rtol=1e-12, atol=1e-15)
    assert_allclose(one.standard_errors, other.standard_errors, rtol=1e-7, atol=1e-12)
    for some, others in zip(one.runners_up, other.runners_up, strict=True):
        assert [index for index, _ in some] == [index for index, _ in others]
        assert_allclose([loss for _, loss in some], [loss for _, loss in others], rtol=1e-12)
    # A model of hardly any penalty on nearly dependent features has few digits.
    assert_allclose(one.coef(), other.coef(), rtol=1e-5, atol=1e-5 * np.abs(other.coef()).max())


def assert_kept_is_anew(X: Any, y: Any, k: int, **options: Any) -> SelectionPath:
    anew, none = path_with(NEVER, X, y, k, **options)
    assert none.kept == none.used == 0
    forced = len(options.get("forced_features", ()))
    for cost in (ALWAYS, SOON):
        kept, calls = path_with(cost, X, y, k, **options)
        steps = k - forced
        if cost == ALWAYS:
            assert (calls.kept, calls.used) == (steps > 0, steps)
        assert calls.used <= steps
        assert_same(kept, anew)
    return anew


def some_weights(kind: str, m: int) -> Any:
    rng = np.random.default_rng(4)
    drawn = {
        "none": None,
        "flags": rng.integers(0, 2, m) * 1.0,
        "whole": rng.integers(0, 4, m) * 1.0,
        "real": rng.random(m) + 0.1,
    }
    return drawn[kind]


@pytest.mark.parametrize("block_rows", [None, 9])
@pytest.mark.parametrize("weights", ["none", "flags", "whole", "real"])
@pytest.mark.parametrize("loss", LOSSES)
def test_kept_is_anew_to_the_last_feature(loss: str, weights: str, block_rows: Any) -> None:
    X, y = two_classes(40, 9, seed=2, signal=0.4)
    options = {"loss": loss, "sample_weight": some_weights(weights, 40), "block_rows": block_rows}
    assert_kept_is_anew(X, y, 9, **options)
    _, calls = path_with(SOON, X, y, 9, **options)
    assert (calls.kept, calls.used) == (1, 8)


@pytest.mark.heavy
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=max(15, min(150, EXAMPLES // 50)))
@given(case=fold_cases(folds=["loo"], labelled=True, max_classes=2, max_samples=40))
def test_kept_is_anew(loss: str, case: Case) -> None:
    """Weights, forced and excluded features, equal columns, all types and orders of X."""
    assert_kept_is_anew(case.X, case.y, case.n_features, loss=loss, **case.options)


@pytest.mark.parametrize("loss", LOSSES)
def test_kept_is_the_definition(loss: str) -> None:
    X, y = two_classes(24, 6, seed=5, signal=0.5)
    weights = np.random.default_rng(0).integers(0, 3, 24) * 1.0
    options = {"loss": loss, "alpha": 0.5, "sample_weight": weights}
    twin = literal_path(X, y, 6, **options)
    for block_rows in (None, 1):
        kept, _ = path_with(ALWAYS, X, y, 6, block_rows=block_rows, **options)
        assert_array_equal(kept.indices, twin.indices)
        assert_allclose(kept.losses, twin.losses, rtol=1e-12)


@pytest.mark.parametrize("kind", ["float32", "fortran", "whole numbers", "rows apart", "far"])
def test_types_and_memory_order(kind: str) -> None:
    X, y = two_classes(60, 10, seed=3, signal=0.4)
    weights = some_weights("whole", 60)
    other = {
        "float32": X.astype(np.float32),
        "fortran": np.asfortranarray(X),
        "whole numbers": np.rint(2 * X).astype(np.int8),
        "rows apart": np.repeat(X, 2, axis=0)[::2],
        "far": X + 1e5,
    }[kind]
    assert_kept_is_anew(other, y, 10, loss="zero_one", sample_weight=weights)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [1e-6, 1.0])
@pytest.mark.parametrize("kind", ["equal", "near", "constant"])
def test_dependent_columns(kind: str, alpha: float, fit_intercept: bool) -> None:
    X, y = two_classes(40, 12, seed=1, signal=0.4)
    rng = np.random.default_rng(0)
    if kind == "equal":
        X[:, 6:] = X[:, [0, 1, 2, 0, 1, 2]]
    elif kind == "near":
        X[:, 6:] = X[:, :6] + 1e-6 * rng.standard_normal((40, 6))
    else:
        X[:, [2, 7]] = 3.0
    for loss in LOSSES:
        assert_kept_is_anew(X, y, 12, loss=loss, alpha=alpha, fit_intercept=fit_intercept)


def test_small_pieces_change_nothing(tune: Tune) -> None:
    X, y = two_classes(70, 13, seed=6, signal=0.3)
    anew, _ = path_with(NEVER, X, y, 13, loss="zero_one")
    weighted, _ = path_with(NEVER, X, y, 13, loss="zero_one", sample_weight=np.arange(70) % 3)
    tune(kept_error_rows=7, kept_error_elements=21, loss_elements=30, loss_least_rows=2)
    for share in (0.0, 1.0):  # places of chosen features are freed at once, or never
        tune(kept_error_dead_share=share)
        assert_same(path_with(ALWAYS, X, y, 13, loss="zero_one")[0], anew)
        other, _ = path_with(ALWAYS, X, y, 13, loss="zero_one", sample_weight=np.arange(70) % 3)
        assert_same(other, weighted)


def test_forced_and_excluded_features() -> None:
    X, y = two_classes(50, 12, seed=2, signal=0.4)
    path = assert_kept_is_anew(
        *(X, y, 9), loss="zero_one", forced_features=[7, 1], excluded_features=[0, 5]
    )
    assert path.indices[:2].tolist() == [7, 1]


@pytest.mark.parametrize("loss", LOSSES)
def test_paths_are_extended(loss: str, tune: Tune, traps: Traps) -> None:
    X, y = two_classes(50, 12, seed=2, signal=0.4)
    full, _ = path_with(NEVER, X, y, 12, loss=loss)
    tune(kept_error_cost=ALWAYS, compiled_steps=False)
    calls = Calls(traps)
    longer = extend_path(full.truncated(5), X, y, 12, loss=loss, n_runners_up=2)
    assert (calls.kept, calls.used) == (1, 7)
    assert_same(longer, full)


def test_penalties_do_not_share_what_is_kept() -> None:
    X, y = two_classes(40, 8, seed=2, signal=0.4)
    options: dict[str, Any] = {"loss": "zero_one", "alpha": [0.01, 100.0], "n_runners_up": 0}
    for rule in ("joint", "nested"):
        anew, _ = path_with(NEVER, X, y, 6, alpha_rule=rule, **options)
        kept, calls = path_with(ALWAYS, X, y, 6, alpha_rule=rule, **options)
        assert calls.kept == (2 if rule == "joint" else 2 * 5 + 1)
        assert kept.surface == anew.surface
        assert_same(kept, anew)


@pytest.mark.parametrize("loss", ["absolute", "auc"])
def test_other_losses_keep_nothing(loss: str) -> None:
    X, y = two_classes(40, 8, seed=2, signal=0.4)
    _, calls = path_with(ALWAYS, X, y, 4, loss=loss)
    assert calls.kept == 0


def test_many_classes_keep_nothing() -> None:
    X, _ = two_classes(40, 8, seed=2, signal=0.4)
    Y = 2.0 * (np.arange(40)[:, None] % 3 == np.arange(3)) - 1.0
    _, calls = path_with(ALWAYS, X, Y, 4, loss="zero_one")
    assert calls.kept == 0


# Memory ------------------------------------------------------------------------------------------


def test_what_is_kept_fits_in_memory(tune: Tune) -> None:
    """No more than a limit, or than X where that is larger; z are of 8 bytes."""
    X, y = two_classes(40, 10, seed=2, signal=0.4)
    X = np.rint(2.0 * X)
    whole, _ = path_with(NEVER, X, y, 10, loss="zero_one")
    for limit, dtype, steps in (
        (0, np.float64, 10),  # as large as X
        (0, np.float32, 5),  # once half of the features are chosen
        (0, np.int8, 1),  # 1 of 10 is left
        (8 * 40 * 10, np.int8, 10),
        (8 * 40 * 10 - 1, np.int8, 9),
        (8 * 40 * 4, np.int8, 4),
    ):
        tune(kept_error_bytes=limit)
        path, calls = path_with(ALWAYS, X.astype(dtype), y, 10, loss="zero_one")
        assert (calls.kept, calls.used) == (1, steps)
        assert_same(path, whole)


# Rounding ----------------------------------------------------------------------------------------


def test_long_paths_are_looked_after(tune: Tune, traps: Traps) -> None:
    X, y = two_classes(120, 50, seed=2, signal=0.2)
    anew, _ = path_with(NEVER, X, y, 45, loss="zero_one")
    answers = []

    def spy(has_drifted: Any, *args: Any) -> bool:
        answers.append(has_drifted(*args))
        return answers[-1]

    traps.around("check kept errors", spy)
    kept, calls = path_with(ALWAYS, X, y, 45, loss="zero_one")
    assert_same(kept, anew)
    assert answers == [False]  # at step 32
    assert (calls.kept, calls.dropped) == (1, 0)
    tune(kept_error_check_steps=4)
    path_with(ALWAYS, X, y, 45, loss="zero_one")
    assert answers == [False] * 12


@pytest.mark.parametrize(("error", "is_seen"), [(0.0, False), (1e-13, False), (1e-8, True)])
@pytest.mark.parametrize("block_rows", [None, 20])
def test_what_has_drifted_is_made_anew(
    error: float, is_seen: bool, block_rows: Any, tune: Tune, traps: Traps
) -> None:
    X, y = two_classes(60, 14, seed=2, signal=0.3)
    anew, _ = path_with(NEVER, X, y, 12, loss="zero_one", block_rows=block_rows)
    count = 0

    def corrupted(follow: Any, self: Leftovers, index: int, slopes: Any) -> None:
        nonlocal count
        follow(self, index, slopes)
        count += 1
        if count == 3:  # once
            self._Z *= 1.0 + error

    traps.around("update kept errors", corrupted)
    tune(kept_error_check_steps=2)
    kept, calls = path_with(ALWAYS, X, y, 12, loss="zero_one", block_rows=block_rows)
    assert (calls.kept, calls.dropped) == ((2, 1) if is_seen else (1, 0))
    assert calls.used == 12
    assert_same(kept, anew)


# A block's own -----------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_wrong_predictions_by_hand(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    count, n = 12, 7
    labels = np.where(rng.random(count) < 0.5, 1.0, -1.0)
    used = np.flatnonzero(rng.random(count) < 0.8) if weighted else np.arange(count)
    order = np.concatenate([used[labels[used] > 0], used[labels[used] < 0]])
    split = int(np.count_nonzero(labels[used] > 0))
    features = np.array([0, 2, 3, 5, 6])  # 1 and 4 are no candidates
    Z = rng.standard_normal((5, count))
    size = 1.0 / np.sqrt(rng.uniform(0.5, 2.0, count)) if weighted else None
    shares = rng.random(count) if weighted else None
    r, d = rng.standard_normal(count), rng.uniform(0.5, 0.9, count)
    delta, rho = rng.uniform(20.0, 40.0, n), 0.3 * rng.standard_normal(n)
    kept = Leftovers(order, split, features, Z[:, order].copy())
    codes = labels if size is None else labels * size

    def expected(Z: Any, features: Any) -> Any:
        total = np.zeros(n)
        for z, feature in zip(Z, features, strict=True):
            for row in used:
                own = 1.0 if shares is None else shares[row]
                left = d[row] - z[row] ** 2 / delta[feature]
                # Right if the prediction, y − e/√w, is on the side of the label.
                right = (1.0 - UNDECIDED) * left > codes[row] * (r[row] - z[row] * rho[feature])
                total[feature] += own * (not right)
        return total

    margins = loo_margins(codes, r, d)
    found = kept.wrong_sums(margins, size, shares, delta, rho)
    assert_allclose(found, expected(Z, features), rtol=1e-12)
    assert found.max() > 0.0
    # A feature is added: it goes out of the others, before and after they are looked at.
    slopes = rng.standard_normal(n)
    left_out = np.isin(np.arange(count), used, invert=True)
    for added in (3, 0):
        place = features.tolist().index(added)
        kept.follow(added, slopes)
        Z = np.delete(Z - slopes[features][:, None] * Z[place], place, axis=0)
        features = np.delete(features, place)
        column = kept.column(features[-1], count)
        assert_allclose(column[used], Z[-1][used], rtol=1e-12)
        assert (column[left_out] == 0.0).all()
        if added == 0:
            found = kept.wrong_sums(margins, size, shares, delta, rho)
            assert_allclose(found, expected(Z, features), rtol=1e-12)
            again = kept.wrong_sums(margins, size, shares, delta, rho)
            assert_array_equal(again, found)
