"""Where rounding may decide a step, compiled code leaves it to the general engine.

And what both have in common: tolerances, codes, and results on every set of instructions.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from compiled_steps import (
    LOOPS,
    Answers,
    assert_same_path,
    compiled_path,
    n_taken,
    needs_compiled_steps,
    numpy_path,
)
from internals import (
    DRIFT_BOUND,
    MARGIN,
    UNDECIDED,
    compiled_rows,
    penalties,
    tolerances,
)
from internals import Stop as StepStop
from problems import Case, two_classes
from project import ROOT

SOURCES = ROOT / "src" / "greedyrls" / "_base" / "c"


def sources() -> str:
    return "\n".join(file.read_text(encoding="utf-8") for file in sorted(SOURCES.glob("*.[ch]")))


# What is written down twice ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        *("TIE", "TIE_ROUNDING", "LOSS_ROUNDING", "SUM_ROUNDING", "TINY", "PARALLEL"),
        *("SMALLEST_D", "REFINED_PIVOT", "TRUSTED_PIVOT"),
        *("KNOWN_LOSS", "Z_ROUNDING", "FAR_ROUNDING"),
        *("DRIFT_BOUND", "MARGIN", "UNDECIDED"),
    ],
)
def test_tolerances_are_those_of_the_general_engine(name: str) -> None:
    others = {"DRIFT_BOUND": DRIFT_BOUND, "MARGIN": MARGIN, "UNDECIDED": UNDECIDED}
    expected = others[name] if name in others else getattr(tolerances, name)
    found = re.findall(rf"^#define {name} (\S+)$", sources(), re.MULTILINE)
    assert [float(value) for value in found] == [expected]


@pytest.mark.parametrize("name", ["SPANNED", "LEAST", "NEGATIVE"])
def test_pivots_of_kernel_centres_have_the_same_limits(name: str) -> None:
    written = name.replace("LEAST", "LEAST_PIVOT")
    (found,) = re.findall(rf"^#define {written} (\S+)$", sources(), re.MULTILINE)
    assert float(found) == getattr(penalties, f"_{name}")


def enumeration(name: str) -> dict[str, int]:
    (body,) = re.findall(rf"enum {name} {{(.*?)}}", sources(), re.DOTALL)
    numbered = re.findall(r"(\w+) = (\d+)", body)
    assert len(numbered) == len(re.sub(r"/\*.*?\*/", "", body, flags=re.DOTALL).split(","))
    return {key: int(number) for key, number in numbered}


def test_reasons_to_stop_have_the_same_numbers() -> None:
    codes = enumeration("stop")
    assert codes == {name: getattr(compiled_rows, name) for name in codes}
    assert sorted(codes.values()) == [*range(len(codes))]


def test_losses_have_the_same_numbers() -> None:
    codes = enumeration("loss")
    names = {"balanced_zero_one": "BALANCED"}
    known = {names.get(name, name.upper()): code for name, code in compiled_rows.LOSSES.items()}
    assert codes == known


def test_the_most_runners_up() -> None:
    (most,) = re.findall(r"^#define MOST_RUNNERS_UP (\d+)$", sources(), re.MULTILINE)
    assert int(most) == compiled_rows.MOST_RUNNERS_UP


# Doubt -------------------------------------------------------------------------------------------


def is_left(answers: Answers, step: int) -> bool:
    """Whether a step was left to the general engine."""
    return answers[step] is StepStop.IN_DOUBT


def near_tie(loss: str, ratio: float) -> Case:
    """Column 3 is the best; column 1 is worse by `ratio` times what counts as a tie."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 6))
    y = 2.0 * X[:, 3] + rng.standard_normal(60)
    noise = rng.standard_normal(60)

    def loss_with(share: float) -> float:
        column = X[:, [3]] + share * noise[:, None]
        return float(numpy_path(Case(column, y, 1), loss=loss).losses[0])

    best, share = loss_with(0.0), 1e-6
    slope = (loss_with(share) - best) / share
    X[:, 1] = X[:, 3] + ratio * tolerances.TIE * best / slope * noise
    return Case(X, y, 3, {"loss": loss, "n_runners_up": 1})


@needs_compiled_steps
@pytest.mark.parametrize(
    ("loss", "loop"), [*(("squared", loop) for loop in LOOPS), ("absolute", "kept")]
)
@pytest.mark.parametrize(
    ("ratio", "first", "doubtful"),
    [(0.0, 1, False), (0.5, 1, False), (1.0, None, True), (2.0, 3, False), (-2.0, 1, False)],
)
def test_near_ties(loss: str, loop: str, ratio: float, first: int | None, doubtful: bool) -> None:
    case = near_tie(loss, ratio)
    path, answers = compiled_path(case, loop)
    assert is_left(answers, 0) == doubtful
    assert first in (None, path.indices[0])
    assert_same_path(path, numpy_path(case), case)


@needs_compiled_steps
@pytest.mark.parametrize("loop", LOOPS)
def test_a_near_tie_of_runners_up(loop: str) -> None:
    case = near_tie("squared", 1.0)
    case.y = case.y + 10.0 * case.X[:, 5]
    _, plain = compiled_path(case, loop, n_runners_up=0)
    assert not is_left(plain, 0)
    path, _ = compiled_path(case, loop, n_runners_up=3)
    assert_same_path(path, numpy_path(case, n_runners_up=3), case)


@needs_compiled_steps
@pytest.mark.parametrize("loss", ["zero_one", "balanced_zero_one"])
@pytest.mark.parametrize(("offset", "doubtful"), [(0.9, False), (1.0, True), (1.1, False)])
def test_a_row_on_the_decision_boundary(loss: str, offset: float, doubtful: bool) -> None:
    """Its prediction is about as large as one that counts as undecided."""
    rng = np.random.default_rng(3)
    y = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    X = rng.standard_normal((30, 3)) + np.array([0.0, 2.0, 0.1]) * y[:, None]
    X[0, 1] = 0.0
    coefficient = float(X[:, 1] @ y / (X[:, 1] @ X[:, 1] + 1.0))
    X[0, 1] = offset * UNDECIDED / coefficient
    case = Case(X, y, 2, {"alpha": 1.0, "loss": loss, "fit_intercept": False})
    path, answers = compiled_path(case)
    assert is_left(answers, 0) == doubtful
    assert_same_path(path, numpy_path(case), case)


@needs_compiled_steps
@pytest.mark.parametrize(("offset", "doubtful"), [(0.7, False), (1.0, True), (1.3, False)])
def test_a_row_between_two_classes(offset: float, doubtful: bool) -> None:
    """Its class is ahead of another by about as much as counts as undecided."""
    rng = np.random.default_rng(6)
    classes = np.arange(36) % 3
    Y = 2.0 * (classes[:, None] == np.arange(3)) - 1.0
    X = rng.standard_normal((36, 3)) + 2.0 * (classes[:, None] == 0) * np.array([0.0, 2.0, 0.1])
    X[0, 1] = 0.0
    own, *others = Y.T @ X[:, 1] / (X[:, 1] @ X[:, 1] + 1.0)
    X[0, 1] = offset * UNDECIDED / (own - max(others))
    case = Case(X, Y, 2, {"alpha": 1.0, "loss": "zero_one", "fit_intercept": False})
    path, answers = compiled_path(case)
    assert is_left(answers, 0) == doubtful
    assert_same_path(path, numpy_path(case), case)


@needs_compiled_steps
def test_three_classes_on_the_decision_boundary() -> None:
    """Rows of zeros have equal predictions of all classes, which counts as wrong."""
    rng = np.random.default_rng(4)
    classes = np.arange(45) % 3
    Y = 2.0 * (classes[:, None] == np.arange(3)) - 1.0
    X = rng.standard_normal((45, 8)) + classes[:, None] * rng.standard_normal(8)
    X[:12] = 0.0
    for loss in ("zero_one", "balanced_zero_one"):
        case = Case(X, Y, 5, {"loss": loss, "fit_intercept": False, "n_runners_up": 2})
        path, _ = compiled_path(case)
        assert_same_path(path, numpy_path(case), case)


@needs_compiled_steps
def test_all_candidates_tie_by_balanced_errors() -> None:
    """As long as a rare class is never predicted, squared loss decides."""
    rng = np.random.default_rng(9)
    y = np.where(np.arange(80) < 4, 1.0, -1.0)
    X = rng.standard_normal((80, 12)) + 0.3 * y[:, None] * rng.standard_normal(12)
    case = Case(X, y, 5, {"alpha": 1e4, "loss": "balanced_zero_one", "n_runners_up": 3})
    path, answers = compiled_path(case)
    assert path.losses[0] == 0.5
    assert n_taken(answers) == 5
    assert_same_path(path, numpy_path(case), case)


@needs_compiled_steps
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("distance", [3e-2, 1e-3, 1e-4])
def test_a_pivot_of_few_digits(loop: str, distance: float) -> None:
    """What the second feature adds to the first is small, but it decides."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((70, 9))
    noise = rng.standard_normal(70)
    X[:, 4] = X[:, 2] + distance * noise
    y = X[:, 2] + noise + 0.1 * rng.standard_normal(70)
    case = Case(X, y, 6, {"alpha": 1e-8})
    path, _ = compiled_path(case, loop)
    assert {2, 4} <= set(path.indices.tolist())
    assert_same_path(path, numpy_path(case), case)


@needs_compiled_steps
@pytest.mark.parametrize("loop", LOOPS)
def test_a_leverage_near_one(loop: str) -> None:
    """One row has all of a column; without penalty, nothing would be known of its error."""
    X, y = two_classes(30, 5, signal=0.5)
    X[:, 3] = 0.0
    X[7, 3] = 1e4
    case = Case(X, y, 5, {"alpha": 1e-3})
    path, answers = compiled_path(case, loop)
    assert 3 not in answers
    assert n_taken(answers) >= 1  # all that do not look at it
    assert_same_path(path, numpy_path(case), case)


@needs_compiled_steps
@pytest.mark.parametrize("loop", LOOPS)
def test_steps_go_on_after_doubt(loop: str) -> None:
    """A step of the general engine in between changes nothing of what follows."""
    case = near_tie("squared", 1.0)
    rng = np.random.default_rng(1)
    case.X = np.hstack([case.X, rng.standard_normal((60, 20))])
    case.n_features = 12
    path, answers = compiled_path(case, loop)
    assert is_left(answers, 0)
    assert n_taken(answers) >= 9
    assert_same_path(path, numpy_path(case), case)


# Sets of instructions ------------------------------------------------------------------------

# Problems for each variant: rows that fill no vector, several targets, weights, every loss.
VARIANT_RUN = """
import json
import numpy as np
from compiled_steps import LOOPS, compiled_path
from internals import native
from problems import Case

found = []
for m, n, seed in ((11, 5, 0), (41, 30, 1), (64, 17, 2), (531, 70, 3)):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + rng.standard_normal(n)
    labels = np.sign(X[:, :3].sum(axis=1) + rng.standard_normal(m))
    Y = X[:, :3] + rng.standard_normal((m, 3))
    weights = rng.integers(0, 3, m) + 0.5 * (np.arange(m) < 9)
    runs = [(Y, "squared", loop) for loop in LOOPS] + [(labels, "squared", loop) for loop in LOOPS]
    runs += [(Y, "absolute", "kept"), (labels, "zero_one", "kept")]
    codes = 2.0 * (np.argmax(Y, axis=1)[:, None] == np.arange(3)) - 1.0
    runs += [(codes, "zero_one", "kept")]
    for y, loss, loop in runs:
        for options in ({}, {"sample_weight": weights.astype(float)}):
            case = Case(X, y, min(n, 9), {"loss": loss, "n_runners_up": 2, **options})
            path, _ = compiled_path(case, loop)
            others = [[index for index, _ in step.runners_up] for step in path.steps]
            found.append([path.indices.tolist(), path.losses.tolist(), others])
print(json.dumps([None if native() is None else native().variant(), found]))
"""


def run_with(variant: str) -> tuple[str | None, list[Any]]:
    """What the processor's variant of that name finds; the name of the one that ran."""
    support = ROOT / "tests" / "support"
    paths = [str(ROOT / "src"), str(support), os.environ.get("PYTHONPATH", "")]
    variables = os.environ | {
        "GREEDYRLS_COMPILED": variant,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
    }
    command = [sys.executable, "-c", VARIANT_RUN]
    got = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    name, found = json.loads(got.stdout)
    return name, found


@pytest.fixture(scope="module")
def numpy_found() -> list[Any]:
    name, found = run_with("0")
    assert name is None
    return found


@needs_compiled_steps
@pytest.mark.xdist_group("variants")
@pytest.mark.parametrize("variant", ["baseline", "avx2", "avx512"])
def test_every_set_of_instructions(variant: str, numpy_found: list[Any]) -> None:
    name, found = run_with(variant)
    if name != variant:
        pytest.skip(f"this processor has no {variant}")
    for (indices, losses, others), (expected, close, of_twin) in zip(
        found, numpy_found, strict=True
    ):
        assert indices == expected
        assert_allclose(losses, close, rtol=1e-11)
        assert others == of_twin


def test_runners_up_whose_classes_rounding_decides() -> None:
    """Columns that mark one row: without that row they are 0, and so is its prediction."""
    X = np.array(
        [
            [0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1],
            [0, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0],
            [0, 1, 0, 0, 0, 0, 0, 1, 1, 0, 0, 1],
            [0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0],
            [1, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1],
            [0, 1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0],
        ],
        dtype=bool,
    )
    y = np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0, 1.0])
    weights = [2.366130272292293, 2.638934407622187, 2.5427528289745314, 2.0310173159811553]
    weights += [1.1405107111884347, 1.8320061956565608, 0.7143732469489966, 0.12836536511352106]
    options = {"alpha": 1e-6, "fit_intercept": False, "n_runners_up": 4}
    case = Case(X, y, 1, options | {"sample_weight": np.array(weights)})
    path, _ = compiled_path(case, loss="zero_one")
    assert_same_path(path, numpy_path(case, loss="zero_one"), case)
