"""
The penalty decides which features are found
============================================

During the search the penalty does more than shrink coefficients: it decides *which* features are
selected. With a small penalty the search fits the details of the samples at hand; with a very
large one it ranks features by their correlation with the target. The best value depends on the
data.

``alpha="auto"``, the default of the estimators, repeats the whole selection in outer folds for
each of seven penalties, and takes the one that does best on held-out samples.
"""

# %%
# Few samples of many features that resemble each other
# -----------------------------------------------------
# As in gene expression data, 400 features measure eight hidden factors, each with a lot of noise.
# Two of the factors matter for the target.
import matplotlib.pyplot as plt
import numpy as np

from greedyrls import GreedyRLSRegressor
from greedyrls.plots import plot_surface

rng = np.random.default_rng(0)
factors = rng.standard_normal((80, 8))
measured = rng.integers(0, 8, 400)  # the factor that each feature measures
X = factors[:, measured] + 1.5 * rng.standard_normal((80, 400))
y = factors[:, 0] + 0.5 * factors[:, 1] + 0.5 * rng.standard_normal(80)

model = GreedyRLSRegressor(max_features=30, patience=30).fit(X, y)
print(model.path_.sentence)

# %%
# The losses behind the choice
# ----------------------------
# ``path_.surface`` has the held-out loss for each penalty and each number of features.
figure, axes = plt.subplots(figsize=(7.0, 4.4), layout="constrained")
plot_surface(model, ax=axes)
plt.show()

# %%
# Rows of the surface as curves: with the smallest penalty the loss rises after a few features,
# because each step looks for a feature that fits what is left, and that is mostly noise. With a
# large penalty the search prefers features that agree with those it has, and their average measures
# the factor better than any single one. A still larger penalty ignores which features repeat each
# other.
surface = model.path_.surface
last = len(surface.alphas) - 1
rows = {
    "smallest": (0, "#D55E00", "--"),
    "chosen": (surface.row, "#0072B2", "-"),
    "largest": (last, "#666666", ":"),
}
figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
for name, (row, colour, line) in rows.items():
    losses = surface.losses[row]
    alpha = surface.alphas[row]
    label = f"{name}: α = {alpha:,.0f}" if alpha > 100.0 else f"{name}: α = {alpha:.2g}"
    axes.plot(np.arange(1, len(losses) + 1), losses, line, color=colour, label=label)
axes.set(xlabel="number of features", ylabel="held-out mean squared error", ylim=(0.0, None))
axes.legend(title="penalty of the search")
plt.show()
