"""Result files, written whole or not at all, also when a run is stopped."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

from . import tables
from .suite import Environment, Options, Suite

O = TypeVar("O", bound=Options)  # noqa: E741 (the options)
R = TypeVar("R")


def write_results(
    suite: Suite[O, R], options: O, environment: Environment, rows: Sequence[R]
) -> None:
    """Write what there is so far: JSON, and tables in Markdown next to it."""
    if suite.document is not None:
        write_json(options.output, suite.document(options, environment, rows))
    if suite.page is not None:
        page = suite.page(environment, rows, tables.markdown)
        write_text(options.output.with_suffix(".md"), page)


def write_json(file: Path, content: Any) -> None:
    """Write a document for people to read too."""
    write_text(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_compact_json(file: Path, content: Any) -> None:
    """Write a document of many numbers on a single line."""
    write_text(file, json.dumps(content, separators=(",", ":")) + "\n")


def write_text(file: Path, text: str) -> None:
    """Replace a file by a text in one piece; its folder is made where there is none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(file)


def read_json(file: Path) -> dict[str, Any]:
    """Read a document of one of the functions above."""
    return cast(dict[str, Any], json.loads(file.read_text(encoding="utf-8")))
