"""
Data on disk: a file in a handful of passes
===========================================

A file larger than the memory can be passed as X. The search reads it sequentially, a handful of
times in all, and stays within ``memory_limit``. The result is the same as for an array in memory.

The file of this example is small, so that it runs everywhere; the memory limit is smaller still.
"""

# %%
# Write a file, open it, select
# -----------------------------
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from greedyrls import files, greedy_path

rng = np.random.default_rng(0)
X = rng.standard_normal((20_000, 500), dtype=np.float32)
coefficients = np.zeros(500)
coefficients[:40] = rng.standard_normal(40)
y = X @ coefficients + 3.0 * rng.standard_normal(20_000)

folder = tempfile.TemporaryDirectory()
file = Path(folder.name) / "X.npy"
np.save(file, X)
on_disk = files.open_npy(file, memory_limit="24MB")
print(f"file of {file.stat().st_size / 1e6:.0f} MB, at most 24 MB of memory")

path = greedy_path(on_disk, y, 40)
in_memory = greedy_path(X, y, 40)
print("the same features:", path.indices.tolist() == in_memory.indices.tolist())
print(f"{path.counters.passes} passes over the file for {len(path)} features")

# %%
# Passes by number of features
# ----------------------------
# Each step compares all 500 features, but few steps have to read the file: bounds rule out most
# candidates, and the columns of the most promising ones are kept from the last pass. A plain
# implementation reads the data once for every feature.
sizes = [1, 5, 10, 20, 30, 40]
passes = [greedy_path(on_disk, y, k).counters.passes for k in sizes]

figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
axes.plot(sizes, sizes, "--", color="#D55E00", label="one pass for each feature")
axes.plot(sizes, passes, "o-", color="#0072B2", label="greedyrls")
axes.set(xlabel="number of features selected", ylabel="passes over the file", ylim=(0.0, None))
axes.legend()
plt.show()
folder.cleanup()
