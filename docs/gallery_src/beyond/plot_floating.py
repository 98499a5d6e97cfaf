"""
Where forward selection fails, and floating does not
====================================================

Forward selection never takes a feature back. A column that summarises several others is often the
best single feature: it is selected first, and stays even when the others make it redundant.
Searches that also remove features correct this.
"""

# %%
# Four causes and their noisy sum
# -------------------------------
import matplotlib.pyplot as plt
import numpy as np

from greedyrls import greedy_path

rng = np.random.default_rng(0)
causes = rng.standard_normal((200, 4))
summary = causes.sum(axis=1) + rng.standard_normal(200)
X = np.column_stack([summary, causes, rng.standard_normal((200, 10))])
y = causes.sum(axis=1) + 0.5 * rng.standard_normal(200)
names = ["summary", *(f"cause {number}" for number in range(1, 5))]

paths = {
    direction: greedy_path(X, y, 8, direction=direction)
    for direction in ("forward", "floating", "backward")
}
for direction, path in paths.items():
    print(f"{direction}: the best four are columns {sorted(path.features(4).tolist())}")

# %%
# The steps of the floating search
# --------------------------------
# When the fourth cause is in, the summary is removed.
for step in paths["floating"].steps[:7]:
    name = names[step.index] if step.index < 5 else f"noise (column {step.index})"
    print(f"{step.action:>6} {name:20} loss {step.loss:.3f}")

# %%
# Loss by number of features
# --------------------------
# With four features, forward selection has the summary and three causes, and a loss that is more
# than twice as large. It needs a fifth feature to make up for its first choice.
figure, axes = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
styles = {
    "forward": {"color": "#D55E00", "linestyle": "--", "marker": "o"},
    "floating": {"color": "#0072B2", "linestyle": "-", "marker": "s"},
    "backward": {"color": "#444444", "linestyle": ":", "marker": "^"},
}
for direction, path in paths.items():
    sizes = np.arange(1, len(path) + 1)
    axes.plot(sizes, path.losses, label=direction, markerfacecolor="white", **styles[direction])
axes.axhline(0.25, color="black", linewidth=0.8)
axes.text(1.0, 0.23, "variance of the noise", va="top", fontsize="small")
axes.annotate(
    "forward still has\nthe summary",
    (4, paths["forward"].losses[3]),
    (35, 25),
    textcoords="offset points",
    arrowprops={"arrowstyle": "->"},
)
axes.set(xlabel="number of features", ylabel="leave-one-out loss", ylim=(0.0, None))
axes.legend(title="direction")
plt.show()
