"""
Time series: test on what comes later
=====================================

In a series that drifts, neighbours in time are alike. If the rows are shuffled, every test row
has neighbours among the training rows, and any feature that drifts seems to predict. In use, a
model has to predict what comes later.

Use :class:`~sklearn.model_selection.TimeSeriesSplit` as ``cv``, so that every model is tested on
rows that come after its training rows.
"""

# %%
# A series with one cause, and forty that merely wander
# -----------------------------------------------------
# Column 0 drives the target. The others wander slowly, as prices and temperatures do, and have
# nothing to do with it; the part of the target that cannot be predicted wanders as well.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold, TimeSeriesSplit

from greedyrls import greedy_path

rng = np.random.default_rng(3)
n_rows, n_train = 400, 250


def wandering(n_columns):
    steps = rng.standard_normal((n_rows, n_columns))
    values = steps.copy()
    for time in range(1, n_rows):
        values[time] = 0.97 * values[time - 1] + np.sqrt(1.0 - 0.97**2) * steps[time]
    return values


others = wandering(40)
cause = rng.standard_normal(n_rows)
y = cause + wandering(1)[:, 0]
X = np.column_stack([cause, others])

splits = {
    "shuffled": KFold(10, shuffle=True, random_state=0),
    "in time order": TimeSeriesSplit(10),
}
paths = {
    name: greedy_path(X[:n_train], y[:n_train], "auto", alpha=1.0, cv=cv, max_features=20)
    for name, cv in splits.items()
}
for name, path in paths.items():
    size = path.chosen_size
    believed = np.sqrt(path.held_out[0][size - 1])
    print(f"{name}: columns {path.features(size).tolist()}, error believed {believed:.2f}")

# %%
# Both predict the rows that come later
# -------------------------------------
# The model that was selected on shuffled rows fits the past closely, with many wandering columns.
# Then it goes astray, because they go elsewhere than the target. The errors of the other model are
# larger in the past, and only a little larger than that in the future.
time = np.arange(n_rows)
figure, axes = plt.subplots(
    2, 1, figsize=(8.0, 5.2), sharex=True, sharey=True, layout="constrained"
)
for axis, (name, path) in zip(axes, paths.items(), strict=True):
    size = path.chosen_size
    errors = y - path.predict(X, size)
    before, after = (np.sqrt(np.mean(part**2)) for part in np.split(errors, [n_train]))
    axis.axvspan(n_train, n_rows, color="#E69F00", alpha=0.2, label="after the training rows")
    axis.fill_between(time, errors, color="#0072B2", label="observed minus predicted")
    unit = "feature" if size == 1 else "features"
    words = f"Folds {name}: {size} {unit}, error {before:.2f} before and {after:.2f} after"
    axis.set_title(words, loc="left", fontsize="medium")
    axis.set_ylabel("error")
axes[0].legend(loc="upper left", fontsize="small")
axes[1].set(xlabel="time", xlim=(0, n_rows))
plt.show()
