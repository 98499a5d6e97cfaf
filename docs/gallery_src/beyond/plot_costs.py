"""
Features that cost something: selecting within a budget
=======================================================

A questionnaire is cheap, a sensor or a blood test is not. With ``feature_costs``, each step adds
the feature that lowers the loss most per unit of cost, and ``budget`` limits the sum.
"""

# %%
# What the measurements cost
# --------------------------
# In the diabetes data, age, sex, body mass index and blood pressure take a minute. The six blood
# values need a laboratory. (The prices are made up.)
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from greedyrls import greedy_path

X, y = load_diabetes(return_X_y=True, as_frame=True)
costs = {"age": 1.0, "sex": 1.0, "bmi": 1.0, "bp": 2.0} | {f"s{test}": 8.0 for test in range(1, 7)}

by_loss = greedy_path(X, y, 10, alpha=0.01)
by_cost = greedy_path(X, y, 10, alpha=0.01, feature_costs=costs)
print("by loss:         ", *by_loss.names())
print("by gain per cost:", *by_cost.names())

# %%
# A budget of 12 pays for one blood test:
affordable = greedy_path(X, y, None, alpha=0.01, feature_costs=costs, budget=12.0)
print(*affordable.names(), "for", affordable.costs[-1])
print(affordable.sentence)

# %%
# Error against cost
# ------------------
# The path by gain per cost buys the cheap measurements first, and has the smaller error for small
# budgets. It is greedy as well: for a budget of 9 or 10, the body mass index and a blood test would
# be better than the body mass index and the blood pressure. In the end both have all features.
figure, axes = plt.subplots(figsize=(7.2, 4.4), layout="constrained")
prices = X.columns.map(costs).to_numpy()
labels = {
    "by loss alone": {"s5": (5, 7), "s1": (3, 8)},
    "by gain per cost": {"bmi": (6, 6), "bp": (-16, -4), "s5": (-16, -4), "s3": (-5, -10)},
}
lines = {"by loss alone": (by_loss, "#D55E00", "--"), "by gain per cost": (by_cost, "#0072B2", "-")}
for name, (path, colour, line) in lines.items():
    spent = np.concatenate([[0.0], np.cumsum(prices[path.indices])])
    error = np.sqrt(np.concatenate([[path.initial_loss], path.losses]))
    axes.step(spent, error, line, where="post", color=colour, label=name)
    axes.plot(spent[1:], error[1:], "o", color=colour, markersize=4)
    for feature, cost, loss in zip(path.names(), spent[1:], error[1:], strict=True):
        if feature in labels[name]:
            offset, style = labels[name][feature], {"color": colour, "va": "center"}
            axes.annotate(feature, (cost, loss), offset, textcoords="offset points", **style)
axes.axvline(12.0, color="black", linewidth=0.8)
axes.text(12.4, 76.0, "budget of 12", fontsize="small")
axes.set(xlabel="total cost", ylabel="root mean squared error, leave-one-out")
axes.legend(title="features selected")
plt.show()
