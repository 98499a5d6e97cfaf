"""Set-up and tasks from a clean clone, with nothing but Python and pip.

    python3 dev.py demo    select features of embedded data, show the path, write a report
    python3 dev.py test    run the tests (further arguments go to pytest)
    python3 dev.py lint    ruff and mypy

Each task makes its own virtual environment under .venvs/ and installs what it needs there, and what
GREEDYRLS_ALSO names: tests with PyTorch are skipped without it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
EXTRAS = {"demo": "cli", "test": "test", "lint": "dev"}


def environment(task: str) -> Path:
    """The Python of the task's own environment, made and filled if needed."""
    folder = ROOT / ".venvs" / task
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        print(f"Making a virtual environment in {folder.relative_to(ROOT)} …", flush=True)
        venv.create(folder, with_pip=True, clear=True)
    print("Installing what is needed (a minute the first time) …", flush=True)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    also = os.environ.get("GREEDYRLS_ALSO", "").split()
    run([python, *install, "--editable", f"{ROOT}[{EXTRAS[task]}]", *also])
    return python


def run(command: list[str | Path]) -> None:
    """Run a command in the root of the clone; leave with its code if it fails."""
    code = subprocess.run(command, cwd=ROOT).returncode
    if code:
        sys.exit(code)


def main() -> None:
    """Do the task named on the command line."""
    if sys.version_info < (3, 11):  # noqa: UP036 (this file runs before anything is installed)
        sys.exit(f"greedyrls needs Python 3.11 or newer; this is {sys.version.split()[0]}.")
    if len(sys.argv) < 2 or sys.argv[1] not in EXTRAS:
        sys.exit(__doc__)
    task, arguments = sys.argv[1], sys.argv[2:]
    python = environment(task)
    if task == "demo":
        run([python, "-m", "greedyrls", "demo", "--out", "demo-output", *arguments])
    elif task == "test":
        workers = str(min(os.cpu_count() or 1, 8))
        run([python, "-m", "pytest", "-n", workers, *arguments])
    else:
        run([python, "-m", "ruff", "check", "."])
        run([python, "-m", "ruff", "format", "--check", "."])
        run([python, "-m", "mypy"])


if __name__ == "__main__":
    main()
