"""Which few of 65 columns predict diabetes progression, and how good is a model on just those?

Selects features on data that ship with scikit-learn: ten measurements of 442 patients, their
squares and products. Prints the path, how good the whole procedure is on patients that took no
part in it, how stable the selection is, and what should be taken with care. Writes pictures.

Usage: python examples/products.py [directory for the pictures]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from greedyrls import GreedyRLSRegressor
from greedyrls.assess import cross_validate_path, path_warnings, permutation_null, resample_path
from greedyrls.plots import (
    plot_assessment,
    plot_coefficients,
    plot_path,
    plot_stability,
    plot_surface,
)

SIZE = 20  # up to here the assessment looks


def main() -> None:
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "products-output")
    output.mkdir(parents=True, exist_ok=True)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    # Scaling looks at no target, so that it may be done once for all folds.
    prepare = make_pipeline(PolynomialFeatures(2, include_bias=False), StandardScaler())
    prepare.set_output(transform="pandas")
    columns: pd.DataFrame = prepare.fit_transform(X)

    model = GreedyRLSRegressor(n_runners_up=1, verbose=1).fit(columns, y)
    path = model.path_
    print(
        f"{len(y)} patients, {columns.shape[1]} columns; loss of the mean {path.initial_loss:.0f}"
    )
    print()
    table = path.to_frame()[["feature", "loss", "held_out_loss", "held_out_error", "runner_up"]]
    print(table.to_string(float_format=lambda value: f"{value:.1f}"))
    print()
    print(path.sentence)
    k = model.n_features_
    print(f"Chosen: {', '.join(path.names(k))}")
    print(
        f"The search read the data {path.counters.passes} times (7 penalties, 5 outer folds), made "
        f"{path.counters.exact_evaluations} exact evaluations and took "
        f"{path.counters.seconds:.2f} s."
    )

    print("\nHow good is it?")
    honest = cross_validate_path(columns, y, "auto", task="regression", verbose=1)
    print(honest.sentence)
    curves = cross_validate_path(columns, y, SIZE, task="regression", verbose=1)
    null = permutation_null(columns, y, SIZE, alpha=path.settings.alpha, verbose=1)
    print(null.sentence)
    stability = resample_path(columns, y, k, alpha=path.settings.alpha, verbose=1)
    print(stability.sentence)
    for warning in path_warnings(path, honest, null):
        print(f"Warning: {warning}")

    ax = plot_path(path)
    ax.set_title("Diabetes progression: which of 65 columns matter?")
    pictures = {
        "path": ax,
        "surface": plot_surface(path),
        "assessment": plot_assessment(curves, null),
        "coefficients": plot_coefficients(path),
        "stability": plot_stability(stability),
    }
    for name, axes in pictures.items():
        axes.figure.savefig(output / f"{name}.png", dpi=120)
    print(f"\nPictures in {output}: {', '.join(f'{name}.png' for name in pictures)}")


if __name__ == "__main__":
    main()
