"""
Would the same features be selected again?
==========================================

A selection is made from the samples at hand. On other samples it may come out differently, above
all if features resemble each other. :func:`~greedyrls.assess.resample_path` repeats the selection
on many random halves of the samples, and counts.
"""

# %%
# Thirty measurements that resemble each other
# --------------------------------------------
# The breast cancer data have ten properties of cell nuclei, each as a mean, a standard error and a
# worst value.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from greedyrls.assess import resample_path
from greedyrls.plots import plot_stability_index

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X = StandardScaler().set_output(transform="pandas").fit_transform(X)

stability = resample_path(X, y, 6, alpha=10.0, n_resamples=100)
print(stability.sentence)

# %%
# Who replaces whom
# -----------------
# The bars show how often a feature is among the first six. The map beside it shows the correlation
# of the same features, in the same order: where a cell off the diagonal is dark, two features can
# replace each other. A model may be just as good with the other one, so do not read the selection
# as a list of causes.
frequencies = stability.frequencies(6)
order = np.argsort(-frequencies)[:14]
places = np.arange(len(order))

figure, (bars, cells) = plt.subplots(
    1, 2, figsize=(9.4, 4.4), width_ratios=(1.0, 1.1), layout="constrained"
)
bars.barh(places, frequencies[order], color="#0072B2")
bars.set_yticks(places, X.columns[order])
bars.set(xlim=(0.0, 1.0), ylim=(13.5, -0.5), xlabel="share of selections with the feature")

correlation = np.abs(np.corrcoef(X.to_numpy()[:, order].T))
image = cells.imshow(correlation, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
cells.set_yticks(places, [])
cells.set_xticks(places, places + 1)
cells.set_xlabel("the same features, in the same order")
figure.colorbar(image, ax=cells, label="correlation, without sign")
plt.show()

# %%
# The index by number of features
# -------------------------------
# The stability index is 1 if all selections are the same and 0 on average for random ones. The band
# is the error of the draws.
plot_stability_index(stability)
plt.show()
