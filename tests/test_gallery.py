"""The gallery: every script has a title, text and cells, runs on its own, and makes a picture."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from project import ROOT

GALLERY = ROOT / "docs" / "gallery_src"
SCRIPTS = sorted(GALLERY.rglob("plot_*.py"))
GROUPS = ("first_steps", "choosing", "honesty", "beyond", "comparisons")

# Runs a script as the site does, and fails without a figure. Figures are closed after each cell
# there, so that the last cell of a figure must have all of it.
RUN = """
import runpy, sys, warnings
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
warnings.simplefilter("error")
sizes = []
def show():
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        sizes.append(len(figure.axes))
    plt.close("all")
plt.show = show
runpy.run_path(sys.argv[1], run_name="__main__")
assert not plt.get_fignums(), "a figure was not shown"
assert sizes and all(sizes), "no figure, or an empty one"
"""


def test_every_group_is_there() -> None:
    assert {script.parent.name for script in SCRIPTS} == set(GROUPS)
    assert len(SCRIPTS) >= 14
    for folder in (GALLERY, *(GALLERY / group for group in GROUPS)):
        title, line, *text = (
            (folder / "GALLERY_HEADER.rst").read_text(encoding="utf-8").splitlines()
        )
        assert len(title) == len(line)
        assert any(text)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_has_a_title_text_and_cells(script: Path) -> None:
    source = script.read_text(encoding="utf-8")
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    assert docstring is not None
    _, title, line, blank, *text = docstring.splitlines()
    assert line == "=" * len(title)
    assert not blank
    assert len(" ".join(text)) > 100
    cells = re.split(r"(?m)^# %%$", source)[1:]
    assert len(cells) >= 2
    for cell in cells:
        assert cell.startswith("\n# "), "a cell begins with text"
        heading = re.match(r"\n# (.+)\n# (-+)\n", cell)
        assert heading is None or len(heading[1]) == len(heading[2])
    assert "plt.show()" in source


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_uses_public_names_only(script: Path) -> None:
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("greedyrls"):
            names = [*(node.module or "").split("."), *(name.name for name in node.names)]
            assert not any(name.startswith("_") for name in names)
        if isinstance(node, ast.Attribute):
            assert not node.attr.startswith("_") or node.attr.startswith("__")


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_script_makes_a_picture(script: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    got = subprocess.run(
        [sys.executable, "-c", RUN, str(script)],
        cwd=tmp_path,
        env=variables | {"PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert got.returncode == 0, got.stderr
    assert got.stdout  # says what the picture shows
    assert not list(tmp_path.iterdir())
