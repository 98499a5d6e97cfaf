"""The slow twin of `cross_validate_path`: a selection on the training rows alone, and refits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold

from greedyrls import GreedyRLSClassifier, SelectionPath, greedy_path
from greedyrls.assess import PathAssessment, cross_validate_path
from internals import GreedyRLSWarning, make_folds, penalty_scale, random_orders, refit_grid
from literal import (
    balanced_factors,
    best_penalty,
    criterion,
    loss_value,
    ridge_predict,
)

Array = np.ndarray
Loss = str | Callable[[Array, Array], float]


@dataclass(frozen=True)
class Question:
    """What `cross_validate_path` is asked; `options` are all but cv, n_random and random_state."""

    X: Any
    y: Any
    n_features: Any
    options: dict[str, Any]
    is_classification: bool = False

    @property
    def data(self) -> Array:
        return np.asarray(self.X, dtype=np.float64)

    @property
    def codes(self) -> Array:
        """Targets (m × t); classes in sorted order as ±1."""
        y = np.asarray(self.y)
        if not self.is_classification:
            return y.reshape(len(y), -1).astype(float)
        classes = np.unique(y)
        codes = 2.0 * (y[:, None] == classes) - 1.0
        return codes[:, 1:] if len(classes) == 2 else codes

    @property
    def weights(self) -> Array:
        given = self.options.get("sample_weight")
        return np.ones(len(self.data)) if given is None else np.asarray(given, dtype=float)

    def fitted(self, rows: Array, order: Array | None = None) -> Array:
        """Weights in a selection on some rows: those of classes are no part of what is told."""
        w, y = self.weights, np.asarray(self.y)
        if order is not None:
            w, y = w[order], y[order]
        rule = self.options.get("class_weight")
        if rule == "balanced":
            return (w * balanced_factors(y, w, rows))[rows]
        return w[rows] * np.array([1.0 if rule is None else rule.get(one, 1.0) for one in y[rows]])

    @property
    def fit_intercept(self) -> bool:
        return bool(self.options.get("fit_intercept", True))

    def loss_of(self, path: SelectionPath) -> Loss:
        """What a selection went by; "auto" is open until it is made."""
        given = self.options.get("loss", "auto")
        return path.settings.loss if given == "auto" else given

    @property
    def measure(self) -> Loss:
        given, loss = self.options.get("measure"), self.options.get("loss", "auto")
        if given is not None:
            return given
        if loss not in ("auto", "squared"):
            return loss
        return "zero_one" if self.is_classification else "squared"

    def assess(self, cv: Any, n_random: int = 2, **others: Any) -> PathAssessment:
        return cross_validate_path(
            self.X, self.y, self.n_features, cv=cv, n_random=n_random, **self.options, **others
        )

    def select(self, rows: Array, counts: Array | None = None, order: Any = None) -> SelectionPath:
        """The selection as a user would make it if these rows were all there are.

        Rows count so often, if counts are given; order permutes the targets first.
        """
        options = {k: v for k, v in self.options.items() if k not in ("measure", "task", "groups")}
        options.setdefault("alpha", "auto")
        options["cv"] = inner = options.pop("inner_cv", "loo")
        weights = options.pop("sample_weight", None)
        if weights is not None or counts is not None:
            # Weights go with the targets.
            own = self.weights if order is None else self.weights[order]
            weights = own[rows] * (1.0 if counts is None else counts)
        groups = self.options.get("groups")
        if groups is not None:
            groups = np.asarray(groups)[rows]
            if isinstance(inner, str):
                # Groups are for the outer folds of penalty and size, if there are any.
                is_nested = options.get("alpha_rule", "nested") == "nested"
                is_nested = is_nested and not isinstance(options["alpha"], float)
                if not is_nested and self.n_features != "auto":
                    groups = None
                else:
                    options.setdefault("alpha_cv", GroupKFold(min(5, len(np.unique(groups)))))
        X = self.X.iloc[rows] if hasattr(self.X, "iloc") else np.asarray(self.X)[rows]
        y = np.asarray(self.y)
        y = y[rows] if order is None else y[order][rows]
        if options.get("loss") == "auto" and not self.is_classification:
            del options["loss"]
        if self.is_classification:
            model = GreedyRLSClassifier(self.n_features, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", GreedyRLSWarning)  # no features may be chosen
                return model.fit(X, y, sample_weight=weights, groups=groups).path_
        return greedy_path(X, y, self.n_features, sample_weight=weights, groups=groups, **options)

    def own_losses(self, path: SelectionPath, rows: Array, order: Array | None = None) -> Array:
        """What the selection on some rows believes of its models, left out as it goes by."""
        Y, w, y = self.codes, self.weights, np.asarray(self.y)
        if order is not None:
            Y, w, y = Y[order], w[order], y[order]
        splits: Any = self._inner_splits(rows, y, w) or "loo"
        if splits != "loo":
            is_told = "class_weight" not in self.options and self.measure == self.loss_of(path)
            if is_told and path.refit_alphas is None:
                return path.losses
        return np.array(
            [
                criterion(
                    *(self.data[rows], Y[rows], splits, path.features(size).tolist()),
                    loss=self.measure,
                    alpha=penalty,
                    fit_intercept=self.fit_intercept,
                    weights=self.fitted(rows, order),
                    tested=w[rows],
                )
                for size, penalty in enumerate(penalties_of(path), 1)
            ]
        )

    def fold(self, train: Array, test: Array, n_random: int, seed: Any) -> Fold:
        """One outer fold."""
        path = self.select(train)
        Y, w = self.codes, self.weights
        X = self.X.iloc[test] if hasattr(self.X, "iloc") else np.asarray(self.X)[test]
        sizes = range(1, len(path) + 1)

        def loss_of(predictions: Array) -> float:
            return loss_value(self.measure, Y[test], predictions, w[test])

        none = np.zeros((len(train), 0)), Y[train], self.fitted(train), np.zeros((len(test), 0))
        guess: list[Array] = []

        def initial_loss_of(predictions: Array) -> float:
            guess.append(predictions)
            return loss_of(predictions)

        initial_loss = self._initial_loss(initial_loss_of, none, train, test)
        # A model without features guesses the most frequent class where that is what counts.
        chosen = path.predict(X, path.chosen_size) if path.chosen_size else guess[0]
        predicted = [chosen, *guess]
        predicted += [path.predict(X, size) for size in sizes]
        return Fold(
            path,
            np.array([loss_of(path.predict(X, size)) for size in sizes]),
            self.own_losses(path, train),
            self._random_losses(path, train, test, n_random, seed),
            initial_loss,
            {
                int(row): self._row_losses(place, test, predicted)
                for place, row in enumerate(test)
                if w[row] > 0.0
            },
            self._rates(path, X, test),
            np.nan if path.chosen_size else self._own_initial_loss(path, train),
            dict(zip(test.tolist(), chosen.reshape(len(test), -1), strict=True)),
        )

    def _own_initial_loss(self, path: SelectionPath, rows: Array) -> float:
        """What the selection believes of the model without features."""
        if self.measure in ("zero_one", "balanced_zero_one"):
            splits = self._inner_splits(rows) or [(np.arange(len(rows)), np.arange(len(rows)))]
            losses, weights = [], []
            for train, test in splits:
                tested = rows[test]

                def loss_of(predictions: Array, tested: Array = tested) -> float:
                    return loss_value(
                        self.measure, self.codes[tested], predictions, self.weights[tested]
                    )

                losses.append(self._initial_loss(loss_of, None, rows[train], tested))
                weights.append(self.weights[tested].sum())
            return float(np.average(losses, weights=weights))
        return criterion(
            *(self.data[rows], self.codes[rows], self._inner_splits(rows) or "loo", []),
            loss=self.measure,
            alpha=1.0,
            fit_intercept=self.fit_intercept,
            weights=self.fitted(rows),
            tested=self.weights[rows],
        )

    def _inner_splits(self, rows: Array, y: Any = None, w: Any = None) -> Any:
        """Of the criterion, by places among some rows; None for leave-one-out."""
        inner = self.options.get("inner_cv", "loo")
        if isinstance(inner, str):
            return None
        y = np.asarray(self.y) if y is None else y
        groups = self.options.get("groups")
        folds = make_folds(
            inner,
            len(rows),
            y=y[rows],
            labels=y[rows] if self.is_classification else None,
            groups=None if groups is None else np.asarray(groups)[rows],
            weights=(self.weights if w is None else w)[rows],
        )
        return [(split.train, split.test) for split in folds.splits]

    def _rates(self, path: SelectionPath, X: Any, test: Array) -> dict[str, Array]:
        """Further measures of a classification by size."""
        if not self.is_classification:
            return {}
        Y, w = self.codes[test], self.weights[test]
        names = ["zero_one", "balanced_zero_one", "squared", "auc"][: 4 if Y.shape[1] == 1 else 3]
        return {
            name: np.array(
                [loss_value(name, Y, path.predict(X, k), w) for k in range(1, len(path) + 1)]
            )
            for name in names
        }

    def _row_losses(self, place: int, test: Array, predicted: list[Array]) -> Array:
        """What one tested row says of some models; for AUC DeLong's structural component."""
        row, Y, w = test[place], self.codes, self.weights
        found = []
        for predictions in predicted:
            P = np.asarray(predictions, dtype=float).reshape(len(test), -1)
            if self.measure == "squared":
                found.append(np.mean((Y[row] - P[place]) ** 2))
            elif self.measure == "absolute":
                found.append(np.mean(np.abs(Y[row] - P[place])))
            elif self.measure == "auc":
                wrong = total = 0.0
                for other, other_row in enumerate(test):
                    if Y[other_row, 0] != Y[row, 0]:
                        behind = (P[place, 0] - P[other, 0]) * Y[row, 0]
                        wrong += w[other_row] * (0.5 if abs(behind) < 1e-12 else behind < 0.0)
                        total += w[other_row]
                found.append(wrong / total)
            elif Y.shape[1] == 1:
                found.append(float(not Y[row, 0] * P[place, 0] > 1e-10))
            else:
                found.append(float(np.argmax(P[place]) != np.argmax(Y[row])))
        return np.array(found)

    def strata(self) -> Array:
        """Rows whose losses have one mean: all, or those of a class."""
        if self.measure in ("balanced_zero_one", "auc"):
            return np.unique(np.asarray(self.y), return_inverse=True)[1]
        return np.zeros(len(self.data), dtype=int)

    def intercept_parts(self, splits: Any, folds: list[Fold]) -> list[dict[int, float]]:
        """What every tested row adds to an error rate by moving the intercepts of other folds."""
        w, Y, t = self.weights, self.codes, self.codes.shape[1]
        tested = [test[w[test] > 0.0] for _, test in splits]
        trained = {row for train, _ in splits for row in train.tolist() if w[row] > 0.0}
        slope = np.zeros(t)
        is_meant = self.measure == "zero_one" and "class_weight" not in self.options
        if is_meant and self.fit_intercept and set(np.concatenate(tested)) == trained:
            groups = np.asarray(self.options.get("groups", np.arange(len(w))))
            shift = len(set(groups[list(trained)])) ** -0.2
            for rows, fold in zip(tested, folds, strict=True):
                P, own = np.array([fold.chosen_predictions[row] for row in rows]), w[rows]
                for target in range(t):
                    p = P[:, target]
                    h = shift * np.sqrt(
                        np.average((p - np.average(p, weights=own)) ** 2, weights=own)
                    )
                    moved = (P + sign * h * np.eye(t)[target] for sign in (1.0, -1.0))
                    up, down = (loss_value("zero_one", Y[rows], Q, own) for Q in moved)
                    total = sum(w[one].sum() for one in tested)
                    slope[target] += own.sum() / total * (up - down) / (2.0 * h) if h else 0.0
        return [
            {row: float(slope @ (Y[row] - P)) for row, P in fold.chosen_predictions.items()}
            for fold in folds
        ]

    def held_out_covariance(self, splits: Any, folds: list[Fold]) -> Array:
        """Of mean test losses, from a loss of every tested row, cluster by cluster."""
        w, strata = self.weights, self.strata()
        groups = np.asarray(self.options.get("groups", np.arange(len(w))))
        width = 2 + max(len(fold.path) for fold in folds)
        total = sum(w[test].sum() for _, test in splits)
        tests = []  # cluster, stratum, share a, losses
        moving = self.intercept_parts(splits, folds)
        for (_, test), fold, moved in zip(splits, folds, moving, strict=True):
            present = len({strata[row] for row in fold.row_losses})
            count = 1 if self.measure == "auc" else present
            for row, losses in fold.row_losses.items():
                alike = sum(w[other] for other in test if strata[other] == strata[row])
                share = w[test].sum() / total * w[row] / alike / count
                padded = np.append(losses, np.full(width - len(losses), np.nan))
                padded[0] += moved[row]
                tests.append((groups[row], strata[row], share, padded))
        sums: dict[Any, Array] = {}
        for stratum in np.unique(strata):
            own = [test for test in tests if test[1] == stratum]
            clusters = len({test[0] for test in own})
            if clusters < 2:
                continue
            mean = sum(a * losses for _, _, a, losses in own) / sum(a for _, _, a, _ in own)
            for cluster, _, a, losses in own:
                scaled = a * np.sqrt(clusters / (clusters - 1)) * (losses - mean)
                sums[cluster] = sums.get(cluster, 0.0) + scaled
        return sum(np.outer(one, one) for one in sums.values())

    def _initial_loss(self, loss_of: Any, none: Any, train: Array, test: Array) -> float:
        """Of the mean; for classes, of the most frequent one, the first of several."""
        if self.measure not in ("zero_one", "balanced_zero_one"):
            return loss_of(ridge_predict(*none, 1.0, self.fit_intercept))
        y, w = np.asarray(self.y)[train], self.weights[train]
        classes = np.unique(y[w > 0.0])
        totals = [w[y == name].sum() for name in classes]
        rows = np.asarray(self.y)[train] == classes[int(np.argmax(totals))]
        guess = self.codes[train][rows][0]
        return loss_of(np.tile(guess, (len(test), 1)))

    def _random_losses(
        self, path: SelectionPath, train: Array, test: Array, n_random: int, seed: Any
    ) -> Array:
        X, Y, w, own = self.data, self.codes, self.weights, self.fitted(train)
        problem = self._problem()
        orders = random_orders(problem, len(path), n_random, np.random.default_rng(seed))
        table = np.empty((n_random, len(path)))
        for row, order in enumerate(orders):
            for size in range(1, len(path) + 1):
                columns = order[:size].tolist()
                penalty = self._penalty(path, train, columns)
                fit = X[np.ix_(train, columns)], Y[train], own, X[np.ix_(test, columns)]
                predictions = ridge_predict(*fit, penalty, self.fit_intercept)
                table[row, size - 1] = loss_value(self.measure, Y[test], predictions, w[test])
        return table

    def _penalty(self, path: SelectionPath, train: Array, columns: list[int]) -> float:
        """Of a model on other features, by the rule of the path."""
        rule = path.settings.refit_alpha
        if rule == "same":
            return path.settings.alpha
        if rule != "loo":
            return float(rule)
        X, w = self.data[train], self.fitted(train)
        if self.fit_intercept:
            X = X - w @ X / w.sum()
        scale = penalty_scale(w @ X**2, path.settings.excluded_features)
        return best_penalty(
            *(self.data[train], self.codes[train], columns, refit_grid(scale, is_fine=False)),
            loss=self.loss_of(path),
            fit_intercept=self.fit_intercept,
            weights=w,
        )

    def _problem(self) -> Any:
        """What random features are drawn from."""
        from internals import make_problem

        names = ("forced_features", "excluded_features")
        given = {name: self.options.get(name) for name in names}
        return make_problem(self.X, np.zeros(len(self.data)), **given)


@dataclass(frozen=True)
class Fold:
    """What an outer fold should come to."""

    path: SelectionPath
    test_losses: Array
    selection_losses: Array
    random_losses: Array
    initial_loss: float
    row_losses: dict[int, Array]  # at the chosen size, without features, at all sizes
    rates: dict[str, Array]
    own_initial_loss: float  # where no features were chosen
    chosen_predictions: dict[int, Array]


def order_of(path: SelectionPath) -> list[int]:
    """As many features as the largest set has, those that were chosen first."""
    order = path.features(path.chosen_size).tolist() if not path.is_nested else []
    order += [index for index in path.indices.tolist() if index not in order]
    return order[: len(path)]


def penalties_of(path: SelectionPath) -> list[float]:
    """Of the models of all sizes."""
    if path.refit_alphas is not None:
        return list(path.refit_alphas)
    return [path.settings.alpha] * len(path)
