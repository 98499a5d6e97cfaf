"""
Two measurements that tell malignant from benign
================================================

:class:`~greedyrls.GreedyRLSClassifier` selects features for classification. Here, the candidates
are 30 measurements of cell nuclei, and the classes are malignant and benign tumours. How far do
two of the 30 get us?
"""

# %%
# Select two features
# -------------------
# ``set_output`` keeps the names of the columns through the scaler, so that the model can report
# which features it selected.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greedyrls import GreedyRLSClassifier

data = load_breast_cancer(as_frame=True)
X, y = data.data, data.target_names[data.target]
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

scaler = StandardScaler().set_output(transform="pandas")
model = make_pipeline(scaler, GreedyRLSClassifier(2)).fit(X_train, y_train)
first, second = model[-1].get_feature_names_out()
print(f"{first}, {second}: {model.score(X_test, y_test):.3f} of the test samples are right")

# %%
# The model on all 30 features is no better:
full = make_pipeline(scaler, GreedyRLSClassifier(30)).fit(X_train, y_train)
print(f"all features: {full.score(X_test, y_test):.3f}")

# %%
# Look at the model
# -----------------
# Purple means malignant and orange benign. With two features the whole model fits into a picture.
# ``predict_proba`` gives calibrated probabilities: they are fitted to values of held-out samples.
grid_first, grid_second = np.meshgrid(
    np.linspace(X[first].min(), X[first].max(), 120),
    np.linspace(X[second].min(), X[second].max(), 120),
)
grid = X_train.mean().to_frame().T.loc[np.zeros(grid_first.size, dtype=int)]
grid[first], grid[second] = grid_first.ravel(), grid_second.ravel()
chance = model.predict_proba(grid)[:, 1].reshape(grid_first.shape)

figure, axes = plt.subplots(figsize=(6.4, 4.6), layout="constrained")
levels = np.linspace(0.0, 1.0, 11)
shades = axes.contourf(grid_first, grid_second, chance, levels, cmap="PuOr", alpha=0.7)
axes.contour(grid_first, grid_second, chance, [0.5], colors="black", linewidths=1.0)
for label, marker, colour in (("malignant", "o", "#2d004b"), ("benign", "^", "#7f3b08")):
    of_class = y_test == label
    style = {"marker": marker, "facecolor": "white", "edgecolor": colour, "s": 28}
    axes.scatter(X_test[first][of_class], X_test[second][of_class], label=label, **style)
axes.set(xlabel=first, ylabel=second, title="Test samples and the model")
axes.legend(title="class", loc="upper right")
figure.colorbar(shades, ax=axes, label=f"probability of {model.classes_[1]}")
plt.show()
