"""Dask: blocks as futures on the user's cluster, and Dask collections as pieces of rows.

A block is the result of a task, and the next block that of a task on it: Dask knows the graph, and
recomputes the results of a lost worker. Arguments travel with the tasks, never as scattered data,
which could not be recomputed. X is a separate result; blocks refer to it by their position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Executor, Handle, add_up, ask, frame_numbers, required
from .._data import Matrix, RemoteMatrix
from .._problem import check_several, class_codes, is_missing
from ._cluster_folds import FoldIds
from ._cluster_matrix import ClusterMatrix
from ._partitions import Partitions, chunks_of, partitions_of
from ._pieces import NOT_HERE, Piece, PieceFacts, attached, detached

# The number of answers that one task adds up.
_TREE = 8
# A question of more bytes than this, over all blocks, is sent once, as a separate task.
_LARGE_QUESTION = 1 << 16


@dataclass(slots=True)
class Traffic:
    """Counters of the traffic between the client and the cluster."""

    questions: int = 0
    totals: int = 0  # questions whose answers were added up
    large: int = 0  # questions that were sent once, as a separate task
    tasks: int = 0
    sent: int = 0  # bytes of questions
    received: int = 0  # bytes of answers


def _ask(question: Callable[..., Any], X: Matrix, kept: Any, *parts: Any) -> Any:
    """Evaluate a question on a block, on its worker."""
    return detached(question(attached(kept, X), *parts))


def _add_up(*answers: Any) -> Any:
    return add_up(answers)


def _same(question: Any) -> Any:
    return question


def _bytes_in(value: Any) -> int:
    """Return the size in bytes of the arrays in a question or an answer."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, partial):
        return _bytes_in(value.args) + _bytes_in(value.keywords)
    if isinstance(value, dict):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, tuple | list):
        return sum(map(_bytes_in, value))
    if is_dataclass(value) and not isinstance(value, type):
        return sum(_bytes_in(getattr(value, field.name)) for field in fields(value))
    return 8 if isinstance(value, int | float) else 0


class DaskExecutor(Executor):
    """An executor for blocks that are futures; `parts[0]` are pieces or blocks in their order."""

    def __init__(self, client: Any, matrices: Sequence[Handle]) -> None:
        self._client = client
        self._matrices = list(matrices)
        self.traffic = Traffic()

    def each(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> list[Handle]:
        """Return the answer of each block as a future."""
        count = len(self._matrices)
        size = _bytes_in(question)
        self.traffic.questions += 1
        self.traffic.tasks += count
        asked: Any = question
        if size * count > _LARGE_QUESTION:
            asked = self._client.submit(_same, question, pure=False)
            self.traffic.tasks += 1
            self.traffic.large += 1
            self.traffic.sent += size
        else:
            self.traffic.sent += size * count
        futures: list[Handle] = self._client.map(
            _ask, [asked] * count, self._matrices, *parts, pure=False
        )
        return futures

    def answers(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Iterable[Any]:
        """Gather the answers of all blocks to this process: for small answers only."""
        results: list[Any] = self._client.gather(self.each(question, *parts))
        self.traffic.received += _bytes_in(results)
        return results

    def total(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Any:
        """Sum the answers on the cluster, in a tree that depends on their number alone."""
        (answer,) = self._gathered(self._sum(question, *parts))
        return answer

    def totals(
        self,
        first: Callable[..., Any],
        second: Callable[..., Any],
        *parts: Sequence[Handle],
    ) -> tuple[Any, Any]:
        """Sum the answers of two questions in one round trip; the second needs the first sum."""
        total = self._sum(first, *parts)
        one, other = self._gathered(total, self._sum(second, *parts, [total] * len(self._matrices)))
        return one, other

    def _sum(self, question: Callable[..., Any], *parts: Sequence[Handle]) -> Handle:
        """Return a future of the sum of all answers."""
        level = self.each(question, *parts)
        while len(level) > 1:
            groups = [level[first : first + _TREE] for first in range(0, len(level), _TREE)]
            level = [self._client.submit(_add_up, *group, pure=False) for group in groups]
            self.traffic.tasks += len(level)
        return level[0]

    def _gathered(self, *sums: Handle) -> list[Any]:
        """Wait for sums: one round trip."""
        answers: list[Any] = self._client.gather(list(sums))
        self.traffic.totals += 1
        self.traffic.received += _bytes_in(answers)
        return answers


def _client_of() -> Any:
    """Return the user's client."""
    distributed = required(
        "distributed",
        "X is a Dask collection; this needs Dask's distributed scheduler: "
        "pip install 'greedyrls[dask]'.",
    )
    try:
        return distributed.Client.current()
    except ValueError as error:
        raise ValueError(
            "X is a Dask collection, but there is no cluster to work on. Connect to one first: "
            "from distributed import Client; client = Client() for this machine, or "
            "Client('tcp://scheduler:8786')."
        ) from error


def _column(chunk: Any) -> NDArray[Any]:
    """Return a partition of y, of weights or of fold ids as an array."""
    if hasattr(chunk, "columns"):
        is_single = len(chunk.columns) == 1
        return _column(chunk.iloc[:, 0])[:, None] if is_single else frame_numbers(chunk)
    # Nullable pandas types have a plain NumPy type.
    plain = getattr(getattr(chunk, "dtype", None), "numpy_dtype", None)
    if plain is None or plain.kind not in "biuf":
        return np.asarray(chunk)
    values: NDArray[Any] = chunk.to_numpy(dtype=np.float64, na_value=np.nan)
    return values if np.isnan(values).any() else chunk.to_numpy(dtype=plain)


def _make_piece(
    rows: int, y: NDArray[Any], weights: NDArray[Any] | None, classes: NDArray[Any] | None
) -> Piece:
    """Return a piece without its X, which is a separate result."""
    if len(y) != rows:
        raise ValueError(
            f"y has {len(y)} rows in a partition in which X has {rows}. Partition both alike "
            "(y.rechunk or repartition)."
        )
    codes = None
    if classes is not None:
        codes = np.searchsorted(classes, _labels(y))
        Y = class_codes(codes, len(classes))
    else:
        if y.dtype.kind not in "biuf":
            raise ValueError(
                f"y must be numeric, got {y.dtype}; for class labels use GreedyRLSClassifier."
            )
        Y = np.ascontiguousarray(y if y.ndim == 2 else y[:, None], dtype=np.float64)
    w = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if w is not None and w.shape != (rows,):
        raise ValueError(
            f"sample_weight has shape {w.shape} in a partition in which X has {rows} rows; "
            "give one value for each row."
        )
    return Piece(NOT_HERE, Y, w, codes)


def _is_collection(values: Any) -> bool:
    return hasattr(values, "__dask_graph__")


def computed(values: Any) -> Any:
    """Return a vector over rows in this process."""
    return values.compute() if _is_collection(values) else values


def partitions(X: Any) -> Partitions:
    """Compute the partitions of a Dask collection, which stay on the workers of its cluster."""
    return partitions_of(X, _client_of())


def rows_here(X: Any, *vectors: Any) -> tuple[Any, ...]:
    """Return X in memory, or as a file if it does not fit, with vectors over its rows."""
    rows = X if isinstance(X, Partitions) else partitions(X)
    return rows.here(), *map(computed, vectors)


def gather_rows(X: Partitions, y: Any, sample_weight: Any, is_classification: bool) -> RemoteMatrix:
    """Return X with y and weights as pieces of rows, which stay on the cluster."""
    client, counts = X.client, X.counts
    if y is None:
        raise ValueError("This model requires y to be passed, but the target y is None.")
    targets = _aligned(client, y, counts, "y")
    shape = _target_shape(client, targets)
    weights: list[Any] = [None] * len(counts)
    if sample_weight is not None:
        weights = _aligned(client, sample_weight, counts, "sample_weight")
    classes = _classes_of(client, targets) if is_classification else None
    pieces = client.map(_make_piece, counts, targets, weights, [classes] * len(counts), pure=False)
    executor = DaskExecutor(client, X.matrices)
    piece_facts = tuple(executor.answers(Piece.facts, pieces))
    single_target = len(shape) == 1
    n_targets = 1 if single_target else shape[1]
    if classes is not None:
        single_target = len(classes) == 2
        n_targets = 1 if single_target else len(classes)
    _check_facts(counts, piece_facts, single_target)
    return ClusterMatrix(
        executor=executor,
        pieces=tuple(pieces),
        rows=X,
        n_targets=n_targets,
        single_target=single_target,
        is_weighted=sample_weight is not None,
        n_weighted=sum(each.n_weighted for each in piece_facts),
        classes=classes,
    )


def _check_facts(
    counts: Sequence[int], piece_facts: Sequence[PieceFacts], single_target: bool
) -> None:
    """Raise an error for values of y and weights that are not finite, or negative weights."""
    top = 0
    for count, facts in zip(counts, piece_facts, strict=True):
        if facts.bad_target is not None:
            row, column, value = facts.bad_target
            where = f"row {top + row}" + ("" if single_target else f", column {column}")
            kind = "NaN" if value != value else "infinity"
            raise ValueError(f"Input y contains {kind}: {where} is {value}.")
        if facts.bad_weight is not None:
            row, value = facts.bad_weight
            raise ValueError(
                f"sample_weight must be finite and not negative; row {top + row} has {value!r}. "
                "Use 0 to leave a sample out."
            )
        top += count


def _aligned(client: Any, values: Any, counts: Sequence[int], name: str) -> list[Handle]:
    """Return futures of the rows of y (or weights, or fold ids) for each partition of X."""
    total = sum(counts)
    if not _is_collection(values):
        array = np.asarray(values)
        if array.ndim == 0 or len(array) != total:
            raise ValueError(
                f"{name} has shape {array.shape}, but X has {total} rows; give one for each."
            )
        ends = np.cumsum(counts)[:-1]
        return [client.submit(_same, part, pure=False) for part in np.split(array, ends)]
    has_sizes = hasattr(values, "chunks") and not np.isnan(np.sum(values.chunks[0]))
    if has_sizes:
        if values.shape[0] != total:
            raise ValueError(f"{name} has {values.shape[0]} rows, but X has {total}.")
        if tuple(values.chunks[0]) != tuple(counts):
            values = values.rechunk({0: tuple(counts)})
    parts = client.map(_column, chunks_of(client, values, name), pure=False)
    lengths = client.gather(client.map(len, parts, pure=False))
    if [length for length in lengths if length] != list(counts):
        raise ValueError(
            f"{name} has partitions of {_few(lengths)} rows, X of {_few(counts)}. Partition both "
            "alike (from one data frame, or with known chunk sizes)."
        )
    return [part for part, length in zip(parts, lengths, strict=True) if length]


def _few(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:5]))
    return f"{shown}, …" if len(numbers) > 5 else shown


def _shape_of(values: NDArray[Any]) -> tuple[int, ...]:
    return values.shape


def _target_shape(client: Any, targets: Sequence[Handle]) -> tuple[int, ...]:
    shapes: list[tuple[int, ...]] = client.gather(client.map(_shape_of, targets, pure=False))
    shape = next((shape_of_part for shape_of_part in shapes if shape_of_part[0]), shapes[0])
    if len(shape) not in (1, 2) or shape[1:] == (0,):
        raise ValueError(f"y must have 1 or 2 dimensions and a target, got shape {shape}.")
    return shape


def _labels(values: NDArray[Any]) -> NDArray[Any]:
    """Return labels in one dimension, of a type that can be sorted."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"y of a classifier must have 1 dimension, got shape {values.shape}.")
    is_text = values.dtype.kind in "OT"
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity; every row needs a label.")
    if is_text and any(is_missing(value) for value in values.tolist()):
        raise ValueError("Input y contains NaN (a missing label); every row needs a label.")
    return np.array(values.tolist()) if is_text else values


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    return np.unique(_labels(values))


def _classes_of(client: Any, targets: Sequence[Handle]) -> NDArray[Any]:
    """Return all distinct labels, sorted."""
    from sklearn.utils.multiclass import check_classification_targets

    parts = client.gather(client.map(_distinct, targets, pure=False))
    classes = np.unique(np.concatenate([labels for labels in parts if len(labels)]))
    check_classification_targets(classes)
    check_several(classes)
    return classes


def check_classes_on_cluster(X: RemoteMatrix) -> None:
    """Raise an error unless at least two classes have samples of positive weight."""
    assert X.classes is not None
    counts = sum(X.executor.answers(ask(Piece.class_counts, len(X.classes)), X.pieces))
    (present,) = np.nonzero(counts)
    if len(present) < 2 and len(present):
        raise ValueError(
            "Classifier can't train when only one class is present: all samples of positive "
            f"weight have the label {X.classes.tolist()[int(present[0])]!r}."
        )


def fold_ids(X: RemoteMatrix, cv: Any, name: str = "cv") -> Any:
    """Return handles of fold ids if `cv` has one for each row, else `cv` unchanged."""
    if not _is_collection(cv) and not (isinstance(cv, np.ndarray) and cv.ndim == 1):
        return cv
    return FoldIds(_aligned(_client_of(), cv, X.counts, name))
