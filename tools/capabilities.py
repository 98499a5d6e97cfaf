"""The capability table: what works on which kind of data, as docs/guide/capabilities.md shows it.

    python3 tools/capabilities.py            check that the page shows the table
    python3 tools/capabilities.py --write    write the table into the page

The table is `FEATURES` of `greedyrls._search._capabilities`; tests compare the page with it and try
every cell.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from greedyrls._search._capabilities import FEATURES, KINDS  # noqa: E402

PAGE = ROOT / "docs" / "guide" / "capabilities.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"


def table() -> str:
    """All features on all kinds of data."""
    lines = [f"| | {' | '.join(KINDS)} |", f"| --- {'| --- ' * len(KINDS)}|"]
    for feature in FEATURES.values():
        cells = [feature.cell(kind) for kind in KINDS]
        lines.append(f"| {feature.row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page_with(text: str) -> str:
    """The page with the table replaced."""
    pattern = re.escape(BEGIN) + r".*?" + re.escape(END)
    return re.sub(pattern, lambda _: f"{BEGIN}\n{table()}\n{END}", text, flags=re.DOTALL)


def main() -> None:
    """Check the page, or write it."""
    text = PAGE.read_text(encoding="utf-8")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page_with(text), encoding="utf-8")
        return
    is_current = page_with(text) == text
    print(
        "The page shows the table." if is_current else "Run python3 tools/capabilities.py --write"
    )
    sys.exit(not is_current)


if __name__ == "__main__":
    main()
