"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from ._types import ClassWeight, Cost, Folds, Penalty, Size

Command = TypeVar("Command", bound=Callable[..., Any])

# Of scikit-learn's folds.
LARGEST_SEED = 2**32 - 1
# Of read_table, which takes longer to import than --help should.
FORMATS = ("csv", "tsv", "jsonl", "excel", "parquet", "arrow", "svmlight", "npz")
LOSSES = ("auto", "squared", "absolute", "zero_one", "balanced_zero_one", "auc")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a file is read."""

    delimiter: str | None
    decimal: str
    has_header: bool
    encoding: str
    format: str | None = None
    sheet: str | None = None
    date_order: Literal["dmy", "mdy"] | None = None


@dataclass(frozen=True, slots=True)
class Telling:
    """What is shown."""

    is_quiet: bool
    is_json: bool

    @property
    def is_human(self) -> bool:
        """Whether somebody reads along."""
        return not (self.is_quiet or self.is_json)


# Long lists of options are read by what they are about.
_SECTIONS = {
    "The table": (
        "target",
        "ids",
        "dropped",
        "kept",
        "forced",
        "categorical",
        "dates",
        "time",
        "weights",
    ),
    "Preparing it": ("impute", "drop_missing_target", "standardise"),
    "What to choose": (
        "n_features",
        "alpha",
        "cv",
        "loss",
        "class_weight",
        "task",
        "size_rule",
        "max_features",
        "whole_columns",
        "costs",
        "budget",
    ),
    "How good it is": ("assess", "folds", "resamples", "permutations"),
    "Results": ("out", "overwrite", "quiet", "as_json"),
    "Reading files": (
        "format",
        "sheet",
        "delimiter",
        "decimal",
        "date_order",
        "no_header",
        "encoding",
    ),
}


class Sectioned(click.Command):
    """A command whose help shows options by section."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their titles."""
        titles = {name: title for title, names in _SECTIONS.items() for name in names}
        found: dict[str, list[tuple[str, str]]] = {title: [] for title in (*_SECTIONS, "Else")}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None and isinstance(param, click.Option):
                found[titles.get(param.name or "", "Else")].append(record)
        for title, records in found.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records, col_max=26)


def _stacked(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


DATA = click.argument("data", type=click.Path(path_type=Path))

READING = _stacked(
    click.option(
        "--format",
        type=click.Choice(FORMATS),
        metavar="NAME",
        help=f"Of DATA, whatever its name says: {', '.join(FORMATS)}. Standard input is csv.",
    ),
    click.option("--sheet", metavar="NAME", help="Of an Excel file; by default the first."),
    click.option("--delimiter", metavar="C", help="Between cells; told from the first line."),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        metavar="C",
        default=".",
        show_default=True,
        help="Decimal point; ',' in much of Europe.",
    ),
    click.option(
        "--date-order",
        type=click.Choice(["dmy", "mdy"]),
        help="Day or month first in dates such as 01/02/2024, where the column does not tell.",
    ),
    click.option("--no-header", is_flag=True, help="The first line is data: columns x0, x1, …"),
    click.option(
        "--encoding", metavar="NAME", default="utf-8", show_default=True, help="Such as latin-1."
    ),
)

TELLING = _stacked(
    click.option("-q", "--quiet", is_flag=True, help="No messages but errors."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for scripts."),
)

COLUMNS = _stacked(
    click.option("-t", "--target", metavar="COLUMN", help="What to predict."),
    click.option("--id", "ids", multiple=True, metavar="COLUMN", help="Names rows; no feature."),
    click.option(
        "--drop", "dropped", multiple=True, metavar="COLUMN", help="Leave out (repeatable)."
    ),
    click.option(
        "--keep",
        "kept",
        multiple=True,
        metavar="COLUMN",
        help="A feature, though it looks like a row number (repeatable).",
    ),
    click.option(
        "--force", "forced", multiple=True, metavar="COLUMN", help="Must be in (repeatable)."
    ),
    click.option(
        "--categorical", multiple=True, metavar="COLUMN", help="Codes, not numbers (repeatable)."
    ),
    click.option(
        "--dates",
        multiple=True,
        metavar="COLUMN",
        help="Use year, month, weekday and elapsed days of its dates (repeatable).",
    ),
    click.option(
        "--time",
        metavar="COLUMN",
        help="Dates or numbers that order the rows: all folds train on earlier rows and test on "
        "later ones. No feature unless --dates names it, too.",
    ),
    click.option("--weight", "weights", metavar="COLUMN", help="Weight of each row."),
    click.option(
        "--impute",
        type=click.Choice(["median"]),
        help="Fill in missing values: the median of numbers, the most frequent text.",
    ),
    click.option("--drop-missing-target", is_flag=True, help="Leave out rows without a target."),
    click.option(
        "--standardise/--no-standardise",
        " /--no-standardize",
        default=True,
        show_default=True,
        help="Put columns in a common scale for the search; coefficients are in your units.",
    ),
)

QUESTION = _stacked(
    click.option(
        "-k",
        "n_features",
        type=Size(),
        metavar="N|auto",
        default="auto",
        show_default=True,
        help="How many features; auto takes the size that does best on held-out rows.",
    ),
    click.option(
        "--alpha",
        type=Penalty(),
        metavar="A|A,B,…|auto",
        default="auto",
        show_default=True,
        help="Ridge penalty; auto (or one of several) is chosen in outer folds.",
    ),
    click.option(
        "--cv",
        type=Folds(),
        metavar="loo|K|COLUMN",
        default="loo",
        show_default=True,
        help="What the search goes by: leave-one-out, K folds, or a column whose groups stay "
        "together.",
    ),
    click.option(
        "--loss",
        type=click.Choice(LOSSES),
        default="auto",
        show_default=True,
        help="What is minimised on held-out predictions.",
    ),
    click.option(
        "--class-weight",
        type=ClassWeight(),
        multiple=True,
        metavar="balanced|LABEL=W",
        help="What rows of a class count: balanced makes all classes count the same, which a rare "
        "one needs; or a weight for each class (repeatable; others 1).",
    ),
    click.option(
        "--task",
        type=click.Choice(["auto", "regression", "classification"]),
        default="auto",
        show_default=True,
        help="auto takes text, true/false and two whole numbers for classes.",
    ),
    click.option(
        "--size-rule",
        type=click.Choice(["min", "1se"]),
        default="1se",
        show_default=True,
        help="With -k auto: smallest held-out loss, or the fewest within one standard error of it.",
    ),
    click.option(
        "--max-features",
        type=click.IntRange(1),
        metavar="N",
        help="With -k auto: at most so many (100).",
    ),
    click.option(
        "--whole-columns",
        is_flag=True,
        help="Choose a text column with all its texts or not at all; -k counts columns.",
    ),
    click.option(
        "--cost",
        "costs",
        type=Cost(),
        multiple=True,
        metavar="COLUMN=C",
        help="What a column costs (repeatable; others 1): choose by gain for the cost. Implies "
        "--whole-columns.",
    ),
    click.option(
        "--budget",
        type=click.FloatRange(0.0, min_open=True),
        metavar="C",
        help="With costs: all chosen columns together cost no more. Implies --whole-columns.",
    ),
    click.option(
        "--intercept/--no-intercept", default=True, show_default=True, help="Fit an intercept."
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, LARGEST_SEED),
        metavar="N",
        default=0,
        show_default=True,
        help="Of the shuffled folds and all that is drawn.",
    ),
    click.option(
        "--jobs",
        type=int,
        metavar="N",
        default=1,
        show_default=True,
        help="Processes for outer folds, resamples and permutations; -1 takes all cores.",
    ),
)
