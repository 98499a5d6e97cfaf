"""Are the sets of other directions better on new rows?

The estimators with everything automatic but the direction, on the splits of the suite quality,
judged by the same final model. Differences from the search forward are paired over splits.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor
from harness import suite
from harness.measure import timed
from harness.suite import RESULTS, Environment, Suite, option

from .quality import data, final
from .quality.splits import make_split, n_varying, repeats_for
from .quality.tasks import Array, Task, task_of

DIRECTIONS: tuple[Any, ...] = ("forward", "floating", "foba", "swap", "backward")
SMALL = ("diabetes", "wine", "breast_cancer", "australian", "german.numer", "digits")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which data sets and sizes."""

    output: Path = option(RESULTS / "direction_quality.json", "where the JSON goes")
    data_dir: Path | None = option(None, "folder of the data sets of the paper")
    only: tuple[str, ...] = option(SMALL, "these data sets", data.NAMES, "NAME")
    directions: tuple[str, ...] = option(
        DIRECTIONS, "these directions; forward is always among them", DIRECTIONS, "NAME"
    )
    sizes: tuple[int, ...] = option((5, 20), "numbers of features, below those of the data")
    repeats: int | None = option(None, "splits of each data set; by default by its rows")


def rows(options: Options) -> Iterator[dict[str, Any]]:
    """All directions on every data set and size."""
    for name in options.only:
        if name in data.FROM_FOLDER and options.data_dir is None:
            print(f"{name}: not run, needs --data-dir", file=sys.stderr)
            continue
        X, y = data.load(name, options.data_dir)
        repeats = options.repeats or repeats_for(len(y))
        directions = dict.fromkeys(("forward", *options.directions))
        for k in (size for size in options.sizes if size < n_varying(X)):
            yield compare(name, X, y, k, repeats, tuple(directions))


def document(
    options: Options, environment: Environment, found: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows, and nothing else."""
    return list(found)


def compare(
    name: str, X: Array, y: Any, k: int, repeats: int, directions: tuple[Any, ...]
) -> dict[str, Any]:
    """Scores (percent) and seconds of some directions, one for each split."""
    task = task_of(y)
    estimator = GreedyRLSRegressor if task is Task.REGRESSION else GreedyRLSClassifier
    scores: dict[str, list[float]] = {direction: [] for direction in directions}
    seconds: dict[str, list[float]] = {direction: [] for direction in directions}
    for number in range(repeats):
        split = make_split(X, y, task, number)
        for direction in directions:
            model = estimator(k, direction=direction)
            taken, _ = timed(partial(model.fit, split.X, split.y))
            seconds[direction].append(round(taken, 4))
            score = final.score(split, model.selected_, task)
            scores[direction].append(round(100.0 * score, 4))
    return {"data": name, "k": k, "scores": scores, "seconds": seconds}


def line_of(row: dict[str, Any]) -> str:
    """A line of the table: the score forward, and what the others gain, with standard errors."""
    forward = np.array(row["scores"]["forward"])
    cells = [f"{forward.mean():.2f}"]
    others = [name for name in row["scores"] if name != "forward"]
    for direction in others:
        gain = np.array(row["scores"][direction]) - forward
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        cells.append(f"{gain.mean():+.2f} ± {error:.2f}".replace("-", "−"))
    total = {name: sum(times) for name, times in row["seconds"].items()}
    ratios = ", ".join(f"{total[name] / total['forward']:.1f}" for name in others)
    return f"| {row['data']} | {row['k']} | {' | '.join(cells)} | {ratios} |"


SUITE = Suite(
    name="direction-quality",
    sentence="Scores on test rows of the sets that other directions choose, beside forward's.",
    options=Options,
    rows=rows,
    document=document,
    line=line_of,
)
