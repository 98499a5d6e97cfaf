"""The suites, a module each: what they measure is in their `SUITE`.

Libraries that are not always installed (PyTorch, Dask, tqdm, matplotlib) are imported by the
functions that use them, so that every suite can be listed everywhere.
"""

from __future__ import annotations

NAMES = (
    "peers",
    "commits",
    "criteria",
    "directions",
    "direction-quality",
    "groups",
    "sparse",
    "files",
    "cluster",
    "scale",
    "gpu",
    "stream",
    "kernels",
    "ranking",
    "probabilities",
    "automatic",
    "quality",
    "quality-page",
    "paper",
    "coverage",
    "claims",
)
