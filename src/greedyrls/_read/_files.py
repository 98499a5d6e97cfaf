"""Files: which format a suffix stands for, how one is opened, and what is said when that fails."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TextIO, cast

from .._table import InputError
from .._text import printable

Format = Literal["csv", "parquet", "arrow", "svmlight", "npz"]

SUFFIXES: dict[Format, tuple[str, ...]] = {
    "csv": (".csv", ".tsv", ".tab", ".txt"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".feather", ".arrow", ".ipc"),
    "svmlight": (".svmlight", ".svm", ".libsvm"),
    "npz": (".npz",),
}
COMPRESSIONS: dict[Format, tuple[str, ...]] = {
    "csv": (".gz", ".bz2", ".xz", ".zst"),
    "svmlight": (".gz", ".bz2", ".xz"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """A file that exists, and what its name says of it."""

    path: Path
    format: Format
    suffix: str  # such as ".tsv", without that of a compression
    compression: str  # such as ".gz", or ""

    def __str__(self) -> str:
        return printable(str(self.path))

    def open_native(self) -> Any:
        """The same as a file of Arrow's own, where it can unpack it; else None.

        Its threads read Python's files, too, but may still want the interpreter when it ends.
        """
        import pyarrow as pa

        codecs = {"": None, ".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
        try:
            str(self.path).encode()
        except UnicodeEncodeError:
            return None  # Arrow has no such names
        if self.compression not in codecs:
            return None
        file = pa.OSFile(str(self.path))
        codec = codecs[self.compression]
        return file if codec is None else pa.CompressedInputStream(file, codec)

    def open(self) -> IO[bytes]:
        """The bytes of the file, unpacked."""
        if self.compression == ".gz":
            import gzip

            return cast(IO[bytes], gzip.open(self.path))
        if self.compression == ".bz2":
            import bz2

            return cast(IO[bytes], bz2.open(self.path))
        if self.compression == ".xz":
            import lzma

            return cast(IO[bytes], lzma.open(self.path))
        if self.compression == ".zst":
            import pyarrow as pa

            return cast(IO[bytes], pa.CompressedInputStream(pa.OSFile(str(self.path)), "zstd"))
        return self.path.open("rb")


def locate(path: str | os.PathLike[str]) -> Source:
    """A file that can be read, or an error that says why it cannot."""
    path = Path(path)
    name = printable(str(path))
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name}: cannot be found ({reason}); check the name.") from error
    if stat.S_ISDIR(status.st_mode):
        raise InputError(f"{name}: is a directory; give one of the files in it.")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{name}: is no regular file; save the data in a file first.")
    source = _told_by_suffix(path)
    if status.st_size == 0:
        raise InputError(f"{name}: is empty (0 bytes); was it written completely?")
    try:
        with path.open("rb"):
            pass
    except OSError as error:
        raise InputError(f"{name}: cannot be opened ({error.strerror}).") from error
    return source


def _told_by_suffix(path: Path) -> Source:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    for kind, known in SUFFIXES.items():
        if suffixes and suffixes[-1] in known:
            return Source(path, kind, suffixes[-1], "")
        packed = COMPRESSIONS.get(kind, ())
        if len(suffixes) > 1 and suffixes[-2] in known and suffixes[-1] in packed:
            return Source(path, kind, suffixes[-2], suffixes[-1])
    lists = [
        " ".join(known) + (f" (or these with {' '.join(packed)})" if packed else "")
        for kind, known in SUFFIXES.items()
        for packed in [COMPRESSIONS.get(kind, ())]
    ]
    advice = " Save the sheet as CSV." if suffixes and suffixes[-1].startswith(".xls") else ""
    raise InputError(
        f"{printable(str(path))}: its suffix tells no format that is known; known are "
        f"{', '.join(lists)}.{advice}"
    )


@contextmanager
def guarded(source: Source, what: str) -> Iterator[None]:
    """Whatever a damaged file makes a library raise, as an InputError of one line."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(
            f"{source}: {what} needs more memory than there is, or the file is damaged."
        ) from error
    # Libraries raise nearly everything on damaged bytes, so only what is not an error passes.
    except Exception as error:
        reason = shortened(str(error) or type(error).__name__, 300)
        raise InputError(
            f"{source}: {what} cannot be read, the file may be damaged: {reason}"
        ) from error


def need_pyarrow(source: Source) -> None:
    """An error that says what to install where pyarrow is missing."""
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise InputError(
            f"{source}: reading it needs pyarrow; pip install 'greedyrls[cli]'."
        ) from error


def open_text(source: Source, encoding: str) -> TextIO:
    """The text of the file, its line ends as they are and without a byte order mark."""
    known = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(source.open(), encoding=known, newline="")


def shortened(text: str, length: int) -> str:
    """The start of a text, in one line."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def shown(value: Any) -> str:
    """A name or a cell in quotation marks, of bearable length."""
    text = str(value)
    return repr(text if len(text) <= 60 else text[:59] + "…")
