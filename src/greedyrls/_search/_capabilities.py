"""What works on which kind of data: the one place that decides it.

A kind of X declares traits (`Matrix`); each thing that a user can ask for needs some of them. The
table in docs/capabilities.md is printed from `FEATURES` and `KINDS` (tools/capabilities.py).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .._data import Matrix, not_on_device

Trait = Literal["host", "local", "resident"]
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


@dataclass(frozen=True)
class Feature:
    """Something that a user can ask for, with the traits that it needs of X."""

    row: str  # in the table of the documentation
    needs: tuple[frozenset[str], ...]  # any of these sets of traits
    why: str  # it needs them, in words
    instead: str  # what a user can do
    # Where it is not refused, but done in another way: notes of the table by kind.
    notes: dict[str, str] = field(default_factory=dict)

    def works_with(self, traits: frozenset[str]) -> bool:
        """Whether it works on a kind of X."""
        return any(needed <= traits for needed in self.needs)


_LOAD = "load X into memory"
FEATURES: dict[str, Feature] = {
    "squared": Feature("leave-one-out: squared loss", (frozenset(),), "", ""),
    "loss": Feature(
        "leave-one-out: absolute, 0/1, balanced 0/1 loss",
        (HOST,),
        "is computed by NumPy",
        "use loss='squared'",
    ),
    "whole_loss": Feature(
        "leave-one-out: AUC, a function",
        (HOST | LOCAL,),
        "needs all predictions at once",
        "use 'squared', 'absolute', 'zero_one' or 'balanced_zero_one'",
    ),
    "folds": Feature(
        "folds: squared loss",
        (HOST, RESIDENT),
        "takes rows apart",
        "use cv='loo'",
        {"Dask": "without shuffled splitters and groups"},
    ),
    "fold_loss": Feature(
        "folds: other losses",
        (HOST,),
        "is computed by NumPy",
        "use loss='squared'",
        {"Dask": "without AUC and functions"},
    ),
    "many_folds": Feature(
        "many small folds by one factor",
        (frozenset(),),
        "",
        "",
        dict.fromkeys(("sparse", "file", "device", "Dask"), "a model for each fold"),
    ),
    "penalties": Feature(
        "several penalties",
        (frozenset(),),
        "",
        "",
        dict.fromkeys(("file", "streamed", "device", "Dask"), "one after the other"),
    ),
    "groups": Feature(
        "groups and costs of features", (HOST,), "is computed by NumPy", "leave it out"
    ),
    "direction": Feature(
        "floating, FoBa, swap, backward",
        (IN_MEMORY,),
        "needs X in memory",
        f"{_LOAD}, or use direction='forward'",
    ),
    "centers": Feature("kernel centres", (IN_MEMORY,), "needs points in memory", _LOAD),
    "all_features": Feature(
        '`alpha_rule="all_features"`, `refit_alpha="cv"`',
        (IN_MEMORY,),
        "needs all features at once",
        "pass a number for alpha, or use alpha_rule='nested' or 'joint'",
    ),
    "checkpoint": Feature("checkpoints", (HOST,), "is written by NumPy", "leave it out"),
    "assess": Feature(
        "`assess`, the ranker, the command line",
        (IN_MEMORY,),
        "takes rows apart",
        _LOAD,
    ),
}


def traits_of(X: Matrix) -> frozenset[str]:
    """What a matrix declares, as the table names it."""
    traits = frozenset() if X.on_device else HOST
    traits |= LOCAL if X.remote is None else frozenset()
    return traits | (RESIDENT if X.is_in_memory else frozenset())


def check_supported(X: Matrix, feature: str, what: str) -> None:
    """Raise an error that says why something is not supported on this kind of X."""
    asked = FEATURES[feature]
    traits = traits_of(X)
    if asked.works_with(traits):
        return
    if "host" not in traits:
        raise not_on_device(what)
    raise ValueError(f"{what} {asked.why}, and X is {X.noun}; {asked.instead}.")
