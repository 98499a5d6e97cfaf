"""Tables as plain text with aligned columns, and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

Cells = Sequence[Sequence[str]]


def plain_text(cells: Cells) -> str:
    """Columns aligned by spaces."""
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in (lines[0], "-" * len(lines[0]), *lines[1:]))


def markdown(cells: Cells) -> str:
    """A Markdown table."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    return "\n".join([lines[0], "|" + " --- |" * len(cells[0]), *lines[1:]])
