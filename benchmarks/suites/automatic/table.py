"""Tables of the suite automatic, and the sentences that depend on its numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.suite import CannotRun
from harness.tables import markdown, plain_text
from harness.writer import write_text

from .methods import OURS, PEERS
from .problems import PROBLEMS, Problem
from .store import Series, Store

BEGIN = "<!-- made by benchmarks/run.py automatic --table: begin -->"
END = "<!-- made by benchmarks/run.py automatic --table: end -->"
HEAD = (
    "problem",
    "method",
    "score",
    "minus ours",
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
        raise CannotRun(f"No run {label!r} in {store.file}; there are {', '.join(store.runs)}.")
    text = page.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise CannotRun(f"{page} has no lines {BEGIN!r} and {END!r} to put the table between.")
    write_text(page, f"{before}{BEGIN}\n\n{section(store, label)}\n\n{END}{after}")


def section(store: Store, label: str) -> str:
    """The generated part of the page: circumstances, findings, table, problems."""
    run = store.runs[label]
    measured = [one for one in store.series if one.label == label and one.scores]
    splits = {len(one.scores) for one in measured}
    by_clock = sum(sum(one.seconds) for one in measured)
    by_processor = sum(sum(one.cpu) for one in measured)
    circumstances = (
        f'Run "{label}" of commit {run.commit}: {_spread(splits)} splits, Python '
        f"{run.environment['python']}, NumPy {run.environment['numpy']}, scikit-learn "
        f"{run.versions['scikit-learn']}, abess {run.versions['abess']}, one thread. The default "
        f'was `size_rule="{run.default_rule}"`. All fits together took {by_clock / 60:.0f} minutes '
        f"by the clock and {by_processor / 60:.0f} of the processor, which had other work to do."
    )
    about = [("problem", "what it is")]
    about += [(name, problem.about) for name, problem in PROBLEMS.items()]
    parts = [circumstances, *_findings(store, label), markdown(_cells(store, label))]
    return "\n\n".join([*parts, "The problems:", markdown(about)])


def _spread(counts: set[int]) -> str:
    low, high = min(counts), max(counts)
    return str(low) if low == high else f"{low} to {high}"


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
        raise CannotRun(f"No run {unknown[0]!r}; there are {', '.join(store.runs)}.")
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
    return plain_text(cells)


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
        f"{np.mean(one.scores):.3f}".replace("-", "−"),
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
    behind: list[str] = []
    ahead: list[str] = []
    slower: list[str] = []
    count = 0
    ratios: dict[str, list[float]] = {}
    variants: dict[str, tuple[list[str], list[str]]] = {}
    for name in PROBLEMS:
        measured = [one for one in rows(store, label, name) if one.scores]
        if not measured:
            continue
        count += 1
        ours, *others = measured
        for one in others:
            versus = difference(one, ours)
            if versus is None or not versus.is_clear:
                continue
            by = f"{abs(versus.mean):.3f}"
            if one.method in PEERS:
                (behind if versus.mean > 0 else ahead).append(f"{name} ({_title(one)}, {by})")
            else:
                lists = variants.setdefault(one.method, ([], []))
                lists[0 if versus.mean > 0 else 1].append(f"{name} ({by})")
        peers = [one for one in others if one.method in PEERS]
        for one in peers:
            ratio = float(np.median(ours.seconds) / np.median(one.seconds))
            ratios.setdefault(_title(one), []).append(ratio)
        if peers and all(ratios[_title(one)][-1] > 1.0 for one in peers):
            slower.append(f"{name} ({min(ratios[_title(one)][-1] for one in peers):.1f} ×)")
    default = f"{OURS}, {store.runs[label].default_rule}"
    sentences = [
        _listed(f"*{default}* scores worse than a peer by more than two standard errors", behind),
        _listed("It scores better than a peer by more than two standard errors", ahead),
        _listed(f"It takes longer than every peer on {len(slower)} of {count} problems", slower),
        "Its seconds over those of a peer, median and largest of the problems: "
        + "; ".join(
            f"{title} {np.median(values):.1f}, {max(values):.0f}"
            for title, values in ratios.items()
        )
        + ".",
    ]
    for method, (better, worse) in variants.items():
        sentences.append(
            _listed(f"*{method}* scores better than *{default}* by as much", better)
            + " "
            + _listed("Worse", worse)
        )
    return ["\n".join(f"- {sentence}" for sentence in sentences), *_sizes(store, label)]


def _listed(what: str, items: list[str]) -> str:
    return f"{what}: {'; '.join(items) if items else 'nowhere'}."


def _sizes(store: Store, label: str) -> list[str]:
    """A small table: false and missed features over all problems with known true features."""
    known: dict[tuple[str, str], list[list[float]]] = {}
    for name, problem in PROBLEMS.items():
        kind = "regression" if problem.score == "R²" else "classes"
        for one in rows(store, label, name):
            if one.missed:
                counts = (one.sizes, one.false, one.missed)
                means = [float(np.mean(count)) for count in counts]
                known.setdefault((kind, _title(one)), []).append(means)
    if not known:
        return []
    cells = [("kind", "method", "problems", "features", "false", "missed")]
    for (kind, title), values in sorted(known.items(), key=lambda item: item[0][0] == "classes"):
        means_of_all = (f"{mean:.1f}" for mean in np.mean(values, axis=0))
        cells.append((kind, title, str(len(values)), *means_of_all))  # type: ignore[arg-type]
    return ["Means over the problems with known true features:", markdown(cells)]
