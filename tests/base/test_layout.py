"""Arrays that travel in one vector: each field has its place, on either side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from internals import Layout


class Fields(NamedTuple):
    number: Any
    matrix: Any
    vector: Any


def test_fields_lie_one_after_the_other() -> None:
    layout = Layout(Fields, (1,), (2, 3), (4,))
    assert layout.size == 11
    vector = np.arange(15.0)
    fields = layout.views(vector)
    assert fields.number.tolist() == [0.0]
    np.testing.assert_array_equal(fields.matrix, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    assert fields.vector.tolist() == [7.0, 8.0, 9.0, 10.0]
    fields.matrix[1, 2] = -1.0  # they are views
    assert vector[6] == -1.0
