"""
Which words give a text away?
=============================

Texts become a wide, sparse matrix: one column for each word. The matrix stays sparse during the
search, and the result is a short list of words with a weight each.

The texts are docstrings of scikit-learn and SciPy, which are installed wherever this example
runs. The question is which library a docstring belongs to.
"""

# %%
# Collect the texts
# -----------------
# Names of the libraries and code examples are removed: they would give the answer away.
import importlib
import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from greedyrls import GreedyRLSClassifier
from greedyrls.assess import cross_validate_path

MODULES = {
    "scikit-learn": "cluster decomposition ensemble linear_model metrics neighbors svm",
    "SciPy": "fft integrate interpolate linalg ndimage optimize signal stats",
}
texts, labels, modules = [], [], []
for library, names in MODULES.items():
    package = {"scikit-learn": "sklearn", "SciPy": "scipy"}[library]
    for name in names.split():
        module = importlib.import_module(f"{package}.{name}")
        for public in module.__all__:
            value = getattr(module, public, None)
            if inspect.isclass(value) or inspect.isroutine(value):
                text = re.sub(r"(?m)^\s*(>>>|\.\.\. ).*$", "", inspect.getdoc(value) or "")
                texts.append(re.sub(r"\S*(sklearn|scikit|scipy)\S*", "", text.lower()))
                labels.append(library)
                modules.append(module.__name__)

words = TfidfVectorizer(min_df=10, sublinear_tf=True, token_pattern=r"\b[a-z]{3,}\b")
X = words.fit_transform(texts)
y, vocabulary = np.array(labels), words.get_feature_names_out()
print(f"{X.shape[0]} texts, {X.shape[1]} words, {X.nnz / np.prod(X.shape):.1%} of the cells filled")

# %%
# Select ten words
# ----------------
# Docstrings of one module resemble each other. Therefore whole modules are left out: the question
# is whether the words help with a module that the model has not seen.
model = GreedyRLSClassifier(10, alpha=1.0, cv=5).fit(X, y, groups=modules)
selected = vocabulary[model.selected_]
print(", ".join(selected))

# %%
# The accuracy on modules that took no part in the selection, and the accuracy that one would
# believe if texts of the same module were in both training and test data:
by_module = cross_validate_path(X, y, 10, alpha=1.0, cv=5, groups=modules, n_random=0)
shuffled = cross_validate_path(X, y, 10, alpha=1.0, cv=5, n_random=0)
for name, assessment in (("new modules", by_module), ("known modules", shuffled)):
    print(f"{name}: accuracy {1.0 - assessment.estimate[0]:.3f}")

# %%
# The words and their weights
# ---------------------------
# Most of the words are habits of writing ("optional", "guide") rather than subjects.
weights = model.coef_[0, model.selected_]
order = np.argsort(weights)
colours = np.where(weights[order] > 0.0, "#0072B2", "#D55E00")
figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
axes.barh(selected[order], weights[order], color=colours)
axes.axvline(0.0, color="black", linewidth=0.8)
negative, positive = model.classes_
axes.set_title("Ten words that tell the libraries apart")
axes.set_xlabel(f"weight:  ← {negative}      {positive} →")
plt.show()
