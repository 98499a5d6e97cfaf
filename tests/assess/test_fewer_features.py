"""The held-out curve says where far fewer features do as well as those chosen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assess_checks import ALPHAS
from command_line import CommandLine
from greedyrls import SizeChoice, greedy_path
from greedyrls.assess import path_warnings
from greedyrls.report import make_report


def copies(n_rows: int = 200) -> Any:
    """A feature, twice that, and nearly that; the target is the feature and noise."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(n_rows)
    X = np.column_stack([a, 2.0 * a, a + 1e-3 * rng.standard_normal(n_rows)])
    return X, a + rng.standard_normal(n_rows)


def test_one_of_three_copies_does_as_well() -> None:
    X, y = copies()
    path = greedy_path(X, y, 3, alpha=ALPHAS)
    (sentence,) = [one for one in path_warnings(path) if "the same within one" in one]
    assert path.held_out is not None
    losses = path.held_out[0]
    assert sentence.startswith(
        "With 1 feature the held-out mean squared error is the same within one standard error: "
        f"{losses[0]:.4g} against {losses[2]:.4g} with 3 (standard error of the difference "
    )
    # The error is that of the paired differences over folds.
    assert path.surface is not None
    differences = np.diff(path.surface.fold_losses[:, path.surface.row, [0, 2]], axis=1)[:, 0]
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    assert f"difference {error:.2g})" in sentence
    # Two of three are more than half.
    assert not any("within one" in one for one in path_warnings(greedy_path(X, y, 2, alpha=1.0)))


def test_features_that_are_needed() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    path = greedy_path(X, X.sum(axis=1) + rng.standard_normal(120), 4, alpha=ALPHAS)
    assert not any("within one standard error" in one for one in path_warnings(path))
    # Forced ones cannot be left out.
    copied, y = copies()
    forced = greedy_path(copied, y, 3, alpha=ALPHAS, forced_features=[0, 1])
    assert not any("within one standard error" in one for one in path_warnings(forced))
    # Nor can there be fewer than none.
    path = replace(path, size_choice=SizeChoice(0, "min", "Nothing predicts."))
    assert not any("within one standard error" in one for one in path_warnings(path))


def test_the_command_line_says_that_fewer_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    X, y = copies()
    file = tmp_path / "copies.csv"
    np.savetxt(file, np.column_stack([X, y]), delimiter=",", header="a,b,c,y", comments="")
    result = CommandLine(capsys).result(file, "--target", "y", "-k", "3")
    assert any(one.startswith("With 1 feature the held-out") for one in result.warnings)
    assert "With 1 feature the held-out" in make_report(result)
