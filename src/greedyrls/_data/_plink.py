"""PLINK genotypes: 2 bits for each person and marker in a .bed file, read by bed-reader.

bed-reader is loaded only here, when a file is opened by its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._base import Float, required
from ._matrix import Rows

# How bed-reader codes a missing call as an integer of 8 bits.
_MISSING = -127
# Genotypes decoded at a time when only the means of columns are needed.
_DECODED = 1 << 24


def opened_bed(path: Path) -> Any:
    """Open a .bed file that has its .bim and .fam files beside it."""
    for needed in (path, path.with_suffix(".bim"), path.with_suffix(".fam")):
        if not needed.exists():
            raise FileNotFoundError(
                f"There is no file {needed}: PLINK genotypes are a .bed file with a .bim file "
                "(markers) and a .fam file (people) of the same name beside it."
            )
    missing = f"{path}: PLINK files need bed-reader: pip install 'greedyrls[plink]'."
    bed_reader = required("bed_reader", missing)
    try:
        opened = bed_reader.open_bed(path)
        opened.shape  # noqa: B018 (reads the .bim and .fam files)
    except Exception as error:  # of any kind, on damaged files
        raise ValueError(f"{path} cannot be read as PLINK genotypes ({error}).") from error
    return opened


class PlinkSource:
    """Numbers of copies of an allele, (people × markers); missing calls are the marker's mean.

    Columns lie one after the other, so that tiles of columns and single columns are read fast.
    """

    step = 1
    overhead = 0
    dtype = np.dtype(np.float64)

    def __init__(self, bed: Any) -> None:
        self._bed = bed
        m, n = bed.shape
        self.shape = int(m), int(n)
        self.name = str(getattr(bed, "location", "the .bed file"))
        self._means = np.full(n, np.nan)

    @property
    def marker_names(self) -> tuple[str, ...]:
        """Names of the markers, each unique: markers without an id are "chromosome:position"."""
        ids = [str(name) for name in self._bed.sid]
        for index, name in enumerate(ids):
            if name in (".", "0", ""):
                ids[index] = f"{self._bed.chromosome[index]}:{self._bed.bp_position[index]}"
        total, seen = Counter(ids), Counter[str]()
        for index, name in enumerate(ids):
            if total[name] > 1:
                seen[name] += 1
                ids[index] = name if seen[name] == 1 else f"{name} ({seen[name]})"
        return tuple(ids)

    @property
    def phenotypes(self) -> Float:
        """The sixth column of the .fam file, NaN where it is missing."""
        values = np.array([_number(text) for text in self._bed.pheno], dtype=np.float64)
        values[values == -9] = np.nan
        if np.isin(values[~np.isnan(values)], (0, 1, 2)).all():  # 1 and 2 are controls and cases
            values[values == 0] = np.nan
        return values

    def chunks(self, height: int) -> Iterator[NDArray[Any]]:
        """Yield all rows in order, `height` at a time."""
        m, _ = self.shape
        for top in range(0, m, height):
            yield self.read(top, min(m, top + height))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return consecutive rows as a new array."""
        return self.read_columns(slice(None), slice(start, stop))

    def read_columns(self, columns: slice | NDArray[np.intp], rows: Rows) -> Float:
        """Return rows of columns, (rows × c), in Fortran order."""
        wanted = np.arange(self.shape[1])[columns]
        is_whole = isinstance(rows, slice) and rows == slice(None)
        if not is_whole:
            unknown = wanted[np.isnan(self._means[wanted])]
            width = max(1, _DECODED // self.shape[0])
            for first in range(0, len(unknown), width):
                self.read_columns(unknown[first : first + width], slice(None))
        codes = self._codes(wanted, rows).T
        values = codes.astype(np.float64)  # (c × rows) in C order
        gaps = np.flatnonzero(codes == _MISSING) if codes.min(initial=0) < 0 else np.empty(0, int)
        owners = gaps // max(1, codes.shape[1])
        if is_whole and np.isnan(self._means[wanted]).any():
            self._set_means(wanted, values, np.bincount(owners, minlength=len(wanted)))
        values.reshape(-1)[gaps] = self._means[wanted[owners]]
        return values.T

    def _codes(self, columns: NDArray[np.intp], rows: Rows) -> NDArray[np.int8]:
        """Return counts of an allele as small integers, in Fortran order."""
        try:
            codes: NDArray[np.int8] = self._bed.read(
                index=(rows, columns), dtype="int8", order="F", num_threads=1
            )
        except Exception as error:  # of any kind: the file is no longer what it was
            raise OSError(f"{self.name} cannot be read; was it changed? ({error})") from error
        return codes

    def _set_means(
        self, columns: NDArray[np.intp], values: Float, n_missing: NDArray[np.intp]
    ) -> None:
        """Keep the means of the calls of whole columns (c × m), whose missing calls are coded."""
        n_calls = values.shape[1] - n_missing
        if not n_calls.all():
            index = int(columns[np.argmin(n_calls)])
            raise ValueError(
                f"{self.name}: marker {index} ({str(self._bed.sid[index])!r}) has no calls, so "
                "that there is no mean to fill in; remove it (plink --geno)."
            )
        # Sums of whole numbers are exact.
        self._means[columns] = (values.sum(axis=1) - _MISSING * n_missing) / n_calls


def _number(text: Any) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
