"""Quality of the chosen sets at equal size: `python benchmarks/quality/run.py --help`."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import data
import final
from methods import METHODS, Method, load
from splits import Split, make_split, repeats_for, row_counts, sizes_for
from store import About, Cell, Store, opened
from tasks import Task, task_of
from tqdm import tqdm

RESULTS = Path(__file__).parent / "results"
QUICK_REPEATS = 3


def main() -> int:
    """Run what is not in the results yet."""
    arguments = _arguments()
    output = arguments.output
    if output is None:
        output = Path(tempfile.mkdtemp()) if arguments.quick else RESULTS
    for name in arguments.only or (data.QUICK if arguments.quick else data.NAMES):
        if name in data.FROM_FOLDER and arguments.data_dir is None:
            print(f"{name}: not run, needs --data-dir", file=sys.stderr)
            continue
        repeats = QUICK_REPEATS if arguments.quick else None
        _run(name, arguments, output / f"{name}.json", repeats)
    print(f"Results in {output}; the page: python {Path(__file__).parent / 'table.py'} --help")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, help="folder with the paper's six data sets")
    parser.add_argument(
        "--only", choices=data.NAMES, action="append", help="this data set; may be repeated"
    )
    parser.add_argument(
        "--methods", choices=METHODS, nargs="+", default=list(METHODS), help="these methods"
    )
    parser.add_argument("--output", type=Path, help="folder of the results")
    parser.add_argument(
        "--fresh", action="store_true", help="run these methods anew, not only what is missing"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_REPEATS} repeats on small data sets, into a temporary folder",
    )
    return parser.parse_args()


def _run(name: str, arguments: argparse.Namespace, file: Path, repeats: int | None) -> None:
    """Run the methods on the splits of one data set."""
    X, y = data.load(name, arguments.data_dir)
    task, sizes = task_of(y), sizes_for(X)
    (rows, features), (train_rows, test_rows) = X.shape, row_counts(len(y))
    about = About(name, task.value, rows, features, train_rows, test_rows, sizes)
    store = opened(file, about)
    if arguments.fresh:
        store.forget(arguments.methods)
    numbers = range(repeats or repeats_for(len(y)))
    cells = len(numbers) * len(arguments.methods) * len(sizes)
    with tqdm(total=cells, desc=name, unit="cell") as bar:
        for number in numbers:
            split: Split | None = None
            for module in arguments.methods:
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
        tqdm.write(f"split {number}, {module}, k={sizes}: {error!r}", file=sys.stderr)
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


if __name__ == "__main__":
    sys.exit(main())
