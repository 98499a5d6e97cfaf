"""JSON documents: text with a format and a version, and single values that are checked."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

Answer = TypeVar("Answer")

LARGEST_WHOLE = 1 << 62


def write_document(document: Any, indent: int | None = None) -> str:
    """Text of a document; floats are written so that they are read back exactly."""
    return json.dumps(document, indent=indent, allow_nan=False)


def parse_document(text: str | bytes, form: str) -> Any:
    """What the text of a document says, unchecked."""
    if not isinstance(text, str | bytes):
        raise TypeError(
            f"from_json takes the text of a {form} document, got {type(text).__name__}; read a "
            "file with pathlib.Path(...).read_text()."
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"This is not a {form} document: it is not JSON ({error}). Pass the text itself, not "
            "the name of a file."
        ) from error


def read_document(
    document: Any, form: str, versions: tuple[int, ...], read: Callable[[Any, int], Answer]
) -> Answer:
    """What `read` makes of a document and its version, or a ValueError that says what is wrong."""
    if not isinstance(document, dict) or document.get("format") != form:
        kind = document.get("format") if isinstance(document, dict) else type(document).__name__
        raise ValueError(f"This is not a {form} document: its format is {kind!r:.60}.")
    version = document.get("version")
    if type(version) is not int or version not in versions:
        raise ValueError(
            f"This {form} document has version {version!r:.40}; this release reads "
            f"version{'s' * (len(versions) > 1)} {' and '.join(map(str, versions))}. A newer "
            "greedyrls may be needed."
        )
    try:
        return read(document, version)
    except ValueError as error:
        raise ValueError(f"This {form} document is damaged: {str(error).rstrip('.')}.") from error


def or_null(value: Any) -> Any:
    """A number, or lists of numbers; null where a number is not finite."""
    if isinstance(value, list):
        return [or_null(one) for one in value]
    return value if math.isfinite(value) else None


def as_object(value: Any, name: str) -> dict[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not an object")
    return value


def as_entries(values: Any, name: str, length: int | None = None) -> list[Any]:
    """A JSON list, of some length if one is given."""
    if not isinstance(values, list):
        raise ValueError(f"{name} is not a list")
    if length is not None and len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries, expected {length}")
    return values


def as_number(value: Any, name: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} has {value!r:.40}, which is not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} has a number that is not finite")
    return number


def as_whole(value: Any, name: str, least: int, end: int) -> int:
    """A whole number from `least` to below `end`."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < end:
        raise ValueError(
            f"{name} has {value!r:.40}, which is not a whole number in the allowed range"
        )
    return value
