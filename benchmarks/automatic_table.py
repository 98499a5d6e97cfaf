"""Tables of `automatic.py`, and the sentences that depend on its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import tables
from automatic_methods import OURS, PEERS
from automatic_problems import PROBLEMS, Problem
from automatic_store import Series, Store

BEGIN = "<!-- made by benchmarks/automatic.py --table: begin -->"
END = "<!-- made by benchmarks/automatic.py --table: end -->"
HEAD = (
    "problem",
    "method",
    "score",
    "less ours",
    "features: median",
    "mean",
    "false",
    "missed",
    "seconds",
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean and standard error of score differences on the same splits."""

    mean: float
    error: float

    @property
    def is_clear(self) -> bool:
        """Whether it is more than two standard errors from 0."""
        return abs(self.mean) > 2.0 * self.error


def difference(series: Series, reference: Series) -> Difference | None:
    """Scores of one series minus those of another on the splits that both have."""
    count = min(len(series.scores), len(reference.scores))
    if count < 2:
        return None
    values = np.subtract(series.scores[:count], reference.scores[:count])
    return Difference(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(count))


def write(store: Store, label: str, page: Path) -> None:
    """Put the table of a run between the two marks of a page."""
    if label not in store.runs:
        raise SystemExit(f"No run {label!r} in {store.file}; there are {', '.join(store.runs)}.")
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"{page} has no lines {BEGIN!r} and {END!r} to put the table between.")
    page.write_text(f"{before}{BEGIN}\n\n{section(store, label)}\n\n{END}{after}", encoding="utf-8")


def section(store: Store, label: str) -> str:
    """The generated part of the page: circumstances, findings, table."""
    run = store.runs[label]
    environment, versions = run.environment, run.versions
    circumstances = (
        f'Run "{label}" of commit {run.commit}, Python {environment["python"]}, NumPy '
        f"{environment['numpy']}, scikit-learn {versions['scikit-learn']}, abess "
        f"{versions['abess']}, one thread. The default rule of size was "
        f'`size_rule="{run.default_rule}"`.'
    )
    return "\n\n".join(
        [circumstances, *_findings(store, label), tables.markdown(_cells(store, label))]
    )


def rows(store: Store, label: str, problem: str) -> list[Series]:
    """Series of a problem in a run: ours first, then the peers, of an earlier run if need be."""
    found = [
        one
        for one in store.series
        if (one.label, one.problem) == (label, problem) and one.method.startswith(OURS)
    ]
    default = f"{OURS}, {store.runs[label].default_rule}"
    found.sort(key=lambda one: one.method != default)
    if not found:
        return []
    peers = (store.latest(problem, name, label) for name in PEERS)
    return found + [one for one in peers if one is not None and one.shape == found[0].shape]


def comparison(store: Store, labels: Sequence[str]) -> str:
    """Ours in several runs; differences are to the first of them."""
    unknown = [label for label in labels if label not in store.runs]
    if unknown:
        raise SystemExit(f"No run {unknown[0]!r}; there are {', '.join(store.runs)}.")
    cells: list[Sequence[str]] = [("problem", "run", *HEAD[1:])]
    for problem in PROBLEMS.values():
        found = [
            one
            for label in labels
            for one in rows(store, label, problem.name)
            if one.method.startswith(OURS)
        ]
        cells += [
            (problem.name, one.label, *_row(problem, one, found[0])[1:])
            for one in found
            if one.shape == found[0].shape
        ]
    return tables.plain_text(cells)


def _cells(store: Store, label: str) -> list[Sequence[str]]:
    cells: list[Sequence[str]] = [HEAD]
    for problem in PROBLEMS.values():
        for place, one in enumerate(found := rows(store, label, problem.name)):
            row = _row(problem, one, found[0])
            cells.append(row if place == 0 else ("", *row[1:]))
    return cells


def _row(problem: Problem, one: Series, ours: Series) -> Sequence[str]:
    m, _, n = one.shape
    truth = f", {len_of_truth}" if (len_of_truth := _truth(ours)) else ""
    head = (f"**{problem.name}** {m:,} × {n:,}{truth} ({problem.score})", _title(one))
    if one.missing is not None:
        return (*head, one.missing, *[""] * (len(HEAD) - 3))
    versus = None if one is ours else difference(one, ours)
    return (
        *head,
        f"{np.mean(one.scores):.3f}",
        "" if versus is None else _signed(versus),
        f"{np.median(one.sizes):g}",
        f"{np.mean(one.sizes):.1f}",
        f"{np.mean(one.false):.1f}" if one.false else "",
        f"{np.mean(one.missed):.1f}" if one.missed else "",
        f"{np.median(one.seconds):.2g}",
    )


def _signed(versus: Difference) -> str:
    text = f"{versus.mean:+.3f} ± {versus.error:.3f}".replace("-", "−")
    return f"**{text}**" if versus.is_clear else text


def _title(series: Series) -> str:
    return PEERS[series.method].title if series.method in PEERS else series.method


def _truth(series: Series) -> str:
    """How many true features there are, by what a method chose and missed of them."""
    if not series.missed:
        return ""
    count = series.sizes[0] - series.false[0] + series.missed[0]
    return f"{count} true"


def _findings(store: Store, label: str) -> list[str]:
    """Sentences on ours as it comes: what a reader would otherwise count in the table."""
    behind, ahead, slower = [], [], []
    for problem in PROBLEMS.values():
        found = rows(store, label, problem.name)
        measured = [one for one in found if one.scores]
        if not measured:
            continue
        ours, peers = measured[0], [one for one in measured if one.method in PEERS]
        for peer in peers:
            versus = difference(peer, ours)
            if versus is None or not versus.is_clear:
                continue
            (behind if versus.mean > 0 else ahead).append(
                f"{problem.name} ({_title(peer)}, {abs(versus.mean):.3f})"
            )
        if peers:
            ratio = np.median(ours.seconds) / max(np.median(one.seconds) for one in peers)
            if ratio > 1.0:
                slower.append(f"{problem.name} ({ratio:.2g} ×)")
    count = len([name for name in PROBLEMS if rows(store, label, name)])
    return [
        _listed("Worse than a peer by more than two standard errors", behind, "; "),
        _listed("Better than a peer by more than two standard errors", ahead, "; "),
        _listed(f"Slower than the slowest of the peers in {len(slower)} of {count}", slower, ", "),
        *_sizes(store, label),
    ]


def _listed(what: str, items: list[str], separator: str) -> str:
    return f"{what}: {separator.join(items) if items else 'nowhere'}."


def _sizes(store: Store, label: str) -> list[str]:
    """A small table: false and missed features over all problems of which the truth is known."""
    known: dict[str, list[tuple[float, float, float]]] = {}
    names: list[str] = []
    for name in PROBLEMS:
        found = [one for one in rows(store, label, name) if one.missed]
        if found:
            names.append(name)
        for one in found:
            means = (np.mean(one.sizes), np.mean(one.false), np.mean(one.missed))
            known.setdefault(_title(one), []).append(means)  # type: ignore[arg-type]
    if not known:
        return []
    head = ("method", "problems", "features", "false", "missed")
    cells = [head] + [
        (title, str(len(values)), *(f"{mean:.1f}" for mean in np.mean(values, axis=0)))
        for title, values in known.items()
    ]
    sentence = (
        f"Means over the {len(names)} problems of which the true features are known "
        "(a peer has those of its kind only):"
    )
    return [sentence, tables.markdown(cells)]
