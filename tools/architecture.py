"""The architecture: packages, what each is for and which others it may import.

    python3 tools/architecture.py            check every import, also those inside functions
    python3 tools/architecture.py --write    redraw the picture in CONTRIBUTING.md

`tests/test_architecture.py` runs the check and compares the picture.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "greedyrls"
GUIDE = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- architecture: begin -->", "<!-- architecture: end -->"

# What a package may import: these packages and all that these may import.
MAY_IMPORT: dict[str, tuple[str, ...]] = {
    "_base": (),
    "_data": ("_base",),
    "path": ("_base",),
    "_problem": ("_data", "path"),
    "_rows": ("_problem",),
    "_features": ("_rows",),
    "_criteria": ("_features",),
    "_steppers": ("_criteria",),
    "_cluster": ("_criteria",),
    "_search": ("_steppers", "_cluster"),
    "_select": ("_search",),
    "files": ("_data",),
    "metrics": ("_problem",),
    "estimators": ("_select", "metrics"),
    "assess": ("_select",),
    "plots": ("assess",),
    "_notebook": ("plots",),
    "app": ("assess", "estimators", "files"),
    "export": ("app",),
    "report": ("app", "plots"),
    "cli": ("export", "plots", "report"),
    "__main__": ("cli",),
    "reference": (),
}
# Imports inside functions that go the other way: a result is shown in a notebook by a package that
# knows all results.
DEFERRED = {
    ("path", "_notebook"),
    ("estimators", "_notebook"),
    ("assess", "_notebook"),
}


class Import(NamedTuple):
    """A name that a file imports from another package of ours."""

    file: Path
    line: int
    source: str  # the package of the file
    target: str  # the package of the name
    module: str  # within the target: empty if the name comes from the package itself
    name: str
    is_deferred: bool  # inside a function

    def __str__(self) -> str:
        place = f"{self.file.relative_to(PACKAGE)}:{self.line}"
        return f"{place}: {self.source} imports {self.name} from {self.target}"


def packages() -> list[str]:
    """Packages and modules directly below greedyrls."""
    names = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    return sorted(names | {path.parent.name for path in PACKAGE.glob("*/__init__.py")})


def files_of(package: str) -> list[Path]:
    """All files of a package, or the one of a module."""
    folder = PACKAGE / package
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{package}.py"]


@cache
def allowed(package: str) -> frozenset[str]:
    """All that a package may import, by way of others as well."""
    direct = MAY_IMPORT[package]
    return frozenset(direct).union(*(allowed(other) for other in direct))


def imports(package: str) -> Iterator[Import]:
    """What the files of a package import from others of ours."""
    for file in files_of(package):
        depth = len(file.relative_to(PACKAGE).parts)
        tree = ast.parse(file.read_text(encoding="utf-8"))
        functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.Lambda)]
        inside = {id(node) for function in functions for node in ast.walk(function)}
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or node.level < depth:
                continue
            for alias in node.names:
                parts = (
                    [*(node.module or "").split("."), alias.name] if node.module else [alias.name]
                )
                if parts != ["__version__"]:  # which every package may know
                    yield Import(
                        file,
                        node.lineno,
                        package,
                        parts[0],
                        ".".join(parts[1:-1]),
                        parts[-1],
                        id(node) in inside,
                    )


def exports(package: str) -> set[str]:
    """The names in the stub of a package, which others may use."""
    stub = PACKAGE / package / "__init__.pyi"
    if not stub.exists():
        return set()
    nodes = ast.parse(stub.read_text(encoding="utf-8")).body
    return {
        alias.name for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }


def problems() -> list[str]:
    """Every import that breaks the plan, in words."""
    found = [f"{name} is missing in MAY_IMPORT" for name in packages() if name not in MAY_IMPORT]
    found += [f"{name} does not exist" for name in MAY_IMPORT if name not in packages()]
    for package in packages():
        for one in imports(package):
            is_known = one.target in allowed(package) or (
                one.is_deferred and (package, one.target) in DEFERRED
            )
            if not is_known:
                found.append(f"{one}: not in the plan")
            elif one.module:
                found.append(f"{one}.{one.module}: import it from {one.target} itself")
            elif (PACKAGE / one.target / "__init__.pyi").exists() and (
                one.name not in exports(one.target)
            ):
                found.append(f"{one}, whose stub does not list it")
    return found


def picture() -> str:
    """The packages and what each may import, as a Mermaid diagram."""
    shown = [name for name in MAY_IMPORT if name != "__main__"]
    lines = ["```mermaid", "flowchart BT"]
    lines += [f"    {_node(name)}" for name in shown]
    for name in shown:
        lines += [f"    {name} --> {other}" for other in MAY_IMPORT[name] if other in shown]
    return "\n".join([*lines, "```"])


def _node(name: str) -> str:
    return f'{name}(["{name}"])' if not name.startswith("_") else f'{name}["{name}"]'


def guide_with(drawn: str) -> str:
    """CONTRIBUTING.md with the picture replaced."""
    text = GUIDE.read_text(encoding="utf-8")
    pattern = re.escape(BEGIN) + r".*?" + re.escape(END)
    return re.sub(pattern, f"{BEGIN}\n{drawn}\n{END}", text, flags=re.DOTALL)


def main() -> None:
    """Check, or write the picture."""
    if "--write" in sys.argv[1:]:
        GUIDE.write_text(guide_with(picture()), encoding="utf-8")
        return
    found = problems()
    print("\n".join(found) or "Every import follows the plan.")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
