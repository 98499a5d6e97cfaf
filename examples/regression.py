"""Which few measurements tell how far diabetes will progress within a year?

Ten measurements of 442 patients, in the units in which they were taken. A scaler and the selector
go into one pipeline, so that a new patient's numbers can be put in as they are. Then: what one unit
more of each measurement means, how large the error is on patients that took no part (by
scikit-learn's `cross_val_score` and by `cross_validate_path`, which agree), how little is lost with
fewer measurements, and whether other patients would have led to the same ones.

Usage: python examples/regression.py [directory for the pictures]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedyrls import GreedyRLSRegressor
from greedyrls.assess import cross_validate_path, resample_path
from greedyrls.plots import plot_assessment, plot_coefficients, plot_stability

# The columns have short names; s1 to s6 are of the blood serum.
MEANINGS = {"bmi": "body mass index", "bp": "mean blood pressure", "s1": "total cholesterol"}
MEANINGS |= {"s2": "low-density lipoproteins", "s3": "high-density lipoproteins"}
MEANINGS |= {"s4": "cholesterol over HDL", "s5": "log of triglycerides", "s6": "blood sugar"}


def main() -> None:
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "regression-output")
    output.mkdir(parents=True, exist_ok=True)
    X, y = load_diabetes(scaled=False, as_frame=True, return_X_y=True)
    X = X.rename(columns=MEANINGS)
    print(f"{len(y)} patients; progression {y.mean():.0f} ± {y.std():.0f} (a score, 25 to 346)")

    # The penalty acts on all coefficients alike, so that measurements need a common scale. With
    # pandas between the steps they keep their names.
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, GreedyRLSRegressor()).fit(X, y)
    model: GreedyRLSRegressor = pipeline[-1]
    print(f"\n{model.path_.sentence}\n\nOne unit more changes the prediction by")
    # Back from standard deviations to the units of the columns.
    slopes = pd.Series(model.coef_ / scaler.scale_, index=X.columns).iloc[model.selected_]
    print(slopes.to_string(float_format="{:+.2f}".format))

    print("\nHow good is it?")
    # The patients may have come in some order: shuffled folds, the same ones for both answers.
    folds = KFold(10, shuffle=True, random_state=0)
    scores = -cross_val_score(pipeline, X, y, cv=folds, scoring="neg_mean_squared_error")
    root = np.sqrt(scores.mean())  # in the units of the score
    print(f"cross_val_score of the pipeline: root mean squared error {root:.1f}")
    # Scaling looks at no target, so that doing it once for all folds changes next to nothing.
    scaled = scaler.fit_transform(X)
    honest = cross_validate_path(scaled, y, "auto", cv=folds)
    print(honest.sentence)
    # It also has the loss at every size, which cross_val_score has not.
    curves = cross_validate_path(scaled, y, X.shape[1], cv=folds)
    for size in (1, 2, 3, model.n_features_, X.shape[1]):
        loss, error = curves.test.mean[size - 1], curves.test.error[size - 1]
        told = curves.reading.written(float(loss), float(error))
        print(f"  with {size:>2} of {X.shape[1]} measurements {told}")

    # Another size needs no new fit: the path holds the models of all sizes.
    small = make_pipeline(scaler, model.with_n_features(2))
    print(f"\nThree patients, by the model and by {' and '.join(model.path_.names(2))} alone:")
    predictions = {"model": pipeline.predict(X[:3]), "two alone": small.predict(X[:3])}
    print(pd.DataFrame({**predictions, "truth": y[:3]}).round().to_string(index=False))

    print("\nWould other patients lead to the same measurements?")
    stability = resample_path(scaled, y, model.n_features_, alpha=model.alpha_)
    print(stability.sentence)
    shares = stability.to_frame().set_index("feature")["frequency"]
    print(shares.to_string(float_format="{:.0%}".format, header=False))

    pictures = {
        "assessment": plot_assessment(curves),
        "coefficients": plot_coefficients(model),
        "stability": plot_stability(stability),
    }
    for name, axes in pictures.items():
        axes.figure.savefig(output / f"{name}.png", dpi=120)
    print(f"\nPictures in {output}: {', '.join(f'{name}.png' for name in pictures)}")


if __name__ == "__main__":
    main()
