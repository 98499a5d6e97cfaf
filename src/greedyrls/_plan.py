"""What is measured, and the engine that measures it: loss, folds or leave-one-out, strategy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from ._choice import Criterion
from ._cluster import ClusterMatrix
from ._cluster_folds import ClusterFolds, check_cluster_loss, cluster_folds, folds_within
from ._criterion import LeaveOneOut, Strategy
from ._dask import fold_ids
from ._device import DeviceMatrix
from ._file_memory import Needs
from ._files import FileMatrix
from ._fold_criterion import FoldLoss
from ._fold_state import FoldData, FoldState
from ._folds import Folds, Split, make_folds
from ._kernels import Float
from ._loo_loss import LeaveOneOutLoss, LossState
from ._losses import Loss, make_loss
from ._matrix import not_on_device
from ._namespace import as_float, is_foreign, namespace_of, numpy_of, to_host
from ._problem import Problem, is_whole
from ._state import LooData, SelectionState
from ._stream import StreamedMatrix

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

    @property
    def cv(self) -> str:
        """Leave-one-out or the folds, in words."""
        return "loo" if self.folds is None else self.folds.description

    @property
    def measure(self) -> str:
        """What the losses are, in words."""
        return "leave-one-out loss" if self.folds is None else "held-out loss"

    def prepare(self, problem: Problem, size: int, verbose: int = 0) -> None:
        """Before the first pass over a file: share out its memory, for paths of some size."""
        X = problem.X
        if not isinstance(X, FileMatrix):
            return
        splits = 0 if self.folds is None else self.folds.n_splits
        needs = Needs(problem.n_targets, size, splits, 2 * splits + 1 if splits else 1)
        X.make_room(needs, verbose, self.block_rows, self.n_jobs)
        X.take_along(problem.forced)

    def data(self, problem: Problem, is_shared: bool = False) -> Data:
        """What searches on the problem share; one pass over X."""
        if self.folds is None:
            return LooData(problem, self.block_rows, is_shared, self.n_jobs)
        return FoldData(problem, self.folds)

    def search(self, data: Data, alpha: float, capacity: int) -> tuple[AnyState, Criterion]:
        """A search from the empty model."""
        if isinstance(data, FoldData):
            return FoldState(data, alpha, self.loss, capacity), FoldLoss()
        if self.loss.name == "squared":
            return SelectionState(data, alpha, capacity), LeaveOneOut(self.strategy)
        return LossState(data, alpha, self.loss, capacity), LeaveOneOutLoss()

    def within(self, problem: Problem) -> Plan:
        """The plan for the training rows of an outer fold: the others have lost their weight."""
        folds: Folds | ClusterFolds | None = None
        if self.folds is not None:
            folds = _folds_within(self.folds, problem)
            if folds is None:
                raise ValueError(
                    f"No split of cv ({self.folds.description}) has training and test rows within "
                    "an outer fold; use other folds for cv or for alpha_cv, or choose alpha "
                    "otherwise (a number, or alpha_rule='joint')."
                )
        try:
            check_loss(self.loss, problem, folds)
        except ValueError as error:
            raise ValueError(
                f"Within the training rows of an outer fold (alpha_cv): {error}"
            ) from error
        return replace(self, folds=folds)


def _folds_within(folds: Folds | ClusterFolds, problem: Problem) -> Folds | ClusterFolds | None:
    """Splits that have training and test rows among those that have a weight, if there are any."""
    if isinstance(folds, ClusterFolds):
        assert isinstance(problem.X, ClusterMatrix)
        return folds_within(problem.X, folds)
    left = splits_within(folds, problem.has_weight)
    return replace(folds, splits=tuple(left)) if left else None


def splits_within(folds: Folds, counted: NDArray[np.bool_]) -> list[Split]:
    """Splits that have training and test rows among some."""
    return [
        split
        for split in folds.splits
        if split.n_trained_on(counted) > 0 and counted[split.test].any()
    ]


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
) -> Plan:
    """Check `cv`, `groups` and `loss` against the problem; labels are those of a classifier."""
    measure = make_loss(loss)
    if isinstance(problem.X, DeviceMatrix) and measure.name != "squared":
        raise not_on_device(f"loss={measure.name!r}")
    folds = folds_of(problem, cv, groups, labels)
    if isinstance(problem.X, StreamedMatrix) and folds is not None:
        raise not_on_device("Folds of data that are streamed")
    check_loss(measure, problem, folds)
    return Plan(measure, folds, strategy, block_rows, check_jobs(n_jobs))


def _device_folds(
    problem: Problem, cv: Any, groups: ArrayLike | None, labels: NDArray[Any] | None
) -> Folds | None:
    """`folds_of` rows on a device: splitters are shown their targets and weights on the host."""
    weights = problem.host_weights
    target = None
    if hasattr(cv, "split") and not isinstance(cv, str):
        (Y,) = to_host(problem.Y)
        target = _split_target(replace(problem, Y=Y))
    if is_foreign(cv):  # fold ids
        is_whole_number = namespace_of(cv).isdtype(cv.dtype, "integral")
        cv = numpy_of(cv) if is_whole_number else to_host(as_float(cv))[0].astype(np.intp)
    return make_folds(
        cv, problem.n_samples, y=target, labels=labels, groups=groups, weights=weights
    )


def check_jobs(n_jobs: Any) -> int:
    """A number of threads; negative ones count back from all cores, as in joblib."""
    if n_jobs is not None and (not is_whole(n_jobs) or n_jobs == 0):
        raise ValueError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def check_loss(loss: Loss, problem: Problem, folds: Folds | ClusterFolds | None) -> None:
    """Raise an error if the loss is not defined for the rows of a problem, in each of the folds."""
    if isinstance(problem.X, ClusterMatrix):
        assert not isinstance(folds, Folds)
        check_cluster_loss(loss, problem.X, problem.n_targets, folds)
        return
    assert not isinstance(folds, ClusterFolds)
    if loss.name == "squared":
        return  # always is, and rows by fold need not be sorted to say so
    tested = tested_rows(problem, folds)
    loss.check(problem.Y, problem.weights, tested, problem.single_target)


def n_classes(problem: Problem) -> int:
    """Of a classification on a cluster, else 0."""
    X = problem.X
    return len(X.classes) if isinstance(X, ClusterMatrix) and X.classes is not None else 0


def folds_of(
    problem: Problem, cv: Any, groups: ArrayLike | None, labels: NDArray[Any] | None
) -> Folds | ClusterFolds | None:
    """`cv` and `groups` for the rows of a problem; None means exact leave-one-out."""
    if isinstance(problem.X, ClusterMatrix):
        return cluster_folds(problem.X, fold_ids(problem.X, cv), groups, n_classes(problem))
    if isinstance(problem.X, DeviceMatrix):
        return _device_folds(problem, cv, groups, labels)
    return make_folds(
        cv,
        problem.n_samples,
        y=_split_target(problem),
        labels=labels,
        groups=groups,
        weights=problem.weights,
    )


def _split_target(problem: Problem) -> NDArray[Any]:
    """What splitters are shown as y: classes rather than their codes, so that they can stratify."""
    Y = problem.Y
    if problem.single_target:
        return Y[:, 0]
    is_codes = (np.abs(Y) == 1.0).all() and (np.count_nonzero(Y > 0.0, axis=1) == 1).all()
    return np.argmax(Y, axis=1) if is_codes and Y.shape[1] > 1 else Y


def tested_rows(problem: Problem, folds: Folds | None) -> list[NDArray[np.intp]]:
    """The rows whose predictions are judged together."""
    if folds is None:
        return [np.arange(problem.n_samples)]
    return [split.test for split in folds.splits]


def positive_rows(weights: Float | None, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Those of the rows that have a weight."""
    return rows if weights is None else rows[weights[rows] > 0.0]
