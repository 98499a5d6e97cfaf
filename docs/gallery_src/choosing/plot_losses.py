"""
Few pixels for ten digits: the loss matters
===========================================

Squared loss is the default: it is the fastest, and for most data it selects as well as any other.
With few features for many classes, selecting by the error rate itself can be better. Here, five
of the 64 pixels of an image have to tell ten digits apart.
"""

# %%
# Select five pixels by each loss
# -------------------------------
# ``loss="zero_one"`` is the leave-one-out error rate.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from greedyrls import GreedyRLSClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16.0, y, stratify=y, random_state=0)

models = {
    loss: GreedyRLSClassifier(5, alpha=1.0, loss=loss).fit(X_train, y_train)
    for loss in ("squared", "zero_one")
}
for loss, model in models.items():
    print(f"{loss}: pixels {model.selected_.tolist()}, accuracy {model.score(X_test, y_test):.3f}")

# %%
# The gain is largest for few pixels. With more of them, both losses find enough.
sizes = np.arange(1, 16)
curves = {}
for loss in models:
    long = GreedyRLSClassifier(15, alpha=1.0, loss=loss, probability=False).fit(X_train, y_train)
    curves[loss] = [long.with_n_features(int(k)).score(X_test, y_test) for k in sizes]

# %%
# Where the pixels are
# --------------------
# The numbers show the order of selection, on the mean of all images.
figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.2), layout="constrained")
for axis, (loss, model) in zip(axes, models.items(), strict=False):
    axis.imshow(X_train.mean(axis=0).reshape(8, 8), cmap="Greys", vmax=1.3)
    for step, pixel in enumerate(model.selected_.tolist(), 1):
        row, column = divmod(pixel, 8)
        axis.plot(column, row, "s", markersize=17, color="#0072B2")
        style = {"color": "white", "ha": "center", "va": "center", "weight": "bold"}
        axis.text(column, row, str(step), **style)
    axis.set(xticks=[], yticks=[], title=f'Five pixels by loss="{loss}"')
for loss, colour, line in (("squared", "#D55E00", "--"), ("zero_one", "#0072B2", "-")):
    axes[2].plot(sizes, curves[loss], line, color=colour, label=f'"{loss}"')
axes[2].set(xlabel="number of pixels", ylabel="accuracy on test images", ylim=(0.0, 1.0))
axes[2].set_xticks([1, 5, 10, 15])
axes[2].legend(title="loss", loc="lower right")
plt.show()
