"""The algorithms of the paper as the paper states them: readable and slow, for checking.

Pahikkala, Airola and Salakoski, "Linear Time Feature Selection for Regularized Least-Squares"
(2010), give three algorithms that choose the same features at three different costs. All three
are here, with the training forms and leave-one-out (LOO) short-cuts they rest on, and the paper's
random baseline. They share input checks, loss, tie rule and, in Algorithms 2 and 3, the start.

X has m samples as rows and n features as columns (the paper has the transpose), and ``alpha`` is
the paper's lambda. y has shape (m,), or (m, t) for t targets that share the features. Two things
go beyond the paper: sample weights, and an unpenalised intercept, refitted in each leave-one-out.
"""

from ._selection import ReferenceSelection, greedy_rls, low_rank_ls_svm, random_selection, wrapper
from ._training import loo_brute_force, loo_dual, loo_primal, train_dual, train_primal

__all__ = [
    "ReferenceSelection",
    "greedy_rls",
    "loo_brute_force",
    "loo_dual",
    "loo_primal",
    "low_rank_ls_svm",
    "random_selection",
    "train_dual",
    "train_primal",
    "wrapper",
]

# As users know them, also in pickles.
for _name in __all__:
    globals()[_name].__module__ = __name__
