"""
A curved boundary on a dozen points
===================================

:class:`~greedyrls.GreedyKernelRLSClassifier` selects *points* instead of columns: the model is a
weighted sum of kernels at a few centres. It can follow curved boundaries, and a prediction costs a
dozen values of the kernel instead of one for each training sample.
"""

# %%
# Two moons
# ---------
# The penalty is chosen by nested cross-validation; the number of centres is ours.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from greedyrls import GreedyKernelRLSClassifier

X, y = make_moons(400, noise=0.25, random_state=0)
X_test, y_test = make_moons(4000, noise=0.25, random_state=1)
model = GreedyKernelRLSClassifier(12, gamma=1.0).fit(X, y)
print(f"12 centres: {model.score(X_test, y_test):.3f} of the test samples are right")

# %%
# Against centres drawn at random
# -------------------------------
# Twelve random points, many times: passing them as ``centers`` and taking all of them gives the
# model on these points.
rng = np.random.default_rng(0)
sizes = (2, 3, 4, 6, 8, 12, 16, 24)
greedy = GreedyKernelRLSClassifier(24, gamma=1.0, alpha=0.1, probability=False).fit(X, y)
scores = [greedy.with_n_centers(k).score(X_test, y_test) for k in sizes]
random = np.empty((15, len(sizes)))
for repeat in range(15):
    for column, size in enumerate(sizes):
        points = X[rng.choice(len(X), size, replace=False)]
        drawn = GreedyKernelRLSClassifier(
            size, gamma=1.0, alpha=0.1, centers=points, probability=False
        )
        random[repeat, column] = drawn.fit(X, y).score(X_test, y_test)

# %%
# The picture
# -----------
# The selected centres spread along both moons. Random centres need up to twice as many points for
# the same accuracy.
figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
grid = np.stack(np.meshgrid(np.linspace(-1.9, 2.9, 140), np.linspace(-1.5, 2.0, 140)), axis=-1)
values = model.decision_function(grid.reshape(-1, 2)).reshape(140, 140)
left.contourf(grid[..., 0], grid[..., 1], values, 12, cmap="PuOr", alpha=0.5)
left.contour(grid[..., 0], grid[..., 1], values, [0.0], colors="black")
for label, marker, colour in ((0, "o", "#b35806"), (1, "^", "#542788")):
    left.scatter(*X[y == label].T, s=12, marker=marker, color=colour, label=f"class {label}")
left.scatter(
    *model.centers_.T, s=150, marker="*", color="white", edgecolor="black", label="centres"
)
left.set(xticks=[], yticks=[], title="Twelve centres and the boundary")
left.legend(fontsize="small")

right.plot(sizes, scores, "o-", color="#0072B2", label="selected")
low, middle, high = np.quantile(random, (0.1, 0.5, 0.9), axis=0)
right.fill_between(sizes, low, high, color="#999999", alpha=0.4, label="80 % of random draws")
right.plot(sizes, middle, ":", color="#444444", label="random, median")
right.set(xlabel="number of centres", ylabel="accuracy on test samples", xscale="log")
right.set_xticks(sizes, [str(size) for size in sizes], minor=False)
right.minorticks_off()
right.legend(loc="lower right")
plt.show()
