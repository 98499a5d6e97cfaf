"""Are the sets of other directions better on new rows? `python benchmarks/quality/directions.py`.

The estimators with everything automatic but the direction, on the splits of `run.py`, judged by the
same final model. Differences from the search forward are paired over splits.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import data
import final
import numpy as np
from splits import make_split, repeats_for, sizes_for
from tasks import Array, Task, task_of
from tqdm import tqdm

from greedyrls import GreedyRLSClassifier, GreedyRLSRegressor

RESULTS = Path(__file__).parents[1] / "results" / "direction_quality.json"
DIRECTIONS = ("forward", "floating", "foba", "swap", "backward")
SMALL = ("diabetes", "wine", "breast_cancer", "australian", "german.numer", "digits")


def main() -> int:
    """Run what is asked for, print a table, write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with the paper's six data sets")
    parser.add_argument("--only", choices=data.NAMES, nargs="+", default=list(SMALL))
    parser.add_argument("--most", type=int, default=20, help="the largest size")
    parser.add_argument("--repeats", type=int, help="splits of each data set")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in options.only:
        if name in data.FROM_FOLDER and options.data_dir is None:
            print(f"{name}: not run, needs --data-dir", file=sys.stderr)
            continue
        X, y = data.load(name, options.data_dir)
        repeats = options.repeats or repeats_for(len(y))
        for k in (size for size in sizes_for(X) if size <= options.most):
            rows.append(compare(name, X, y, k, repeats))
            print(line_of(rows[-1]), flush=True)
            options.results.write_text(json.dumps(rows, indent=2) + "\n")
    return 0


def compare(name: str, X: Array, y: Any, k: int, repeats: int) -> dict[str, Any]:
    """Scores (percent) and seconds of all directions, one for each split."""
    task = task_of(y)
    estimator = GreedyRLSRegressor if task is Task.REGRESSION else GreedyRLSClassifier
    scores: dict[str, list[float]] = {direction: [] for direction in DIRECTIONS}
    seconds: dict[str, list[float]] = {direction: [] for direction in DIRECTIONS}
    for number in tqdm(range(repeats), desc=f"{name}, k={k}"):
        split = make_split(X, y, task, number)
        for direction in DIRECTIONS:
            began = time.perf_counter()
            model = estimator(k, direction=direction).fit(split.X, split.y)
            seconds[direction].append(round(time.perf_counter() - began, 4))
            score = final.score(split, model.selected_, task)
            scores[direction].append(round(100.0 * score, 4))
    return {"data": name, "k": k, "scores": scores, "seconds": seconds}


def line_of(row: dict[str, Any]) -> str:
    """A line of the table: the score forward, and what the others gain, with standard errors."""
    forward = np.array(row["scores"]["forward"])
    cells = [f"{forward.mean():.2f}"]
    for direction in DIRECTIONS[1:]:
        gain = np.array(row["scores"][direction]) - forward
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        cells.append(f"{gain.mean():+.2f} ± {error:.2f}".replace("-", "−"))
    total = {name: sum(times) for name, times in row["seconds"].items()}
    ratios = ", ".join(f"{total[name] / total['forward']:.1f}" for name in DIRECTIONS[1:])
    return f"| {row['data']} | {row['k']} | {' | '.join(cells)} | {ratios} |"


if __name__ == "__main__":
    sys.exit(main())
