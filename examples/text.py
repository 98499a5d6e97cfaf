"""Which few words tell the documentation of scikit-learn from that of SciPy?

The texts are on every machine that runs this library: the docstrings of the public functions and
classes of both. Names of the libraries and code are taken out. The first words found are about how
each house writes, not about what it does. With those excluded, subjects come out (samples, targets,
estimators) and words of phrases that many docstrings of a house have in common.

Docstrings of one module are alike: where some are trained on and others tested, words of the module
help, which they would not with a new one. So modules stay together in the folds that choose the
penalty and in those that test. A test with docstrings shuffled is shown beside, and looks better.

Usage: python examples/text.py [directory for the pictures]
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import StratifiedKFold

from greedyrls import GreedyRLSClassifier
from greedyrls.assess import cross_validate_path
from greedyrls.plots import plot_assessment, plot_coefficients

SIZE = 12
LIBRARIES = {"sklearn": "scikit-learn", "scipy": "SciPy"}
# How parameters, versions and other parts of a docstring are written.
LAYOUT = ["guide", "user", "optional", "default", "versionadded", "versionchanged", "deprecated"]
LAYOUT += ["read", "more", "see", "also", "notes", "ref", "term", "glossary", "like", "none"]


def docstrings(library: str) -> dict[str, str]:
    """Modules by the texts of their public functions and classes; the same text counts once."""
    found: dict[str, str] = {}
    for info in pkgutil.iter_modules(importlib.import_module(library).__path__):
        if info.name.startswith("_") or info.name in {"tests", "conftest", "externals"}:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some modules are on their way out, and say so
            module = importlib.import_module(f"{library}.{info.name}")
        values = [vars(module).get(name) for name in getattr(module, "__all__", ())]
        for value in values:
            if inspect.isclass(value) or inspect.isroutine(value) or isinstance(value, np.ufunc):
                prose = re.sub(r"(?m)^\s*(>>>|\.\.\. ).*$", "", inspect.getdoc(value) or "")
                text = re.sub(r"\S*(sklearn|scikit|scipy)\S*", "", prose.lower())
                found.setdefault(text, module.__name__)
    return found


def main() -> None:
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "text-output")
    output.mkdir(parents=True, exist_ok=True)
    texts = docstrings("sklearn") | docstrings("scipy")
    modules = list(texts.values())
    y = pd.Series([LIBRARIES[module.split(".")[0]] for module in modules])
    # How often whole words occur, on a logarithmic scale; rare ones are left out. This looks at no
    # label, so that it may be done once for all folds.
    count = TfidfVectorizer(
        max_features=300, min_df=5, sublinear_tf=True, token_pattern=r"\b[a-z]{3,}\b"
    )
    X = pd.DataFrame(count.fit_transform(texts).toarray(), columns=count.get_feature_names_out())
    counts = ", ".join(f"{number} of {label}" for label, number in y.value_counts().items())
    print(f"{len(y)} docstrings ({counts}) in {len(set(modules))} modules, {X.shape[1]} words")

    shuffled = StratifiedKFold(5, shuffle=True, random_state=0)
    pictures = {}
    for title, banned in {"all words": [], "no words of layout": LAYOUT}.items():
        options = {"excluded_features": X.columns.isin(banned), "loss": "squared"}
        model = GreedyRLSClassifier(SIZE, alpha_cv=5, **options).fit(X, y, groups=modules)
        print(f"\n{title.capitalize()}: the first {SIZE}, and for which library each speaks")
        for word, weight in zip(model.path_.names(), model.path_.coef(), strict=True):
            print(f"  {word:<14}{model.classes_[int(weight > 0.0)]:<14}{abs(weight):.1f}")
        honest = cross_validate_path(X, y, SIZE, cv=5, groups=modules, n_random=2, **options)
        print(honest.sentence)
        apart = cross_validate_path(X, y, SIZE, cv=shuffled, n_random=0, **options)
        print(f"With docstrings shuffled over the folds it would seem {apart.estimate[0]:.3f}.")
        for warning in honest.warnings:
            print(f"Warning: {warning}")
        name = title.replace(" ", "-")
        pictures[f"{name}-weights"] = plot_coefficients(model)
        pictures[f"{name}-assessment"] = plot_assessment(honest)

    for name, axes in pictures.items():
        axes.figure.savefig(output / f"{name}.png", dpi=120)
    print(f"\nPictures in {output}: {', '.join(f'{name}.png' for name in pictures)}")


if __name__ == "__main__":
    main()
