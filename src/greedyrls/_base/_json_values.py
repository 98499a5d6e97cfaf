"""JSON documents: damaged or newer ones are rejected with a message; reading never runs code."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from .kernels import Float

Answer = TypeVar("Answer")

LARGEST_WHOLE = 1 << 62
# Keys that a version lacks, by the object that has them in later ones, with their defaults.
Added = dict[str, dict[str, Any]]
Versions = dict[int, Added]


def write_document(document: dict[str, Any], indent: int | None = None) -> str:
    """Return a document as text; floats are written so that they are read back exactly."""
    return json.dumps(document, indent=indent, allow_nan=False)


def or_null(value: Any) -> Any:
    """Replace NaN and infinities by None, also in nested lists."""
    if isinstance(value, list):
        return [or_null(one) for one in value]
    return value if math.isfinite(value) else None


def read_document(
    text: str | bytes,
    form: str,
    versions: tuple[int, ...],
    read: Callable[[JsonObject], Answer],
    added: Versions | None = None,
) -> Answer:
    """Parse a document and pass it to `read`; a ValueError says what is wrong with it."""
    if not isinstance(text, str | bytes):
        raise TypeError(
            f"from_json takes the text of a {form} document, got {type(text).__name__}; read a "
            "file with pathlib.Path(...).read_text()."
        )
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"This is not a {form} document: it is not JSON ({error}). Pass the text itself, not "
            "the name of a file."
        ) from error
    return read_part(document, form, versions, read, added)


def read_part(
    document: Any,
    form: str,
    versions: tuple[int, ...],
    read: Callable[[JsonObject], Answer],
    added: Versions | None = None,
) -> Answer:
    """Read a document that is part of another one and has been parsed already."""
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
        return read(JsonObject(document, "document", version, _missing_in(version, added or {})))
    except ValueError as error:
        raise ValueError(f"This {form} document is damaged: {str(error).rstrip('.')}.") from error


def _missing_in(version: int, added: Versions) -> Added:
    """Return all keys that were added after a version, with their defaults."""
    missing: Added = {}
    for number in sorted(added):
        if number >= version:
            for name, values in added[number].items():
                missing[name] = missing.get(name, {}) | values
    return missing


class JsonObject:
    """A JSON object with checked access to its values by key."""

    def __init__(self, values: Any, name: str, version: int = 1, added: Added | None = None):
        if not isinstance(values, dict):
            raise ValueError(f"{name} is not an object")
        self.version = version
        self._added = added or {}
        self._values = values | self._added.get(name, {})
        self._name = name

    @property
    def values(self) -> dict[str, Any]:
        """All values by key, unchecked."""
        return self._values

    def value(self, key: str) -> Any:
        """Return a value of any type."""
        if key not in self._values:
            raise ValueError(f"{key!r} is missing in {self._name}")
        return self._values[key]

    def part(self, key: str) -> JsonObject:
        """Return a value that must be an object."""
        return JsonObject(self.value(key), key, self.version, self._added)

    def parts(self, key: str, each: str) -> list[JsonObject]:
        """Return a value that must be a list of objects."""
        return [JsonObject(entry, each, self.version, self._added) for entry in self.entries(key)]

    def has(self, key: str) -> bool:
        """Whether the value is not null."""
        return self.value(key) is not None

    def has_optional(self, key: str) -> bool:
        """Whether the key, which older files of this version lack, has a value other than null."""
        return self._values.get(key) is not None

    def entries(self, key: str, length: int | None = None) -> list[Any]:
        """Return a value that must be a list."""
        return as_entries(self.value(key), key, length)

    def array(self, key: str, length: int | None) -> Float:
        """Return a value that must be a list of numbers, as an array."""
        return np.array([as_number(value, key) for value in self.entries(key, length)])

    def number(self, key: str) -> float:
        """Return a value that must be a finite number."""
        return as_number(self.value(key), key)

    def positive(self, key: str, zero_too: bool = True) -> float:
        """Return a number that must be positive, or 0 with `zero_too`."""
        value = self.number(key)
        if value < 0.0 or (value == 0.0 and not zero_too):
            raise ValueError(f"{key} is {value}")
        return value

    def positives(self, key: str, length: int | None = None) -> list[float]:
        """Return a value that must be a list of positive numbers."""
        numbers = [as_number(value, key) for value in self.entries(key, length)]
        if not all(number > 0.0 for number in numbers):
            raise ValueError(f"{key} has a number that is not above 0")
        return numbers

    def cells(self, key: str, shape: tuple[int, ...], is_signed: bool = False) -> Float:
        """Return an array of losses or their errors, with NaN for null."""
        values = np.array(as_cells(self.value(key), key, shape), dtype=np.float64)
        if not is_signed and (values < 0.0).any():
            raise ValueError(f"{key} has a number below 0")
        return values

    def text(self, key: str) -> str:
        """Return a value that must be a string."""
        value = self.value(key)
        if not isinstance(value, str):
            raise ValueError(f"{key} is {value!r:.40}, not a string")
        return value

    def texts(self, key: str, length: int | None = None) -> list[str]:
        """Return a value that must be a list of strings."""
        values = self.entries(key, length)
        if not all(isinstance(value, str) for value in values):
            raise ValueError(f"{key} has an entry that is not a string")
        return values

    def wholes(self, key: str, least: int = 0, end: int = LARGEST_WHOLE) -> list[int]:
        """Return a value that must be a list of integers from `least` to below `end`."""
        return [as_whole(value, key, least, end) for value in self.entries(key)]

    def one_of(self, key: str, allowed: tuple[str, ...]) -> str:
        """Return a value that must be one of the allowed strings."""
        value = self.value(key)
        if not isinstance(value, str) or value not in allowed:
            raise ValueError(f"unknown {key} {value!r:.40}")
        return value

    def whole(self, key: str, least: int = 0, end: int = LARGEST_WHOLE) -> int:
        """Return a value that must be an integer from `least` to below `end`."""
        return as_whole(self.value(key), key, least, end)

    def flag(self, key: str) -> bool:
        """Return a value that must be true or false."""
        value = self.value(key)
        if not isinstance(value, bool):
            raise ValueError(f"{key} is {value!r:.40}, not true or false")
        return value


def as_entries(values: Any, name: str, length: int | None) -> list[Any]:
    if not isinstance(values, list):
        raise ValueError(f"{name} is not a list")
    if length is not None and len(values) != length:
        raise ValueError(f"{name} has {len(values)} entries, expected {length}")
    return values


def as_number(value: Any, name: str) -> float:
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
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value < end:
        raise ValueError(
            f"{name} has {value!r:.40}, which is not a whole number in the allowed range"
        )
    return value


def as_cells(value: Any, name: str, shape: tuple[int, ...]) -> Any:
    if shape:
        return [as_cells(one, name, shape[1:]) for one in as_entries(value, name, shape[0])]
    return math.nan if value is None else as_number(value, name)


def read_classes(document: JsonObject) -> tuple[str | int | float | bool, ...]:
    """Return the labels of a classification, which must all be of one type."""
    classes = tuple(document.entries("classes"))
    if len(classes) < 2 or len({type(label) for label in classes}) > 1:
        raise ValueError("classes must be two labels or more, of one kind")
    for label in classes:
        if not isinstance(label, str | bool):
            as_number(label, "classes")
    if len(set(classes)) < len(classes):
        raise ValueError("a class appears more than once")
    return classes
