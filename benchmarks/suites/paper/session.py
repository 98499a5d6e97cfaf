"""The parts of a run: which files are missing, tasks, and the result of each part."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from greedyrls import __version__
from harness.data_sets import DATA_SETS, missing
from harness.download import download
from harness.writer import write_compact_json

from . import identity, quality, scaling
from .claims import INTERCEPT, SETS
from .combine import combine
from .tasks import Task, run

PARTS = ("scaling", *SETS)


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


def missing_files(session: Session, may_download: bool) -> list[str]:
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


def run_parts(session: Session, *, fresh: bool = False) -> Iterator[str]:
    """Run all parts; the result of each is written when it is complete. Yields their names."""
    tasks = {}
    for part in session.parts:
        if part == "scaling":
            tasks[part] = _scaling_tasks(session)
        else:
            tasks[part] = _fold_tasks(part, "", session.protocol, session)
            other = replace(session.protocol, fit_intercept=True)
            tasks[part + INTERCEPT] = _fold_tasks(part, INTERCEPT, other, session)
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
            write_compact_json(session.results / f"{part}.json", result)
            yield part


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
