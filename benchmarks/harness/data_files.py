"""Reading svmlight and IDX files, packed or not."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import lzma
import struct
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_svmlight_file

Array = NDArray[np.float64]

# How a file may be packed: by the end of its name.
SUFFIXES = ("", ".xz", ".bz2", ".gz")
_UNSIGNED_BYTES = 8  # the only type of numbers that the IDX files of MNIST hold


def find(folder: Path, stem: str) -> Path | None:
    """The file of this name, packed in any of the ways known, if there is one."""
    return next(
        (file for file in (folder / (stem + end) for end in SUFFIXES) if file.is_file()), None
    )


def unpacked(file: Path) -> BinaryIO:
    """The bytes of a file as they were before packing."""
    openers: dict[str, Any] = {".xz": lzma.open, ".bz2": bz2.open, ".gz": gzip.open}
    return cast(BinaryIO, openers.get(file.suffix, open)(file, "rb"))


def read_svmlight(file: Path, features: int) -> tuple[Array, Array]:
    """Dense rows, and labels −1 and +1 by the sign of what the file says."""
    with unpacked(file) as stream:
        X, y = load_svmlight_file(stream, n_features=features)
    return X.toarray(), np.where(y > 0, 1.0, -1.0)


def read_idx(file: Path) -> NDArray[np.uint8]:
    """The array of an IDX file of unsigned bytes, in the shape that its head gives."""
    with unpacked(file) as stream:
        content = stream.read()
    zero, kind, dimensions = struct.unpack(">HBB", content[:4])
    if zero != 0 or kind != _UNSIGNED_BYTES or dimensions == 0:
        found = content[:4].hex(" ")
        raise ValueError(
            f"{file.name} starts with the bytes {found}; an IDX file of unsigned bytes starts "
            "with 00 00 08 and the number of its dimensions"
        )
    head = 4 + 4 * dimensions
    shape = struct.unpack(f">{dimensions}I", content[4:head])
    if len(content) - head != np.prod(shape, dtype=np.int64):
        raise ValueError(
            f"{file.name} has {len(content) - head:,} bytes of data; its head announces {shape}"
        )
    return np.frombuffer(content, dtype=np.uint8, offset=head).reshape(shape)


def digest_of_rows(X: Array, y: Array) -> str:
    """SHA-256 of the numbers themselves, however their text was written and packed."""
    digest = hashlib.sha256(f"{X.shape[0]} {X.shape[1]}".encode())
    digest.update(y.astype(np.int8).tobytes())
    # Adding zero makes one zero of −0.0 and 0.0.
    digest.update(np.ascontiguousarray(X + 0.0, dtype="<f8").tobytes())
    return digest.hexdigest()


def digest_of_bytes(file: Path) -> str:
    """SHA-256 of a file before packing."""
    with unpacked(file) as stream:
        return hashlib.sha256(stream.read()).hexdigest()
