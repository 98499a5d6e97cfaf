"""Problems of ranking, and the comparison of a ranker with pairs written out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from greedyrls import GreedyRLSRanker
from literal_ranking import Pairs, all_pairs, criterion, fitted, literal_ranking, query_losses


@dataclass
class Ranking:
    """Samples in queries; `options` go to the estimator."""

    X: Any
    y: Any
    groups: Any
    weights: Any
    k: int
    alpha: float
    options: dict[str, Any] = field(default_factory=dict)

    def fit(self, X: Any = None, **more: Any) -> GreedyRLSRanker:
        """The ranker of these data, or of the same in another form."""
        model = GreedyRLSRanker(self.k, **{"alpha": self.alpha} | self.options | more)
        X = self.X if X is None else X
        return model.fit(X, self.y, groups=self.groups, sample_weight=self.weights)

    @property
    def pairs(self) -> Pairs:
        return all_pairs(self.X, self.y, self.groups, self.weights)


@st.composite
def rankings(draw: st.DrawFn) -> Ranking:
    """Small queries, some of a single sample; weights, duplicated columns, wide and tall."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = [3, 2, *rng.integers(1, 7, draw(st.integers(2, 6))).tolist()]
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    m, n = len(groups), draw(st.integers(1, 9))
    kind = draw(st.sampled_from(["normal", "integer", "binary", "shifted", "float32"]))
    X: Any = rng.standard_normal((m, n)) + rng.standard_normal((len(sizes), n))[groups]
    if kind == "integer":
        X = rng.integers(-3, 4, (m, n))
    elif kind == "binary":
        X = (rng.random((m, n)) < 0.4).astype(float)
    elif kind == "shifted":
        X = X + 100.0 * rng.standard_normal(n)
    elif kind == "float32":
        X = X.astype(np.float32)
    if draw(st.booleans()):
        X[:, rng.integers(n)] = X[:, rng.integers(n)]
    y = rng.integers(0, 4, m) if draw(st.booleans()) else rng.standard_normal(m)
    y = y + X[:, 0].astype(float)
    weights = None
    if draw(st.booleans()):
        weights = rng.choice([0.0, 0.5, 1.0, 3.0], m)
        for query in (0, 1):  # at least two queries have pairs
            weights[groups == query] = 1.0
    k = draw(st.integers(1, min(n, 4)))
    options: dict[str, Any] = {}
    features = rng.permutation(n)
    if draw(st.booleans()):
        options["forced_features"] = features[: int(rng.integers(0, k + 1))].tolist()
    if n > k and draw(st.booleans()):
        options["excluded_features"] = features[k : k + int(rng.integers(1, n - k + 1))].tolist()
    return Ranking(X, y, groups, weights, k, 10.0 ** draw(st.integers(-3, 3)), options)


def ranking(seed: int = 0, queries: int = 20, size: int = 6, n: int = 12, k: int = 4) -> Ranking:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(queries), size)
    X = rng.standard_normal((len(groups), n)) + 2.0 * rng.standard_normal((queries, n))[groups]
    y = np.digitize(X[:, 1] - X[:, 5] + 0.7 * rng.standard_normal(len(groups)), [-1.0, 0.0, 1.0])
    return Ranking(X, y, groups, None, k, 1.0)


def assert_as_written_out(model: GreedyRLSRanker, case: Ranking) -> None:
    """The path, its losses and the coefficients are those of the literal search."""
    pairs = case.pairs
    chosen, known = literal_ranking(
        pairs,
        case.k,
        case.alpha,
        case.options.get("forced_features", ()),
        case.options.get("excluded_features", ()),
    )
    initial = criterion(pairs, [], case.alpha)
    assert model.path_.initial_loss == pytest.approx(initial, rel=1e-9)
    floor = 1e-12 * initial
    for place, step in enumerate(model.path_.steps):
        assert step.loss == pytest.approx(known[place][step.index], rel=1e-9, abs=floor)
        assert step.loss == pytest.approx(known[place][chosen[place]], rel=1e-9, abs=floor)
        for index, loss in step.runners_up:
            assert loss == pytest.approx(known[place][index], rel=1e-9, abs=floor)
        if step.index != chosen[place]:
            return  # a near-tie, resolved differently
        expected = query_losses(pairs, chosen[: place + 1], case.alpha)
        assert_allclose(step.fold_losses, expected, rtol=1e-8, atol=floor + 1e-12 * expected.max())
    every = np.ones(len(pairs.d), dtype=bool)
    coef = fitted(pairs, every, chosen, case.alpha)
    assert_allclose(model.coef_[chosen], coef, rtol=1e-7, atol=1e-9)
