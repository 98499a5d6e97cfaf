"""Models on sets of chosen features with any penalty: factors, and errors on other rows.

With L the Cholesky factor of X_S'X_S + γI in the order of choice, the columns of X_S L⁻ᵀ are the
q of docs/theory.md: the model of size k uses the first k of them. One product therefore gives all
models whose sets are the beginnings of one another; they are a chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, location_of, namespace_of, numbers_on, take_rows, to_device


class Chain(NamedTuple):
    """Sets of features of which each is the beginning of the next."""

    places: NDArray[np.intp]  # of the features of the last, in their order
    ends: NDArray[np.intp]  # how many of them each has


class Chosen(NamedTuple):
    """The features of a path with their moments on the rows that they were chosen on."""

    indices: tuple[int, ...]  # (p) all features of all sets
    gram: Float  # (p × p)
    correlation: Float  # (p × t)
    means: Float  # (p)
    target_means: Float  # (t)
    chains: tuple[Chain, ...]  # one model for each of their sets, in the order of size
    penalty: Float | None = None  # (p × p) what the penalty is multiplied with, if not I

    @property
    def n_models(self) -> int:
        """k."""
        return sum(len(chain.ends) for chain in self.chains)


class Pivots(NamedTuple):
    """The features of a chain made orthogonal for a penalty."""

    inverse: Float  # (c × c) lower triangular L⁻¹
    steps: Float  # (c × t) coefficients on the q


Models = tuple[Pivots, ...]  # one for each chain


def one_by_one(count: int) -> tuple[Chain, ...]:
    """The first 1, 2, … features."""
    return (Chain(np.arange(count), np.arange(1, count + 1)),)


def chains_of(sets: Sequence[tuple[int, ...]], indices: tuple[int, ...]) -> tuple[Chain, ...]:
    """Sets of the features `indices`, in the order of size, as few chains as they make."""
    place_of_feature = {index: place for place, index in enumerate(indices)}
    chains: list[Chain] = []
    first = 0
    for last, features in enumerate(sets):
        following = sets[last + 1] if last + 1 < len(sets) else ()
        if following[: len(features)] != features or not following:
            places = np.array([place_of_feature[index] for index in features], dtype=np.intp)
            ends = np.array([len(one) for one in sets[first : last + 1]], dtype=np.intp)
            chains.append(Chain(places, ends))
            first = last + 1
    return tuple(chains)


def pivots(chosen: Chosen, penalty: float) -> Models | None:
    """For a penalty; None if it is lost in the rounding of the data."""
    unit = np.eye(len(chosen.gram)) if chosen.penalty is None else chosen.penalty
    A = chosen.gram + penalty * unit
    models = []
    for chain in chosen.chains:
        own, correlation = A, chosen.correlation
        if not is_whole(chain, len(A)):
            own, correlation = A[np.ix_(chain.places, chain.places)], correlation[chain.places]
        try:
            factor = np.linalg.cholesky(own)
        except np.linalg.LinAlgError:
            return None
        inverse = np.tril(np.linalg.inv(factor))
        models.append(Pivots(inverse, inverse @ correlation))
    return tuple(models)


def is_whole(chain: Chain, count: int) -> bool:
    """Whether a chain goes through all of `count` features as they come, one by one."""
    return len(chain.ends) == count and bool((chain.places == np.arange(count)).all())


def held_out_errors(chosen: Chosen, models: Models, columns: Float, Y: Float) -> Float:
    """Errors (t × k × rows) of all models on other rows.

    columns (rows × p) are the chosen features there, Y (rows × t) the targets.
    """
    location = location_of(columns)
    means, target_means = to_device(location, chosen.means, chosen.target_means)
    centred = (columns - means).T
    residuals = (Y - target_means).T
    parts = []
    for chain, model in zip(chosen.chains, models, strict=True):
        own = take_places(centred, chain, len(chosen.indices))
        inverse, steps = to_device(location, model.inverse, model.steps.T.copy())
        q = inverse @ own
        errors = [
            at_ends(less_running_sums(residuals[target, :], q * steps[target, :, None]), chain)
            for target in range(len(model.steps.T))
        ]
        parts.append(location.xp.stack(errors))
    stack: Float = parts[0] if len(parts) == 1 else location.xp.concat(parts, axis=1)
    return stack


def take_places(columns: Float, chain: Chain, count: int) -> Float:
    """The rows of a chain's features of a matrix (count × rows), in their order."""
    if is_whole(chain, count):
        return columns
    own: Float = take_rows(columns, numbers_on(location_of(columns), chain.places))
    return own


def at_ends(values: Float, chain: Chain) -> Float:
    """Of running sums (c × rows) those at which a set of the chain ends."""
    if len(chain.ends) == len(chain.places):
        return values
    ends: Float = take_rows(values, numbers_on(location_of(values), chain.ends - 1))
    return ends


def less_running_sums(start: Float, values: Float) -> Float:
    """start (rows) less the sums of the first 1, 2, … of the values (k × rows).

    On the host in their place and row by row: several times as fast as `cumsum` along the first
    axis.
    """
    if not isinstance(values, np.ndarray):
        less: Float = start - namespace_of(values).cumulative_sum(values, axis=0)
        return less
    before = start
    for row in values:
        np.subtract(before, row, out=row)
        before = row
    return values
