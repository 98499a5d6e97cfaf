"""Values as JSON, by their fields.

The annotations of a class say what its fields hold. A `Codec` adds what they cannot say: bounds and
shapes, names in the file, and since which version a key exists. Reading checks everything, runs
nothing, and raises a ValueError that names the key and the offending value.

Shapes are given in letters, as in docstrings: the first array with a letter says what it stands
for, and all others must agree. A whole number may do so as well (`binds`), and is then read first.
"""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from ._json_values import (
    LARGEST_WHOLE,
    as_entries,
    as_number,
    as_object,
    as_whole,
    or_null,
    parse_document,
    read_document,
    write_document,
)

# What is known while a document is read: its version, what letters stand for, and whether losses
# may be below 0 ("signed").
Sizes = dict[str, int]
Make = Callable[[dict[str, Any], Sizes], Any]


class Kind:
    """How a value of some kind is written and read; this one takes whatever there is."""

    def write(self, value: Any) -> Any:
        """What JSON has for it."""
        return value

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        """The value again, or a ValueError that begins with the name of the key."""
        return value


@dataclass(frozen=True)
class Number(Kind):
    """A finite number; with gaps also NaN, which is null in JSON."""

    sign: Literal["any", "not negative", "positive", "loss"] = "any"
    has_gaps: bool = False

    def write(self, value: Any) -> Any:
        return or_null(value) if self.has_gaps else value

    def read(self, value: Any, name: str, sizes: Sizes) -> float:
        number = self.cell(value, name, sizes)
        if self.is_outside(number, sizes):
            raise ValueError(f"{name} is {number}, which is {self._bound}")
        return number

    def cell(self, value: Any, name: str, sizes: Sizes) -> float:
        """An entry of an array, whose bounds are checked for all of them together."""
        return math.nan if value is None and self.has_gaps else as_number(value, name)

    def array(self, cells: Any, name: str, sizes: Sizes) -> Any:
        values = np.array(cells, dtype=np.float64)
        is_outside = self.is_outside(values, sizes)
        if is_outside.any():
            raise ValueError(f"{name} has {values[is_outside][0]}, which is {self._bound}")
        return values

    def is_outside(self, values: Any, sizes: Sizes) -> Any:
        if self.sign == "positive":
            return values <= 0.0
        is_signed = self.sign == "any" or (self.sign == "loss" and sizes.get("signed", 0))
        return values < (-math.inf if is_signed else 0.0)

    @property
    def _bound(self) -> str:
        return "not above 0" if self.sign == "positive" else "below 0"


@dataclass(frozen=True)
class Whole(Kind):
    """A whole number from `least` to below `end`, or to `most`; both may be letters."""

    least: int = 0
    end: int | str = LARGEST_WHOLE
    most: str | None = None
    binds: str | None = None  # the letter that stands for it

    def read(self, value: Any, name: str, sizes: Sizes) -> int:
        end = sizes[self.end] if isinstance(self.end, str) else self.end
        whole = as_whole(
            value, name, self.least, end if self.most is None else sizes[self.most] + 1
        )
        if self.binds is not None:
            sizes[self.binds] = whole
        return whole

    cell = read

    def array(self, cells: Any, name: str, sizes: Sizes) -> Any:
        return np.array(cells, dtype=np.intp)


@dataclass(frozen=True)
class ArrayOf(Kind):
    """An array of numbers, as lists of lists; or a tuple of numbers."""

    shape: str  # letters and numbers, with spaces between them; * for any length
    item: Number | Whole = Number()
    is_tuple: bool = False

    def write(self, value: Any) -> Any:
        return self.item.write(list(value) if self.is_tuple else value.tolist())

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        shape, first = [], value
        for letter in self.shape.split():
            first = as_entries(first, name)
            if letter == "*":
                shape.append(len(first))
            else:
                known = int(letter) if letter.isdigit() else sizes.setdefault(letter, len(first))
                shape.append(known)
            first = first[0] if first else []
        cells = self._cells(value, name, shape, sizes)
        # Where there are no entries, NumPy cannot tell the further axes.
        array = self.item.array(cells, name, sizes).reshape(shape)
        return tuple(array.tolist()) if self.is_tuple else array

    def _cells(self, value: Any, name: str, shape: list[int], sizes: Sizes) -> list[Any]:
        entries = as_entries(value, name, shape[0])
        if len(shape) > 1:
            return [self._cells(entry, name, shape[1:], sizes) for entry in entries]
        cell = self.item.cell
        return [cell(entry, name, sizes) for entry in entries]


@dataclass(frozen=True)
class Text(Kind):
    """A string, or a value of another plain type."""

    type: type = str
    words: str = "a string"

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        if not isinstance(value, self.type):
            raise ValueError(f"{name} is {value!r:.40}, not {self.words}")
        return value


@dataclass(frozen=True)
class OneOf(Kind):
    """One of some strings, which may say what letters stand for; or a member of an enumeration."""

    words: tuple[str, ...]
    implies: Mapping[str, Sizes] | None = None
    members: type[enum.Enum] | None = None

    def write(self, value: Any) -> Any:
        return value if self.members is None else value.value

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        if not isinstance(value, str) or value not in self.words:
            raise ValueError(f"unknown {name} {value!r:.40}")
        sizes.update((self.implies or {}).get(value, {}))
        return value if self.members is None else self.members(value)


@dataclass(frozen=True)
class OrNull(Kind):
    """None, which is null in JSON, or another kind of value."""

    kind: Kind

    def write(self, value: Any) -> Any:
        return None if value is None else self.kind.write(value)

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        return None if value is None else self.kind.read(value, name, sizes)


@dataclass(frozen=True)
class ListOf(Kind):
    """A tuple of any length, or of that of a letter."""

    kind: Kind
    length: str | None = None

    def write(self, value: Any) -> list[Any]:
        is_plain = type(self.kind).write is Kind.write  # such as the names of all features
        return list(value) if is_plain else [self.kind.write(one) for one in value]

    def read(self, value: Any, name: str, sizes: Sizes) -> tuple[Any, ...]:
        entries, read = as_entries(value, name), self.kind.read
        if self.length is not None:
            as_entries(entries, name, sizes.setdefault(self.length, len(entries)))
        return tuple([read(entry, name, sizes) for entry in entries])


@dataclass(frozen=True)
class Row(Kind):
    """A tuple of values of different kinds: a list in JSON, or an object if they have names."""

    kinds: tuple[Kind, ...]
    names: tuple[str, ...] = ()

    def write(self, value: Any) -> Any:
        entries = [kind.write(one) for kind, one in zip(self.kinds, value, strict=True)]
        return dict(zip(self.names, entries, strict=True)) if self.names else entries

    def read(self, value: Any, name: str, sizes: Sizes) -> tuple[Any, ...]:
        entries, names = value, self.names or (name,) * len(self.kinds)
        if self.names:
            entries = [entry_of(value, key, name) for key in names]
        entries = as_entries(entries, name, len(self.kinds))
        return tuple(
            kind.read(one, key, sizes)
            for kind, one, key in zip(self.kinds, entries, names, strict=True)
        )


@dataclass(frozen=True)
class MapOf(Kind):
    """A dict with strings as keys."""

    kind: Kind

    def read(self, value: Any, name: str, sizes: Sizes) -> dict[str, Any]:
        found = as_object(value, name)
        return {key: self.kind.read(one, name, sizes) for key, one in found.items()}


class Labels(Kind):
    """Labels of a classification, all of one type; the letter c stands for their number."""

    def write(self, value: Any) -> list[Any]:
        return list(value)

    def read(self, value: Any, name: str, sizes: Sizes) -> tuple[str | int | float | bool, ...]:
        classes = tuple(as_entries(value, name))
        if len(classes) < 2 or len({type(label) for label in classes}) > 1:
            raise ValueError(f"{name} must be two labels or more, of one kind")
        for label in classes:
            if not isinstance(label, str | bool):
                as_number(label, name)
        if len(set(classes)) < len(classes):
            raise ValueError("a class appears more than once")
        as_entries(value, name, sizes.setdefault("c", len(classes)))
        return classes


NUMBER, NOT_NEGATIVE, POSITIVE = Number(), Number("not negative"), Number("positive")
LOSS, LOSS_OR_NULL = Number("loss"), Number("loss", has_gaps=True)
ERROR_OR_NULL = Number("not negative", has_gaps=True)
_SCALARS: dict[Any, Kind] = {
    Any: Kind(),
    bool: Text(bool, "true or false"),
    int: Whole(),
    float: NUMBER,
    str: Text(),
}


def kind_of(hint: Any, said: Kind | None = None) -> Kind:
    """The kind of value that an annotation says, or what is said of values other than None."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType) and len(arguments) == 2 and NoneType in arguments:
        return OrNull(kind_of(arguments[arguments[0] is NoneType], said))
    if isinstance(said, ArrayOf) and origin is tuple:
        return replace(said, is_tuple=True)
    if said is not None:
        return said
    if origin is Literal:
        return OneOf(arguments)
    if origin is dict:
        return MapOf(kind_of(arguments[1]))
    if origin is tuple and arguments[1:] == (...,):
        is_number = arguments[0] is float
        return ArrayOf("*", is_tuple=True) if is_number else ListOf(kind_of(arguments[0]))
    if origin is tuple:
        return Row(tuple(kind_of(one) for one in arguments))
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return OneOf(tuple(member.value for member in hint), members=hint)
    if is_dataclass(hint) or hasattr(hint, "_fields"):
        return Codec(hint)
    return _SCALARS[hint]


def _fields(cls: Any) -> dict[str, tuple[Any, Any]]:
    """Annotations and defaults of the fields of a dataclass or named tuple."""
    if is_dataclass(cls):
        return {one.name: (one.type, one.default) for one in fields(cls) if one.init}
    defaults = cls._field_defaults
    return {name: (hint, defaults.get(name)) for name, hint in cls.__annotations__.items()}


def _resolved(cls: Any, hint: Any) -> Any:
    """An annotation of a class, which may be text."""
    # A class may carry the name of the module that exports it: its own is that of its methods.
    module = getattr(cls.__init__, "__globals__", None) or vars(sys.modules[cls.__module__])
    return get_type_hints(SimpleNamespace(__annotations__={"it": hint}), module)["it"]


def entry_of(values: Any, key: str, name: str) -> Any:
    """What an object has under a key that must be there."""
    if key not in as_object(values, name):
        raise ValueError(f"{key!r} is missing in {name}")
    return values[key]


@dataclass(frozen=True)
class Key:
    """How a file has a field, beyond its kind.

    Where the key is missing, the field has its default: in versions before `since`, where whatever
    the key holds is ignored, and wherever it may be missing.
    """

    kind: Kind | None = None  # None: that of the annotation
    name: str = ""  # in the file, if it is another one
    since: int = 1
    may_lack: bool = False  # missing or null
    is_omitted: bool = False  # not written if it is the default, and may be missing
    default: Any = ...  # if it is not that of the field
    get: Callable[[Any], Any] | None = None  # what is written, if it is not the attribute
    is_derived: bool = False  # written for people and other programs, not read

    def read(self, values: dict[str, Any], name: str, sizes: Sizes) -> Any:
        """The value of the field among those of an object."""
        assert self.kind is not None
        may_lack = self.may_lack or self.is_omitted
        if sizes["version"] < self.since or (may_lack and values.get(self.name) is None):
            return self.default
        return self.kind.read(entry_of(values, self.name, name), self.name, sizes)


class Codec(Kind):
    """A dataclass or named tuple as an object, with a key for each field.

    `more` says what annotations do not; `keys` the keys in their order, if it is not that of the
    fields; `make` checks how the values fit together and makes the object.
    """

    def __init__(
        self,
        cls: Any,
        more: Mapping[str, Kind | Key] | None = None,
        *,
        keys: str = "",
        make: Make | None = None,
        shares_letters: bool = False,  # whether what letters stand for also holds outside
    ) -> None:
        more, known, self._keys = more or {}, _fields(cls), {}
        for name in keys.split() or known:
            said = more.get(name, Key())
            key = said if isinstance(said, Key) else Key(said)
            hint, default = known.get(name, (Any, None))
            self._keys[name] = replace(
                key,
                kind=kind_of(_resolved(cls, hint), key.kind),
                name=key.name or name,
                default=default if key.default is ... else key.default,
            )
        read = [name for name, key in self._keys.items() if not key.is_derived]
        # Those that say what a letter stands for come first.
        self._reading = sorted(
            read, key=lambda name: not getattr(self._keys[name].kind, "binds", 0)
        )
        self._make = make or (lambda values, sizes: cls(**values))
        self._shares_letters = shares_letters

    def write(self, value: Any) -> dict[str, Any]:
        document = {}
        for name, key in self._keys.items():
            one = getattr(value, name) if key.get is None else key.get(value)
            if not (key.is_omitted and one == key.default):
                assert key.kind is not None
                document[key.name] = key.kind.write(one)
        return document

    def read(self, value: Any, name: str, sizes: Sizes) -> Any:
        found = as_object(value, name)
        sizes = sizes if self._shares_letters else dict(sizes)
        return self._make(
            {field: self._keys[field].read(found, name, sizes) for field in self._reading}, sizes
        )


@dataclass(frozen=True)
class Document(Kind):
    """A file, or a part of one, that names its format and version."""

    form: str
    versions: tuple[int, ...]
    codec: Codec
    version_of: Callable[[Any], int] | None = None  # the last one if None
    has_sentence: bool = False  # for people

    def write(self, value: Any) -> dict[str, Any]:
        version = self.versions[-1] if self.version_of is None else self.version_of(value)
        head = {"format": self.form, "version": version}
        if self.has_sentence:
            head["sentence"] = value.sentence
        return head | self.codec.write(value)

    def read(self, value: Any, name: str = "document", sizes: Sizes | None = None) -> Any:
        return read_document(
            value,
            self.form,
            self.versions,
            lambda found, version: self.codec.read(found, name, {"version": version}),
        )

    def encode(self, value: Any, indent: int | None = None) -> str:
        """The text of a value."""
        return write_document(self.write(value), indent)

    def decode(self, text: str | bytes) -> Any:
        """A value from its text, or a ValueError that says what is wrong with it."""
        return self.read(parse_document(text, self.form))
