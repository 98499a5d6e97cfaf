"""Print the lowest version of every dependency that pyproject.toml allows.

    python3 tools/lowest.py > lowest.txt

The lines name==version are those of the package and of its extra "test" (other extras: name them
as arguments). pip takes the file as constraints, which is why names come without extras of theirs.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# name[extra,…]>=version, the only form that pyproject.toml uses.
_REQUIREMENT = re.compile(r"([\w.-]+)(\[[\w.,\s-]+\])?\s*>=\s*([\w.]+)")


def lowest_pins(project: dict[str, Any], extras: list[str]) -> list[str]:
    """Lines name==version of the dependencies and of the extras, also those that they refer to.

    Parameters
    ----------
    project : the table [project] of pyproject.toml
    extras : names of optional dependencies
    """
    pins: dict[str, str] = {}
    own_reference = re.compile(re.escape(project["name"]) + r"\[([\w.,\s-]+)\]")
    seen: set[str] = set()
    waiting = list(project["dependencies"])
    names = list(extras)
    while waiting or names:
        while names:
            name = names.pop()
            if name not in project["optional-dependencies"]:
                raise SystemExit(f"pyproject.toml has no extra {name!r}.")
            if name not in seen:
                seen.add(name)
                waiting.extend(project["optional-dependencies"][name])
        for requirement in waiting:
            if reference := own_reference.fullmatch(requirement):
                names.extend(part.strip() for part in reference[1].split(","))
            elif bound := _REQUIREMENT.fullmatch(requirement):
                pins[bound[1]] = f"{bound[1]}=={bound[3]}"
            else:
                raise SystemExit(
                    f"pyproject.toml: {requirement!r} is not of the form name>=version."
                )
        waiting = []
    return [pins[name] for name in sorted(pins, key=str.lower)]


def main() -> None:
    """Print the pins of the extras named on the command line, or of "test"."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    print("\n".join(lowest_pins(project, sys.argv[1:] or ["test"])))


if __name__ == "__main__":
    main()
