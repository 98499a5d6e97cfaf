"""
How many features?
==================

The search's own leave-one-out loss cannot tell when to stop: it is the best of many candidates at
every step, and it keeps falling after the useful features have been found. ``n_features="auto"``
looks at samples that took no part in the selection instead.

There are two rules. ``size_rule="min"`` takes the size of the smallest held-out loss. The default,
``"1se"``, takes the fewest features whose loss is within one standard error of the difference.
"""

# %%
# Data with a known answer
# ------------------------
# Six of the 100 features are in the model, with coefficients that become smaller and smaller.
import matplotlib.pyplot as plt
import numpy as np

from greedyrls import greedy_path

rng = np.random.default_rng(2)
X = rng.standard_normal((150, 100))
effects = np.array([1.0, 0.8, 0.6, 0.5, 0.4, 0.3])
y = X[:, :6] @ effects + rng.standard_normal(150)

paths = {
    rule: greedy_path(X, y, "auto", alpha=1.0, size_rule=rule, patience=25, max_features=40)
    for rule in ("min", "1se")
}
for rule, path in paths.items():
    true = np.count_nonzero(path.features(path.chosen_size) < 6)
    print(f"{rule}: {path.chosen_size} features, {true} of them in the model")

# %%
# Compare the two curves
# ----------------------
# The loss of the search falls below 1, the variance of the noise, which no model can predict. The
# held-out loss is smallest when the useful features have been found, and rises with every feature
# that fits noise. The rule "1se" leaves out the two weakest effects: with so few samples, it is not
# clear that they help.
path = paths["1se"]
held_out, errors = path.held_out
sizes = np.arange(1, len(path) + 1)

figure, axes = plt.subplots(figsize=(6.8, 4.2), layout="constrained")
axes.fill_between(sizes, held_out - errors, held_out + errors, color="#0072B2", alpha=0.2)
axes.plot(sizes, held_out, color="#0072B2", label="held out in outer folds (± standard error)")
axes.plot(sizes, path.losses, "--", color="#D55E00", label="leave-one-out loss of the search")
axes.axhline(1.0, color="black", linewidth=0.8, label="variance of the noise")
for rule, marker in (("min", "s"), ("1se", "o")):
    size = paths[rule].chosen_size
    style = {"color": "black", "markersize": 8, "markerfacecolor": "white"}
    axes.plot(size, held_out[size - 1], marker, label=f"chosen by '{rule}': {size}", **style)
axes.set(xlabel="number of features", ylabel="mean squared error", ylim=(0.0, None))
axes.legend()
plt.show()
