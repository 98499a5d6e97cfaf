"""The simulations that claims are checked by run, and say what they should."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
# After everything else: no module of the tests may be hidden.
sys.path.append(str(BENCHMARKS))

from harness.command import main  # noqa: E402
from suites.coverage import Cell  # noqa: E402


def test_coverage(tmp_path: Path) -> None:
    """It checks itself that its folds and errors are those of the assessment."""
    arguments = ["--replications", "2", "--cache", str(tmp_path), "--output", str(tmp_path)]
    only = ["--only", "regression-60x20", "--only", "half-60x20-weak"]
    assert main(["coverage", *arguments, *only]) == 0
    found = json.loads((tmp_path / "coverage.json").read_text())["cells"]
    assert len(found) == 4
    assert all(0.0 <= cell["ours"] <= 1.0 for cell in found.values())


@pytest.mark.parametrize("kind", ["regression", "half", "15%"])
@pytest.mark.parametrize("intercept", [0.0, -0.4])
def test_true_losses_are_those_of_many_samples(kind: str, intercept: float) -> None:
    cell = Cell(kind, 200, 8, "weak")
    chosen, w = np.array([1, 6, 3]), np.array([0.3, -0.1, 0.2])
    X, y = cell.draw(np.random.default_rng(0), 100_000)
    P = X[:, chosen] @ w + intercept
    losses = (P - y) ** 2 if kind == "regression" else P * y <= 0.0
    exact = cell.true_loss(chosen, w, intercept)
    assert exact == pytest.approx(np.mean(losses), abs=4.0 * np.std(losses) / np.sqrt(len(y)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["sizes, 1se, noise", "optimism, 60 × 300, signal 4", "warnings, near copies"],
)
def test_claims(name: str, tmp_path: Path) -> None:
    arguments = ["--replications", "2", "--cache", str(tmp_path), "--output", str(tmp_path)]
    assert main(["claims", *arguments, "--only", name]) == 0
    found = json.loads((tmp_path / "claims.json").read_text())["cells"][name]
    assert found["replications"] == 2
    if name == "warnings, near copies":
        assert found["means"]["near ties, 5 asked for"] == 1.0
    assert f"| {name.split(', ', 1)[1]} | 2 |" in (tmp_path / "claims.md").read_text("utf-8")
