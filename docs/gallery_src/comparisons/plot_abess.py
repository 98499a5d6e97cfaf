"""
Compared with abess, the Lasso and a univariate ranking
=======================================================

How well do five features predict, if different methods select them? Each method selects five
features on the same training samples; the same ridge model is fitted to them and tested on the
same other samples.

`abess <https://abess.readthedocs.io>`_ searches for the best subset of a given size by exchanging
features. It is compared if it is installed (``pip install abess``); otherwise its rows are missing.
"""

# %%
# The methods
# -----------
# For abess and the Lasso, classes are coded as −1 and +1, as greedyrls does it.
import importlib.util

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.feature_selection import f_regression
from sklearn.linear_model import RidgeCV, lars_path
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from greedyrls import greedy_path

SIZE = 5
HAS_ABESS = importlib.util.find_spec("abess") is not None


def by_greedy(X, y):
    return greedy_path(X, y, SIZE, alpha="auto").indices


def by_lasso(X, y):
    _, _, coefficients = lars_path(X, y - y.mean(), method="lasso", max_iter=30)
    step = int(np.argmax((coefficients != 0.0).sum(axis=0) >= SIZE))
    return np.flatnonzero(coefficients[:, step])[:SIZE]


def by_correlation(X, y):
    return np.argsort(-f_regression(X, y)[0])[:SIZE]


def by_abess(X, y):
    from abess import LinearRegression

    return np.flatnonzero(LinearRegression(support_size=SIZE).fit(X, y).coef_)


methods = {"greedyrls": by_greedy, "Lasso": by_lasso, "correlation": by_correlation}
if HAS_ABESS:
    methods["abess"] = by_abess
print("abess is compared" if HAS_ABESS else "abess is not installed, and not compared")

# %%
# The data
# --------
# Twelve random splits of four targets: the progression of diabetes, malignant tumours, and two of
# the three kinds of wine, each against the others.
wine, kinds = load_wine(return_X_y=True)
tumours, is_benign = load_breast_cancer(return_X_y=True)
problems = {
    "diabetes (R²)": (*load_diabetes(return_X_y=True), False),
    "breast cancer (accuracy)": (tumours, 2.0 * is_benign - 1.0, True),
    "wine 0 (accuracy)": (wine, np.where(kinds == 0, 1.0, -1.0), True),
    "wine 1 (accuracy)": (wine, np.where(kinds == 1, 1.0, -1.0), True),
}


def score(model, X, y, is_class):
    return np.mean(np.sign(model.predict(X)) == y) if is_class else model.score(X, y)


results = {}
for problem, (X, y, is_class) in problems.items():
    scores = {name: [] for name in methods}
    for seed in range(12):
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed)
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
        for name, select in methods.items():
            features = select(train, y_train)
            model = RidgeCV(np.logspace(-3.0, 3.0, 13)).fit(train[:, features], y_train)
            scores[name].append(score(model, test[:, features], y_test, is_class))
    results[problem] = {name: np.array(values) for name, values in scores.items()}

# %%
# Differences to greedyrls on the same splits
# -------------------------------------------
# Points to the right of the line are better than greedyrls. No method is the best everywhere: the
# Lasso does well where many weak effects add up, single correlations where features hardly overlap,
# and abess mostly finds what greedyrls finds. The bars are standard errors of the
# mean difference over the splits; splits share samples, so for new data of the same kind they are
# somewhat too short.
others = [name for name in methods if name != "greedyrls"]
styles = {"Lasso": ("#D55E00", "s"), "correlation": ("#666666", "^"), "abess": ("#009E73", "D")}
figure, axes = plt.subplots(figsize=(7.2, 4.0), layout="constrained")
for place, scores in enumerate(results.values()):
    for offset, name in enumerate(others):
        values = 100.0 * (scores[name] - scores["greedyrls"])
        error = values.std(ddof=1) / np.sqrt(len(values))
        colour, marker = styles[name]
        height = place + 0.18 * (offset - (len(others) - 1) / 2)
        style = {"color": colour, "marker": marker, "capsize": 3, "linestyle": "none"}
        axes.errorbar(values.mean(), height, xerr=error, label=name if not place else None, **style)
axes.axvline(0.0, color="#0072B2")
labels = [
    f"{name}\ngreedyrls: {scores['greedyrls'].mean():.3f}" for name, scores in results.items()
]
axes.set_yticks(np.arange(len(results)), labels)
axes.invert_yaxis()
axes.set(xlabel="score minus that of greedyrls, in percentage points", title="Five features")
axes.legend(title="selected by", loc="best")
plt.show()

for problem, scores in results.items():
    print(problem, {name: round(float(values.mean()), 3) for name, values in scores.items()})
