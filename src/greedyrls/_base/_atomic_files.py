"""Atomic writes: a file is written under a temporary name, then renamed."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def replace_file(path: Path, data: bytes, is_durable: bool = False) -> None:
    """Write or replace a file; with `is_durable` it is on the disk before it is renamed."""
    # In the same folder, because a rename is atomic only within one file system.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        with open(draft, "xb") as file:
            file.write(data)
            if is_durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
