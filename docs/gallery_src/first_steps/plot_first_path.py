"""
A first path
============

Which measurements predict how diabetes progresses within a year? A path adds them one at a time, by
the exact leave-one-out error, and :func:`~greedyrls.plots.plot_path` draws it.
"""

from sklearn.datasets import load_diabetes

from greedyrls import greedy_path
from greedyrls.plots import plot_path

X, y = load_diabetes(return_X_y=True, as_frame=True)
path = greedy_path(X, y, n_features=8, alpha=0.01)
print(path.to_frame()[["feature", "loss", "standard_error"]])

# %%
# The loss falls quickly with the first three features, and hardly at all after the sixth.
ax = plot_path(path)
