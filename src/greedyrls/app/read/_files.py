"""Files: the format of a suffix, how to open a file, and errors if that fails."""

from __future__ import annotations

import importlib
import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Literal, TextIO, cast

from ..._base import printable
from .._table import InputError

Format = Literal[
    "csv",
    "jsonl",
    "excel",
    "parquet",
    "folder",
    "arrow",
    "svmlight",
    "npz",
    "npy",
    "hdf5",
    "zarr",
    "plink",
]

SUFFIXES: dict[Format, tuple[str, ...]] = {
    "csv": (".csv", ".tsv", ".tab", ".txt"),
    "jsonl": (".jsonl", ".ndjson"),
    "excel": (".xlsx", ".xlsm"),
    "parquet": (".parquet", ".pq"),
    "arrow": (".feather", ".arrow", ".ipc"),
    "svmlight": (".svmlight", ".svm", ".libsvm"),
    "npz": (".npz",),
    "npy": (".npy",),
    "hdf5": (".h5", ".hdf5"),
    "zarr": (".zarr",),
    "plink": (".bed",),
}
COMPRESSIONS: dict[Format, tuple[str, ...]] = {
    "csv": (".gz", ".bz2", ".xz", ".zst"),
    "jsonl": (".gz", ".bz2", ".xz", ".zst"),
    "svmlight": (".gz", ".bz2", ".xz"),
}
# Values of --format and the suffixes they stand for; a folder has Parquet files.
FORMATS: dict[str, str] = {
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "excel": ".xlsx",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "svmlight": ".svmlight",
    "npz": ".npz",
    "npy": ".npy",
    "hdf5": ".h5",
    "zarr": ".zarr",
    "plink": ".bed",
}
# The first bytes of compressed data.
_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}


@dataclass(frozen=True, slots=True)
class Source:
    """An existing file, with its format and compression."""

    path: Path
    format: Format
    suffix: str  # such as ".tsv", without the suffix of a compression
    compression: str  # such as ".gz", or ""
    title: str | None = None  # its name in messages, if not the path

    def __str__(self) -> str:
        return printable(self.name)

    @property
    def name(self) -> str:
        """The path as the user gave it, or the title."""
        return str(self.path) if self.title is None else self.title

    def open_native(self) -> Any:
        """Open the file as a native file of Arrow if Arrow can decompress it; otherwise None.

        Threads of Arrow also read Python files, but may need the interpreter after it has ended.
        """
        import pyarrow as pa

        codecs = {"": None, ".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
        try:
            str(self.path).encode()
        except UnicodeEncodeError:
            return None  # Arrow does not accept such names
        if self.compression not in codecs:
            return None
        file = pa.OSFile(str(self.path))
        codec = codecs[self.compression]
        return file if codec is None else pa.CompressedInputStream(file, codec)

    def open(self) -> IO[bytes]:
        """Open the decompressed bytes of the file."""
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


def locate(
    path: str | os.PathLike[str], format: str | None = None, title: str | None = None
) -> Source:
    """Return a readable file, or folder of Parquet files; raise an error that says why not.

    The format follows from the suffix unless it is given. `title` is the name in messages.
    """
    path = Path(path)
    name = printable(str(path) if title is None else title)
    if format is not None and format not in FORMATS:
        raise InputError(f"--format {shown(format)} is not supported; use {', '.join(FORMATS)}.")
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{name}: cannot be found ({reason}); check the name.") from error
    if stat.S_ISDIR(status.st_mode):
        if format == "zarr" or (format is None and path.suffix.lower() in SUFFIXES["zarr"]):
            return Source(path, "zarr", ".zarr", "", title)
        if format not in (None, "parquet"):
            raise InputError(f"{name}: is a directory, and --format {format} reads single files.")
        return Source(path, "folder", "", "", title)
    if not stat.S_ISREG(status.st_mode):
        raise InputError(
            f"{name}: is not a regular file; save the data in a file first, or pass - for DATA to "
            "read standard input."
        )
    source = replace(_by_suffix(path, format), title=title)
    if status.st_size == 0:
        raise InputError(f"{name}: is empty (0 bytes); was it written completely?")
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError as error:
        raise InputError(f"{name}: cannot be opened ({error.strerror}).") from error
    if title is not None and not source.compression:
        # Standard input has no suffix for its compression.
        packed = next((suffix for magic, suffix in _MAGIC.items() if start.startswith(magic)), "")
        if packed in COMPRESSIONS.get(source.format, ()):
            source = replace(source, compression=packed)
    return source


def _by_suffix(path: Path, format: str | None) -> Source:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if format is not None:
        suffix = FORMATS[format]
        kind = next(kind for kind, endings in SUFFIXES.items() if suffix in endings)
        is_packed = bool(suffixes) and suffixes[-1] in COMPRESSIONS.get(kind, ())
        return Source(path, kind, suffix, suffixes[-1] if is_packed else "")
    for kind, accepted in SUFFIXES.items():
        if suffixes and suffixes[-1] in accepted:
            return Source(path, kind, suffixes[-1], "")
        packed = COMPRESSIONS.get(kind, ())
        if len(suffixes) > 1 and suffixes[-2] in accepted and suffixes[-1] in packed:
            return Source(path, kind, suffixes[-2], suffixes[-1])
    lists = [
        " ".join(accepted) + (f" (or these with {' '.join(packed)})" if packed else "")
        for kind, accepted in SUFFIXES.items()
        for packed in [COMPRESSIONS.get(kind, ())]
    ]
    advice = ""
    if suffixes and suffixes[-1] in (".xls", ".xlsb", ".ods"):
        advice = " Save the sheet as .xlsx or CSV."
    elif suffixes and suffixes[-1] == ".json":
        advice = " Pass --format jsonl if each line is an object."
    raise InputError(
        f"{printable(str(path))}: its suffix does not identify a supported format; supported are "
        f"{', '.join(lists)}; or pass --format.{advice}"
    )


@contextmanager
def guarded(source: Source, what: str) -> Iterator[None]:
    """Turn any exception of a library on a damaged file into an InputError of one line."""
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(
            f"{source}: {what} needs more memory than is available, or the file is damaged."
        ) from error
    # Libraries raise nearly any exception on damaged bytes.
    except Exception as error:
        reason = shortened(str(error) or type(error).__name__, 300)
        raise InputError(
            f"{source}: {what} cannot be read, the file may be damaged: {reason}"
        ) from error


def need_pyarrow(source: Source) -> None:
    """Raise an error that says what to install if pyarrow is missing."""
    need(source, "pyarrow", "cli")


def need(source: Source, package: str, extra: str) -> None:
    """Raise an error that says which extra to install if a package is missing."""
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise InputError(
            f"{source}: reading it needs {package}; pip install 'greedyrls[{extra}]'."
        ) from error


def open_text(source: Source, encoding: str) -> TextIO:
    """Open the text of the file, with line ends unchanged and without a byte order mark."""
    codec = "utf-8-sig" if encoding == "utf-8" else encoding
    return io.TextIOWrapper(source.open(), encoding=codec, newline="")


def shortened(text: str, length: int) -> str:
    """Return the start of a text, on one line."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def shown(value: Any) -> str:
    """Return a name or a cell in quotation marks, shortened if it is long."""
    text = str(value)
    return repr(text if len(text) <= 60 else text[:59] + "…")
