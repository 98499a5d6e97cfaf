"""The README's code runs, and prints what the README shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from project import GUIDES, ROOT

README = ROOT / "README.md"


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


# What the code of each guide prints, among other things.
PRINTED = {
    "choosing": ["chosen by rule '1se'", "AUC 0.966, balanced accuracy 0.903"],
    "assessing": [
        "On samples that took no part in the selection the accuracy is",
        "permuted targets",
        "Stability of the first 8 features over 30 selections",
    ],
    "groups": ["['city', 'weight', 'height']", "The budget is spent", "6.5"],
    "kernels": ["13 centres chosen by rule 'min'", "13 centres of 450, 0.900 right"],
    "../ten-minutes": [
        "On samples that took no part in the selection the root mean squared error",
        "6 of 10 features were chosen to predict progression: bmi, s5",
    ],
    "report": ["chosen to predict malignant"],
    "../index": ["On samples that took no part in the selection the root mean squared error"],
    "reporting": [
        "Features were selected by greedy forward selection for ridge regression",
        "The stability index of the selections (30 subsamples of 50% of the samples) was",
        "A permutation test repeated the selection on 99 random permutations",
    ],
    "ranking": ["merged of leave-query-out (100 queries)", "NDCG of new queries: 0.9"],
}


@pytest.mark.slow
@pytest.mark.parametrize("guide", PRINTED)
def test_code_of_a_guide_runs(
    guide: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("jinja2")
    monkeypatch.chdir(tmp_path)  # some write files
    pytest.importorskip("pandas")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    names: dict[str, Any] = {}
    text = (GUIDES / f"{guide}.md").read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(code, names)
    printed = capsys.readouterr().out
    for words in PRINTED[guide]:
        assert words in printed
    pyplot.close("all")


def test_links_lead_somewhere() -> None:
    root = README.parent
    pages = [*sorted(root.glob("docs/*.md")), *sorted(root.glob("docs/*/*.md"))]
    for document in (README, *pages, root / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)", document.read_text(encoding="utf-8")):
            # The gallery's pages, and the results of benchmarks, are made when the site is built.
            if not target.startswith(("http", "gallery/", "../gallery/", "results/")):
                assert (document.parent / target).exists(), f"{document.name}: {target}"
