"""What is measured, and the engine that measures it: loss, folds or leave-one-out, strategy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from .._base import Float, host_numbers, is_whole, to_host
from .._cluster import (
    check_cluster_loss,
    cluster_folds,
    fold_ids,
    folds_within,
)
from .._criteria import (
    Criterion,
    EveryCandidate,
    FoldData,
    FoldState,
    LeaveOneOut,
    LooData,
    LossState,
    ManyFoldData,
    ManyFoldState,
    SelectionState,
    Strategy,
    backward_arrays,
    suits_many_folds,
)
from .._data import NO_ARRAYS, Needs, WholeArrays
from .._problem import (
    ClusterFolds,
    Folds,
    Loss,
    Problem,
    Shuffle,
    Split,
    make_folds,
    make_loss,
)
from .._steppers import gains_by_compiled_folds
from ..path import FORWARD, Direction
from ._capabilities import HOST, LOCAL, check_supported, traits_of

# Rows of a fold up to which leaving it out by one factor is the faster way; with up to the second
# number it is worth its time where a model for each fold would take much memory (folds × features).
_SMALL_FOLD = 16
_MIDDLE_FOLD = 32
_MUCH_MEMORY = 1 << 18
# Fewer folds, or folds × features, are no matter either way.
_MANY_FOLDS = 32
_WORTH_IT = 1 << 14

Data = LooData | FoldData
AnyState = SelectionState | FoldState


@dataclass(frozen=True, slots=True)
class Plan:
    """How candidates are judged."""

    loss: Loss
    folds: Folds | ClusterFolds | None  # None: exact leave-one-out
    strategy: Strategy = "auto"
    block_rows: int | None = None
    n_jobs: int = 1
    direction: Direction = FORWARD

    @property
    def cv(self) -> str:
        """Leave-one-out or the folds, in words."""
        return "loo" if self.folds is None else self.folds.description

    @property
    def measure(self) -> str:
        """What the losses are, in words."""
        return "leave-one-out loss" if self.folds is None else "held-out loss"

    def prepare(
        self, problem: Problem, size: int, verbose: int = 0, whole: WholeArrays = NO_ARRAYS
    ) -> None:
        """Before the first pass over a file: share out its memory, for paths of some size.

        `whole` is needed before the search.
        """
        X = problem.X
        splits = 0 if self.folds is None else self.folds.n_splits
        chosen = kept = problem.n_columns(size)
        if self.direction.name == "forward":
            kept = 0
        elif self.direction.name == "backward" and not X.is_in_memory:
            chosen, kept = 1, 0
            assert self.folds is None or isinstance(self.folds, Folds)
            whole = max(whole, backward_arrays(problem, self.folds))
        n_sets = 2 * splits + 1 if splits else 1
        # About as many features leave the set again as are in it in the end.
        needs = Needs(problem.n_targets, chosen, splits, n_sets, n_kept=2 * kept, whole=whole)
        X.reserve(needs, verbose, self.block_rows, self.n_jobs)
        if problem.forced:
            X.kept.take_along(problem.forced)

    def data(self, problem: Problem, is_shared: bool = False) -> Data:
        """What searches on the problem share; one pass over X."""
        if self.folds is None:
            return LooData(problem, self.block_rows, is_shared, self.n_jobs)
        if isinstance(self.folds, Folds) and self._is_for_many_folds(problem, self.folds):
            return ManyFoldData(problem, self.folds, is_shared)
        return FoldData(problem, self.folds)

    def _is_for_many_folds(self, problem: Problem, folds: Folds) -> bool:
        """Whether all folds are to be left out by one factor: if it can be, and costs less."""
        return (
            self.loss.is_additive
            and self.direction.name != "backward"
            and problem.groups is None
            and problem.X.is_in_memory
            and not (problem.X.is_sparse or problem.X.location.on_device)
            and (are_many(folds, problem.n_features) or self._is_for_compiled(problem, folds))
            and suits_many_folds(problem, folds)
        )

    def _is_for_compiled(self, problem: Problem, folds: Folds) -> bool:
        """Whether compiled steps leave out all folds faster than a model for each would."""
        is_plain = self.loss.name == "squared" and self.direction.name == "forward"
        return is_plain and problem.costs is None and gains_by_compiled_folds(problem, folds)

    def search(
        self, data: Data, alpha: float, capacity: int, has_stepper: bool = True
    ) -> tuple[AnyState, Criterion]:
        """A search from the empty model, with room for so many features or groups.

        Without a stepper it is the one that would run where steps are not compiled.
        """
        capacity = data.problem.n_columns(capacity)
        if isinstance(data, FoldData):
            return FoldState(data, alpha, self.loss, capacity), EveryCandidate()
        if isinstance(data, ManyFoldData):
            if data.is_lost(alpha) or not (
                has_stepper or are_many(data.folds, data.problem.n_features)
            ):
                if data.by_models is None:
                    data.by_models = FoldData(data.problem, data.folds)
                return FoldState(data.by_models, alpha, self.loss, capacity), EveryCandidate()
            return ManyFoldState(data, alpha, self.loss, capacity), EveryCandidate()
        data = data if has_stepper else data.untouched
        if self.loss.name == "squared":
            return SelectionState(data, alpha, capacity), LeaveOneOut(self.strategy)
        return LossState(data, alpha, self.loss, capacity), EveryCandidate()

    def within(self, problem: Problem) -> Plan:
        """The plan for the training rows of an outer fold: the others have lost their weight."""
        folds: Folds | ClusterFolds | None = None
        if self.folds is not None:
            folds = _folds_within(self.folds, problem)
            if folds is None:
                raise ValueError(
                    f"No split of {self.folds.name} ({self.folds.description}) has training and "
                    f"test rows within an outer fold; use other folds for {self.folds.name} or for "
                    "alpha_cv, or choose alpha another way (a number, or alpha_rule='joint')."
                )
        try:
            check_loss(self.loss, problem, folds)
        except ValueError as error:
            raise ValueError(
                f"Within the training rows of an outer fold (alpha_cv): {error}"
            ) from error
        return replace(self, folds=folds)


def has_compiled_steps(data: Data) -> bool:
    """Return whether a search on the data may have taken compiled steps."""
    return isinstance(data, LooData) and bool(data.compiled)


def are_many(folds: Folds, n_features: int) -> bool:
    """Whether one factor for all folds costs less than a model for each.

    Measured: a step costs about as much for a fold and candidate, with a model for each, as for 20
    rows and a candidate, whatever the fold. Models for each take 16·K·|S|·n bytes, besides.
    """
    size, entries = folds.n_samples / folds.n_splits, folds.n_splits * n_features
    is_cheaper = size <= _SMALL_FOLD or (size <= _MIDDLE_FOLD and entries > _MUCH_MEMORY)
    return folds.n_splits >= _MANY_FOLDS and entries >= _WORTH_IT and is_cheaper


def _folds_within(folds: Folds | ClusterFolds, problem: Problem) -> Folds | ClusterFolds | None:
    """Splits that have training and test rows among those that have a weight, if there are any."""
    if folds.remote is not None:
        assert problem.X.remote is not None
        return folds_within(problem.X.remote, folds.remote)
    if folds.remake is not None:
        return replace(folds, splits=folds.remake(problem.has_weight))
    left = tuple(splits_within(folds, problem.has_weight))
    return replace(folds, splits=left) if left else None


def splits_within(folds: Folds, counted: NDArray[np.bool_]) -> Iterator[Split]:
    """Splits that have training and test rows among some."""
    for split in folds.splits:
        if split.n_trained_on(counted) > 0 and counted[split.test].any():
            yield split


def has_splits_within(folds: Folds, counted: NDArray[np.bool_]) -> bool:
    """Whether there are any: of many folds the first few tell."""
    return next(splits_within(folds, counted), None) is not None


def make_plan(
    problem: Problem,
    *,
    cv: Any = "loo",
    groups: ArrayLike | None = None,
    loss: Any = "squared",
    labels: NDArray[Any] | None = None,
    strategy: Strategy = "auto",
    block_rows: int | None = None,
    n_jobs: int | None = None,
    direction: Direction = FORWARD,
    cv_name: str = "cv",
) -> Plan:
    """Check `cv`, `groups` and `loss` against the problem; labels are those of a classifier."""
    measure = make_loss(loss)
    _check_groups(problem)
    X = problem.X
    if measure.name != "squared":
        check_supported(X, "loss", f"loss={measure.name!r}")
    if not measure.is_additive:
        check_supported(X, "whole_loss", f"loss={measure.name!r}")
    folds = folds_of(problem, cv, groups, labels, name=cv_name)
    if folds is not None:
        check_supported(X, "folds", "Cross-validation by folds (cv)")
    check_loss(measure, problem, folds)
    if direction.name != "forward":
        check_supported(X, "direction", f"direction={direction.name!r}")
    _check_blocks(problem, folds, block_rows)
    return Plan(measure, folds, strategy, block_rows, check_jobs(n_jobs), direction)


def _check_blocks(
    problem: Problem, folds: Folds | ClusterFolds | None, block_rows: int | None
) -> None:
    """Raise an error if there are no blocks of rows whose size could be given."""
    if block_rows is None:
        return
    if problem.X.remote is not None:
        raise ValueError(
            f"block_rows={block_rows} is not supported with X on a cluster, whose blocks are the "
            "chunks of X; leave it out, and rechunk X for blocks of another size."
        )
    if folds is not None and problem.X.is_in_memory:
        raise ValueError(
            f"block_rows={block_rows} is for leave-one-out, or for X in a file: by folds "
            f"({folds.name}: {folds.description}), X in memory is not worked on in blocks of rows. "
            "Leave it out."
        )


def _check_groups(problem: Problem) -> None:
    """Where features cannot be chosen together, or by their costs."""
    names = [
        name
        for name, given in (("feature_groups", problem.groups), ("feature_costs", problem.costs))
        if given is not None
    ]
    if names:
        check_supported(problem.X, "groups", names[0])


def check_jobs(n_jobs: Any) -> int:
    """A number of threads; negative ones count back from all cores, as in joblib."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def check_loss(loss: Loss, problem: Problem, folds: Folds | ClusterFolds | None) -> None:
    """Raise an error if the loss is not defined for the rows of a problem, in each of the folds."""
    if problem.X.remote is not None:
        own = None if folds is None else folds.remote
        check_cluster_loss(loss, problem.X.remote, problem.n_targets, own)
        return
    assert folds is None or folds.remote is None
    if loss.name == "squared":
        return  # always is, and rows by fold need not be sorted to say so
    tested = tested_rows(problem, folds)
    loss.check(problem.Y, problem.weights, tested, problem.single_target)


def n_classes(problem: Problem) -> int:
    """Of a classification on a cluster, else 0."""
    remote = problem.X.remote
    return len(remote.classes) if remote is not None and remote.classes is not None else 0


def folds_of(
    problem: Problem,
    cv: Any,
    groups: ArrayLike | None,
    labels: NDArray[Any] | None,
    shuffle: Shuffle | None = None,
    name: str = "cv",
    takes_loo: bool = True,
) -> Folds | ClusterFolds | None:
    """`cv` and `groups` for the rows of a problem; None means exact leave-one-out.

    Only a number of folds without groups is shuffled. Errors use the caller's `name` for `cv`, and
    propose leave-one-out only if the caller takes it.
    """
    if isinstance(cv, str) and cv == "loo" and takes_loo and groups is None:
        return None
    if (remote := problem.X.remote) is not None:
        cv, count = fold_ids(remote, cv, name), n_classes(problem)
        return cluster_folds(remote, cv, count, shuffle, name, takes_loo)
    cv = host_numbers(cv)  # fold ids on a device
    is_splitter = hasattr(cv, "split") and not isinstance(cv, str)
    return make_folds(
        cv,
        problem.n_samples,
        y=_split_target(problem) if is_splitter else None,
        labels=labels,
        groups=groups,
        weights=problem.host_weights,
        shuffle=shuffle,
        name=name,
        takes_loo=takes_loo,
    )


def _split_target(problem: Problem) -> NDArray[Any]:
    """What splitters are shown as y: classes rather than their codes, so that they can stratify."""
    (Y,) = to_host(problem.Y)
    if problem.single_target:
        return Y[:, 0]
    is_codes = (np.abs(Y) == 1.0).all() and (np.count_nonzero(Y > 0.0, axis=1) == 1).all()
    return np.argmax(Y, axis=1) if is_codes and Y.shape[1] > 1 else Y


def tested_rows(problem: Problem, folds: Folds | None) -> list[NDArray[np.intp]]:
    """The rows whose predictions are judged together."""
    if folds is None:
        return [np.arange(problem.n_samples)]
    return [split.test for split in folds.splits]


def rows_for_refit(rule: float | str, plan: Plan, data: Data) -> LooData | None:
    """What a rule for the penalty of models on chosen features looks at, if it looks at rows."""
    if rule == "loo":
        return data if isinstance(data, LooData) else LooData(data.problem)
    if rule == "cv":
        if isinstance(data, ManyFoldData):
            return data
        assert isinstance(plan.folds, Folds)
        return ManyFoldData(data.problem, plan.folds)
    return None


def check_refit_folds(problem: Problem, plan: Plan) -> None:
    """Raise an error if models on chosen features cannot be judged by the folds of the search."""
    what, instead = "refit_alpha='cv'", "use 'loo', 'same' or a number"
    reason = None
    if plan.folds is None:
        reason = "leave-one-out"
    elif plan.loss.name != "squared":
        reason = f"loss={plan.loss.name!r}"
    else:
        # Of a file only the chosen columns are needed, which are kept.
        is_read = traits_of(problem.X) >= HOST | LOCAL and problem.X.centers is None
        if not is_read:
            check_supported(problem.X, "all_features", what, instead)
        assert isinstance(plan.folds, Folds)
        if not suits_many_folds(problem, plan.folds):
            reason = (
                f"folds ({plan.folds.description}) that do not test every row exactly once, or of "
                "which one outweighs all others"
            )
    if reason is not None:
        raise ValueError(f"{what} is not supported with {reason}; {instead}.")


def positive_rows(weights: Float | None, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the rows that have a weight."""
    return rows if weights is None else rows[weights[rows] > 0.0]
