"""The stories run, say what they promise to say, and leave their pictures."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import dump_svmlight_file

from project import ROOT
from scripts import load

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.slow

EXAMPLES = ROOT / "examples"

PNG = b"\x89PNG\r\n"


def tell(story: str, folder: Path, *arguments: str) -> str:
    """What a story prints; its pictures go to a folder of the test."""
    command = [sys.executable, str(EXAMPLES / f"{story}.py"), "pictures", *arguments]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def assert_pictures(folder: Path, *names: str) -> None:
    found = {path.stem: path for path in (folder / "pictures").iterdir()}
    assert set(found) == set(names)
    for path in found.values():
        assert path.read_bytes().startswith(PNG)
        assert path.stat().st_size > 10_000


def test_regression(tmp_path: Path) -> None:
    said = tell("regression", tmp_path)
    assert "442 patients" in said
    assert "8 features chosen by rule '1se'" in said
    assert "body mass index" in said
    # Two ways to the same estimate.
    before = "cross_val_score of the pipeline: root mean squared error "
    scored = float(said.split(before)[1].split()[0])
    told = said.split("took no part in the selection the root mean squared error is ")[1]
    assessed = float(told.split()[0])
    assert scored == pytest.approx(assessed, rel=0.02)
    assert "Stability of the first 8 features over 50 selections" in said
    assert_pictures(tmp_path, "assessment", "coefficients", "stability")


def test_gene_expression(tmp_path: Path) -> None:
    generator = np.random.default_rng(3)
    X, y = np.exp(generator.standard_normal((40, 60)) + 5.0), np.repeat([-1, 1], 20)
    X[y > 0, 6] *= 20.0
    dump_svmlight_file(X, y, str(tmp_path / "small.svm"), zero_based=False)
    said = tell("gene_expression", tmp_path, "--data", "small.svm", "--floor", "100")
    assert "40 samples (-1.0 20, 1.0 20), 60 genes" in said
    assert "The penalty chosen in outer folds" in said
    (first,) = [line for line in said.splitlines() if line.startswith("1   ")]
    assert "gene 7 " in first
    assert "from 100 permutations" in said
    assert "Stability of the first 10 features" in said
    assert "Warning: " in said
    assert_pictures(tmp_path, "assessment", "path", "stability")


def test_text(tmp_path: Path) -> None:
    said = tell("text", tmp_path)
    assert "of SciPy" in said
    assert "of scikit-learn" in said
    # The texts change with the libraries, but hardly the habit of one house.
    assert "  optional      SciPy" in said
    before, after = said.split("No words of layout")
    assert "optional" not in after
    assert "(5-fold by groups)" in before
    assert "With docstrings shuffled over the folds it would seem 0.0" in before
    parts = [
        f"{words}-{what}"
        for words in ("all-words", "no-words-of-layout")
        for what in ("weights", "assessment")
    ]
    assert_pictures(tmp_path, *parts)


# The data of the gene story ----------------------------------------------------------------------


def test_genes_of_a_table(tmp_path: Path) -> None:
    file = tmp_path / "genes.csv.gz"
    table = pd.DataFrame({"HBB": [1.0, 2.0], "MYC": [3.0, 4.0], "tissue": ["normal", "tumour"]})
    table.to_csv(file, index=False)
    X, y = load(EXAMPLES / "gene_expression.py").read(file)
    assert X.columns.tolist() == ["HBB", "MYC"]
    assert y.tolist() == ["normal", "tumour"]


def test_genes_that_cannot_be_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(**options: Any) -> None:
        raise URLError("no network")

    story = load(EXAMPLES / "gene_expression.py")
    monkeypatch.setattr(story, "fetch_openml", unreachable)
    with pytest.raises(SystemExit, match=r"openml\.org.*no network.*\n.*--data FILE"):
        story.read(None)
