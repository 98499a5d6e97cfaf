"""Inventories of other projects' documentation, for cross-references without a network.

    python docs/_ext/inventories.py    writes docs/_inventories/ again

An inventory holds the names that our docstrings and guides refer to, each with its page.
"""

from __future__ import annotations

import zlib
from pathlib import Path

# Name of the project: address of its documentation, pattern of a page, roles with their names.
PROJECTS = {
    "python": (
        "https://docs.python.org/3/",
        "library/functions.html#{name}",
        {"class": "int float str dict list tuple", "function": "callable"},
    ),
    "numpy": (
        "https://numpy.org/doc/stable/",
        "reference/generated/{name}.html#$",
        {
            "class": "ndarray memmap random.Generator random.RandomState float64 dtype",
            "function": "load save asarray",
        },
    ),
    "scipy": (
        "https://docs.scipy.org/doc/scipy/",
        "reference/generated/{name}.html#$",
        {"class": "sparse.csr_array sparse.csc_array sparse.csr_matrix sparse.csc_matrix"},
    ),
    "sklearn": (
        "https://scikit-learn.org/stable/",
        "modules/generated/{name}.html#$",
        {
            "class": "pipeline.Pipeline preprocessing.StandardScaler linear_model.Ridge "
            "linear_model.RidgeCV linear_model.Lasso linear_model.LassoCV model_selection.KFold "
            "model_selection.GroupKFold model_selection.StratifiedKFold "
            "model_selection.TimeSeriesSplit model_selection.LeaveOneOut "
            "model_selection.GridSearchCV compose.ColumnTransformer "
            "feature_selection.SequentialFeatureSelector base.BaseEstimator",
            "function": "model_selection.cross_validate model_selection.cross_val_score "
            "pipeline.make_pipeline metrics.ndcg_score metrics.roc_auc_score "
            "datasets.load_diabetes datasets.load_breast_cancer set_config",
        },
    ),
    "pandas": (
        "https://pandas.pydata.org/docs/",
        "reference/api/{name}.html#$",
        {"class": "DataFrame Series", "function": "read_csv read_parquet"},
    ),
    "matplotlib": (
        "https://matplotlib.org/stable/",
        "api/_as_gen/{name}.html#$",
        {"class": "axes.Axes figure.Figure"},
    ),
}


# Entries by which numpydoc links words in types.
WORDS = {
    "numpy": "array_like std:term -1 glossary.html#term-$ -\n",
    "python": "bltin-boolean-values std:label -1 library/stdtypes.html#$ Boolean Type\n"
    "sequence std:term -1 glossary.html#term-$ -\n"
    "None py:data 1 library/constants.html#None -\n",
}


def mapping(folder: Path) -> dict[str, tuple[str, str]]:
    """Return what Sphinx needs to know of the projects."""
    return {name: (url, str(folder / f"{name}.inv")) for name, (url, *_) in PROJECTS.items()}


def inventory(project: str) -> bytes:
    """Return the inventory of a project, in version 2 of Sphinx's format."""
    _, page, roles = PROJECTS[project]
    lines = [WORDS[project]] if project in WORDS else []
    for role, names in roles.items():
        for name in names.split():
            full = name if project == "python" else f"{project}.{name}"
            lines.append(f"{full} py:{role} 1 {page.format(name=full)} -\n")
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    return head.encode() + zlib.compress("".join(sorted(lines)).encode(), 9)


def main() -> None:
    """Write all inventories."""
    folder = Path(__file__).resolve().parents[1] / "_inventories"
    folder.mkdir(exist_ok=True)
    for project in PROJECTS:
        (folder / f"{project}.inv").write_bytes(inventory(project))


if __name__ == "__main__":
    main()
