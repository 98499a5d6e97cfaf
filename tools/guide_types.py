"""The Python of README and guides as mypy sees it: a snippet that people copy has no type errors.

    python tools/guide_types.py [--write FOLDER]

The blocks of a guide are one program, in their order; a block with an ellipsis is a listing. With
``--write`` the programs are left in a folder, for other type checkers.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What a later block calls by the same name may be of another type. A module that another block has
# written, and libraries without types, are of any type.
OPTIONS = (
    *("--strict", "--ignore-missing-imports", "--allow-redefinition-new"),
    *("--local-partial-types", "--no-error-summary", "--config-file", ""),
)


def programs() -> dict[str, str]:
    """The code of each guide that has any, by the name of a module."""
    found = {}
    pages = [*sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/*/*.md"))]
    for guide in (ROOT / "README.md", *pages):
        blocks = re.findall(r"```python\n(.*?)```", guide.read_text(encoding="utf-8"), re.DOTALL)
        blocks = [block for block in blocks if "…" not in block]
        if blocks:
            found[f"guide_{guide.stem.lower().replace('-', '_')}"] = "\n".join(blocks)
    return found


def write(folder: Path) -> list[Path]:
    """The programs as files."""
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, code in programs().items():
        files.append(folder / f"{name}.py")
        files[-1].write_text(code, encoding="utf-8")
    return files


def check(folder: Path) -> int:
    """Run mypy; its exit code."""
    files = write(folder)
    command = [sys.executable, "-m", "mypy", *OPTIONS, *map(str, files)]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    if code == 0:
        print(f"No type errors in the Python of {len(files)} guides.")
    return code


def main() -> None:
    """Check, or only write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    folder = parser.parse_args().write
    if folder is not None:
        write(folder)
        return
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(check(Path(scratch)))


if __name__ == "__main__":
    main()
