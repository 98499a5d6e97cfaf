"""Results of the suite automatic: one JSON file, a line for each problem and method of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from harness.writer import read_json, write_text


@dataclass(frozen=True, slots=True)
class Series:
    """One method on all splits of one problem, or why it was not run.

    Split number i has ``scores[i]``, ``sizes[i]`` and so on. `false` and `missed` are empty where
    the true features are unknown. `seconds` are those of the clock, `cpu` those of the processor.
    """

    label: str
    problem: str
    method: str
    shape: tuple[int, int, int]  # training rows, test rows, features
    missing: str | None = None
    scores: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    false: list[int] = field(default_factory=list)
    missed: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, str, str]:
        """There is one series for each key."""
        return self.label, self.problem, self.method


@dataclass(frozen=True, slots=True)
class Run:
    """The circumstances of the runs with one label."""

    label: str
    commit: str
    default_rule: str
    environment: dict[str, Any]
    versions: dict[str, str]


class Store:
    """All series of a file, and the runs that they are of, the last one last."""

    def __init__(self, file: Path, runs: Iterable[Run] = (), series: Iterable[Series] = ()) -> None:
        self.file = file
        self.runs = {run.label: run for run in runs}
        self._series = {one.key: one for one in series}

    @property
    def series(self) -> list[Series]:
        """All series, in the order in which they were measured."""
        return list(self._series.values())

    def find(self, label: str, problem: str, method: str) -> Series | None:
        """The series of a run; None where there is none."""
        return self._series.get((label, problem, method))

    def latest(self, problem: str, method: str, label: str) -> Series | None:
        """The series of this run or, where it has none, of the latest run that has."""
        for name in [label, *reversed(self.runs)]:
            found = self.find(name, problem, method)
            if found is not None:
                return found
        return None

    def add(self, run: Run, series: Iterable[Series]) -> None:
        """Take in series of a run, and write the file: whole or not at all."""
        self.runs[run.label] = run
        self._series |= {one.key: one for one in series}
        runs = json.dumps([asdict(run) for run in self.runs.values()], indent=1, ensure_ascii=False)
        lines = ",\n".join(json.dumps(_filled(one), ensure_ascii=False) for one in self.series)
        write_text(self.file, f'{{"runs": {runs},\n"series": [\n{lines}\n]}}\n')


def read(file: Path) -> Store:
    """The results in a file; none where there is no file."""
    if not file.exists():
        return Store(file)
    content = read_json(file)
    return Store(
        file,
        (Run(**run) for run in content["runs"]),
        (Series(**one | {"shape": tuple(one["shape"])}) for one in content["series"]),
    )


def _filled(series: Series) -> dict[str, Any]:
    return {name: value for name, value in asdict(series).items() if value not in (None, [])}
