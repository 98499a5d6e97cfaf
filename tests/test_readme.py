"""The README's code runs, and prints what the README shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_code_runs_and_prints_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    first, *others = blocks("python")
    exec(first, names)
    printed = [line.split() for line in capsys.readouterr().out.splitlines()]
    (shown,) = blocks("text")
    assert printed == [line.split() for line in shown.splitlines()]
    for code in others:
        exec(code, names)
    pytest.importorskip("matplotlib.pyplot").close("all")


def test_code_of_the_guide_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names: dict[str, Any] = {}
    guide = (README.parent / "docs" / "choosing.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(code, names)
    assert "chosen by rule '1se'" in capsys.readouterr().out
    pyplot.close("all")


def test_code_of_the_guide_to_assessing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names: dict[str, Any] = {}
    guide = (README.parent / "docs" / "assessing.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(code, names)
    printed = capsys.readouterr().out
    assert "On samples that took no part in the selection the error rate is" in printed
    assert "permuted targets" in printed
    assert "Stability of the first 8 features over 30 selections" in printed
    pyplot.close("all")


def test_code_of_the_guide_to_groups_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pandas")
    names: dict[str, Any] = {}
    guide = (README.parent / "docs" / "groups.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(code, names)
    printed = capsys.readouterr().out
    assert "['city', 'weight', 'height']" in printed
    assert "The budget is spent" in printed
    assert "6.5" in printed


def test_code_of_the_guide_to_kernel_centres_runs(capsys: pytest.CaptureFixture[str]) -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names: dict[str, Any] = {}
    guide = (README.parent / "docs" / "kernels.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(code, names)
    printed = capsys.readouterr().out
    assert "14 features chosen by rule 'min'" in printed
    assert "14 centres of 450, 0.893 right" in printed
    assert names["smaller"].n_centers_ == 3
    pyplot.close("all")


def test_links_lead_somewhere() -> None:
    root = README.parent
    for document in (README, *sorted(root.glob("docs/*.md")), root / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_code_of_the_guide_to_ranking_runs(capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    guide = (README.parent / "docs" / "ranking.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", guide, re.DOTALL):
        exec(code, names)
    printed = capsys.readouterr().out
    assert "merged of leave-query-out (100 queries)" in printed
    assert "NDCG of new queries: 0.9" in printed
