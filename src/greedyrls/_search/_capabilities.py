"""What works on which kind of data: the one place that decides it.

A kind of X declares traits (`Matrix`); each option needs some of them. tools/capabilities.py prints
`FEATURES` and `KINDS` into docs/guide/capabilities.md, and tests try every cell of that table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._data import AS_NUMPY, Matrix, NotOnDevice, kind_of

# Vectors are NumPy arrays; rows are in this process; all values are in memory.
HOST, LOCAL, RESIDENT = frozenset({"host"}), frozenset({"local"}), frozenset({"resident"})
IN_MEMORY = HOST | LOCAL | RESIDENT

KINDS: dict[str, frozenset[str]] = {
    "NumPy": IN_MEMORY,
    "threads": IN_MEMORY,
    "sparse": IN_MEMORY,
    "file": HOST | LOCAL,
    "streamed": LOCAL,
    "device": LOCAL | RESIDENT,
    "Dask": HOST,
}

# Traits of kernel columns, which are never in memory all at once and so cannot be loaded.
_COMPUTED = frozenset({"computed"})
_NUMPY_ONLY = "is implemented for NumPy arrays only"


@dataclass(frozen=True)
class Feature:
    """Something that a user can ask for, with the traits of X that it needs."""

    row: str  # in the table of the documentation
    needs: tuple[frozenset[str], ...] = (frozenset(),)  # any of these sets of traits
    why: str = ""  # it needs them, after "it"
    instead: str = ""  # what to use on the same X
    # Cells where it is done in another way, or in part.
    notes: dict[str, str] = field(default_factory=dict)

    def works_with(self, traits: frozenset[str]) -> bool:
        """Whether it works on a kind of X."""
        return any(needed <= traits for needed in self.needs)

    def reason(self, traits: frozenset[str]) -> str:
        """Why it does not, after "it"."""
        needs_host = all("host" in needed for needed in self.needs)
        return _NUMPY_ONLY if needs_host and "host" not in traits else self.why


FEATURES: dict[str, Feature] = {
    "squared": Feature("leave-one-out: squared loss"),
    "loss": Feature(
        "leave-one-out: absolute, 0/1, balanced 0/1 loss",
        (HOST,),
        instead="use loss='squared'",
    ),
    "whole_loss": Feature(
        "leave-one-out: AUC, a function",
        (HOST | LOCAL,),
        "needs all predictions at once",
        "use loss='squared', 'absolute', 'zero_one' or 'balanced_zero_one'",
    ),
    "folds": Feature(
        "folds: squared loss",
        (HOST, RESIDENT),
        "needs all rows on the device",
        "use cv='loo'",
    ),
    "splitters": Feature(
        "folds: groups, any splitter",
        (HOST | LOCAL, RESIDENT),
        "needs all rows at once",
        "use cv='loo'",
    ),
    "fold_loss": Feature(
        "folds: other losses",
        (HOST,),
        instead="use loss='squared'",
        notes={"Dask": "without AUC and functions"},
    ),
    "many_folds": Feature(
        "many small folds by one factor",
        (HOST, RESIDENT),
        "needs all rows on the device",
        "use cv='loo'",
        dict.fromkeys(("sparse", "file", "device", "Dask"), "a model for each fold"),
    ),
    "penalties": Feature(
        "several penalties",
        notes={"streamed": '`alpha_rule="joint"` only'},
    ),
    "groups": Feature(
        "groups and costs of features", (HOST,), instead="leave out feature_groups, feature_costs"
    ),
    "direction": Feature(
        "floating, FoBa, swap, backward",
        (HOST | LOCAL,),
        "needs all rows in this process",
        "use direction='forward'",
    ),
    "centers": Feature("kernel centres", (IN_MEMORY,), "needs all points in memory"),
    "all_features": Feature(
        '`alpha_rule="all_features"`, `refit_alpha="cv"`',
        (HOST | LOCAL,),
        "needs all rows in this process",
        "use alpha_rule='nested' or 'joint', or pass a number for alpha",
    ),
    "checkpoint": Feature("checkpoints", (HOST,), instead="leave out checkpoint"),
    "class_weight": Feature(
        "`class_weight`", (LOCAL,), "counts the classes of all rows", "pass sample_weight"
    ),
    "probabilities": Feature(
        "`predict_proba` of a model fitted to X",
        (LOCAL,),
        "needs held-out values of all rows",
        "use decision_function",
    ),
    "assess": Feature(
        "`assess`: leave-one-out, squared loss", (HOST | LOCAL,), "repeats the search on some rows"
    ),
    "assess_copies": Feature(
        "`assess`: folds, other losses, `class_weight`, bootstrap",
        (IN_MEMORY,),
        "copies rows of X for each search",
        "use inner_cv='loo', loss='squared' and resample='subsample', leave out class_weight",
    ),
    "ranker": Feature(
        "the ranker",
        (LOCAL | RESIDENT,),
        "forms pairs of rows",
        "use greedy_path(X, y, cv=groups), which needs no pairs",
        {"sparse": "makes X dense", "device": "by NumPy"},
    ),
}


def traits_of(X: Matrix) -> frozenset[str]:
    """What a matrix declares, as the table names it."""
    traits = frozenset() if X.location.on_device else HOST
    traits |= LOCAL if X.remote is None else frozenset()
    traits |= _COMPUTED if X.centers is not None else frozenset()
    return traits | (RESIDENT if X.is_in_memory else frozenset())


def check_supported(X: Matrix, feature: str, what: str, instead: str | None = None) -> None:
    """Raise an error that says why something is not supported with this kind of X.

    `what` is how the user asked for it; `instead` replaces the advice of the table.
    """
    traits = traits_of(X)
    error = NotOnDevice if "host" not in traits else ValueError
    _check(FEATURES[feature], traits, X.noun, what, instead, error)


class UnsupportedInput(TypeError, ValueError):
    """Something that is not supported with the type of X, whichever of the two is to be changed."""


def check_input(X: Any, feature: str, what: str, instead: str | None = None) -> None:
    """`check_supported` with X as the user passed it, before anything of it is read."""
    kind = kind_of(X)
    _check(FEATURES[feature], KINDS[kind.name], kind.noun, what, instead, UnsupportedInput)


def _check(
    asked: Feature,
    traits: frozenset[str],
    noun: str,
    what: str,
    instead: str | None,
    error: type[Exception],
) -> None:
    if asked.works_with(traits):
        return
    advice = [asked.instead if instead is None else instead, load_into_memory(traits)]
    text = ", or ".join(part for part in advice if part)
    raise error(
        f"{what} is not supported with X {noun}: it {asked.reason(traits)}. "
        f"{text[0].upper()}{text[1:]}."
    )


def load_into_memory(traits: frozenset[str]) -> str:
    """What makes a NumPy array of X; nothing for kernel columns."""
    if traits >= _COMPUTED:
        return ""
    if "host" not in traits:
        return AS_NUMPY
    return "load X into memory (X.compute())" if "local" not in traits else "load X into memory"
