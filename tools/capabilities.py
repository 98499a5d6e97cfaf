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
# Names of options in advice.
_OPTIONS = (
    "feature_groups",
    "feature_costs",
    "checkpoint",
    "alpha",
    "class_weight",
    "sample_weight",
    "decision_function",
    r"greedy_path\([^)]*\)",
)
BEGIN, END = "<!-- {part}: begin -->", "<!-- {part}: end -->"


def table() -> str:
    """All features on all kinds of data."""
    lines = [f"| | {' | '.join(KINDS)} |", f"| --- {'| --- ' * len(KINDS)}|"]
    for feature in FEATURES.values():
        cells = [feature.cell(kind) for kind in KINDS]
        lines.append(f"| {feature.row} | {' | '.join(cells)} |")
    return "\n".join(lines)


def refusals() -> str:
    """For each feature that some kinds of data do not support: why, and what to do instead."""
    lines = ["| | not supported on | because it | instead |", "| --- | --- | --- | --- |"]
    for feature in FEATURES.values():
        kinds = [kind for kind in KINDS if feature.cell(kind) == "no"]
        if kinds:
            advice = [_as_code(feature.instead), "load X into memory"]
            text = ", or ".join(part for part in advice if part)
            lines.append(f"| {feature.row} | {', '.join(kinds)} | {feature.why} | {text} |")
    return "\n".join(lines)


def _as_code(advice: str) -> str:
    """Options in advice, as code."""
    advice = re.sub(r"(\w+=)?'(\w+)'", r'`\1"\2"`', advice)
    return re.sub(rf"(?<!`)\b({'|'.join(_OPTIONS)})(?!\w)", r"`\1`", advice)


def page_with(text: str) -> str:
    """The page with both parts replaced."""
    for part, content in (("table", table()), ("refusals", refusals())):
        begin, end = BEGIN.format(part=part), END.format(part=part)
        pattern = re.escape(begin) + r".*?" + re.escape(end)
        text = re.sub(
            pattern, lambda _, own=f"{begin}\n{content}\n{end}": own, text, flags=re.DOTALL
        )
    return text


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
