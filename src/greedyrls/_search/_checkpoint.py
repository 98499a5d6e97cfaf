"""The results of a search so far, in a file that is replaced atomically (docs/reference/files.md).

The file identifies its data and parameters, and ends with a checksum of its content: a damaged file
is refused, and so is one of another search.
"""

from __future__ import annotations

import hashlib
import json
import os
import reprlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .. import __version__
from .._base import (
    LARGEST_WHOLE,
    POSITIVE,
    ArrayOf,
    Codec,
    Document,
    Float,
    Key,
    Kind,
    ListOf,
    MapOf,
    Number,
    OrNull,
    Sizes,
    printable,
    replace_file,
    write_document,
)
from ..path import PATH_FORMAT, STEP_CODEC, SelectionPath, Step, StopReason, is_function
from ._known_steps import KnownSteps, SearchRecord

FORMAT = "greedyrls.checkpoint"
VERSION = 2  # since 2, outer folds can grow, and store the loss without features and its error
_MADE_BY = f"greedyrls {__version__}"
# A search that stopped for one of these continues, or warns again, in the next call.
_UNFINISHED = (StopReason.INTERRUPTED, StopReason.NUMERICAL_LIMIT)
# Descriptions of the parts of a fingerprint.
_PARTS = {
    "X": "X",
    "y": "y",
    "sample_weight": "sample_weight",
    "feature_names": "the names of the columns",
    "cv": "the rows of the folds (cv)",
    "alpha_cv": "the rows of the outer folds (alpha_cv)",
}

Fingerprint = dict[str, str | None]
Entry = TypeVar("Entry")


class Identity(NamedTuple):
    """The search to which a checkpoint belongs."""

    parameters: dict[str, Any]  # numbers, strings and lists, as JSON has them
    fingerprint: Callable[[], Fingerprint]  # a pass over the data
    n_features: int  # columns of X
    loss: str
    names: Mapping[str, str]  # the caller's names of parameters, where they differ


class FoldRecord(NamedTuple):
    """The losses of penalties in an outer fold, up to a size."""

    losses: Float  # (A × k)
    measured: Float | None  # (A × k) in another measure, if there is one
    initial_loss: float  # without features
    parts: Float | None  # (A × …) sums for standard errors, where there are any


def check_file(checkpoint: Any) -> Path | None:
    """Return the absolute path of a file that exists or can be written; None without one."""
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, str | os.PathLike) or isinstance(os.fspath(checkpoint), bytes):
        raise TypeError(f"checkpoint must be None or the name of a file, got {checkpoint!r}.")
    file = Path(os.path.realpath(checkpoint))
    if file.exists() and not file.is_file():
        kind = "a folder" if file.is_dir() else "no plain file"
        raise ValueError(f"checkpoint={os.fspath(checkpoint)!r} is {kind}; name a file.")
    if not file.parent.is_dir():
        raise FileNotFoundError(
            f"checkpoint={os.fspath(checkpoint)!r}: the folder {file.parent} does not exist; "
            "create it."
        )
    if not os.access(file.parent, os.W_OK | os.X_OK):
        raise PermissionError(
            f"checkpoint={os.fspath(checkpoint)!r}: the folder {file.parent} cannot be written to."
        )
    return file


@dataclass(slots=True)
class _Content:
    """The content of a file."""

    parameters: dict[str, Any]
    fingerprint: dict[str, Any]
    alphas: Float | None = None  # the penalties that are tried
    all_features: Float | None = None  # the losses with all features
    outer_folds: tuple[tuple[FoldRecord, ...], ...] = ()  # of each stage
    searches: tuple[SearchRecord, ...] = ()
    path: SelectionPath | None = None


class Checkpoint:
    """The results of a search: read from its file, and written there after every change."""

    def __init__(self, file: Path, identity: Identity) -> None:
        self._file = file
        self._identity = identity
        self._made_by: str | None = None  # the release that wrote the file, if it is another one
        # JSON of values that do not change any more: encoding them again would slow down each step.
        self._texts: dict[int, tuple[object, str]] = {}
        asked = _Content(identity.parameters, {})
        self.content = self._read() if file.exists() else asked
        self._check_parameters(self.content.parameters)
        asked.fingerprint = identity.fingerprint()
        if self.content is asked:
            self._write()
            return
        self._check_fingerprint(self.content.fingerprint, asked.fingerprint)
        self._check_content(self.content)
        if self.content.parameters["n_features"] != asked.parameters["n_features"]:
            self.content.path = None
        self.content.parameters = asked.parameters

    def refusal(self, why: str) -> ValueError:
        """Return an error that explains why the file cannot be used, and what to do."""
        if self._made_by is not None:
            why = f"{why} (it was written by {self._made_by}; this is {_MADE_BY})"
        return ValueError(
            f"The checkpoint {self._file} {why}; delete it to start from scratch, or use another "
            "file."
        )

    @property
    def path(self) -> SelectionPath | None:
        """The result, if the search had ended.

        None if the loss is a function, of which only the name is stored: its steps are replayed, to
        detect that it was changed.
        """
        return None if is_function(self._identity.loss) else self.content.path

    def keep(self, **parts: Any) -> None:
        """Store parts of the content, by name."""
        self.content = replace(self.content, **parts)
        self._write()

    def stage(self, number: int) -> FoldLog:
        """Return the log of the outer folds of a stage: the second one has another loss."""
        return FoldLog(self, number)

    def search(self, number: int = 0) -> SearchLog:
        """Return the log of the search of one of the penalties."""
        return SearchLog(self, number)

    def finish(self, path: SelectionPath) -> None:
        """Store the result, if the search has ended."""
        if path.stop_reason not in _UNFINISHED:
            self.keep(path=path)

    def _read(self) -> _Content:
        """Read the file and check that it is undamaged, but not that it belongs to this search."""
        data = self._file.read_bytes()
        try:
            document = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self.refusal("is damaged or cut short (it is not JSON)") from error
        if isinstance(document, dict) and document.get("format") == FORMAT:
            self._check_versions(document)
        try:
            content: _Content = _CHECKPOINT.read(document)
            if not _is_sealed(data):
                raise ValueError("its content does not match its checksum")
        except ValueError as error:
            reason = str(error).rstrip(".").replace("This ", "this ", 1).replace(". ", ", ")
            raise self.refusal(f"cannot be used ({reason:.300})") from error
        return content

    def _check_versions(self, document: dict[str, Any]) -> None:
        """Raise an error if the file, or the path in it, has a version that cannot be read."""
        made_by = document.get("made_by")
        if isinstance(made_by, str) and made_by != _MADE_BY:
            self._made_by = printable(made_by)[:60]
        path = document.get("path")
        for what, part, readable in (
            ("is", document, (VERSION,)),
            ("has a path", path if isinstance(path, dict) else {}, PATH_FORMAT.versions),
        ):
            version = part.get("version")
            if type(version) is int and version not in readable:
                raise self.refusal(
                    f"{what} in version {version!s:.20} of the format, and this release reads "
                    f"{'only ' * (len(readable) == 1)}version{'s' * (len(readable) > 1)} "
                    f"{' and '.join(map(str, readable))}"
                )

    def _check_parameters(self, stored: dict[str, Any]) -> None:
        """Raise an error if the parameters differ; a longer path may continue a shorter one."""
        asked = self._identity.parameters
        # Parameters that only the file has are None in this search.
        for name in dict.fromkeys([*asked, *stored]):
            value: Any = asked.get(name)
            before = stored.get(name)
            if before == value and type(before) is type(value):
                continue
            words = self._identity.names.get(name, name)
            if name == "n_features" and self._may_grow and isinstance(before, int):
                if before < value:
                    continue
                words = f"the larger {words}"
            raise self.refusal(
                f"was made with {words:.60} {_shown(before)}, not {_shown(value)} as in this call"
            )

    @property
    def _may_grow(self) -> bool:
        """Whether the steps do not depend on their number.

        No penalty is chosen, and features are not exchanged in the end.
        """
        asked = self._identity.parameters
        is_plain = isinstance(asked["alpha"], float) and isinstance(asked["n_features"], int)
        return is_plain and asked.get("direction") != "swap"

    def _check_fingerprint(self, stored: dict[str, Any], asked: dict[str, Any]) -> None:
        """Raise an error if the file was made from other data."""
        others = [words for name, words in _PARTS.items() if stored.get(name) != asked[name]]
        if others:
            raise self.refusal(f"was made from other data (different: {', '.join(others)})")

    def _check_content(self, content: _Content) -> None:
        """Raise an error if parts of the file do not fit together."""
        n = self._identity.n_features
        direction = self._identity.parameters.get("direction")
        for search in content.searches:
            if not _can_follow(search.steps, n, direction):
                raise self.refusal("is damaged (a feature is unknown or appears twice)")
        alphas, losses = content.alphas, content.all_features
        if alphas is not None and (len(alphas) == 0 or (np.diff(alphas) <= 0.0).any()):
            raise self.refusal("is damaged (its penalties are not ascending)")
        tried = self._identity.parameters["alpha"] if alphas is None else alphas
        if losses is not None and (isinstance(tried, float | str) or len(tried) != len(losses)):
            raise self.refusal("is damaged (its penalties and losses do not fit)")

    def _text(self, value: Any, kind: Kind) -> str:
        """JSON of a value that does not change."""
        if id(value) not in self._texts:
            self._texts[id(value)] = (value, write_document(kind.write(value)))
        return self._texts[id(value)][1]

    def _write(self) -> None:
        content = self.content
        stages = [_list([self._text(fold, _FOLD) for fold in one]) for one in content.outer_folds]
        searches = [
            _object(
                steps=_list([self._text(step, STEP_CODEC) for step in search.steps]),
                stopped=json.dumps(search.stopped),
            )
            for search in content.searches
        ]
        body = _object(
            format=json.dumps(FORMAT),
            version=json.dumps(VERSION),
            made_by=json.dumps(_MADE_BY),
            parameters=write_document(content.parameters),
            fingerprint=json.dumps(content.fingerprint),
            alphas=write_document(_ALPHAS.write(content.alphas)),
            all_features=write_document(_LOSSES.write(content.all_features)),
            outer_folds=_list(stages),
            searches=_list(searches),
            path=write_document(OrNull(PATH_FORMAT).write(content.path)),
        )
        try:
            replace_file(self._file, _sealed(body.encode()), is_durable=True)
        except OSError as error:
            # Name the checkpoint, not the temporary file.
            raise OSError(
                error.errno,
                f"the checkpoint cannot be written ({error.strerror})",
                str(self._file),
            ) from error


class SearchLog(KnownSteps):
    """The record of one search in a checkpoint."""

    def __init__(self, checkpoint: Checkpoint, number: int) -> None:
        self._checkpoint = checkpoint
        self._number = number

    @property
    def stored(self) -> SearchRecord:
        """The stored record of the search; an empty one if there is none."""
        searches = self._checkpoint.content.searches
        return searches[self._number] if self._number < len(searches) else SearchRecord()

    def record(self, steps: Sequence[Step], stopped: bool) -> None:
        """Store the steps if there are new ones."""
        recorded = self.stored
        if len(steps) != len(recorded.steps) or stopped != recorded.stopped:
            record = SearchRecord(tuple(steps), stopped)
            searches = self._checkpoint.content.searches
            self._checkpoint.keep(searches=_with(searches, self._number, record, SearchRecord()))

    def refusal(self, recorded: Step, loss: float) -> ValueError:
        """Return an error for a replayed step that has another loss."""
        return self._checkpoint.refusal(
            f"does not fit: with feature {recorded.index} the loss is {loss:.6g}, it has "
            f"{recorded.loss:.6g}; was the loss function changed?"
        )


class FoldLog:
    """The record of outer folds in a checkpoint, in their order."""

    def __init__(self, checkpoint: Checkpoint, stage: int) -> None:
        self._checkpoint, self._stage = checkpoint, stage

    @property
    def _folds(self) -> tuple[FoldRecord, ...]:
        stages = self._checkpoint.content.outer_folds
        return stages[self._stage] if self._stage < len(stages) else ()

    def stored(
        self, number: int, n_alphas: int, n_strata: int, is_measured: bool
    ) -> FoldRecord | None:
        """Return the stored record of a fold; None if there is none."""
        if number >= len(self._folds):
            return None
        fold = self._folds[number]
        shape = fold.losses.shape if fold.losses.ndim == 2 else (0, 0)
        width = 1 + shape[1]
        n_parts = width * width + n_strata * (2 * width + n_strata + 1)
        fits = shape[0] == n_alphas and (fold.measured is None) != is_measured
        fits = fits and (fold.measured is None or fold.measured.shape == shape)
        fits = fits and (fold.parts is None) == (n_strata == 0)
        if not fits or (fold.parts is not None and fold.parts.shape != (n_alphas, n_parts)):
            raise self._checkpoint.refusal("is damaged (losses of an outer fold do not fit)")
        return fold

    def keep(self, number: int, record: FoldRecord) -> None:
        """Store the record of a fold."""
        folds = (*self._folds[:number], record, *self._folds[number + 1 :])
        stages = self._checkpoint.content.outer_folds
        self._checkpoint.keep(outer_folds=_with(stages, self._stage, folds, ()))


def _with(entries: tuple[Entry, ...], number: int, entry: Entry, empty: Entry) -> tuple[Entry, ...]:
    """Return entries with another one at a number, after empty ones if there are fewer."""
    missing = (empty,) * (number - len(entries))
    return (*entries[:number], *missing, entry, *entries[number + 1 :])


class _CheckpointStep(Kind):
    """A step; losses below 0 and indices are left to the checksum, and to the search."""

    def read(self, value: Any, name: str, sizes: Sizes) -> Step:
        # Steps of old checkpoints do not name their features, as in version 2 of a path.
        is_old = isinstance(value, dict) and "features" not in value
        version = 2 if is_old else PATH_FORMAT.versions[-1]
        sizes = {"version": version, "n": LARGEST_WHOLE, "signed": 1}
        step: Step = STEP_CODEC.read(value, name, sizes)
        return step


def _fold(values: dict[str, Any], sizes: Sizes) -> FoldRecord:
    return FoldRecord(**values | {"initial_loss": float(values["initial_loss"][0])})


_CELL = Number(has_gaps=True)
_TABLE = ArrayOf("* *", _CELL)
_ALPHAS = OrNull(ArrayOf("*", POSITIVE))
_LOSSES = OrNull(ArrayOf("*", _CELL))
_FOLD = Codec(
    FoldRecord,
    {
        "losses": _TABLE,
        "measured": _TABLE,
        "initial_loss": Key(ArrayOf("1", _CELL), get=lambda fold: np.array([fold.initial_loss])),
        "parts": _TABLE,
    },
    make=_fold,
)
_CHECKPOINT = Document(
    FORMAT,
    (VERSION,),
    Codec(
        _Content,
        {
            "parameters": MapOf(Kind()),
            "fingerprint": MapOf(Kind()),
            "alphas": _ALPHAS,
            "all_features": _LOSSES,
            "outer_folds": ListOf(ListOf(_FOLD)),
            "searches": ListOf(Codec(SearchRecord, {"steps": ListOf(_CheckpointStep())})),
            "path": PATH_FORMAT,
        },
    ),
)


def _can_follow(steps: Sequence[Step], n_features: int, direction: str | None) -> bool:
    """Return whether each step adds features that are not chosen, or removes some that are."""
    every = set(range(n_features))
    chosen = every if direction == "backward" else set[int]()
    actions = {None: ("add",), "backward": ("remove",)}.get(direction, ("add", "remove"))
    for step in steps:
        features = set(step.features)
        apart = features & chosen if step.action == "add" else features - chosen
        if step.action not in actions or apart or features - every:
            return False
        if len(features) < len(step.features):
            return False
        chosen = chosen ^ features
    return True


def _shown(value: Any) -> str:
    return reprlib.repr(value)


def _object(**texts: str) -> str:
    return "{" + ", ".join(f'"{name}": {text}' for name, text in texts.items()) + "}"


def _list(texts: list[str]) -> str:
    return "[" + ", ".join(texts) + "]"


def _sealed(body: bytes) -> bytes:
    """Append a checksum of an object to it as its last value."""
    return body[:-1] + f', "checksum": "{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


_SEAL_LENGTH = len(_sealed(b"{}")) - 1


def _is_sealed(data: bytes) -> bool:
    return data == _sealed(data[:-_SEAL_LENGTH] + b"}")
