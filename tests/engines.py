"""Which engine searches by folds, whatever would cost less."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from greedyrls import _fold_inverses, _plan


@contextmanager
def engine(name: str) -> Iterator[None]:
    """ "many": one factor for all folds wherever it can be; "large": the same, every fold kept as
    columns; "models": a model for each fold."""
    many = {"_MANY_FOLDS": 2, "_WORTH_IT": 0, "_SMALL_FOLD": math.inf}
    chosen = {"_MANY_FOLDS": math.inf} if name == "models" else many
    with mock.patch.multiple(_plan, **chosen):
        if name != "large":
            yield
            return
        with mock.patch.multiple(_fold_inverses, DENSE_ROWS=0):
            yield
