"""
Whole categories, not single levels
===================================

One-hot encoding turns a category into many columns. A model that uses ``district=north`` still
needs to know the district of every sample. ``feature_groups`` adds all columns of a category
together, and counts them as one.
"""

# %%
# Rents of flats
# --------------
# The district matters, with many levels and a different rent in each; so does the size. The type of
# heating and the agency do not, although the agency has many levels as well.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from greedyrls import greedy_path

rng = np.random.default_rng(0)
n_flats = 300
table = pd.DataFrame(
    {
        "district": rng.choice(list("ABCDEFGH"), n_flats),
        "agency": rng.choice([f"agency {number}" for number in range(10)], n_flats),
        "heating": rng.choice(["gas", "oil", "heat pump"], n_flats),
        "size": rng.standard_normal(n_flats),
        "floor": rng.standard_normal(n_flats),
        "balcony": rng.integers(0, 2, n_flats).astype(float),
    }
)
rents = dict(zip("ABCDEFGH", rng.normal(0.0, 1.0, 8), strict=True))
y = table["district"].map(rents) + table["size"] + 0.3 * table["balcony"]
y += 0.7 * rng.standard_normal(n_flats)

X = pd.get_dummies(table, dtype=float, prefix_sep="=")
categories = {
    name: [column for column in X if column.startswith(f"{name}=")]
    for name in ("district", "agency", "heating")
}

# %%
# Single columns, or whole categories
# -----------------------------------
# Sizes count groups: two groups are the district, with all its levels, and the size of the flat.
single = greedy_path(X, y, 4, alpha=1.0)
grouped = greedy_path(X, y, 4, alpha=1.0, feature_groups=categories)
print("columns:", ", ".join(single.names()))
print("groups: ", ", ".join(grouped.group_names()))

# %%
# What the models know about the districts
# ----------------------------------------
# A model of four single columns has its own rent for three districts only, and treats the other
# five as if they were the same. Still, whoever uses it has to ask for the district. The model of
# two groups asks for the same two things, and knows all eight districts.
districts = list("ABCDEFGH")
truth = np.array([rents[name] for name in districts])
flats = pd.DataFrame(0.0, index=districts, columns=X.columns)
for name in districts:
    flats.loc[name, f"district={name}"] = 1.0
estimates = {"single": single.predict(flats, 4), "groups": grouped.predict(flats, 2)}
share = table["district"].value_counts(normalize=True)[districts].to_numpy()

figure, axes = plt.subplots(figsize=(7.0, 4.2), layout="constrained")
order = np.argsort(truth)
places = np.arange(8)
axes.bar(places, (truth - share @ truth)[order], color="#cccccc", label="true difference")
styles = {
    "single": {"marker": "s", "color": "#D55E00", "label": "four single columns"},
    "groups": {"marker": "o", "color": "#0072B2", "label": "two groups: district and size"},
}
for name, style in styles.items():
    values = estimates[name] - share @ estimates[name]
    offset = -0.15 if name == "single" else 0.15
    axes.plot(places + offset, values[order], linestyle="none", markersize=8, **style)
axes.axhline(0.0, color="black", linewidth=0.8)
axes.set_xticks(places, [districts[place] for place in order])
axes.set(xlabel="district", ylabel="rent, compared with the mean", title="What each model knows")
axes.legend()
plt.show()

for name, loss in (("four columns", single.losses[3]), ("two groups", grouped.losses[1])):
    print(f"leave-one-out loss with {name}: {loss:.2f}")
