"""Sizes of tiles and buffers that several modules share, each with its reason, in one place.

Sizes that a single module needs are defined there. No result depends on them but for rounding.
"""

from __future__ import annotations

# Elements of X converted or gathered at a time: 2 MiB in float64, about the second-level cache of a
# core. Larger tiles go through main memory twice, smaller ones pay the interpreter more often.
TILE_ELEMENTS = 1 << 18
# The same where a temporary of that size lies beside the tile, so that both stay in the cache.
HALF_TILE_ELEMENTS = TILE_ELEMENTS // 2
# The same where there are several temporaries.
QUARTER_TILE_ELEMENTS = TILE_ELEMENTS // 4
# Rows of a tile at least, however many columns it has: with fewer, the interpreter would be called
# too often.
LEAST_TILE_ROWS = 32
# The same where the columns are those of chosen features, which are fewer than all.
LEAST_SET_ROWS = 64
# Elements of predictions made at a time where a loss needs all rows of a candidate: 8 MiB in all.
# A single candidate may be more than the cache holds; this is little memory, and few calls.
PREDICTION_ELEMENTS = 1 << 20
# Elements of temporaries on a device at a time: 1 GiB in float64, which fits beside X.
DEVICE_ELEMENTS = 1 << 27
# The same where others of that size lie beside them.
DEVICE_TILE_ELEMENTS = DEVICE_ELEMENTS // 2
# Columns of chosen features lie in buffers of this many: a buffer takes real memory only as it
# fills.
BUFFER_COLUMNS = 32
# The least number of features that a search with removals will likely still add.
LIKELY_ADDED = 32
# Share of the memory of X that kept columns of chosen features may take.
CHOSEN_SHARE = 0.25
# Bytes that arrive together from memory, even if a single number of them is used.
CACHE_LINE_BYTES = 64
