"""How the golden files were made; run it after the version of a format has changed.

    python tests/golden/write.py

It writes one file for every kind of content that the formats can hold and, under expected/, what
the object said when it was written. It never changes a file that is there: files of older versions
stay, and are read by every later release.
"""

from __future__ import annotations

import io
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "support"))

from golden_values import (  # noqa: E402
    CHECKPOINTS,
    classes,
    expected_of,
    numbers,
    read_golden,
    several_targets,
    with_decoy,
)
from greedyrls import (  # noqa: E402
    GreedyKernelRLS,
    SelectionPath,
    SelectionResult,
    Step,
    greedy_path,
)
from greedyrls.assess import cross_validate_path, permutation_null, resample_path  # noqa: E402
from greedyrls.cli import main  # noqa: E402

NAMES = ["height", "Größe", 'say "hi"', "日本", "<b>", "new\nline"]


def named(X: Any) -> Any:
    """A data frame with names that are hard to write."""
    import pandas as pd

    return pd.DataFrame(X, columns=[*NAMES, *(f"x{i}" for i in range(len(NAMES), X.shape[1]))])


def opposite_correlation(y_true: Any, y_pred: Any) -> float:
    """A loss below 0 that has no standard error."""
    return -float(np.mean(y_true * y_pred))


def stop(step: Step) -> bool:
    """A callback that asks to stop."""
    return True


def interrupt(step: Step) -> None:
    """A callback that is interrupted."""
    raise KeyboardInterrupt


def paths() -> dict[str, Callable[[], SelectionPath]]:
    """Paths by what is special in them."""
    X, y = numbers()
    Y, labels = several_targets(), classes()
    Z, z = with_decoy()
    twice = np.column_stack([X[:, :3], X[:, :2]])
    return {
        "leave-one-out": lambda: greedy_path(
            named(X), y, 4, n_runners_up=2, forced_features=["Größe"], excluded_features=["<b>"]
        ),
        "folds": lambda: greedy_path(X, y, 3, cv=4, sample_weight=1.0 + np.arange(len(y)) % 3),
        "nested": lambda: greedy_path(
            X,
            y,
            "auto",
            alpha=[0.5, 8.0, 128.0],
            alpha_cv=3,
            size_rule="1se",
            max_features=3,
            refit_alpha="loo",
        ),
        "joint": lambda: greedy_path(X, y, 3, alpha=[0.5, 8.0], alpha_rule="joint", cv=3),
        "joint-size": lambda: greedy_path(
            X, y, "auto", alpha=[0.5, 8.0], alpha_rule="joint", alpha_cv=3, max_features=3
        ),
        "no-features": lambda: greedy_path(
            X, np.roll(y, 7), "auto", alpha=[0.5, 8.0], alpha_cv=3, max_features=3
        ),
        "all-features": lambda: greedy_path(
            X, y, 3, alpha=[0.5, 8.0], alpha_rule="all_features", refit_alpha=2.0
        ),
        "several-targets": lambda: greedy_path(X, Y, 3, fit_intercept=False, n_runners_up=1),
        "two-classes": lambda: greedy_path(X, labels, 3, loss="auc", cv=3),
        "zero-one": lambda: greedy_path(X, labels, "auto", loss="zero_one", max_features=3),
        "function": lambda: greedy_path(X, y, 3, loss=opposite_correlation),
        "backward": lambda: greedy_path(X, y, 2, direction="backward"),
        "floating": lambda: greedy_path(Z, z, 4, direction="floating", alpha=0.01),
        "foba": lambda: greedy_path(Z, z, 4, direction="foba", backward_ratio=0.75, alpha=0.01),
        "swap": lambda: greedy_path(Z, z, 3, direction="swap", alpha=0.01),
        "groups-costs": lambda: greedy_path(
            named(X),
            y,
            None,
            feature_groups={"pair": [0, 3], "rest": [6, 7]},
            feature_costs=[1.0, 2.0, 1.5, 1.0, 4.0, 0.5, 1.0, 1.0],
            budget=5.0,
            n_runners_up=1,
        ),
        "kernel": lambda: GreedyKernelRLS(3, kernel="rbf", gamma=0.125, alpha=1.0).fit(X, y).path_,
        "callback": lambda: greedy_path(X, y, 5, callback=stop),
        "interrupted": lambda: greedy_path(X, y, 5, callback=interrupt),
        "truncated": lambda: greedy_path(X, y, 4).truncated(2),
        "exhausted": lambda: greedy_path(X[:, :3], y, 3),
        "patience": lambda: greedy_path(X, y, "auto", patience=1, alpha=4.0),
        "spanned": lambda: spanned(X[:4], y),
        "limit": lambda: numerical_limit(twice, y),
    }


def spanned(X: Any, y: Any) -> SelectionPath:
    """A search that ends since the centres left are repetitions of those that it has."""
    model = GreedyKernelRLS(8, kernel="rbf", gamma=0.125, alpha=1.0)
    return model.fit(np.tile(X[:, :3], (3, 1)), y[:12]).path_


def numerical_limit(X: Any, y: Any) -> SelectionPath:
    """A search that rounding ends."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return greedy_path(X * 2.0**20, y, 5, alpha=1e-300, patience=None)


def assessments() -> dict[str, Callable[[], Any]]:
    """Assessments, stabilities and permutations, by the names of their files."""
    X, y = numbers()
    labels = classes()
    quick: dict[str, Any] = {"alpha": 1.0}
    return {
        "assessment-v1-regression": lambda: cross_validate_path(
            named(X),
            y,
            "auto",
            cv=3,
            alpha=[0.5, 8.0],
            alpha_cv=2,
            max_features=3,
            n_random=2,
            forced_features=["Größe"],
        ),
        "assessment-v1-classes": lambda: cross_validate_path(
            X,
            labels,
            3,
            cv=3,
            n_random=0,
            loss="squared",
            measure="zero_one",
            task="classification",
            **quick,
        ),
        "assessment-v1-held-out": lambda: cross_validate_path(
            X, labels == labels[0], "auto", cv=3, n_random=0, measure="auc", max_features=3, **quick
        ),
        "assessment-v1-function": lambda: cross_validate_path(
            X, y, 2, cv=2, n_random=1, loss=opposite_correlation, **quick
        ),
        "stability-v1-names": lambda: resample_path(named(X), y, 3, n_resamples=6, **quick),
        "stability-v1-forced": lambda: resample_path(
            X,
            y,
            "auto",
            n_resamples=4,
            max_features=3,
            forced_features=[2],
            excluded_features=[7],
            **quick,
        ),
        "null-v1-regression": lambda: permutation_null(X, y, 3, n_permutations=5, **quick),
        "null-v1-function": lambda: permutation_null(
            X, y, 2, n_permutations=4, loss=opposite_correlation, **quick
        ),
    }


def table() -> str:
    """A table with numbers, text, true and false, missing values and several targets."""
    X, y = numbers()
    labels, kinds = classes(), np.arange(len(y)) % 3
    hues, flags = ("red", "green", "blue"), ("true", "false")
    lines = ["a,b,c,d,hue,flag,weight,y,outcome,kind,grade"]
    for row in range(len(y)):
        a, b, c, d = (f"{value:g}" for value in X[row, :4])
        hue = hues[int(X[row, 4] > 0) + int(X[row, 5] > 0)]
        cells = [
            "" if row == 5 else a,
            b,
            c,
            d,
            "" if row == 7 else hue,
            flags[int(X[row, 6] > 0)],
            str(1 + row % 2),
            f"{y[row]:g}",
            "ill" if labels[row] > 0 else "well",
            str(1 + int(y[row] > -1) + int(y[row] > 2)),
            flags[int(hue == "red" or kinds[row] == 0)],
        ]
        lines.append(",".join(cells))
    return "\n".join(lines) + "\n"


def dated_table() -> str:
    """A table with dates, the day first, on weekends only."""
    X, y = numbers()
    lines = ["day,a,b,y"]
    for row in range(len(y)):
        day = 6 + row % 2 + 7 * (row // 2 % 3)
        lines.append(f"{day:02}.01.{2010 + row // 6},{X[row, 0]:g},{X[row, 1]:g},{y[row]:g}")
    return "\n".join(lines) + "\n"


TARGETS = {"y", "outcome", "kind", "grade"}
COMMANDS = {
    "regression": [
        "y",
        "--impute",
        "median",
        "--alpha",
        "0.5,8",
        "--max-features",
        "3",
        "--folds",
        "3",
        "--resamples",
        "4",
        "--permutations",
        "4",
        "--drop",
        "weight",
    ],
    "two-classes": [
        "outcome",
        "--drop",
        "a",
        "--drop",
        "hue",
        "--alpha",
        "1",
        "-k",
        "3",
        "--cv",
        "3",
        "--loss",
        "auc",
        "--weight",
        "weight",
        "--no-standardise",
    ],
    "probabilities": [
        "outcome",
        "--impute",
        "median",
        "--alpha",
        "1,20",
        "-k",
        "3",
        "--direction",
        "floating",
        "--drop",
        "weight",
    ],
    "several-classes": [
        "kind",
        "--task",
        "classification",
        "--impute",
        "median",
        "--alpha",
        "1",
        "-k",
        "3",
        "--force",
        "b",
        "--drop",
        "weight",
    ],
    "groups-costs": [
        "grade",
        "--impute",
        "median",
        "--alpha",
        "1",
        "--cost",
        "a=3",
        "--cost",
        "hue=2",
        "--budget",
        "5",
        "-k",
        "2",
        "--drop",
        "weight",
        "--no-intercept",
        "--loss",
        "squared",
    ],
}


def from_command_line() -> Iterator[tuple[str, str, None]]:
    """Results, models and an assessment as the command line writes them."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path("table.csv").write_text(table(), encoding="utf-8")
            for name, (target, *options) in COMMANDS.items():
                others = [word for one in sorted(TARGETS - {target}) for word in ("--drop", one)]
                command(["select", "table.csv", "-t", target, *others, *options, "--out", name])
                yield (
                    f"result-v1-{name}",
                    Path(name, "result.json").read_text(encoding="utf-8"),
                    None,
                )
                yield f"model-v1-{name}", Path(name, "model.json").read_text(encoding="utf-8"), None
            Path("dated.csv").write_text(dated_table(), encoding="utf-8")
            options = [
                "-t",
                "y",
                "--dates",
                "day",
                "--time",
                "day",
                "--alpha",
                "1",
                "-k",
                "10",
                "--force",
                "day",
                "--impute",
                "median",
            ]
            command(["select", "dated.csv", *options, "--out", "dates"])
            for kind in ("result", "model"):
                text = Path("dates", f"{kind}.json").read_text(encoding="utf-8")
                yield f"{kind}-v2-dates", text, None
            drops = [word for one in sorted(TARGETS - {"y"}) for word in ("--drop", one)]
            options = ["--impute", "median", "--alpha", "1", "-k", "2", "--folds", "3"]
            command(["assess", "table.csv", "-t", "y", *drops, *options, "--out", "assessed"])
            text = Path("assessed", "assessment.json").read_text(encoding="utf-8")
            yield "assessment-v1-command-line", text, None
            result = SelectionResult.from_json(Path("two-classes", "result.json").read_bytes())
            cut = replace(result, missing="Interrupted: the assessment not done.")
            yield "result-v1-interrupted", cut.to_json(), None
        finally:
            os.chdir(before)


def command(arguments: list[str]) -> None:
    """Run the command line."""
    try:
        with redirect_stdout(io.StringIO()):
            main([*arguments, "-q"])
    except SystemExit as ended:
        if ended.code:
            raise


def documents() -> Iterator[tuple[str, str, Any]]:
    """Names and texts of all files, and the objects that were written, where they are at hand."""
    for name, make in paths().items():
        path = make()
        yield f"path-v4-{name}", path.to_json(), path
    for name, make in assessments().items():
        assessed = make()
        yield name, assessed.to_json(), assessed
    yield from from_command_line()
    with tempfile.TemporaryDirectory() as folder:
        for name, search in CHECKPOINTS.items():
            file = Path(folder) / name
            search(file, interrupt if name.endswith("begun") else None)
            yield f"checkpoint-v2-{name}", file.read_text(encoding="utf-8"), None


def write(file: Path, text: str) -> None:
    """Write a file unless it is there."""
    try:
        with file.open("x", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
    except FileExistsError:
        return
    print(file.relative_to(FOLDER))


def write_all() -> None:
    """Write the files that are not there yet; the older ones only have expectations to write."""
    (FOLDER / "expected").mkdir(exist_ok=True)
    for file in sorted(FOLDER.glob("path-v[12]-*.json")):
        known = expected_of(read_golden(file))
        write(FOLDER / "expected" / file.name, json.dumps(known, indent=1) + "\n")
    for name, text, value in documents():
        file = FOLDER / f"{name}.json"
        write(file, text)
        if not name.startswith("checkpoint"):
            known = expected_of(read_golden(file) if value is None else value)
            write(FOLDER / "expected" / file.name, json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    write_all()
