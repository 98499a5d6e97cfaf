"""Which few of 65 columns predict diabetes progression, and how good is a model on just those?

Selects features on data that ship with scikit-learn: ten measurements of 442 patients, their
squares and products. Prints the path and writes two pictures: the path, and the losses by
penalty and size that its penalty was chosen on.

Usage: python examples/demo.py [directory for the picture]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from greedyrls import GreedyRLSRegressor
from greedyrls.plots import plot_path, plot_surface


def main() -> None:
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")
    output.mkdir(parents=True, exist_ok=True)
    X, y = load_diabetes(return_X_y=True, as_frame=True)
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
    honest = cross_val_score(
        make_pipeline(prepare, GreedyRLSRegressor()).set_output(transform="default"), X, y, cv=10
    )
    print(
        "How good is it? By 10-fold cross-validation of the whole procedure, choice of features, "
        f"penalty and size included: R² {honest.mean():.3f} "
        f"± {honest.std() / len(honest) ** 0.5:.3f}."
    )
    ax = plot_path(path)
    ax.set_title("Diabetes progression: which of 65 columns matter?")
    ax.figure.savefig(output / "path.png", dpi=120)
    plot_surface(path).figure.savefig(output / "surface.png", dpi=120)
    print(f"Pictures: {output / 'path.png'} and {output / 'surface.png'}")


if __name__ == "__main__":
    main()
