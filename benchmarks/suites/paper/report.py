"""`docs/benchmarks/paper.md` and its figures, from the results alone."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.data_sets import DATA_SETS
from harness.tables import markdown as table
from harness.writer import read_json, write_text

from .claims import INTERCEPT, SETS, Claim, Verdict, claims, claims_of_sets, duration, points
from .figures import draw_overfitting, draw_quality, draw_scaling

Result = Mapping[str, Any]
FIGURES = {
    "scaling": "paper-scaling.png",
    "quality": "paper-quality.png",
    "overfitting": "paper-overfitting.png",
}


@dataclass(frozen=True, slots=True)
class Results:
    """What there is: of scaling, and of data sets in the order of the paper, by name."""

    scaling: Result | None
    sets: dict[str, Result]
    with_intercept: dict[str, Result]


def read_results(folder: Path) -> Results:
    """The results in a folder."""
    scaling = folder / "scaling.json"
    return Results(
        read_json(scaling) if scaling.is_file() else None,
        _sets(folder, ""),
        _sets(folder, INTERCEPT),
    )


def _sets(folder: Path, ending: str) -> dict[str, Result]:
    files = {name: folder / f"{name}{ending}.json" for name in SETS}
    return {name: read_json(file) for name, file in files.items() if file.is_file()}


def write_report(results: Path, output: Path, *, is_quick: bool) -> list[Claim]:
    """Write `paper.md` and images/ in the output folder; the claims with their verdicts."""
    found = read_results(results)
    images = output / "images"
    if found.scaling is not None:
        draw_scaling(found.scaling, images / FIGURES["scaling"])
    if found.sets:
        draw_quality(found.sets, images / FIGURES["quality"])
        draw_overfitting(found.sets, images / FIGURES["overfitting"])
    decided = claims(found.scaling, found.sets)
    output.mkdir(parents=True, exist_ok=True)
    write_text(output / "paper.md", text_of(found, decided, is_quick=is_quick))
    return decided


def text_of(found: Results, decided: list[Claim], *, is_quick: bool) -> str:
    """The page, in Markdown."""
    sets = found.sets
    sections = [
        "# The experiments of the paper",
        _introduction(decided, is_quick),
        "## Claims",
        _claims_table(decided),
        "## Time by number of samples (Figures 1 to 3)",
        *(_scaling_section(found.scaling) if found.scaling else ["Not run."]),
        "## Accuracy by number of features (Figures 4 to 9)",
        *(_quality_section(sets) if sets else ["Not run."]),
        "## Leave-one-out against test (Figures 10 to 15)",
        *(_overfitting_section() if sets else ["Not run."]),
        "## With an intercept",
        *(_intercept_section(found.with_intercept) if found.with_intercept else ["Not run."]),
        "## What is not as in the paper",
        _differences(sets),
        "## Run time",
        _run_time(found),
    ]
    return "\n\n".join(_wrapped(section) for section in sections) + "\n"


def _wrapped(section: str) -> str:
    """Lines of prose as short as elsewhere in docs/; tables, headings and code stay as they are."""
    lines = []
    for line in section.splitlines():
        indent = "  " if line.startswith("- ") else ""
        is_prose = line[:1] not in ("|", "#", "!", " ", "")
        lines += (
            textwrap.wrap(line, 110, subsequent_indent=indent, break_on_hyphens=False)
            if is_prose
            else [line]
        )
    return "\n".join(lines)


def _introduction(decided: list[Claim], is_quick: bool) -> str:
    counts = {verdict: sum(c.verdict is verdict for c in decided) for verdict in Verdict}
    told = ", ".join(f"{verdict.value} {count}" for verdict, count in counts.items() if count)
    quick = (
        "\n\n**This page is of a quick run** with few samples and features: it shows that "
        "everything runs, not what the paper claims."
        if is_quick
        else ""
    )
    return (
        "Pahikkala, Airola and Salakoski, *Linear Time Feature Selection for Regularized "
        "Least-Squares* (2010, arXiv:1003.3570), repeated with this package. This page is written "
        "by\n\n"
        "    python benchmarks/run.py paper --data-dir DIR     # resumes where it was stopped\n"
        "    python benchmarks/run.py paper --data-dir DIR --quick\n\n"
        "DIR has the data files, named as in `benchmarks/harness/data_sets.py`; `--download` "
        "fetches those that are missing, where there is a network. The numbers are in "
        f"`benchmarks/{'cache/paper/quick/results' if is_quick else 'results/paper'}/`.\n\n"
        f"Verdicts on {len(decided)} claims: {told}. Each is computed from the numbers by the rule "
        "beside it; ± is one standard error over the folds. The rules for small subsets and for "
        "optimism were settled after a first look at the numbers, so the row of a claim tells all "
        "that they could have gone by." + quick
    )


def _claims_table(decided: list[Claim]) -> str:
    rows = [("the paper says", "here", "rule", "verdict")]
    rows += [(c.says, c.measured, c.rule, f"**{c.verdict.value}**") for c in decided]
    return table(rows)


def _scaling_section(scaling: Result) -> list[str]:
    rows = [("samples", "Algorithm 2", "timed of it", "Algorithm 3", "ours", "Algorithm 3 / ours")]
    for point in scaling["points"]:
        second = point.get("algorithm_2")
        third, ours = point["algorithm_3"]["seconds"], point["ours"]["seconds"]
        rows.append(
            (
                f"{point['m']:,}",
                "–" if second is None else duration(second["seconds"]),
                "–" if second is None else _timed_part(second),
                duration(third),
                duration(ours),
                f"{third / ours:,.0f}",
            )
        )
    environment = scaling["points"][-1]["environment"]
    threads = environment["threads"]
    load = max(point["environment"]["load_average"] for point in scaling["points"])
    return [
        f"{scaling['selected']} of {scaling['features']:,} features, two normal distributions "
        "whose means differ by 0.1·N(0,1) in each feature, squared loss, penalty 1, no intercept. "
        f"{environment['cpu']}, {threads} BLAS thread{'s' * (threads != 1)}, "
        f"load average before a size at most {load:g}. "
        "Algorithms 2 and 3 are `greedyrls.reference`, one candidate at a time as the paper writes "
        "them, called once; ours is the median of several calls.",
        f"![Seconds by number of samples](images/{FIGURES['scaling']})",
        table(rows),
        "Algorithm 2 writes an m × m matrix for every candidate, which costs the same at every "
        "step. Where all steps would take too long, fewer steps were timed, or some candidates of "
        "the first, and the time beyond that of a single candidate was scaled to the number of "
        "candidates of all steps.",
    ]


def _timed_part(second: Mapping[str, Any]) -> str:
    if not second["is_scaled"]:
        return "all"
    return (
        f"{second['candidates_timed']:,} of {second['candidates_in_all']:,} candidates, "
        f"{duration(second['seconds_timed'])}"
    )


def _quality_section(sets: Mapping[str, Result]) -> list[str]:
    settings = next(iter(sets.values()))["settings"]
    return [
        f"Stratified {settings['folds']}-fold. In each fold the penalty α is that of the smallest "
        "leave-one-out 0/1 error with all features, of "
        f"{settings['alphas'][0]:g} to {settings['alphas'][-1]:g} by factors of ten; features are "
        "then selected by leave-one-out 0/1 error with that α until all are in. Of equal errors, "
        "and there are many, the lowest column wins. Random features: mean of "
        f"{settings['n_random']} orders in each fold. No intercept, as in the paper. Accuracies in "
        "per cent; *there* is at the number of features of the best leave-one-out (LOO) accuracy.",
        f"![Test accuracy of greedy and random features](images/{FIGURES['quality']})",
        _sets_table(sets),
    ]


def _sets_table(sets: Mapping[str, Result]) -> str:
    head = (
        "data set",
        "rows × features",
        "α, by fold",
        "features, best LOO",
        "LOO there",
        "test there",
        "random there",
        "all features",
        "larger class",
        "as good as all from",
        "widest lead over random",
    )
    return table([head, *(_set_row(name, result) for name, result in sets.items())])


def _set_row(name: str, result: Result) -> tuple[str, ...]:
    summary = result["summary"]
    low, high = min(result["alphas"]), max(result["alphas"])
    return (
        name,
        f"{result['rows']:,} × {result['features']:,}",
        f"{low:g}" if low == high else f"{low:g} to {high:g}",
        f"{summary['best_loo_size']:,}",
        _percent(summary["loo_at_best"]),
        _percent(summary["test_at_best"]),
        _percent(summary["random_at_best"]),
        _percent(summary["all_features"]),
        f"{100 * result['larger_class']:.1f}",
        f"{summary['smallest_as_good']:,}",
        f"{points(summary['widest_lead'][0])} with {summary['widest_lead_size']:,}",
    )


def _percent(pair: Sequence[float]) -> str:
    return f"{100 * pair[0]:.1f} ± {100 * pair[1]:.1f}"


def _overfitting_section() -> list[str]:
    return [
        "The leave-one-out accuracy is that of the training rows of each fold, which the features "
        "were selected by; the ring is at its highest mean. Where it is above the test accuracy, "
        "the selection has fitted chance.",
        f"![Leave-one-out and test accuracy](images/{FIGURES['overfitting']})",
    ]


def _intercept_section(sets: Mapping[str, Result]) -> list[str]:
    return [
        "The same with an unpenalised intercept, refitted for every sample left out, which is the "
        "default of this package. Then the model without features already says the larger class, "
        "and random features, or selected ones under a large penalty, may change little; the "
        "paper's model has to find the larger class by its features.",
        _claims_table(claims_of_sets(sets)),
        _sets_table(sets),
    ]


def _differences(sets: Mapping[str, Result]) -> str:
    lines = [
        "- The folds, the grid of penalties and the random orders are ours.",
        "- Scaling to [−1, 1] and standardisation used all rows, also those held out later, as the "
        "ready-made files of LIBSVM do.",
    ]
    lines += [f"- {name}: {DATA_SETS[name].prepared}." for name in sets]
    return "\n".join(lines)


def _run_time(found: Results) -> str:
    rows: list[tuple[str, ...]] = [("part", "without intercept", "with")]
    total = 0.0
    if found.scaling is not None:
        rows.append(("scaling", duration(found.scaling["seconds"]), "–"))
        total += found.scaling["seconds"]
    for name in SETS:
        cells = []
        for sets in (found.sets, found.with_intercept):
            seconds = sets[name]["seconds"] / sets[name]["jobs"] if name in sets else None
            cells.append("–" if seconds is None else duration(seconds))
            total += seconds or 0.0
        rows.append((name, *cells))
    return (
        f"{table(rows)}\n\nIn all {duration(total)}. For a data set: the seconds of all folds "
        "divided by the number of processes that shared them."
    )
