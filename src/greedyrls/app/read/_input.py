"""The input of a command: a file, a folder, or standard input; its size and digest."""

from __future__ import annotations

import hashlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .._table import InputError
from ._folder import parquet_files

STANDARD_INPUT = "standard input"


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file or folder, and its title in messages if that is not the path."""

    path: Path
    title: str | None = None

    def digest(self) -> tuple[int, str]:
        """Return the number of bytes and their SHA-256; files of a folder are concatenated."""
        digest, count = hashlib.sha256(), 0
        for file in self._files():
            with file.open("rb") as content:
                while part := content.read(1 << 20):
                    digest.update(part)
                    count += len(part)
        return count, digest.hexdigest()

    def _files(self) -> list[Path]:
        """The files that the data are read from, in a fixed order."""
        if self.path.suffix.lower() == ".zarr" and self.path.is_dir():
            return sorted(file for file in self.path.rglob("*") if file.is_file())
        if self.path.suffix.lower() == ".bed":
            beside = [self.path.with_suffix(suffix) for suffix in (".bim", ".fam")]
            return [self.path, *(file for file in beside if file.exists())]
        return parquet_files(self.path) if self.path.is_dir() else [self.path]


def file_name(data: Path) -> str:
    """Return the name of the data in a summary."""
    return STANDARD_INPUT if is_standard_input(data) else data.name


def is_standard_input(data: Path) -> bool:
    """Whether DATA is a dash."""
    return str(data) == "-"


@contextmanager
def open_input(data: Path) -> Iterator[InputFile]:
    """Yield data that can be read more than once: standard input is copied to a temporary file."""
    if not is_standard_input(data):
        yield InputFile(data)
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("-: standard input has no data; pipe a table in, or name a file.")
    with tempfile.TemporaryDirectory(prefix="greedyrls-") as folder:
        path = Path(folder, "input")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield InputFile(path, STANDARD_INPUT)
