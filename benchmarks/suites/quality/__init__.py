"""Quality of the chosen sets at equal size.

Every method chooses k features on the same training rows; the same ridge is fitted to them and
scored on the same test rows. Without `--data-dir` the sets that ship with scikit-learn are run.
Runs what is not in the results yet, which are written after every call; a run can be stopped and
goes on where it was. Two runs on different data sets may go at the same time, not two on the same.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import suite
from harness.suite import RESULTS, CannotRun, Suite, option

from . import data, final
from .methods import METHODS, Method, load
from .splits import Split, make_split, repeats_for, row_counts, sizes_for
from .store import About, Cell, Store, opened
from .tasks import Task, task_of

FOLDER = RESULTS / "quality"
QUICK_REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which data sets and methods."""

    output: Path = option(FOLDER, "folder of the results")
    data_dir: Path | None = option(None, "folder of the data sets of the paper")
    only: tuple[str, ...] = option((), "these data sets", data.NAMES, "NAME")
    methods: tuple[str, ...] = option(METHODS, "these methods", METHODS, "METHOD")
    fresh: bool = option(False, "run these methods again, not only what is missing")
    repeats: int | None = option(None, "splits of each data set; by default by its rows")
    quick: bool = option(
        False, f"{QUICK_REPEATS} repeats on small data sets, into a temporary folder"
    )


def rows(options: Options) -> Iterator[str]:
    """Run what is not in the results yet; a line for each data set."""
    try:
        import tqdm  # noqa: F401
    except ImportError as error:
        raise CannotRun("tqdm is not installed: pip install tqdm.") from error
    output = options.output
    if options.quick and output == FOLDER:
        output = Path(tempfile.mkdtemp())
    for name in options.only or (data.QUICK if options.quick else data.NAMES):
        if name in data.FROM_FOLDER and options.data_dir is None:
            yield f"{name}: not run, needs --data-dir"
            continue
        repeats = options.repeats or (QUICK_REPEATS if options.quick else None)
        _run(name, options, output / f"{name}.json", repeats)
        yield f"{name}: {name}.json"
    yield f"Results in {output}; the page: run.py quality-page"


def _run(name: str, options: Options, file: Path, repeats: int | None) -> None:
    """Run the methods on the splits of one data set."""
    from tqdm import tqdm

    X, y = data.load(name, options.data_dir)
    task, sizes = task_of(y), sizes_for(X)
    (rows, features), (train_rows, test_rows) = X.shape, row_counts(len(y))
    about = About(name, task.value, rows, features, train_rows, test_rows, sizes)
    store = opened(file, about)
    if options.fresh:
        store.forget(options.methods)
    numbers = range(repeats or repeats_for(len(y)))
    cells = len(numbers) * len(options.methods) * len(sizes)
    with tqdm(total=cells, desc=name, unit="cell") as bar:
        for number in numbers:
            split: Split | None = None
            for module in options.methods:
                bar.set_postfix_str(module)
                if not all(store.has((number, module, k)) for k in sizes):
                    split = split or make_split(X, y, task, number)
                    _run_method(store, split, task, number, module)
                bar.update(len(sizes))


def _run_method(store: Store, split: Split, task: Task, number: int, module: str) -> None:
    """One method on one split, at the sizes that are within its reach."""
    sizes = store.about.sizes
    try:
        method = load(module)
    except ImportError as error:
        store.add(Cell(number, module, k, missing=str(error)) for k in sizes)
        return
    reasons = {k: method.why_not(split.X, task, k) for k in sizes}
    store.add(Cell(number, module, k, missing=why) for k, why in reasons.items() if why)
    wanted = [k for k, why in reasons.items() if not why]
    for some in [wanted] if method.one_call else [[k] for k in wanted]:
        if some and not all(store.has((number, module, k)) for k in some):
            store.add(_cells(method, module, split, task, number, some))


def _cells(
    method: Method, module: str, split: Split, task: Task, number: int, sizes: Sequence[int]
) -> list[Cell]:
    """What one call gives."""
    began = time.perf_counter()
    try:
        chosen = method.select(split.X, split.y, sizes, task, number)
    except Exception as error:  # one method that fails must not end the night's run
        print(f"split {number}, {module}, k={sizes}: {error!r}", file=sys.stderr)
        return [Cell(number, module, k, missing=repr(error)) for k in sizes]
    seconds = float(f"{time.perf_counter() - began:.3g}")
    cells = []
    for k in sizes:
        if k not in chosen:
            cells.append(Cell(number, module, k, missing=f"ended before {k} features"))
            continue
        if chosen[k].shape[-1] != k:
            raise ValueError(f"{module} returned {chosen[k].shape[-1]} features, not {k}.")
        score = round(final.score(split, chosen[k], task), 6)
        cells.append(Cell(number, module, k, score=score, seconds=seconds))
    return cells


SUITE = Suite(
    name="quality",
    sentence="Scores on test rows of sets of 5, 20 and 50 features chosen by ten methods.",
    options=Options,
    rows=rows,
)
