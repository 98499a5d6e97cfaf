"""
Ranking: only the order within a query matters
==============================================

A search engine has to put the documents of a query in order. Whether all documents of a query are
good or bad does not matter. :class:`~greedyrls.GreedyRLSRanker` selects features by differences
of documents of the same query, and leaves out whole queries. A regression on the same data spends
its features on telling good queries from bad ones.
"""

# %%
# Queries of different difficulty
# -------------------------------
# Columns 0 to 3 describe a document. Columns 4 to 9 describe the query, and have the same value for
# all its documents; relevance depends on them even more. The other columns are noise.
import matplotlib.pyplot as plt
import numpy as np

from greedyrls import GreedyRLSRanker, greedy_path
from greedyrls.metrics import pairwise_error

rng = np.random.default_rng(0)


def documents(n_queries):
    queries = np.repeat(np.arange(n_queries), 10)
    X = rng.standard_normal((len(queries), 40))
    X[:, 4:10] = rng.standard_normal((n_queries, 6))[queries]
    value = X[:, :4] @ [1.0, 0.8, 0.6, 0.4] + 1.5 * X[:, 4:10].sum(axis=1)
    return X, value + rng.standard_normal(len(queries)), queries


X, y, queries = documents(60)
X_new, y_new, new_queries = documents(300)

ranker = GreedyRLSRanker(12, alpha=1.0).fit(X, y, groups=queries)
regression = greedy_path(X, y, 12, alpha=1.0)
print("ranker:    ", ranker.selected_.tolist())
print("regression:", regression.indices.tolist())

# %%
# Quality of the order on new queries
# -----------------------------------
# Of all pairs of documents of the same query, how many are in the wrong order? The regression
# selects the six columns of the query first, which cannot change any order.
sizes = np.arange(1, 13)
curves = {
    "GreedyRLSRanker": [ranker.with_n_features(int(k)).predict(X_new) for k in sizes],
    "regression": [regression.predict(X_new, int(k)) for k in sizes],
}
figure, axes = plt.subplots(figsize=(6.6, 4.2), layout="constrained")
styles = {"GreedyRLSRanker": ("#0072B2", "o-"), "regression": ("#D55E00", "s--")}
for name, scores in curves.items():
    quality = [pairwise_error(y_new, score, new_queries) for score in scores]
    colour, line = styles[name]
    axes.plot(sizes, quality, line, color=colour, markerfacecolor="white", label=name)
axes.axhline(0.5, color="black", linewidth=0.8)
axes.text(12.2, 0.492, "random order", ha="right", va="top", fontsize="small")
axes.set(
    xlabel="number of features", ylabel="pairs in the wrong order, new queries", ylim=(0, 0.55)
)
axes.legend(loc="center right")
plt.show()
