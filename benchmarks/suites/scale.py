"""One table of what is larger than memory, or sparse.

Runs nothing: reads results/sparse.json, files.json and cluster.json, which the suites sparse, files
and cluster write.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import suite
from harness.suite import RESULTS, CannotRun, Environment, Renderer, Suite, option
from harness.writer import read_json

Row = tuple[str, ...]
HEADS = ("problem", "library", "seconds", "passes", "exact evaluations", "peak beyond X", "note")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(suite.Options):
    """Where results are read and written."""

    output: Path = option(RESULTS / "scale.md", "where the table goes")
    results: Path = option(RESULTS, "folder of the JSON files")


def _row(*cells: Any) -> Row:
    return tuple("-" if cell is None else str(cell) for cell in cells)


def _megabytes(count: float | None) -> str | None:
    return None if count is None else f"{max(0.0, count) / 1e6:,.0f} MB"


def sparse_rows(document: dict[str, Any]) -> list[Row]:
    """Ours on sparse data, and those who cannot."""
    options, found = document["options"], []
    for name, problem in document["problems"].items():
        title = (
            f"sparse {options['samples']:,} × {options['features']:,}, "
            f"{100 * options['density']:g} %, {name}, k={options['size']}"
        )
        for row, told in problem["rows"].items():
            is_peer = row.startswith("scikit-learn")
            note = told.get("error") or f"{told.get('peak_over_X')} × the sparse X"
            if is_peer:
                note += f"; dense it would be {problem['dense_bytes'] / 1e9:.0f} GB"
            found.append(
                _row(
                    title,
                    row if is_peer else f"greedyrls, {row}",
                    told.get("seconds"),
                    told.get("passes"),
                    told.get("exact_evaluations"),
                    _megabytes(told.get("peak_bytes")),
                    note,
                )
            )
    return found


def file_rows(document: dict[str, Any]) -> list[Row]:
    """Ours on a file, within a tenth of its size."""
    found = []
    for run in document["runs"]:
        title = f"file of {run['gigabytes']:g} GB, {run['shape'][0]:,} × {run['shape'][1]:,}, "
        title += f"k={run['n_features']}"
        if run.get("throttled"):
            title += f", read at {run['throttled']:g} GB/s"
        note = f"{run['ratio']:.1f} × reading it so often; within {run['memory_limit'] / 1e9:g} GB"
        peak = _megabytes(run["peak_bytes"])
        seconds = round(run["seconds"], 1)
        found.append(_row(title, "greedyrls", seconds, run["passes"], None, peak, note))
        if run.get("peer"):
            found.append(_row(title, "scikit-learn OMP", *[None] * 4, run["peer"]))
    return found


def cluster_rows(document: dict[str, Any]) -> list[Row]:
    """Ours on Dask, and what a library that knows nothing of it does to the client."""
    found = []
    for run in document["runs"]:
        title = f"Dask, {run['shape'][0]:,} × {run['shape'][1]:,}, {run['n_blocks']} blocks, "
        title += f"k={run['n_features']}"
        how = "leave-one-out" if run["cv"] == "loo" else f"{run['cv']} folds"
        travelled = run["sent_per_step"] + run["received_per_step"]
        note = f"{travelled / 1e3:.0f} kB a step to and from the client, whose peak this is"
        cells = (run["seconds"], run["passes"], run["exact_evaluations"])
        peak = _megabytes(run["client_peak_bytes"])
        found.append(_row(title, f"greedyrls, {how}", *cells, peak, note))
        if run["cv"] == "loo" and run.get("client_peak_bytes_of_omp"):
            size = _megabytes(run["client_peak_bytes_of_omp"])
            note = f"loads X ({run['X_bytes'] / 1e6:,.0f} MB) into the client"
            found.append(_row(title, "scikit-learn OMP", None, None, None, size, note))
    return found


PARTS = {"sparse.json": sparse_rows, "files.json": file_rows, "cluster.json": cluster_rows}


def rows(options: Options) -> Iterator[Row]:
    """The rows of all files."""
    for name, part in PARTS.items():
        file = options.results / name
        if not file.exists():
            raise CannotRun(f"{name} is not in {options.results}: run the suite {file.stem} first.")
        yield from part(read_json(file))


def page(environment: Environment, found: Sequence[Row], table: Renderer) -> str:
    """One table."""
    return f"# Sparse data, files and Dask\n\n{table([HEADS, *found])}\n"


SUITE = Suite(
    name="scale",
    sentence="One table from the results of the suites sparse, files and cluster.",
    options=Options,
    rows=rows,
    page=page,
    line=lambda row: "",
)
