"""Assess a selection: test error, stability, and comparison with permuted targets.

Selecting features by a loss makes that loss optimistic: with enough features to choose from, some
fit the samples at hand by chance. The functions here repeat the whole selection, including the
choice of penalty and size, on other samples or targets.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .._criteria import make_tests
from .._problem import ClassWeight, FeatureCosts, FeatureGroups, FeatureList, Task
from .._select import Options
from ..path import AlphaRule, DirectionName, SizeRule
from ._assessment import PathAssessment
from ._draws import check_count, check_groups_move, draw_order, draw_rows, make_generator
from ._null import PermutationNull
from ._path_warnings import path_warnings
from ._predictions import Predictions
from ._procedure import CALLER, check_measure, make_outer_folds, make_procedure
from ._repeat import (
    FoldResult,
    fold_result,
    make_assessment,
    null_result,
    padded,
    repeat,
    resampled_order,
)
from ._stability import Stability

# The options of a selection are spelt out in each function, as in `greedy_path`: a misspelt one is
# then an error, and help shows them all.

__all__ = [
    "PathAssessment",
    "PermutationNull",
    "Predictions",
    "Stability",
    "cross_validate_path",
    "path_warnings",
    "permutation_null",
    "resample_path",
]


def cross_validate_path(
    X: Any,
    y: Any,
    n_features: int | Literal["auto"] | None,
    *,
    cv: Any = 10,
    alpha: float | ArrayLike | Literal["auto"] = "auto",
    inner_cv: Any = "loo",
    loss: Any = "auto",
    measure: Any = None,
    task: Task = "auto",
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    class_weight: ClassWeight | None = None,
    groups: ArrayLike | None = None,
    forced_features: FeatureList | None = None,
    excluded_features: FeatureList | None = None,
    direction: DirectionName = "forward",
    backward_ratio: float | None = None,
    feature_groups: FeatureGroups | None = None,
    feature_costs: FeatureCosts | None = None,
    budget: float | None = None,
    alpha_rule: AlphaRule = "nested",
    alpha_cv: Any = None,
    refit_alpha: float | Literal["same", "loo", "cv"] | None = None,
    size_rule: SizeRule = "1se",
    max_features: int | None = None,
    patience: int | None = None,
    tol: float | None = None,
    n_random: int = 10,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    device: Any = None,
    verbose: int = 0,
) -> PathAssessment:
    """Repeat the whole selection in each outer fold, and test every size on the held-out rows.

    The leave-one-out loss of a path is optimistic, because the features were chosen by it. Report
    the result of this function instead: in each fold the penalty, the features and their number are
    chosen without the test rows. The result also has the selection's own estimate, the losses of
    random features, and the features of each fold.

    Parameters
    ----------
    X : array-like of shape (m, n)
        Data, as in `greedy_path`.
    y : array-like of shape (m,) or (m, t)
        Targets, or labels of any kind for a classification.
    n_features : int, "auto" or None
        Largest number of features; all sizes up to it are tested. "auto" also chooses the size in
        each fold, by `size_rule`. None selects as many as the `budget` allows.
    cv : int, splitter, array of fold ids, or list of (train, test), default=10
        The outer folds. A number gives folds shuffled by `random_state` and stratified for a
        classification, or folds by groups if `groups` is given.
    alpha : float, list of float, or "auto", default="auto"
        Penalty of the search. From a list, `alpha_rule` chooses one in each fold.
    inner_cv : "loo", int or splitter, default="loo"
        Cross-validation of the search itself: `cv` of `greedy_path`.
    loss : str or callable, default="auto"
        Loss of the search, as in `greedy_path`. "auto" is as in the estimators: "squared", or
        "zero_one" for a classification whose penalty is chosen in folds, if clearly better.
    measure : str or callable, optional
        Loss in which results are given; by default that of the search, or "zero_one" for a
        classification by squared loss.
    task : {"auto", "regression", "classification"}, default="auto"
        "auto" treats text, booleans and two different whole numbers as classes.
    fit_intercept, sample_weight, forced_features, excluded_features, device
        As in `greedy_path`.
    class_weight : None, "balanced" or dict, default=None
        As in `GreedyRLSClassifier`, computed from the rows of each selection. The reported losses
        only use `sample_weight`.
    direction, backward_ratio
        As in `greedy_path`. If sets are not nested, ``features`` starts with the chosen set.
    feature_groups, feature_costs, budget
        As in `greedy_path`. Results then count groups, each by its first column.
    groups : array-like of shape (m,), optional
        Samples of a group stay together in the outer folds, and in those inside them that choose
        the penalty; pass a number or a grouping splitter as `inner_cv` for the search itself.
    alpha_rule, alpha_cv, refit_alpha, size_rule, max_features, patience, tol
        As in `greedy_path`; folds are made of the training rows of each outer fold.
    n_random : int, default=10
        How many times features are drawn at random in each fold, for comparison; 0 for none. The
        penalty of their models is chosen from 3 values, that of the path from 25.
    random_state : int, Generator or None, default=0
        Seed of the folds (also those that choose the penalty) and of the random features.
    n_jobs : int, optional
        Number of outer folds at a time; -1 uses all cores. They run in threads on the same X, or in
        processes if steps are not compiled and take long. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar with the time left (needs tqdm).

    Returns
    -------
    PathAssessment

    Notes
    -----
    Cost: a selection for each outer fold, which with a chosen penalty is itself one for each
    penalty and inner fold. For leave-one-out by squared loss and X in memory the folds share Gram
    columns: those of the training rows are those of all rows minus the held-out ones. Other
    criteria copy the training rows of a fold. X in a file is never copied: each fold reads the file
    as often as a selection does, and the columns of features that were chosen before are kept.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from greedyrls.assess import cross_validate_path
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> assessment = cross_validate_path(scale(X), y, 5, alpha=10.0)
    >>> assessment.test[0].round(3).tolist()
    [0.095, 0.06, 0.044, 0.044, 0.042]
    >>> assessment.features[0].tolist()
    [27, 20, 21, 14, 28]
    """
    procedure = make_procedure(
        X,
        y,
        Options.of(locals(), CALLER),
        task=task,
        measure=measure,
        sample_weight=sample_weight,
        groups=groups,
        class_weight=class_weight,
    )
    check_count("n_random", n_random, 0)
    problem = procedure.problem
    folds = make_outer_folds(procedure, cv)
    tests = [split.test for split in folds.splits]
    check_measure(procedure, tests)
    seeds = make_generator(random_state).spawn(len(folds.splits))
    design = make_tests(
        *(procedure.measure, problem.Y, problem.weights, folds.splits, procedure.groups),
        has_intercepts=problem.fit_intercept and procedure.class_weights is None,
    )
    parts = [None] * len(tests) if design is None else design.of_folds
    found: list[FoldResult] = repeat(
        procedure,
        fold_result,
        [
            (number, split, parts[number], n_random, seed)
            for number, (split, seed) in enumerate(zip(folds.splits, seeds, strict=True))
        ],
        what="folds",
        n_jobs=n_jobs,
        verbose=verbose,
        shown=lambda answer: answer.chosen_loss,
    )
    return make_assessment(procedure, folds, found, design)


def permutation_null(
    X: Any,
    y: Any,
    n_features: int | Literal["auto"] | None,
    *,
    n_permutations: int = 100,
    alpha: float | ArrayLike | Literal["auto"] = "auto",
    inner_cv: Any = "loo",
    loss: Any = "auto",
    measure: Any = None,
    task: Task = "auto",
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    class_weight: ClassWeight | None = None,
    groups: ArrayLike | None = None,
    forced_features: FeatureList | None = None,
    excluded_features: FeatureList | None = None,
    direction: DirectionName = "forward",
    backward_ratio: float | None = None,
    feature_groups: FeatureGroups | None = None,
    feature_costs: FeatureCosts | None = None,
    budget: float | None = None,
    alpha_rule: AlphaRule = "nested",
    alpha_cv: Any = None,
    refit_alpha: float | Literal["same", "loo", "cv"] | None = None,
    size_rule: SizeRule = "1se",
    max_features: int | None = None,
    patience: int | None = None,
    tol: float | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    device: Any = None,
    verbose: int = 0,
) -> PermutationNull:
    """Repeat the selection on permuted targets, which are unrelated to the features.

    The targets are permuted over the samples, and the whole selection (penalty, features, size) is
    made on each permutation. Its own losses are as optimistic there as on the original targets, so
    the comparison gives a valid p-value for each size.

    Parameters
    ----------
    X, y, n_features
        As in `cross_validate_path`.
    n_permutations : int, default=100
        Number of permutations. No p-value can be below 1 / (n_permutations + 1).
    alpha, inner_cv, loss, measure, task, fit_intercept, sample_weight, class_weight, groups
        As in `cross_validate_path`. Targets are permuted over all samples, which is right if
        samples are independent, with their weights; with groups, whole groups of the same size
        change places.
    forced_features, excluded_features, feature_groups, feature_costs, budget
        As in `cross_validate_path`.
    direction, backward_ratio, alpha_rule, alpha_cv, refit_alpha, size_rule
        As in `cross_validate_path`.
    max_features, patience, tol, device
        As in `cross_validate_path`.
    random_state : int, Generator or None, default=0
        Seed of the permutations, and of the folds that choose the penalty.
    n_jobs : int, optional
        Number of permutations at a time; -1 uses all cores. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar with the time left (needs tqdm).

    Returns
    -------
    PermutationNull

    Notes
    -----
    Cost: a selection for each permutation. For leave-one-out by squared loss they share the Gram
    columns, which do not depend on the targets, as far as they fit into a quarter of the size of X.
    A number for `alpha` is much faster than choosing one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls.assess import permutation_null
    >>> X, y = load_diabetes(return_X_y=True)
    >>> null = permutation_null(X, y, 3, alpha=0.01, n_permutations=19)
    >>> null.p_values.tolist()
    [0.05, 0.05, 0.05]
    """
    procedure = make_procedure(
        X,
        y,
        Options.of(locals(), CALLER),
        task=task,
        measure=measure,
        sample_weight=sample_weight,
        groups=groups,
        class_weight=class_weight,
    )
    check_count("n_permutations", n_permutations, 1)
    problem = procedure.problem
    check_measure(procedure, [np.arange(problem.n_samples)])
    check_groups_move(problem.has_weight, procedure.groups)
    given = null_result(procedure, procedure.shared(), None, 0)
    generator = make_generator(random_state)
    orders = [
        draw_order(problem.has_weight, generator, procedure.groups) for _ in range(n_permutations)
    ]
    size = len(given.losses)
    found = repeat(
        procedure,
        null_result,
        [(order, size) for order in orders],
        what="permutations",
        n_jobs=n_jobs,
        verbose=verbose,
        shown=lambda answer: answer.chosen_loss,
    )
    return PermutationNull(
        measure=procedure.measure.name,
        losses=np.array(given.losses),
        null_losses=padded([result.losses for result in found], size),
        chosen_loss=given.chosen_loss,
        null_chosen_losses=np.array([result.chosen_loss for result in found]),
        initial_loss=given.initial_loss,
    )


def resample_path(
    X: Any,
    y: Any,
    n_features: int | Literal["auto"] | None,
    *,
    resample: Literal["subsample", "bootstrap"] = "subsample",
    n_resamples: int = 50,
    share: float = 0.5,
    alpha: float | ArrayLike | Literal["auto"] = "auto",
    inner_cv: Any = "loo",
    loss: Any = "auto",
    task: Task = "auto",
    fit_intercept: bool = True,
    sample_weight: ArrayLike | None = None,
    class_weight: ClassWeight | None = None,
    groups: ArrayLike | None = None,
    forced_features: FeatureList | None = None,
    excluded_features: FeatureList | None = None,
    direction: DirectionName = "forward",
    backward_ratio: float | None = None,
    feature_groups: FeatureGroups | None = None,
    feature_costs: FeatureCosts | None = None,
    budget: float | None = None,
    alpha_rule: AlphaRule = "nested",
    alpha_cv: Any = None,
    refit_alpha: float | Literal["same", "loo", "cv"] | None = None,
    size_rule: SizeRule = "1se",
    max_features: int | None = None,
    patience: int | None = None,
    tol: float | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = None,
    device: Any = None,
    verbose: int = 0,
) -> Stability:
    """Measure how often features are selected again on random subsets of the samples.

    The selection is repeated on many random halves of the samples, or on bootstrap samples.

    Parameters
    ----------
    X, y, n_features
        As in `cross_validate_path`.
    resample : {"subsample", "bootstrap"}, default="subsample"
        A share of the samples without replacement, or as many as there are with replacement. A
        sample that is drawn several times is weighted by its count, and left out as a whole.
    n_resamples : int, default=50
        Number of resamples, at least 2.
    share : float, default=0.5
        Share of the samples (or groups) to draw, for "subsample".
    alpha, inner_cv, loss, task, fit_intercept, sample_weight, class_weight
        As in `cross_validate_path`.
    groups : array-like of shape (m,), optional
        Group of each sample. If given, groups are drawn instead of samples.
    forced_features, excluded_features, feature_groups, feature_costs, budget
        As in `cross_validate_path`.
    direction, backward_ratio, alpha_rule, alpha_cv, refit_alpha, size_rule
        As in `cross_validate_path`.
    max_features, patience, tol, device
        As in `cross_validate_path`.
    random_state : int, Generator or None, default=0
        Seed of the draws, and of the folds that choose the penalty.
    n_jobs : int, optional
        Number of processes over draws; -1 uses all cores. The result does not depend on it.
    verbose : int, default=0
        1 shows a progress bar with the time left (needs tqdm).

    Returns
    -------
    Stability

    Notes
    -----
    Cost: a selection for each draw. A number for `alpha` is much faster than choosing one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from greedyrls.assess import resample_path
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> stability = resample_path(X, y, 3, alpha=0.01, n_resamples=20)
    >>> stability.to_frame(2)["feature"].tolist()
    ['bmi', 's5']
    """
    procedure = make_procedure(
        X,
        y,
        Options.of(locals(), CALLER),
        task=task,
        sample_weight=sample_weight,
        groups=groups,
        class_weight=class_weight,
    )
    check_count("n_resamples", n_resamples, 2)
    problem = procedure.problem
    rows = problem.has_weight, procedure.labels, procedure.groups
    generator = make_generator(random_state)
    draws, source = draw_rows(*rows, resample, n_resamples, share, generator)
    found = repeat(
        procedure,
        resampled_order,
        draws,
        what="resamples",
        n_jobs=n_jobs,
        verbose=verbose,
        shown=lambda order: None,
    )
    return Stability(
        tuple(found),
        problem.n_features,
        problem.entry_names,
        source,
        n_available=problem.n_available,
        forced=tuple(group[0] for group in problem.forced_entries),
    )
