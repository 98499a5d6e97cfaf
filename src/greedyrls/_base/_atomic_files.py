"""Files that are there whole or not at all: written under another name, then given their own."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def replace_file(path: Path, data: bytes, is_durable: bool = False) -> None:
    """Write a file, or replace one; a durable one is on the disk before it has its name."""
    # Beside the file, since only within one file system a file is replaced in one go.
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
