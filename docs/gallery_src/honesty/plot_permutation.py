"""
Is there any signal at all? A permutation test
==============================================

With few samples of many features, even a good-looking path may be chance. Permute the target,
select again, and look how well the same search does when there is nothing to find:
:func:`~greedyrls.assess.permutation_null`.
"""

# %%
# The same columns, two targets
# -----------------------------
# Sixty patients of the diabetes data, with 90 columns of noise beside the ten measurements. One
# target is the progression of the disease; the other is random.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import scale

from greedyrls import greedy_path
from greedyrls.assess import permutation_null

rng = np.random.default_rng(5)
X, y = load_diabetes(return_X_y=True)
rows = rng.choice(len(y), 60, replace=False)
X = scale(np.hstack([X[rows], rng.standard_normal((60, 90))]))
targets = {"progression of the disease": scale(y[rows]), "a random target": rng.standard_normal(60)}
targets["a random target"] = scale(targets["a random target"])

# %%
# 99 permutations each
# --------------------
# The p-value at a size compares the loss with those of the permutations. Both are optimistic in the
# same way, so that the comparison is fair.
results = {
    name: (
        greedy_path(X, target, 10, alpha=10.0),
        permutation_null(X, target, 10, alpha=10.0, n_permutations=99),
    )
    for name, target in targets.items()
}
for name, (_, null) in results.items():
    print(f"{name}: p = {null.best_p_value:.2f} for the best of all sizes")

# %%
# The leave-one-out loss falls in both panels. Only for the real target it leaves the band of the
# permutations.
figure, axes = plt.subplots(1, 2, figsize=(8.8, 4.0), sharey=True, layout="constrained")
for axis, (name, (path, null)) in zip(axes, results.items(), strict=True):
    sizes = np.arange(1, len(path) + 1)
    low, high = null.band(0.9)
    axis.fill_between(sizes, low, high, color="#999999", alpha=0.4, label="90 % of permutations")
    axis.plot(sizes, path.losses, "o-", color="#0072B2", label="target as it is")
    axis.set(xlabel="number of features", ylim=(0.0, 1.1))
    axis.set_title(f"{name.capitalize()}: p = {null.best_p_value:.2f}")
axes[0].set_ylabel("leave-one-out loss of the search")
axes[0].legend(loc="lower left")
plt.show()
