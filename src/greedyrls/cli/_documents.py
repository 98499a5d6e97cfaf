"""Read models and results from their files, or from the folder that select wrote."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..app import InputError, LinearModel, SelectionResult
from ._write import MODEL, RESULT

Document = TypeVar("Document")


def read_json(file: Path, read: Callable[[bytes], Document]) -> Document:
    """Read a document from its file; raise an error that names the file."""
    try:
        return read(file.read_bytes())
    except ValueError as error:
        # This advice is for callers that pass text; here it is a file.
        message = str(error).removesuffix(" Pass the text itself, not the name of a file.")
        raise InputError(f"{file}: {message}") from error


def load_model(path: Path) -> LinearModel:
    """Read a model from ``model.json``, ``result.json``, or a folder with one of them."""
    file = _in_folder(path, (MODEL, RESULT))
    if _format_of(file) == "greedyrls.result":
        return read_json(file, SelectionResult.from_json).model()
    return read_json(file, LinearModel.from_json)


def load_result(path: Path) -> tuple[Path, SelectionResult]:
    """Read a result from ``result.json`` or a folder with it; also return its file."""
    file = _in_folder(path, (RESULT,))
    if _format_of(file) == "greedyrls.model":
        raise InputError(
            f"{file}: this is a model (greedyrls.model), which does not record how it was chosen; "
            f"give the {RESULT} beside it, or the folder."
        )
    return file, read_json(file, SelectionResult.from_json)


def _in_folder(path: Path, names: tuple[str, ...]) -> Path:
    """Return the file itself, or the first of some names that exists in a folder."""
    if not path.is_dir():
        return path
    for name in names:
        if (path / name).exists():
            return path / name
    raise InputError(
        f"{path}: the folder has no {' or '.join(names)}; give one that `greedyrls select --out` "
        "has written."
    )


def _format_of(file: Path) -> str:
    """Return the format that a document declares, or an empty text."""
    try:
        document = json.loads(file.read_bytes())
    except (ValueError, RecursionError):
        return ""
    return str(document.get("format", "")) if isinstance(document, dict) else ""
