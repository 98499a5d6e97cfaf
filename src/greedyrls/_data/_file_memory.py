"""Division of the memory allowed for X in a file."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

# The default limit, as a share of the machine's memory.
_DEFAULT_SHARE = 0.25
# Memory of a machine that does not say how much it has.
_UNKNOWN_BYTES = 8 << 30
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_UNITS |= {f"{unit}I": 2 ** (10 * power) for power, unit in enumerate("KMGT", start=1)}
# Chunks in memory: one in use, one waiting, one being read.
_CHUNKS = 3
_LARGEST_CHUNK = 1 << 26
_SMALLEST_CHUNK = 1 << 17
# The largest number of vectors of m numbers that a search holds, and of those for each target.
_VECTORS, _TARGET_VECTORS = 8, 6
# Further ones, for each target, where features are removed and exchanged.
_SET_VECTORS = 4
# Likewise for arrays of n numbers, in addition to one for each chosen feature.
_FEATURE_ARRAYS, _TARGET_FEATURE_ARRAYS = 16, 8
# Limits of the number of prefetched Gram columns, and copies of these in a pass that fetches them.
_LEAST_GRAM, _MOST_GRAM, _GRAM_COPIES = 4, 256, 3
# Share that is not used: freed memory is not returned to the system at once.
_SPARE = 0.1


class WholeArrays(NamedTuple):
    """Arrays for all features at once, which some options need."""

    n_bytes: int = 0
    what: str = ""  # they are, in an error message
    instead: str = ""  # what to do if they do not fit


NO_ARRAYS = WholeArrays()


@dataclass(frozen=True, slots=True)
class Needs:
    """Sizes that determine the memory of a search, in addition to X."""

    n_targets: int = 1
    n_chosen: int = 1
    n_splits: int = 0  # 0: leave-one-out
    n_sets: int = 1  # sets of rows with separate sums
    other_bytes: int = 0  # of whoever reads X through a view
    n_kept: int = 0  # Gram columns of features that may be chosen again
    whole: WholeArrays = NO_ARRAYS


class Room(NamedTuple):
    """Memory for chunks of X, Gram columns and kept columns."""

    chunk_rows: int
    gram_columns: int
    column_bytes: int


def share_out(
    shape: tuple[int, int], dtype: np.dtype[Any], overhead: int, limit: int, needs: Needs
) -> Room:
    """Divide memory among chunks, Gram columns and kept columns; too little is an error."""
    m, n = shape
    t = needs.n_targets
    fixed = 8 * m * (_VECTORS + _TARGET_VECTORS * t) + overhead + needs.other_bytes
    if needs.n_splits:
        fixed += 16 * needs.n_splits * needs.n_chosen * n
    fixed += 8 * n * (needs.n_chosen + needs.n_sets * needs.n_kept) + needs.whole.n_bytes
    if needs.n_kept:
        fixed += 8 * m * _SET_VECTORS * t
    fixed += 8 * n * needs.n_sets * (_FEATURE_ARRAYS + _TARGET_FEATURE_ARRAYS * t)
    width = max(1, n * dtype.itemsize)
    # Sums by sets convert a whole chunk sorted by set, other sums a small tile of it.
    times = _CHUNKS + ((dtype.itemsize + 8) / dtype.itemsize if needs.n_splits else 0)
    least_chunk = max(width, min(m * width, _SMALLEST_CHUNK))
    gram = 8 * n * needs.n_sets * _GRAM_COPIES
    needed = int(fixed + times * least_chunk + _LEAST_GRAM * gram)
    if needed > limit:
        raise ValueError(
            f"memory_limit is {size_in_words(limit)}, but this search needs at least "
            f"{size_in_words(needed)}: vectors of {m} rows, {needs.n_chosen} rows of {n} features, "
            f"{_whole_in_words(needs.whole)}and a piece of X. Allow more, or "
            f"{needs.whole.instead or 'ask for fewer features'}."
        )
    rest = limit - fixed
    chunk = int(min(max(least_chunk, rest / (2 * times)), _LARGEST_CHUNK))
    left = rest - times * chunk
    columns = int(min(max(_LEAST_GRAM, 0.25 * left / gram), _MOST_GRAM))
    return Room(
        chunk_rows=max(1, min(m, chunk // width)),
        gram_columns=columns,
        column_bytes=max(0, int(left - columns * gram - _SPARE * limit)),
    )


def check_limit(memory_limit: Any) -> int | None:
    """Return a limit in bytes from a number or text such as "2GB"; None is returned unchanged."""
    if memory_limit is None:
        return None
    wrong = (
        "memory_limit must be a number of bytes, or text such as '500MB' or '2GB', got "
        f"{memory_limit!r}."
    )
    if isinstance(memory_limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?I?)B?\s*", memory_limit.upper())
        if match is None or match[2] not in _UNITS:
            raise ValueError(wrong)
        value = float(match[1]) * _UNITS[match[2]]
    elif isinstance(memory_limit, int | np.integer) and not isinstance(memory_limit, bool):
        value = float(memory_limit)
    else:
        raise TypeError(wrong)
    if value < 1:
        raise ValueError(wrong)
    return int(value)


def physical_bytes() -> float:
    """Return the physical memory of this machine in bytes; infinite if it is not available."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def default_limit() -> int:
    """Return the default limit in bytes, a share of the memory of the machine."""
    total = physical_bytes()
    return int(_DEFAULT_SHARE * (total if math.isfinite(total) else _UNKNOWN_BYTES))


def _whole_in_words(whole: WholeArrays) -> str:
    return f"{size_in_words(whole.n_bytes)} for {whole.what}, " if whole.n_bytes else ""


def size_in_words(count: int) -> str:
    """Return a number of bytes as people write it."""
    for size, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count} bytes"
