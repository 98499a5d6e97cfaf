"""
A perfect model of pure noise
=============================

Search long enough among many features, and something will fit. The leave-one-out loss of each
model is exact, but the features were chosen to make it small. So it says how well the search
went, not how good the model is.

:func:`~greedyrls.assess.cross_validate_path` repeats the whole selection in outer folds, and
tests it on samples that took no part in it.
"""

# %%
# Eighty samples of a thousand random columns
# -------------------------------------------
# The target is independent of all columns: there is nothing to find.
import matplotlib.pyplot as plt
import numpy as np

from greedyrls import greedy_path
from greedyrls.assess import cross_validate_path

rng = np.random.default_rng(0)
X, y = rng.standard_normal((80, 1000)), rng.standard_normal(80)

path = greedy_path(X, y, 20, alpha=1.0)
print(
    f"leave-one-out loss with 20 features: {path.losses[-1]:.3f}, without: {path.initial_loss:.3f}"
)

# %%
# The honest estimate
# -------------------
assessment = cross_validate_path(X, y, 20, alpha=1.0, cv=10, n_random=20)
for warning in assessment.warnings:
    print(f"- {warning}")

# %%
# On new samples the selected features are worse than none. They are even worse than features drawn
# at random, because their coefficients are larger.
figure, axes = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
sizes = assessment.sizes
axes.plot(sizes, assessment.test.mean, color="#0072B2", label="new samples (outer folds)")
low, high = (assessment.test.mean + sign * assessment.test.error for sign in (-1.0, 1.0))
axes.fill_between(sizes, low, high, color="#0072B2", alpha=0.2)
axes.plot(sizes, assessment.random.mean, ":", color="#666666", label="random features, new samples")
axes.plot(sizes, path.losses, "--", color="#D55E00", label="leave-one-out loss of the search")
axes.axhline(assessment.initial_loss, color="black", linewidth=0.8, label="without features")
axes.set(xlabel="number of features", ylabel="mean squared error", ylim=(0.0, None))
axes.set_xticks([1, 5, 10, 15, 20])
axes.set_title("Selecting from pure noise")
axes.legend()
plt.show()

# %%
# If the number of features is left to be chosen, the answer is zero:
chosen = greedy_path(X, y, "auto", alpha="auto")
print(chosen.chosen_size, "features")
