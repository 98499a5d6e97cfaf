"""The page of the results. Every sentence that depends on numbers is made from them."""

from __future__ import annotations

from collections.abc import Sequence

from harness.tables import Cells, markdown

from . import splits
from .final import ALPHAS
from .methods import METHODS, OURS, load
from .summary import Rank, Row, Verdict
from .tasks import Task


def page(rows: list[Row], verdicts: list[Verdict], order: list[Rank]) -> str:
    """The whole text."""
    sections = [
        "# Quality of the chosen sets",
        _introduction(),
        "## In short",
        summary_of(verdicts, order),
        "## Scores",
        _scores_text(rows),
        markdown(_scores(rows)),
        "## Ours, automatic, against the best of the others",
        _verdict_text(),
        markdown(_verdicts(verdicts)),
        "## Where ours is behind, and what was tried",
        _tried_text(),
        "## Mean ranks",
        _ranks_text(rows),
        markdown(_ranks(order, len(rows))),
        "## Seconds to select",
        _seconds_text(),
        markdown(_seconds(rows)),
        "## What is missing, and why",
        _missing_text(rows),
        "## The methods",
        markdown([("method", "settings"), *((load(m).title, load(m).does) for m in METHODS)]),
    ]
    return "\n\n".join(sections) + "\n"


def _introduction() -> str:
    return (
        "How good is a model on k features, when the features come from different methods and all "
        "else is equal? Every method chooses k features on the same training rows; the same ridge "
        f"model (its penalty the best of {len(ALPHAS)} by leave-one-out on these features) is "
        "fitted to them and scored on the same test rows.\n\n"
        "    python benchmarks/run.py quality --data-dir DIR    # what is not in the results yet\n"
        "    python benchmarks/run.py quality-page              # this page\n\n"
        f"Up to {splits.SMALL_ROWS:,} rows: {splits.SMALL_REPEATS} random splits, "
        f"{splits.TRAIN_SHARE:.0%} for training. More rows: {splits.LARGE_REPEATS} splits, at most "
        f"{splits.MOST_TRAIN_ROWS:,} rows for training and {splits.MOST_TEST_ROWS:,} for the test. "
        "Classes have the same shares in both parts. Features are scaled by the training rows, and "
        "those that are constant there are left out for all. A size fits where it is smaller than "
        "the number of features that vary; so iris and linnerud, which also ship with "
        "scikit-learn, have no row: they have fewer than 5 features."
    )


def summary_of(verdicts: list[Verdict], order: list[Rank]) -> str:
    """Where ours stands, in four sentences."""
    own = [v for v in verdicts if not v.within_own]
    paired = [v for v in verdicts if not v.within_paired]
    ahead = sum(v.behind < 0 for v in verdicts)
    place = [rank.method for rank in order].index(OURS) + 1
    first = order[0] if place > 1 else order[1]
    ours = order[place - 1]
    return "\n".join(
        [
            f"- {load(OURS).title}: best of all in {ahead} of {len(verdicts)} rows.",
            "- Behind the best of the others by more than one standard error of its own mean: "
            f"{_names(own)}.",
            f"- Behind by more than one standard error of the paired difference: {_names(paired)}.",
            f"- Mean rank {ours.mean:.2f}, place {place} of {len(order)}; "
            f"{'next' if place == 1 else 'first'} is {load(first.method).title} with "
            f"{first.mean:.2f}.",
        ]
    )


def _names(verdicts: list[Verdict]) -> str:
    if not verdicts:
        return "nowhere"
    count = "1 row" if len(verdicts) == 1 else f"{len(verdicts)} rows"
    return f"{count} ({', '.join(_title(v.row) for v in verdicts)})"


def is_reached(verdicts: list[Verdict], order: list[Rank]) -> bool:
    """Whether ours has the best mean rank and is nowhere behind by more than its error."""
    return order[0].method == OURS and all(v.within_own for v in verdicts)


def _title(row: Row) -> str:
    return f"{row.about.data_set} k={row.k}"


def _scores_text(rows: list[Row]) -> str:
    regressions = sorted({row.about.data_set for row in rows if row.about.task == Task.REGRESSION})
    of = f" (R² times 100 for {', '.join(regressions)})" if regressions else ""
    return (
        f"Percent of the test rows classified rightly{of}, mean ± standard error over the splits; "
        "the best of a row in bold. The splits share rows, so these errors say how steady a mean "
        "is over splits of this data set; for new data of the same kind they are too small."
    )


def _scores(rows: list[Row]) -> Cells:
    head = ("data set", "splits", "k", *(load(method).title for method in METHODS))
    return [head, *(_score_cells(row) for row in rows)]


def _score_cells(row: Row) -> Sequence[str]:
    top = max(round(row.mean(method), 9) for method in row.scores)
    cells = []
    for method in METHODS:
        if method not in row.scores:
            cells.append("-")
            continue
        text = f"{100 * row.mean(method):.2f} ± {100 * row.error(method):.2f}"
        cells.append(f"**{text}**" if round(row.mean(method), 9) == top else text)
    return (row.about.data_set, str(row.repeats), str(row.k), *cells)


def _verdict_text() -> str:
    return (
        "In the same units. *Behind* is the mean of the best other method less ours; negative: "
        "ours is ahead. The best of several others is known only afterwards, and of methods that "
        "are equally good one is ahead by chance; so one standard error is a strict limit. *Own "
        "error* is the standard error of our mean, *paired error* that of the difference on the "
        "same splits."
    )


def _verdicts(verdicts: list[Verdict]) -> Cells:
    head = ("data set", "k", "best other", "behind", "own error", "paired error")
    rows: list[Sequence[str]] = [(*head, "within own", "within paired")]
    for v in verdicts:
        numbers = (f"{100 * value:.2f}" for value in (v.behind, v.own_error, v.paired_error))
        answers = ("yes" if within else "NO" for within in (v.within_own, v.within_paired))
        name = load(v.best_other).title
        rows.append((v.row.about.data_set, str(v.row.k), name, *numbers, *answers))
    return rows


def _tried_text() -> str:
    """Trials on the same splits, made by hand once: their numbers do not come from the results."""
    return (
        "Trials on the side, with a version of the package before 0.1.0:\n\n"
        "- *The loss.* Few features for many classes are chosen much better by 0/1 error (digits, "
        "k = 5: 68 instead of 63 %), and a little better on large data (adult, mnist5, k = 5); on "
        "small data it is worse more often than not, and on colon-cancer by 20 points. So outer "
        'folds decide, with squared loss in doubt (`loss="auto"`).\n'
        "- *The penalty.* Choosing it by the error rate in outer folds rather than by squared "
        "loss, by ranks or medians of folds, by the criterion's own loss unless the folds object, "
        "or smoothed over neighbouring penalties: over 24 rows of these and made-up data none "
        "gained more than 0.2 standard errors on average, and most lost a whole one somewhere.\n"
        "- *The search.* A forward search cannot take a feature back. Exchanging single features "
        "after it while the leave-one-out loss falls, as abess does for its own loss, raised wine "
        "from 96.2 to 96.7 and diabetes from 47.7 to 48.2, and moved the other small sets by less "
        "than 0.1; it is not part of the package yet."
    )


def _ranks_text(rows: list[Row]) -> str:
    return (
        f"Place of the mean score in each of the {len(rows)} rows, 1 is the best, equal means "
        "share their places. A method that lacks rows is ranked on those it has, among fewer "
        "others; the mean over complete rows is over those that all methods have which have more "
        "than half of them. The last columns count the rows in which a method is behind "
        "the best of the others by more than the one or the other standard error."
    )


def _ranks(order: list[Rank], count: int) -> Cells:
    complete_rows = f"mean rank, {order[0].complete_rows} complete rows"
    head = ("method", "mean rank", "rows", complete_rows)
    cells: list[Sequence[str]] = [(*head, "behind by > own error", "behind by > paired error")]
    for rank in order:
        complete = "-" if rank.mean_of_complete is None else f"{rank.mean_of_complete:.2f}"
        name = load(rank.method).title
        places = (f"{rank.mean:.2f}", f"{rank.rows} of {count}", complete)
        cells.append((name, *places, str(rank.beyond_own), str(rank.beyond_paired)))
    return cells


def _seconds_text() -> str:
    return (
        "Mean over the splits, on one core of a machine that did other work too: good for orders "
        "of magnitude. Methods with † answer for all sizes in one call, and the time is that of "
        "this call."
    )


def _seconds(rows: list[Row]) -> Cells:
    titles = (load(m).title + (" †" if load(m).one_call else "") for m in METHODS)
    cells: list[Sequence[str]] = [("data set", "k", *titles)]
    for row in rows:
        times = (f"{row.seconds[m]:.2g}" if m in row.seconds else "-" for m in METHODS)
        cells.append((row.about.data_set, str(row.k), *times))
    return cells


def _missing_text(rows: list[Row]) -> str:
    lines = [
        f"- {load(method).title}, {_title(row)}: {row.missing[method]}."
        for method in METHODS
        for row in rows
        if method in row.missing
    ]
    return "\n".join(lines) if lines else "Nothing."
