"""
Which measurements predict the progression of diabetes?
=======================================================

:class:`~greedyrls.GreedyRLSRegressor` selects features one at a time. Each step adds the feature
that gives ridge regression the smallest exact leave-one-out error. The penalty and the number of
features are chosen by nested cross-validation, so that there is nothing to tune.

The data are those of 442 patients: age, sex, body mass index, blood pressure and six blood
values. The target is the progression of the disease within a year.
"""

# %%
# Fit the estimator
# -----------------
# Like any ridge model, it needs features on a common scale. The columns of this data set are
# already scaled; otherwise, put a :class:`~sklearn.preprocessing.StandardScaler` in front of it.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes

from greedyrls import GreedyRLSRegressor
from greedyrls.plots import plot_coefficients, plot_path

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = GreedyRLSRegressor(n_runners_up=1).fit(X, y)
print(model.get_feature_names_out().tolist())

# %%
# ``path_.sentence`` says what was chosen, and why:
print(model.path_.sentence)

# %%
# All sizes at once
# -----------------
# One fit gives the models of every size. The table shows the order of selection, the held-out loss
# of the models in the outer folds, and the runner-up: the feature that would have been second best.
model.path_.to_frame()[["feature", "held_out_loss", "held_out_error", "runner_up"]].round(1)

# %%
# The first three features explain most of what can be explained. The curve is flat after that: the
# smallest held-out loss is at eight features, but not by much.
plot_path(model)
plt.show()

# %%
# A smaller model needs no new fit
# --------------------------------
# ``with_n_features`` returns the model of another size on the same path.
small = model.with_n_features(3)
print(small.get_feature_names_out().tolist(), f"R² = {small.score(X, y):.2f}")

figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
plot_coefficients(model, ax=axes)
plt.show()
