"""Run every experiment of the paper and write the page: the command behind `run.py`.

Each answer is kept as soon as it is there; a run that was stopped goes on where it was. Results go
to results/, the page and its figures to docs/; those of --quick to a folder of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from greedyrls import __version__

from . import identity, quality, report, scaling
from .claims import SETS
from .combine import combine
from .datasets import DATA_SETS, missing
from .download import download
from .files import write_json
from .tasks import Task, run

HERE = Path(__file__).resolve().parent
PARTS = ("scaling", *SETS)
MOST_JOBS = 4  # every process has its own copy of the data, up to some GB


@dataclass(frozen=True, slots=True)
class Session:
    """What is run, and where its files go."""

    parts: tuple[str, ...]
    data_dir: Path
    cache: Path
    results: Path
    output: Path
    plan: scaling.Plan
    protocol: quality.Protocol
    jobs: int
    threads: int
    is_quick: bool


def main(arguments: Sequence[str] | None = None, home: Path = HERE) -> int:
    """Run what is not there yet, then write the page; 1 where something went wrong."""
    options = _parser().parse_args(arguments)
    session = make_session(options, home)
    if not options.report:
        wanting = _without_files(session, options.download)
        if wanting:
            print("\n".join(wanting), file=sys.stderr)
            return 1
        try:
            run_parts(session, fresh=options.fresh)
        except KeyboardInterrupt:
            print("Stopped. The same command goes on from here.", file=sys.stderr)
            return 130
    for claim in report.write_report(session.results, session.output, is_quick=session.is_quick):
        print(f"{claim.verdict.value:>13}  {claim.says}")
    print(f"Written: {session.output / 'paper.md'}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    cores = os.cpu_count() or 1
    add = parser.add_argument
    add("--data-dir", type=Path, default=Path("data"), help="folder of the data sets")
    add("--download", action="store_true", help="fetch the data files that are missing")
    add("--quick", action="store_true", help="small problems, three minutes: a smoke test")
    add("--only", choices=PARTS, action="append", help="this part; may be repeated")
    add("--jobs", type=int, default=min(cores, MOST_JOBS), help="processes over folds")
    add("--threads", type=int, default=cores, help="threads of BLAS where time is measured")
    add("--fresh", action="store_true", help="forget what earlier runs found")
    add("--report", action="store_true", help="run nothing; write page and figures from results/")
    return parser


def make_session(options: argparse.Namespace, home: Path) -> Session:
    """Folders and sizes for the options."""
    quick = options.quick
    return Session(
        parts=tuple(part for part in PARTS if part in (options.only or PARTS)),
        data_dir=options.data_dir.resolve(),
        cache=home / "cache" / ("quick" if quick else "full"),
        results=home / "quick" / "results" if quick else home / "results",
        output=home / "quick" if quick else home.parents[1] / "docs",
        plan=scaling.QUICK if quick else scaling.FULL,
        protocol=quality.QUICK if quick else quality.FULL,
        jobs=options.jobs,
        threads=options.threads,
        is_quick=quick,
    )


def _without_files(session: Session, may_download: bool) -> list[str]:
    """What is missing, in words, after fetching what may be fetched."""
    wanting = []
    for name in session.parts:
        if name not in DATA_SETS:
            continue
        if may_download:
            for file in download(DATA_SETS[name], session.data_dir):
                print(f"fetched {file.name}", file=sys.stderr)
        wanting += [
            f"{name} needs {session.data_dir / file.stem} (plain, .xz, .bz2 or .gz): pass the "
            "folder that has it as --data-dir, or --download to fetch it"
            for file in missing(DATA_SETS[name], session.data_dir)
        ]
    return wanting


def run_parts(session: Session, *, fresh: bool = False) -> None:
    """Run all parts; the result of each is written when it is complete."""
    tasks = {}
    for part in session.parts:
        if part == "scaling":
            tasks[part] = _scaling_tasks(session)
        else:
            tasks[part] = _fold_tasks(part, "", session.protocol, session)
            other = replace(session.protocol, fit_intercept=True)
            tasks[part + report.INTERCEPT] = _fold_tasks(part, report.INTERCEPT, other, session)
    if fresh:
        for task in chain.from_iterable(tasks.values()):
            task.file.unlink(missing_ok=True)
    total = sum(task.cost for task in chain.from_iterable(tasks.values()))
    with _bar(total) as bar:
        for part, own in tasks.items():
            if part == "scaling":
                # One at a time: nothing else may run where time is measured.
                answers = run(own, bar, jobs=1, threads=session.threads, fresh_processes=True)
                result = _scaling_result(session, answers)
            else:
                threads = max(1, (os.cpu_count() or 1) // session.jobs)
                answers = run(own, bar, jobs=session.jobs, threads=threads)
                result = combine(part, answers) | {"jobs": session.jobs}
            write_json(session.results / f"{part}.json", result)


def _bar(total: float) -> Any:
    from tqdm import tqdm

    # The costs are guesses: a share, and no promise of seconds.
    form = "{percentage:3.0f}% |{bar}| {elapsed}, last: {desc}"
    # A sum in another order may be larger in its last digit, and no share is above one.
    return tqdm(
        total=total * (1.0 + 1e-9), bar_format=form, desc="-", dynamic_ncols=True, mininterval=0.5
    )


def _scaling_tasks(session: Session) -> list[Task]:
    plan, folder = session.plan, session.cache / "scaling"
    settings = {"version": __version__, "threads": session.threads}
    check = Task("identity", identity.check, (), folder / "identity.json", settings, 3.0)
    timed = replace(plan, with_algorithm_2=(), without=())
    return [check] + [
        Task(
            f"{m:,} samples",
            scaling.time_point,
            (m, plan),
            folder / f"{m}.json",
            # Other sizes may come and go without making this one anew.
            settings | asdict(timed) | {"has_2": m in plan.with_algorithm_2},
            scaling.cost(m, plan),
        )
        for m in plan.sizes
    ]


def _fold_tasks(name: str, ending: str, protocol: quality.Protocol, session: Session) -> list[Task]:
    settings = protocol.settings() | {"version": __version__}
    return [
        Task(
            f"{name}{ending}, fold {fold + 1}",
            quality.run_fold,
            (name, fold, session.data_dir, protocol),
            session.cache / f"{name}{ending}" / f"fold-{fold}.json",
            settings,
            quality.cost(DATA_SETS[name], protocol) / session.jobs,
        )
        for fold in range(protocol.folds)
    ]


def _scaling_result(session: Session, answers: list[dict[str, Any]]) -> dict[str, Any]:
    check, *points = answers
    return {
        "features": session.plan.features,
        "selected": session.plan.selected,
        "identity": check,
        "points": points,
        "seconds": round(sum(answer["seconds"] for answer in answers), 1),
    }
