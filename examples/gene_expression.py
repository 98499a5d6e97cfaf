"""Which few of thousands of genes tell one kind of tissue from another, and is that to be believed?

With far more genes than samples some gene always fits. A search finds it, and its own leave-one-out
loss, exact as it is for each model, is then too good a promise. This story shows how much too good:
the same selection tested on samples that took no part in it, on permuted labels, and on random
halves of the samples.

By default the data are downloaded from openml.org: 72 samples of acute leukaemia of two kinds, ALL
and AML (Golub et al., Science 286, 1999; data set 1104). Any other set may be given as a file, such
as the colon tumours of Alon et al. (PNAS 96, 1999) from the LIBSVM pages: svmlight format with two
labels, or CSV with names in the first line and the label in the last column.

Usage: python examples/gene_expression.py [directory for the pictures] [--data FILE] [--floor VALUE]

--floor says that the file has raw intensities, of which logarithms are taken; readings below the
value are noise and count as the value (100 for the download, as is usual for these chips).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml, load_svmlight_file
from sklearn.feature_selection import VarianceThreshold
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedyrls import GreedyRLSClassifier, assess
from greedyrls.plots import plot_assessment, plot_path, plot_stability

SIZE = 10  # up to here the assessment looks


def read(file: Path | None) -> tuple[pd.DataFrame, pd.Series]:
    """Genes and labels, of a file or downloaded."""
    if file is None:
        try:
            return fetch_openml(data_id=1104, return_X_y=True, as_frame=True, n_retries=1)
        except OSError as error:
            sys.exit(
                f"The data could not be downloaded from openml.org ({error}).\nConnect to the "
                "internet and try again, or give a file of your own: --data FILE (svmlight or CSV)."
            )
    if ".csv" in file.suffixes:
        table = pd.read_csv(file)
        return table.iloc[:, :-1], table.iloc[:, -1]
    X, y = load_svmlight_file(str(file))
    names = [f"gene {number}" for number in range(1, X.shape[1] + 1)]
    return pd.DataFrame(X.toarray(), columns=names), pd.Series(y)


def look_twice(
    X: pd.DataFrame, y: pd.Series, alpha: float | str, found: float
) -> tuple[assess.PathAssessment, assess.PermutationNull]:
    """What the search says of itself, and what it is worth; `found` is alpha on all samples."""
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=2, random_state=0)
    honest = assess.cross_validate_path(
        X, y, SIZE, cv=folds, alpha=alpha, refit_alpha="loo", loss="squared"
    )
    # A choice of the penalty for each of 100 permutations would take minutes.
    null = assess.permutation_null(X, y, SIZE, alpha=found, refit_alpha="loo", loss="squared")
    print("genes  errors by its own leave-one-out  on samples held out  its own, permuted labels")
    for size in (1, 2, 3, 5, SIZE):
        own, test = honest.selection.mean[size - 1], honest.test.mean[size - 1]
        noise = np.median(null.null_losses[:, size - 1])
        spread = honest.test.error[size - 1]
        print(f"{size:>5}{own:>33.1%}{test:>14.1%} ± {spread:<5.1%}{noise:>25.1%}")
    return honest, null


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="?", type=Path, default=Path("gene-expression-output"))
    parser.add_argument("--data", type=Path, help="svmlight or CSV instead of the download")
    parser.add_argument(
        "--floor", type=float, help="take logarithms of values clipped below at this number"
    )
    arguments = parser.parse_args()
    X, y = read(arguments.data)
    floor = 100.0 if arguments.data is None else arguments.floor
    if floor is not None:
        # A gene that doubles is the same news whether it is strong or weak.
        X = np.log2(X.clip(lower=floor))
    # Genes that never leave the floor say nothing. None of this looks at a label, so that it may be
    # done once for all folds.
    prepare = make_pipeline(VarianceThreshold(), StandardScaler()).set_output(transform="pandas")
    X = prepare.fit_transform(X)
    counts = ", ".join(f"{label} {count}" for label, count in y.value_counts().items())
    print(f"{X.shape[0]} samples ({counts}), {X.shape[1]} genes")

    print("\nA small penalty, as one might try first:")
    look_twice(X, y, 1.0, 1.0)

    print("\nThe penalty chosen in outer folds, in which the selection is repeated:")
    model = GreedyRLSClassifier(SIZE, loss="squared", n_runners_up=1).fit(X, y)
    path = model.path_
    print(f"{path.to_frame()[['feature', 'loss', 'runner_up']].to_string()}\n{path.sentence}")
    honest, null = look_twice(X, y, "auto", model.alpha_)
    print(f"{honest.sentence}\n{null.sentence}")

    print("\nWould other samples lead to the same genes?")
    stability = assess.resample_path(X, y, SIZE, alpha=model.alpha_, loss="squared")
    print(stability.sentence)
    print(stability.to_frame().head(5)[["feature", "frequency"]].to_string(index=False))
    for warning in assess.path_warnings(path, honest, null):
        print(f"Warning: {warning}")

    arguments.output.mkdir(parents=True, exist_ok=True)
    pictures = {
        "path": plot_path(path),
        "assessment": plot_assessment(honest, null),
        "stability": plot_stability(stability),
    }
    for name, axes in pictures.items():
        axes.figure.savefig(arguments.output / f"{name}.png", dpi=120)
    print(f"\nPictures in {arguments.output}: {', '.join(f'{name}.png' for name in pictures)}")


if __name__ == "__main__":
    main()
