"""Penalties chosen: nested, joint."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import GroupKFold, KFold

import literal
from greedyrls import (
    GreedyRLSClassifier,
    GreedyRLSRegressor,
    StopReason,
    greedy_path,
)
from internals import best_pair, penalty_scale, refit_grid
from literal import middle_of_ties, nested_surface, restricted
from penalties import ALPHAS, OUTER, SAME, diagonal, labels, numbers
from problems import Case, fold_cases
from sweeps import EXAMPLES
from traps import Traps, interrupted_at


def literal_nested(
    X: Any, y: Any, outer: Any, k: int, refit: Any, weights: Any = None, **options: Any
) -> tuple[Any, Any, Any]:
    """Losses (A × k), by fold (F × A × k) and by row; "loo" refits are by each fold's own grid."""
    w = np.ones(len(X)) if weights is None else weights
    folds, rows = [], []
    for train, test in outer:
        grid = refit
        if refit == "loo":
            scale = penalty_scale(diagonal(X[train], w[train], options.get("fit_intercept", True)))
            grid = refit_grid(scale, is_fine=False)
        surface = nested_surface(
            *(X, y, [(train, test)], ALPHAS, k), refit=grid, sample_weight=weights, **options
        )
        folds.append(surface["fold_losses"][0])
        rows.append(surface["row_losses"])
    totals = [w[test].sum() for _, test in outer]
    return np.average(folds, axis=0, weights=totals), np.array(folds), np.nansum(rows, axis=0)


# The nested surface ------------------------------------------------------------------------------

INNER: dict[str, Any] = {"loo": "loo", "folds": KFold(4, shuffle=True, random_state=5)}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("refit", ["same", 3.0, "loo"])
@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one"])
def test_nested_surface_is_the_literal_one(
    loss: str, inner: str, refit: Any, weighted: bool
) -> None:
    X, y = labels(26, 5) if loss == "zero_one" else numbers(26, 5)
    weights = None
    if weighted:
        weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], len(y))
    options: dict[str, Any] = {"loss": loss, "fit_intercept": loss != "absolute"}
    path = greedy_path(
        *(X, y, 3),
        alpha=ALPHAS,
        cv=INNER[inner],
        alpha_cv=OUTER,
        refit_alpha=refit,
        sample_weight=weights,
        **options,
    )
    outer = list(OUTER.split(X))
    splits: Any = "loo" if inner == "loo" else list(INNER[inner].split(X))
    losses, fold_losses, row_losses = literal_nested(
        *(X, y, outer, 3, refit), weights, cv=splits, **options
    )
    surface = path.surface
    assert surface is not None
    assert surface.rule == "nested"
    assert surface.folds == "3-fold, shuffled with seed 2"
    assert_allclose(surface.fold_losses, fold_losses, rtol=SAME, atol=1e-14)
    assert_allclose(surface.losses, losses, rtol=SAME, atol=1e-14)
    w = np.ones(len(y)) if weights is None else weights
    shares = np.array([w[test].sum() for _, test in outer]) / w.sum()
    assert_allclose(surface.fold_shares, shares)
    count = np.count_nonzero(w)
    spread = w / w.sum() * (row_losses - losses[..., None]) * np.sqrt(count / (count - 1))
    errors = np.sqrt(np.sum(spread**2, axis=-1))
    assert_allclose(surface.standard_errors, errors, rtol=1e-7, atol=1e-12)
    # Chosen at the size asked for; among equals the largest.
    at_size = losses[:, 2]
    best = max(a for a, value in zip(ALPHAS, at_size, strict=True) if value < at_size.min() + 1e-10)
    assert surface.alpha == path.settings.alpha == best
    assert surface.size == len(path) == 3


@pytest.mark.parametrize("seed", range(3))
def test_a_pair_of_penalty_and_size_is_chosen(seed: int) -> None:
    X, y = numbers(27, 5, seed)
    options: dict[str, Any] = {"refit_alpha": "same", "alpha_cv": OUTER, "size_rule": "min"}
    path = greedy_path(X, y, "auto", alpha=ALPHAS, **options)
    losses, *_ = literal_nested(X, y, list(OUTER.split(X)), 5, "same")
    row, column = np.unravel_index(np.argmin(losses), losses.shape)
    assert path.surface is not None
    assert path.surface.losses.shape == (3, 5)
    assert_allclose(path.surface.losses, losses, rtol=SAME)
    assert path.settings.alpha == path.surface.alpha == ALPHAS[row]
    assert path.chosen_size == path.surface.size == column + 1
    assert path.surface.row == row


def test_equal_losses_go_to_fewer_features_and_then_to_the_middle_penalty() -> None:
    half = np.array([[1.0, 0.5, 0.5], [1.0, 0.5, 0.4], [1.0, 0.5, 0.4 + 1e-13], [1.0, 0.6, 0.5]])
    assert best_pair(half, 0) == (2, 3)
    assert best_pair(half[:, :2], 0) == (1, 2)
    for tied, row in {
        (0, 1, 2, 3, 4, 5, 6): 3,
        (4, 5, 6): 5,
        (5, 6): 5,
        (0, 1): 1,
        (0, 1, 2, 3): 2,
        (2, 3): 3,
        (3, 4): 3,
        (2, 3, 4, 5, 6): 4,
        (6,): 6,
        (0, 6): 6,
    }.items():
        losses = np.ones((7, 1))
        losses[list(tied)] = 0.5
        assert best_pair(losses, 0) == literal.best_pair(losses) == (row, 1)
    assert best_pair(np.ones((4, 1)), 0) == (2, 1)
    assert best_pair(np.array([[np.nan, 1.0], [1.0, 1.0]]), 0) == (1, 1)
    assert best_pair(np.array([[0.0, 1.0], [2.0, 1.0]]), 2) == (1, 2)
    with pytest.raises(ValueError, match="No penalty gave a finite loss; use larger"):
        best_pair(np.full((2, 2), np.nan), 0)


@pytest.mark.heavy
@settings(max_examples=max(10, min(200, EXAMPLES // 6)))
@given(
    case=fold_cases(
        folds=["loo", "loo", "shuffled", "repeated", "random"],
        kinds=["normal", "scaled", "float32", "integer"],
        max_samples=60,
        max_features=20,
    ),
    loss=st.sampled_from(["squared", "squared", "absolute"]),
    refit=st.sampled_from(["same", 3.0]),
)
def test_nested_and_joint_are_searches_one_by_one(case: Case, loss: str, refit: Any) -> None:
    """The twin: a call for each penalty and outer fold, on the training rows alone."""
    options = {name: value for name, value in case.options.items() if name != "alpha"}
    m, k = len(case.X), case.n_features
    outer = [np.arange(m) % 3 == fold for fold in range(3)]
    weights = options.get("sample_weight", np.ones(m))
    try:
        nested = greedy_path(
            *(case.X, case.y, k),
            alpha=ALPHAS,
            loss=loss,
            alpha_cv=np.arange(m) % 3,
            refit_alpha=refit,
            **options,
        )
    except ValueError as error:
        # Few rows of positive weight may leave a fold empty, which is an error, as it should be.
        assume("leaves no" not in str(error))
        assume("No split of cv" not in str(error))
        raise
    given = {name: options[name] for name in options if name not in ("cv", "sample_weight")}
    expected = np.empty((3, 3, k))
    for fold, test in enumerate(outer):
        rows = np.flatnonzero(~test & (weights > 0))
        inner: Any = "loo" if case.splits == "loo" else restricted(case.splits, rows)
        for row, alpha in enumerate(ALPHAS):
            single = greedy_path(
                *(case.X[rows], case.y[rows], k),
                alpha=alpha,
                loss=loss,
                cv=inner,
                refit_alpha=refit,
                sample_weight=weights[rows],
                **given,
            )
            for size in range(1, k + 1):
                error = np.abs(single.predict(case.X[test], size) - case.y[test])
                losses = (error**2 if loss == "squared" else error).reshape(test.sum(), -1)
                expected[fold, row, size - 1] = np.average(
                    losses.mean(axis=1), weights=weights[test]
                )
    assert_allclose(nested.surface.fold_losses, expected, rtol=1e-7)
    joint = greedy_path(
        *(case.X, case.y, k), alpha=ALPHAS, loss=loss, alpha_rule="joint", **options
    )
    singles = [greedy_path(case.X, case.y, k, alpha=a, loss=loss, **options) for a in ALPHAS]
    assert_allclose(joint.surface.losses, [single.losses for single in singles], rtol=1e-10)
    assert_array_equal(joint.indices, singles[joint.surface.row].indices)


@pytest.mark.parametrize("m", [2, 3])
def test_very_few_rows(m: int) -> None:
    """Handled, or refused in words that speak of what was given."""
    X, y = numbers(m)
    for estimator, target in ((GreedyRLSRegressor, y), (GreedyRLSClassifier, np.arange(m) % 2)):
        try:
            assert estimator().fit(X, target).n_features_ == 1
        except ValueError as error:
            assert "sample_weight" not in str(error)  # noqa: PT017


def test_outer_folds_are_those_of_the_criterion_unless_given() -> None:
    X, y = numbers(40)
    groups = np.arange(40) % 8
    for options, folds in (
        ({}, "5-fold, shuffled with seed 0"),
        ({"cv": 2}, "5-fold, shuffled"),
        ({"cv": 4}, "4-fold, shuffled with seed 0"),
        ({"cv": 12}, "5-fold, shuffled"),
        ({"cv": KFold(4)}, "4-fold"),
        ({"cv": 4, "alpha_cv": 2}, "2-fold, shuffled with seed 0"),
        ({"cv": 4, "alpha_cv": KFold(2)}, "2-fold"),
        ({"cv": 4, "groups": groups}, "4-fold by groups"),
        ({"cv": GroupKFold(4), "groups": groups, "alpha_cv": 3}, "3-fold by groups"),
        ({"alpha_cv": GroupKFold(3), "groups": groups}, "3-fold by groups"),
        ({"alpha_cv": 3, "groups": groups}, "3-fold by groups"),
        ({"alpha_cv": np.arange(40) % 2}, "fold ids (2 folds)"),
    ):
        path = greedy_path(X, y, 2, alpha=ALPHAS, **options)
        assert path.surface is not None
        assert path.surface.folds.startswith(folds)
        assert ("shuffled" in path.surface.folds) == ("shuffled" in folds)
        assert path.surface.fold_losses is not None
        assert path.surface.fold_losses.shape == (len(path.surface.fold_shares), 3, 2)


def test_groups_stay_together_in_outer_folds_of_leave_one_out() -> None:
    X, y = numbers(28, 5)
    groups = np.repeat(np.arange(7), 4)
    path = greedy_path(X, y, 2, alpha=ALPHAS, alpha_cv=4, groups=groups, refit_alpha="same")
    outer = list(GroupKFold(4).split(X, y, groups))
    losses, *_ = literal_nested(X, y, outer, 2, "same")
    assert_allclose(path.surface.losses, losses, rtol=SAME)


def test_classifiers_have_stratified_outer_folds() -> None:
    X, y = labels(43)
    y[np.flatnonzero(y > 0)[6:]] = -1.0
    model = GreedyRLSClassifier(2, alpha=ALPHAS, loss="auc").fit(X, np.where(y > 0, "b", "a"))
    assert model.path_.surface.folds == "5-fold, stratified, shuffled with seed 0"
    with pytest.warns(UserWarning, match="least populated class"):
        GreedyRLSClassifier(2, alpha=ALPHAS, alpha_cv=7).fit(X, np.where(y > 0, "b", "a"))
    y[np.flatnonzero(y > 0)[3:]] = -1.0
    model = GreedyRLSClassifier(2, alpha=ALPHAS, loss="auc").fit(X, np.where(y > 0, "b", "a"))
    assert model.path_.surface.folds == "3-fold, stratified, shuffled with seed 0"


def test_forced_and_excluded_features_hold_in_outer_folds() -> None:
    X, y = numbers(40)
    path = greedy_path(
        *(X, y, "auto"),
        alpha=ALPHAS,
        forced_features=[6, 5],
        excluded_features=[0],
        cv=4,
        refit_alpha="same",
    )
    assert path.indices[:2].tolist() == [6, 5]
    assert path.surface.losses.shape == (3, 6)
    assert path.surface.size >= 2
    assert 0 not in path.indices
    alone = greedy_path(
        *(X[:, [6, 5]], y, 2), alpha=ALPHAS, forced_features=[0, 1], cv=4, refit_alpha="same"
    )
    assert_allclose(alone.surface.losses, path.surface.losses[:, :2], rtol=1e-10)


def test_paths_that_end_early_leave_not_a_number() -> None:
    X, y = numbers(50, 12, seed=1)
    path = greedy_path(X, y, "auto", alpha=ALPHAS, patience=1, alpha_cv=OUTER)
    losses = path.surface.losses
    assert losses.shape == (3, 12)
    assert np.isnan(losses[:, -1]).all()
    for row in losses:
        known = np.isfinite(row)
        assert known[: known.sum()].all()
        assert known.any()
    assert np.isfinite(path.surface.fold_losses).any(axis=2).all()
    assert len(path) >= path.surface.size
    assert path.chosen_size <= len(path)


def test_the_path_reaches_the_size_chosen_on_the_surface() -> None:
    """However early its own loss would have stopped it."""
    for seed in range(6):
        X, y = numbers(40, 10, seed)
        path = greedy_path(X, y, "auto", alpha=ALPHAS, patience=2)
        assert len(path) >= path.surface.size == path.chosen_size


# Joint -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cv", ["loo", 4])
@pytest.mark.parametrize("loss", ["squared", "absolute", "zero_one"])
def test_joint_surface_is_that_of_single_penalties(loss: str, cv: Any) -> None:
    X, y = labels(60, 20) if loss == "zero_one" else numbers(60, 20)
    options: dict[str, Any] = {"cv": cv, "loss": loss, "n_runners_up": 2}
    joint = greedy_path(X, y, 8, alpha=ALPHAS, alpha_rule="joint", **options)
    singles = [greedy_path(X, y, 8, alpha=alpha, **options) for alpha in ALPHAS]
    surface = joint.surface
    assert surface.rule == "joint"
    assert surface.fold_losses is None
    assert surface.fold_shares is None
    assert surface.folds == ""
    assert_allclose(surface.losses, [path.losses for path in singles], rtol=1e-12)
    assert_allclose(surface.standard_errors, [path.standard_errors for path in singles], rtol=1e-9)
    row = middle_of_ties(surface.losses[:, -1].tolist())
    assert surface.alpha == ALPHAS[row]
    assert joint.indices.tolist() == singles[row].indices.tolist()
    assert_allclose(joint.losses, singles[row].losses, rtol=1e-12)
    assert_allclose(joint.coef(), singles[row].coef(), rtol=1e-10)
    for one, two in zip(joint.runners_up, singles[row].runners_up, strict=True):
        assert [index for index, _ in one] == [index for index, _ in two]
    assert joint.settings.refit_alpha == "same"
    assert joint.refit_alphas is None


def test_joint_chooses_a_pair_for_an_automatic_size() -> None:
    X, y = numbers(50, 15, seed=4)
    joint = greedy_path(X, y, "auto", alpha=ALPHAS, alpha_rule="joint", patience=99)
    singles = [greedy_path(X, y, 15, alpha=alpha) for alpha in ALPHAS]
    losses = np.array([path.losses for path in singles])
    row, column = np.unravel_index(np.argmin(losses), losses.shape)
    assert joint.settings.alpha == ALPHAS[row]
    assert joint.surface.size == column + 1
    # The size is that of held-out losses with this penalty.
    single = greedy_path(X, y, "auto", alpha=ALPHAS[row], patience=99)
    assert_allclose(joint.size_surface.losses, single.size_surface.losses, rtol=1e-12)
    assert joint.chosen_size == single.chosen_size


@pytest.mark.parametrize("search", ["bounded", "exhaustive"])
@pytest.mark.parametrize("cv", ["loo", 5])
def test_shared_gram_columns_change_nothing(search: Any, cv: Any) -> None:
    """The chosen penalty's path is what a call with that penalty alone gives."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 80))
    X[:, 40:] = X[:, :40] + 0.3 * rng.standard_normal((300, 40))
    y = X[:, :6].sum(axis=1) + 3.0 * rng.standard_normal(300)
    for rule in ("nested", "joint", "all_features"):
        path = greedy_path(
            *(X, y, 20),
            alpha=[1e-3, 1.0, 30.0, 1e3],
            alpha_rule=rule,
            cv=cv,
            search=search,
            refit_alpha="same",
        )
        fresh = greedy_path(X, y, 20, alpha=path.settings.alpha, cv=cv, search=search)
        assert_array_equal(path.indices, fresh.indices)
        assert_allclose(path.losses, fresh.losses, rtol=1e-12)
        assert_allclose(path.coef(), fresh.coef(), rtol=1e-11)
        assert_allclose(path.standard_errors, fresh.standard_errors, rtol=1e-10)


# The surface as a value --------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["nested", "joint", "all_features"])
def test_surfaces_are_values(rule: Any) -> None:
    X, y = numbers()
    path = greedy_path(X, y, 3, alpha=ALPHAS, alpha_rule=rule)
    again = greedy_path(X, y, 3, alpha=ALPHAS, alpha_rule=rule)
    other = greedy_path(X, y, 3, alpha=ALPHAS[1:], alpha_rule=rule)
    surface = path.surface
    assert surface == again.surface
    assert hash(surface) == hash(again.surface)
    assert surface != other.surface
    assert surface != "surface"
    for twin in (pickle.loads(pickle.dumps(surface)), copy.copy(surface), copy.deepcopy(surface)):
        assert twin == surface
        for name in ("alphas", "losses", "standard_errors"):
            with pytest.raises(ValueError, match="read-only"):
                getattr(twin, name)[0] = 1.0
    assert pickle.loads(pickle.dumps(path)).surface == surface
    assert f"alpha={surface.alpha:.4g} was chosen from 3 values" in surface.sentence
    assert surface.sentence in path.sentence


def test_sentences_say_how_the_penalty_was_chosen() -> None:
    X, y = numbers()
    for rule, words in (
        (
            "nested",
            "by nested selection: the held-out loss of outer folds (5-fold, shuffled with seed 0).",
        ),
        ("joint", "by the criterion's own loss, which is optimistic after a search."),
        ("all_features", "by the leave-one-out loss with all features."),
    ):
        path = greedy_path(X, y, 3, alpha=ALPHAS, alpha_rule=rule)
        assert words in path.sentence
        at_the_edge = path.surface.row in (0, len(ALPHAS) - 1)
        assert (" value tried." in path.sentence) == at_the_edge
        alone = greedy_path(X, y, 3, alpha=[2.0], alpha_rule=rule)
        held_out = "; its held-out loss is that of outer folds (5-fold, shuffled with seed 0)"
        told = f"alpha=2 is the only value tried{held_out if rule == 'nested' else ''}."
        assert alone.surface.sentence == told
        assert told in alone.sentence


def test_losses_of_the_models_in_the_outer_folds() -> None:
    X, y = numbers()
    path = greedy_path(X, y, 4, alpha=ALPHAS)
    losses, errors = path.held_out
    assert_array_equal(losses, path.surface.losses[path.surface.row])
    assert_array_equal(errors, path.surface.standard_errors[path.surface.row])
    frame = path.to_frame()
    assert_array_equal(frame["held_out_loss"], losses)
    assert_array_equal(frame["held_out_error"], errors)
    assert len(path.truncated(2).held_out[0]) == 2
    single = greedy_path(X, y, 4)
    assert single.held_out is None
    assert "held_out_loss" not in single.to_frame()


def test_many_folds_of_the_criterion_are_few_outer_folds() -> None:
    X, y = numbers()
    ids = np.arange(len(y)) % 12
    path = greedy_path(X, y, 2, alpha=ALPHAS, cv=ids)
    assert path.surface.fold_losses.shape[0] == 5
    merged = greedy_path(X, y, 2, alpha=ALPHAS, cv=ids, alpha_cv=ids % 5)
    assert_allclose(path.surface.losses, merged.surface.losses, rtol=1e-12)


# Interrupts --------------------------------------------------------------------------------------


INTERRUPTED = {"loo": "advance rows", 4: "add feature to folds"}
# Compiled searches make no steps in outer folds that could be counted.
STEP_BY_STEP: dict[Any, dict[str, Any]] = {"loo": {"search": "exhaustive"}, 4: {"cv": 4}}


@pytest.mark.parametrize("call", [1, 2, 5, 11, 14])
@pytest.mark.parametrize("cv", ["loo", 4])
def test_an_interrupt_in_outer_folds_is_the_callers(cv: Any, call: int, traps: Traps) -> None:
    X, y = numbers()
    traps.interrupt(INTERRUPTED[cv], call)
    with pytest.raises(KeyboardInterrupt):
        greedy_path(X, y, 3, alpha=ALPHAS, alpha_cv=2, **STEP_BY_STEP[cv])


@pytest.mark.parametrize("call", [1, 4, 6])
def test_an_interrupt_in_compiled_outer_folds_is_the_callers(call: int, traps: Traps) -> None:
    X, y = numbers()
    traps.interrupt("search and test in an outer fold", call)
    with pytest.raises(KeyboardInterrupt):
        greedy_path(X, y, 3, alpha=ALPHAS, alpha_cv=2)


@pytest.mark.parametrize("cv", ["loo", 4])
def test_an_interrupt_after_the_outer_folds_keeps_steps(cv: Any) -> None:
    X, y = numbers()
    full = greedy_path(X, y, 3, alpha=ALPHAS, alpha_cv=2, **STEP_BY_STEP[cv])
    with interrupted_at(INTERRUPTED[cv], 2 * 3 * 3 + 3):
        path = greedy_path(X, y, 3, alpha=ALPHAS, alpha_cv=2, **STEP_BY_STEP[cv])
    assert path.stop_reason is StopReason.INTERRUPTED
    assert path.indices.tolist() == full.indices[:2].tolist()
    assert path.surface == full.surface
    assert path.refit_alphas == full.refit_alphas[:2]
    assert_allclose(path.coef(), full.coef(2), rtol=1e-10)


@pytest.mark.parametrize("n_features", [4, "auto"])
@pytest.mark.parametrize("call", [3, 6, 7])
def test_an_interrupt_among_joint_paths_shows(n_features: Any, call: int, traps: Traps) -> None:
    X, y = numbers()
    traps.interrupt("advance rows", call)
    path = greedy_path(X, y, n_features, alpha=ALPHAS, alpha_rule="joint", patience=99)
    assert path.interrupted
    assert len(path.surface.alphas) <= len(ALPHAS)
    assert path.sentence


def test_a_surface_says_how_it_chose_and_what_comes_next() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 4)), rng.standard_normal(20)
    words = {"joint": "the criterion's own loss", "all_features": "with all features"}
    for rule, how in words.items():
        surface = greedy_path(X, y, 2, alpha=[0.1, 1.0, 10.0, 100.0], alpha_rule=rule).surface
        assert surface is not None
        assert how in surface.sentence
        # Only beyond either end of the grid is there a value to try.
        following = [replace(surface, alpha=float(alpha)).beyond for alpha in surface.alphas]
        assert following[1:3] == [None, None]
        assert sorted(filter(None, following)) == pytest.approx([0.01, 1000.0])
