"""Models on sets of chosen features with any penalty: factors, and errors on other rows.

With L the Cholesky factor of X_S'X_S + γI in the order of choice, the columns of X_S L⁻ᵀ are the
q of docs/theory.md: the model of size k uses the first k of them. One product therefore gives all
models whose sets are the beginnings of one another; they are a chain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._base import Float, location_of, namespace_of, numbers_on, take_rows, to_device
from ._factors import inverse_factor, lower_inverse

# Numbers up to which the matrices of several penalties are factorised together.
_TOGETHER = 1 << 20


class Chain(NamedTuple):
    """A sequence of feature sets in which each is the beginning of the next."""

    positions: NDArray[np.intp]  # of the last set's features in `Chosen.indices`, in their order
    ends: NDArray[np.intp]  # the size of each set


class Chosen(NamedTuple):
    """The features of a path with their moments on the training rows."""

    indices: tuple[int, ...]  # (p) all features of all sets
    gram: Float  # (p × p)
    correlation: Float  # (p × t)
    means: Float  # (p)
    target_means: Float  # (t)
    chains: tuple[Chain, ...]  # one model for each of their sets, in the order of size
    penalty: Float | None = None  # (p × p) the matrix that the penalty multiplies, if not I
    # Returns Σ q q' over the training rows, q = L⁻¹ x of some features, where rows can be read.
    sums: Callable[[tuple[int, ...], Float], Float] | None = None
    least: float = 0.0  # where a pivot is a smaller share of A_ii, these sums correct it

    @property
    def n_models(self) -> int:
        """The number of models, k."""
        return sum(len(chain.ends) for chain in self.chains)

    @property
    def is_one_chain(self) -> bool:
        """Whether the models are those of the first features, in their order."""
        return len(self.chains) == 1 and is_all(self.chains[0], len(self.indices))


class Pivots(NamedTuple):
    """The orthogonalised features of a chain for one penalty."""

    inverse: Float  # (c × c) lower triangular L⁻¹
    steps: Float  # (c × t) coefficients on the q


Models = tuple[Pivots, ...]  # one for each chain


def one_by_one(count: int) -> tuple[Chain, ...]:
    """Return the chain of the first 1, 2, …, `count` features."""
    return (Chain(np.arange(count), np.arange(1, count + 1)),)


def chains_of(sets: Sequence[tuple[int, ...]], indices: tuple[int, ...]) -> tuple[Chain, ...]:
    """Group sets of the features `indices`, sorted by size, into as few chains as possible."""
    position_of = {index: position for position, index in enumerate(indices)}
    chains: list[Chain] = []
    first = 0
    for last, features in enumerate(sets):
        following = sets[last + 1] if last + 1 < len(sets) else ()
        if following[: len(features)] != features or not following:
            positions = np.array([position_of[index] for index in features], dtype=np.intp)
            ends = np.array([len(one) for one in sets[first : last + 1]], dtype=np.intp)
            chains.append(Chain(positions, ends))
            first = last + 1
    return tuple(chains)


def pivots(chosen: Chosen, penalty: float) -> Models | None:
    """Factorise all chains for a penalty; None if it is too small for the rounding of the data."""
    return all_pivots(chosen, np.array([penalty]))[0]


def all_pivots(chosen: Chosen, penalties: Float) -> list[Models | None]:
    """Return `pivots` of several penalties (G), factorised together if they are small."""
    if not chosen.chains:
        return [()] * len(penalties)
    if len(penalties) == 1 or chosen.gram.size * len(penalties) <= _TOGETHER:
        try:
            return list(zip(*_pivots_by_chain(chosen, penalties), strict=True))
        except np.linalg.LinAlgError:
            if len(penalties) == 1:
                return [None]
    halves = np.array_split(penalties, 2)
    return [models for half in halves for models in all_pivots(chosen, half)]


def _pivots_by_chain(chosen: Chosen, penalties: Float) -> Iterator[list[Pivots]]:
    unit = np.eye(len(chosen.gram)) if chosen.penalty is None else chosen.penalty
    A = chosen.gram + penalties[:, None, None] * unit
    for chain in chosen.chains:
        block, correlation, positions, square = A, chosen.correlation, chain.positions, unit
        if not is_all(chain, len(unit)):
            block, correlation = block[:, positions][:, :, positions], correlation[positions]
            square = unit[np.ix_(positions, positions)]
        if chosen.sums is None:
            inverses = lower_inverse(np.linalg.cholesky(block))
        else:
            sums = partial(chosen.sums, tuple(np.array(chosen.indices)[positions].tolist()))
            P = penalties[:, None, None] * square
            inverses = inverse_factor(
                block, P, lambda inverse, _, sums=sums: sums(inverse), chosen.least
            )
        yield [Pivots(inverse, inverse @ correlation) for inverse in inverses]


def is_all(chain: Chain, count: int) -> bool:
    """Return whether the last set of a chain has all of `count` features in their order."""
    return len(chain.positions) == count and bool((chain.positions == np.arange(count)).all())


def held_out_errors(chosen: Chosen, models: Models, columns: Float, Y: Float) -> Float:
    """Return the errors (t × k × rows) of all models on other rows.

    columns (rows × p) are the chosen features there, Y (rows × t) the targets.
    """
    location = location_of(columns)
    means, target_means = to_device(location, chosen.means, chosen.target_means)
    centred = (columns - means).T
    residuals = (Y - target_means).T
    parts = []
    for chain, model in zip(chosen.chains, models, strict=True):
        inverse, steps = to_device(location, model.inverse, model.steps.T.copy())
        parts.append((chain, inverse @ take_positions(centred, chain, len(chosen.indices)), steps))
    by_target = []
    for target in range(residuals.shape[0]):
        errors = [
            at_ends(minus_running_sums(residuals[target, :], q * steps[target, :, None]), chain)
            for chain, q, steps in parts
        ]
        by_target.append(errors[0] if len(errors) == 1 else location.xp.concat(errors, axis=0))
    stack: Float = location.xp.stack(by_target)
    return stack


def take_positions(columns: Float, chain: Chain, count: int) -> Float:
    """Return the rows of a chain's features from a matrix (count × rows), in chain order."""
    if is_all(chain, count):
        return columns
    rows: Float = take_rows(columns, numbers_on(location_of(columns), chain.positions))
    return rows


def at_ends(values: Float, chain: Chain) -> Float:
    """Return the running sums, out of all (c × rows), at which a set of the chain ends."""
    if len(chain.ends) == len(chain.positions):
        return values
    ends: Float = take_rows(values, numbers_on(location_of(values), chain.ends - 1))
    return ends


def minus_running_sums(start: Float, values: Float) -> Float:
    """Return start (rows) minus the sums of the first 1, 2, … of the values (k × rows).

    On the host the values are overwritten row by row, which is several times as fast as `cumsum`
    along the first axis.
    """
    if not isinstance(values, np.ndarray):
        differences: Float = start - namespace_of(values).cumulative_sum(values, axis=0)
        return differences
    before = start
    for row in values:
        np.subtract(before, row, out=row)
        before = row
    return values
