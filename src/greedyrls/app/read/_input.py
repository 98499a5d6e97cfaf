"""What a command reads: a file, a folder, or standard input; its size and digest."""

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
class Given:
    """A file or folder, and what people call it if not by its path."""

    path: Path
    title: str | None = None

    def digest(self) -> tuple[int, str]:
        """Bytes, and the SHA-256 of them; of a folder those of its files, one after the other."""
        digest, count = hashlib.sha256(), 0
        for file in parquet_files(self.path) if self.path.is_dir() else [self.path]:
            with file.open("rb") as content:
                while part := content.read(1 << 20):
                    digest.update(part)
                    count += len(part)
        return count, digest.hexdigest()


def file_name(data: Path) -> str:
    """What a summary calls the data."""
    return STANDARD_INPUT if is_standard_input(data) else data.name


def is_standard_input(data: Path) -> bool:
    """Whether DATA is a dash."""
    return str(data) == "-"


@contextmanager
def given(data: Path) -> Iterator[Given]:
    """Data that can be read more than once: standard input is copied to a file for a while."""
    if not is_standard_input(data):
        yield Given(data)
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("-: standard input has no data; pipe a table in, or name a file.")
    with tempfile.TemporaryDirectory(prefix="greedyrls-") as folder:
        path = Path(folder, "input")
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        yield Given(path, STANDARD_INPUT)
