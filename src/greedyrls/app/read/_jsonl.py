"""Read JSON lines: an object on each line."""

from __future__ import annotations

import json
from typing import Any

from .._table import InputError, Table
from ._faults import undecodable
from ._files import Source, guarded, need_pyarrow, open_text, shortened, shown
from ._header import Dialect, checked_encoding
from ._values import table_of_values
from ._wanted import Wanted


def read_jsonl(source: Source, wanted: Wanted, dialect: Dialect, matrix_limit: int) -> Table:
    """Read a table from JSON lines; keys that an object lacks are missing values."""
    need_pyarrow(source)
    with guarded(source, "its JSON lines"):
        try:
            rows = _rows(source, checked_encoding(dialect.encoding))
        except UnicodeError as error:
            raise undecodable(source, dialect.encoding) from error
        keys = _keys(rows)
        if not keys:
            raise InputError(f"{source}: its objects have no keys; was it written completely?")
        if len(keys) * len(rows) * 8 > matrix_limit:
            raise InputError(
                f"{source}: its {len(rows)} lines have {len(keys)} different keys, too many for a "
                f"table of {matrix_limit / 2**30:.2f} GiB; are the keys data?"
            )

        def values_at(place: int) -> list[Any]:
            key = keys[place]
            return [None if (value := row.get(key)) != value else value for row in rows]

        return table_of_values(source, keys, values_at, len(rows), wanted, dialect, is_typed=True)


def _rows(source: Source, encoding: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    with open_text(source, encoding) as lines:
        # Only "\n" ends a line; "\r" before it is a blank to JSON.
        for number, line in enumerate(lines, 1):
            text = line.removeprefix("\ufeff") if number == 1 else line
            if not text.strip():
                continue
            try:
                row = json.loads(text, object_pairs_hook=_object)
            except (ValueError, RecursionError) as error:
                raise InputError(
                    f"{source}: line {number} is not a JSON object: {shortened(str(error), 200)}"
                ) from error
            if not isinstance(row, dict):
                raise InputError(
                    f"{source}: line {number} is {shown(shortened(text, 40))}, not an object such "
                    'as {"price": 3.5}; JSON lines have one on each line.'
                )
            rows.append(_flat(row))
    if not rows:
        raise InputError(f"{source}: has only blank lines; was it written completely?")
    return rows


def _keys(rows: list[dict[str, Any]]) -> list[str]:
    """Return all keys, except those of nested objects, which are null in other rows."""
    keys = dict.fromkeys(key for row in rows for key in row)
    parents = {key[:place] for key in keys for place, sign in enumerate(key) if sign == "."}
    filled = {
        key
        for row in rows
        for key, value in row.items()
        if key in parents and value is not None and value != {}
    }
    return [key for key in keys if key not in parents or key in filled]


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """Return nested objects as separate columns, named by their path: user.age."""
    found: dict[str, Any] = {}
    for key, value in row.items():
        parts = _flat(value) if isinstance(value, dict) and value else {}
        for name, one in parts.items():
            found.setdefault(f"{key}.{name}", one)
        if not parts:
            found[key] = value
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, or fail if its keys are not unique."""
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:40]!r} appears more than once")
    return found
