"""
Several samples of each patient
===============================

If several samples come from the same patient, they must be left out together. Otherwise the
criterion rewards features that recognise the patient: a sample that is left out can be predicted
from the others of the same patient.

Pass ``groups`` and a number of folds (or any splitter for groups) as ``cv``.
"""

# %%
# Sixty patients, five recordings each
# ------------------------------------
# Three features measure the disease, with a lot of noise. Forty others describe the person, such as
# the pitch of the voice: they differ between patients, but hardly between recordings, and have
# nothing to do with the disease.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import KFold

from greedyrls import greedy_path

rng = np.random.default_rng(0)


def recordings(n_patients):
    patients = np.repeat(np.arange(n_patients), 5)
    severity = rng.standard_normal(n_patients)[patients]
    disease = severity[:, None] + 2.5 * rng.standard_normal((len(patients), 3))
    person = rng.standard_normal((n_patients, 40))[patients]
    person += 0.1 * rng.standard_normal(person.shape)
    return np.hstack([disease, person]), severity, patients


X, y, patients = recordings(60)
X_new, y_new, _ = recordings(500)

# %%
# The same search with two kinds of folds
# ---------------------------------------
# The number of features is chosen in outer folds, which are of the same kind as the folds of the
# search.
options = {"alpha": 1.0, "size_rule": "min", "patience": 15, "max_features": 15}
paths = {
    "recordings": greedy_path(X, y, "auto", cv=KFold(10, shuffle=True, random_state=0), **options),
    "patients": greedy_path(X, y, "auto", cv=10, groups=patients, **options),
}
for name, path in paths.items():
    chosen = path.features(path.chosen_size)
    print(
        f"folds of {name}: {len(chosen)} features, {np.count_nonzero(chosen < 3)} for the disease"
    )

# %%
# What the folds say, and what happens with new patients
# ------------------------------------------------------
# With folds of recordings, the loss seems to fall with every feature. In truth it rises, because
# the features describe the sixty patients and nobody else. With folds of patients it is smallest
# where the error for new patients is smallest, too.
figure, axes = plt.subplots(1, 2, figsize=(8.8, 4.0), sharey=True, layout="constrained")
for axis, (name, path) in zip(axes, paths.items(), strict=True):
    sizes = np.arange(1, len(path) + 1)
    truth = np.array([np.mean((y_new - path.predict(X_new, int(k))) ** 2) for k in sizes])
    axis.axhline(np.var(y_new), color="black", linewidth=0.8, label="without features")
    axis.plot(sizes, path.held_out[0], "--", color="#D55E00", label="what the folds say")
    axis.plot(sizes, truth, color="#0072B2", label="new patients")
    for is_useful, colour, words in (
        (True, "#0072B2", "measures the disease"),
        (False, "white", "describes the person"),
    ):
        of_kind = (path.indices < 3) == is_useful
        style = {"markeredgecolor": "#0072B2", "color": colour, "label": f"added: {words}"}
        axis.plot(sizes[of_kind], truth[of_kind], "o", **style)
    axis.axvline(path.chosen_size, color="#666666", linestyle=":", label="chosen size")
    axis.set(xlabel="number of features", title=f"Folds of {name}", ylim=(0.0, None))
axes[0].set_ylabel("mean squared error")
axes[1].legend(loc="lower right", fontsize="small")
plt.show()
