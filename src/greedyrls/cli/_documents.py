"""Models and results by the file that has them, or by the folder that select wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..app import InputError, LinearModel, SelectionResult
from ._write import MODEL, RESULT

Document = TypeVar("Document")


def read_json(file: Path, read: Callable[[bytes], Document]) -> Document:
    """A document from its file, or an error that names the file."""
    try:
        return read(file.read_bytes())
    except ValueError as error:
        # The advice for those who have the text is not for those who have the file.
        told = str(error).removesuffix(" Pass the text itself, not the name of a file.")
        raise InputError(f"{file}: {told}") from error


def load_model(given: Path) -> LinearModel:
    """A model from ``model.json``, ``result.json``, or a folder with one of them."""
    file = _in_folder(given, (MODEL, RESULT))
    if _format_of(file) == "greedyrls.result":
        return read_json(file, SelectionResult.from_json).model()
    return read_json(file, LinearModel.from_json)


def load_result(given: Path) -> tuple[Path, SelectionResult]:
    """A result from ``result.json`` or a folder with it, and its file."""
    file = _in_folder(given, (RESULT,))
    if _format_of(file) == "greedyrls.model":
        raise InputError(
            f"{file}: this is a model (greedyrls.model), which does not record how it was chosen; "
            f"give the {RESULT} beside it, or the folder."
        )
    return file, read_json(file, SelectionResult.from_json)


def _in_folder(given: Path, names: tuple[str, ...]) -> Path:
    """The file itself, or the first of some names that a folder has."""
    if not given.is_dir():
        return given
    for name in names:
        if (given / name).exists():
            return given / name
    raise InputError(
        f"{given}: the folder has no {' or '.join(names)}; give one that `greedyrls select --out` "
        "has written."
    )


def _format_of(file: Path) -> str:
    """What a document says it is; nothing if it is none."""
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return ""
    return str(document.get("format", "")) if isinstance(document, dict) else ""
