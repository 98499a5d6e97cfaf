"""Every experiment of the paper, and the page about them.

Each answer is kept as soon as it is there; a run that was stopped goes on where it was. Results go
to results/paper/, the page and its figures to docs/benchmarks/, and those of --quick to
cache/paper/quick/.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import suite
from harness.suite import ALL_CORES, CACHE, DOCS, RESULTS, CannotRun, Suite, option

from . import quality, scaling
from .session import PARTS, Session, missing_files, run_parts

MOST_JOBS = 4  # every process has its own copy of the data, up to some GB
CORES = os.cpu_count() or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Which parts, and where their files are."""

    output: Path = option(RESULTS / "paper", "folder of the results, but for --quick")
    page: Path = option(DOCS, "folder of the page and its figures, but for --quick")
    cache: Path = option(CACHE / "paper", "folder of the answers that are kept")
    threads: int = option(ALL_CORES, "threads of BLAS where time is measured; 0: all cores")
    data_dir: Path = option(Path("data"), "folder of the data sets")
    download: bool = option(False, "fetch the data files that are missing")
    quick: bool = option(False, "small problems, three minutes: a smoke test")
    only: tuple[str, ...] = option(PARTS, "these parts", PARTS, "PART")
    jobs: int = option(min(CORES, MOST_JOBS), "processes over folds")
    fresh: bool = option(False, "forget what earlier runs found")
    report: bool = option(False, "run nothing; write page and figures from the results")


def rows(options: Options) -> Iterator[str]:
    """Run what is not there yet, then write the page; a line for each part and claim."""
    try:
        # Not at the top of the module: figures need matplotlib and Pillow.
        from .report import write_report
    except ImportError as error:
        raise CannotRun(f"{error}: pip install 'greedyrls[all]'.") from error
    session = make_session(options)
    if not options.report:
        wanting = missing_files(session, options.download)
        if wanting:
            raise CannotRun("\n".join(wanting))
        for part in run_parts(session, fresh=options.fresh):
            yield f"{part}: done"
    for claim in write_report(session.results, session.output, is_quick=session.is_quick):
        yield f"{claim.verdict.value:>13}  {claim.says}"
    yield f"Written: {session.output / 'paper.md'}"


def make_session(options: Options) -> Session:
    """Folders and sizes for the options."""
    quick = options.quick
    home = options.cache / "quick"
    return Session(
        parts=tuple(part for part in PARTS if part in options.only),
        data_dir=options.data_dir.resolve(),
        cache=options.cache / ("quick" if quick else "full"),
        results=home / "results" if quick else options.output,
        output=home if quick else options.page,
        plan=scaling.QUICK if quick else scaling.FULL,
        protocol=quality.QUICK if quick else quality.FULL,
        jobs=options.jobs,
        threads=options.threads,
        is_quick=quick,
    )


SUITE = Suite(
    name="paper",
    sentence="The experiments of the paper: times by number of samples, and accuracy on its data.",
    options=Options,
    rows=rows,
)
