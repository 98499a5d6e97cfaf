"""A paragraph for the methods section of a paper, filled in from a result."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from .._base import agree, count, counted, number, plural, printable
from ._measures import MEASURES, measure_in_words
from ._steps import StopReason

if TYPE_CHECKING:
    from ._path import SelectionPath

Task = Literal["regression", "classification", "ranking"]

# Names of selected features in the paragraph; a table has the rest.
_NAMED = 20
_OF_CLASSES = ("zero_one", "balanced_zero_one", "auc")
_QUERIES = "leave-query-out"
# How the sentences on a size begin if the loss was chosen along with it.
_LOSS_CHOSEN = "Selected by "

PREPROCESSING = "[Describe the data and their preprocessing, such as scaling and missing values.]"
_KERNEL = "[State the kernel and its parameters.]"
WEIGHTS = "Samples were weighted [state how]."

_GREEDY_RLS = (
    "Pahikkala, T., Airola, A., & Salakoski, T. (2010). Linear time feature selection for "
    "regularized least-squares. arXiv:1003.3570."
)
_RANK_RLS = (
    "Pahikkala, T., Tsivtsivadze, E., Airola, A., Järvinen, J., & Boberg, J. (2009). An efficient "
    "algorithm for learning to rank from preference graphs. Machine Learning, 75(1), 129–165."
)
_FLOATING = (
    "Pudil, P., Novovičová, J., & Kittler, J. (1994). Floating search methods in feature "
    "selection. Pattern Recognition Letters, 15(11), 1119–1125."
)
_FOBA = (
    "Zhang, T. (2011). Adaptive forward-backward greedy algorithm for learning sparse "
    "representations. IEEE Transactions on Information Theory, 57(7), 4689–4708."
)

_MODELS = {
    "regression": "ridge regression (regularized least squares; Pahikkala et al., 2010)",
    "classification": "regularized least-squares classification (Pahikkala et al., 2010)",
    "ranking": "regularized least-squares ranking (RankRLS; Pahikkala et al., 2009, 2010)",
    None: "regularized least squares (Pahikkala et al., 2010)",
}
_SEARCHES = {
    "forward": "forward selection",
    "backward": "backward elimination",
    "floating": "forward floating selection",
    "foba": "forward–backward selection",
    "swap": "forward selection followed by exchanges",
}
_ENDED = {
    StopReason.INTERRUPTED: "was interrupted",
    StopReason.CALLBACK: "was ended by a user-defined rule",
    StopReason.NO_IMPROVEMENT: "was ended because the loss no longer improved",
    StopReason.NUMERICAL_LIMIT: "ended at the limit of numerical precision",
    StopReason.SPANNED: "ended because the selected {units} spanned all others up to rounding",
    StopReason.BUDGET: "ended because no other {unit} was affordable",
}


@dataclass(frozen=True, slots=True)
class Methods:
    """Sentences of a methods section, and the references they cite."""

    sentences: tuple[str, ...]
    references: tuple[str, ...] = ()

    def __add__(self, other: Methods) -> Methods:
        return Methods(self.sentences + other.sentences, self.references + other.references)

    @property
    def text(self) -> str:
        """The paragraph, and the references in alphabetical order, each once."""
        paragraph = " ".join(self.sentences)
        if not self.references:
            return paragraph
        return "\n".join([paragraph, "", "References", "", *sorted(set(self.references))])


class HasMethods(Protocol):
    """A result that can describe how it was made: an assessment, for example."""

    def _methods(self) -> Methods: ...


def combined(methods: Methods, assessed: Iterable[HasMethods]) -> Methods:
    """Return sentences on a search, followed by those on its assessments."""
    for result in assessed:
        if not hasattr(result, "_methods"):
            raise TypeError(
                "methods_text takes results of greedyrls.assess (PathAssessment, Stability or "
                f"PermutationNull) and task=, got {reprlib.repr(result)}."
            )
        methods += result._methods()
    return methods


def check_task(task: Any) -> Task | None:
    """Check the task that a user names."""
    if task is not None and task not in get_args(Task):
        names = ", ".join(repr(name) for name in get_args(Task))
        raise ValueError(f"task must be one of {names} or None, got {task!r}.")
    checked: Task | None = task
    return checked


def methods_of(
    path: SelectionPath,
    task: Task | None = None,
    version: str | None = None,
    preprocessing: str = PREPROCESSING,
    weights: str = WEIGHTS,
) -> Methods:
    """Return sentences on how a path was made; without a task, it is inferred if possible.

    `preprocessing` and `weights` are sentences on what the path does not know; the second is left
    out if samples were not weighted.
    """
    from .. import __version__

    settings = path.settings
    if task is None and settings.cv.startswith(_QUERIES):
        task = "ranking"
    if task is None and settings.loss in _OF_CLASSES:
        task = "classification"
    sentences = [
        _method(path, task, version or __version__),
        _candidates(path),
        _criterion(path, task),
        *_constraints(path),
        *([weights] if settings.weighted and not settings.cv.startswith(_QUERIES) else []),
        *_penalty(path),
        _size(path),
        *_selected(path),
        *_model(path, task),
    ]
    references = [_GREEDY_RLS]
    references += [_RANK_RLS] if task == "ranking" else []
    references += {"floating": [_FLOATING], "foba": [_FOBA]}.get(settings.direction, [])
    if preprocessing:
        sentences.append(preprocessing)
    return Methods(tuple(sentences), tuple(references))


def _method(path: SelectionPath, task: Task | None, version: str) -> str:
    things, model = "Features", _MODELS[task]
    if path.unit == "group":
        things = "Groups of features"
    elif path.unit == "centre":
        things, model = "Centres", f"kernel {model}"
    search = _SEARCHES[path.settings.direction]
    return f"{things} were selected by greedy {search} for {model}, with greedyrls {version}."


def _candidates(path: SelectionPath) -> str:
    settings, groups = path.settings, path.settings.feature_groups
    excluded, columns = len(settings.excluded_features), settings.n_features_in
    if groups:
        alone = columns - sum(map(len, groups))
        single = f" and {counted(alone, 'single column')}" if alone else ""
        words = f"{counted(columns, 'column')} in {counted(len(groups), 'group')}{single}"
        left_out = counted(excluded, "column")
    else:
        one = "centre" if path.unit == "centre" else "feature"
        words = counted(columns - excluded, f"candidate {one}")
        left_out = counted(excluded, f"further {one}")
    if excluded:
        words += f"; {left_out} {agree(excluded, 'was', 'were')} excluded in advance"
    return f"The data had {counted(settings.n_samples, 'sample')} and {words}."


def loss_in_methods(path: SelectionPath, task: Task | None) -> str:
    """Return the loss of the search in words, for one or several targets."""
    settings, targets = path.settings, len(path.moments.target_means)
    if settings.loss not in MEASURES:
        name = measure_in_words(settings.loss)
        return "user-defined loss" if "<" in name else f"user-defined loss {name!r}"
    words = MEASURES[settings.loss]
    if settings.loss == "auc":
        words = "area under the ROC curve"
    if task == "ranking":
        return f"{words} of differences between samples of the same query"
    if settings.loss == "squared" and task == "classification":
        words += " of the class codes −1 and +1"
        return f"{words} ({targets} classes, each against the rest)" if targets > 1 else words
    if targets > 1 and settings.loss not in _OF_CLASSES:
        words += f", averaged over {targets} targets"
    return words


def _criterion(path: SelectionPath, task: Task | None) -> str:
    """Return what each step did, and by which loss."""
    settings, one = path.settings, path.unit
    loss = f"{_how(path)} {loss_in_methods(path, task)}{_folds(path)}"
    best = "largest" if settings.loss == "auc" else "smallest"
    if settings.direction == "backward":
        return (
            f"Starting from all {plural(one)}, each step removed the {one} whose removal gave the "
            f"{best} {loss}."
        )
    if settings.feature_costs is not None:
        moved = "increased" if settings.loss == "auc" else "reduced"
        what = f"that {moved} the {loss} most per unit of cost"
    else:
        what = f"that gave the {best} {loss}"
    added = f"Each step added the {one} {what}."
    if settings.direction == "floating":
        return (
            f"{added} After each addition, {plural(one)} were removed while the smaller set was "
            "better than the best set of its size found before (Pudil et al., 1994)."
        )
    if settings.direction == "foba":
        ratio = number(settings.backward_ratio)
        return (
            f"{added} After each addition, {plural(one)} were removed while the loss rose by less "
            f"than {ratio} times the gain of the corresponding addition (Zhang, 2011)."
        )
    if settings.direction == "swap":
        return (
            f"{added} Then single {plural(one)} were exchanged for others while this improved the "
            "criterion."
        )
    return added


def _how(path: SelectionPath) -> str:
    cv = path.settings.cv
    if cv == "loo":
        return "exact leave-one-out"
    return f"exact {_QUERIES}" if cv.startswith(_QUERIES) else "cross-validated"


def _folds(path: SelectionPath) -> str:
    """Return the folds in parentheses; leave-one-out has none."""
    cv = path.settings.cv
    return "" if cv == "loo" else f" ({folds_in_methods(cv.removeprefix(_QUERIES + ' '))})"


def folds_in_methods(folds: str) -> str:
    """Return a description of folds without parentheses.

    >>> folds_in_methods("RepeatedKFold(n_splits=5, n_repeats=2)")
    'RepeatedKFold, n_splits=5, n_repeats=2'
    >>> folds_in_methods("5 folds, merged of fold ids (20 folds)")
    '5 folds, merged from 20 given folds'
    """
    folds = folds.replace("merged of", "merged from")
    if "fold ids (" in folds:
        folds = folds.replace("fold ids (", "").replace(" folds)", " given folds")
    return folds.replace(" (", ", ").replace("(", ", ").replace(")", "").removeprefix(", ")


def _constraints(path: SelectionPath) -> list[str]:
    """Return sentences on groups, forced features and costs."""
    settings, sentences = path.settings, []
    if path.unit == "group":
        sentences.append(
            "The columns of a group were added or removed together; a column in no group counted "
            "as a group."
        )
    forced = _forced(path)
    if forced:
        unit = path.unit if len(forced) == 1 else plural(path.unit)
        were = agree(len(forced), "was", "were")
        sentences.append(f"The {unit} {listed(forced)} {were} included in advance.")
    if settings.budget is not None:
        sentences.append(f"The total cost was limited to {number(settings.budget)}.")
    return sentences


def _forced(path: SelectionPath) -> list[str]:
    """Return the names of the features (or groups) that were in every set from the start."""
    forced, before = [], set[int]()
    for best in path.sets:
        if best.forced:
            forced += [index for index in best.features if index not in before]
        before = set(best.features)
    return list(dict.fromkeys(printable(path.name_of(index)) for index in forced))


def _penalty(path: SelectionPath) -> list[str]:
    """Return how the penalties of the search and of the model were chosen."""
    surface, alpha = path.surface, number(path.settings.alpha)
    if surface is None or len(surface.alphas) == 1:
        sentences = [f"The penalty of the search was set to {alpha}."]
    else:
        low, high = number(float(surface.alphas[0])), number(float(surface.alphas[-1]))
        values = f"chosen from {len(surface.alphas)} values between {low} and {high}"
        how = {
            "nested": "by nested cross-validation: the selection was repeated with each value in "
            f"outer folds ({folds_in_methods(surface.folds)}), and the value with the smallest "
            "held-out loss was taken",
            "joint": "as the value with the smallest loss of the search itself",
            "all_features": "as the value with the smallest leave-one-out loss of a model with "
            f"all {plural(path.unit)}",
        }[surface.rule]
        sentences = [f"The penalty of the search, {alpha}, was {values} {how}."]
    if path.size_choice is not None and _LOSS_CHOSEN in path.size_choice.sentence:
        sentences.append(
            "Selection by squared loss and by 0/1 loss was compared by the error rate in the outer "
            "folds."
        )
    return sentences


def _size(path: SelectionPath) -> str:
    """Return how the number of features was chosen."""
    units, choice, reason = plural(path.unit), path.size_choice, path.stop_reason
    rule = "given" if choice is None else choice.rule
    if rule == "given":
        if reason in _ENDED:
            why = _ENDED[reason].format(unit=path.unit, units=units)
            return f"The search {why}, with {counted(len(path), path.unit)}."
        return f"The number of {units}, {count(path.chosen_size)}, was set in advance."
    outer = path.outer_surface
    loss = "loss of the search itself" if outer is None else "held-out loss"
    how = f"the one with the smallest {loss}"
    if rule == "1se":
        how = (
            f"the smallest whose {loss} was within one standard error of the difference from the "
            "smallest loss"
        )
    chosen = f"The number of {units} was chosen as {how}."
    if outer is not None and outer is path.surface and len(outer.alphas) > 1:
        chosen = f"The number of {units} was chosen in the same outer folds as {how}."
    elif outer is not None:
        chosen = (
            f"To choose the number of {units}, the selection was repeated in outer folds "
            f"({folds_in_methods(outer.folds)}); {how} was taken."
        )
    ended = ""
    if reason in (StopReason.INTERRUPTED, StopReason.CALLBACK):
        ended = f" The search {_ENDED[reason]} after {counted(len(path), path.unit)}."
    return f"{chosen}{ended}"


def _selected(path: SelectionPath) -> list[str]:
    """Return what was selected, and what it costs."""
    size, unit = path.chosen_size, path.unit
    if not size:
        return [f"No {unit} was selected, because none predicted better than a constant."]
    if unit == "centre":
        return [f"{count(size)} {agree(size, 'centre was', 'centres were')} selected."]
    names = [printable(name) for name in path.group_names(size)]
    shown = listed(names)
    if len(names) > _NAMED:
        shown = f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} others [see Table …]"
    head = f"The selected {unit} was"
    if size > 1:
        order = ", in the order of selection," if path.is_nested else ""
        head = f"The {count(size)} selected {plural(unit)}{order} were"
    sentences = [f"{head} {shown}."]
    if path.costs is not None:
        whose = agree(size, "Its", "Their total")
        sentences.append(f"{whose} cost is {number(float(path.costs[size - 1]))}.")
    return sentences


def _model(path: SelectionPath, task: Task | None) -> list[str]:
    """Return what the final model is."""
    settings, size = path.settings, path.chosen_size
    sentences = []
    if not size:
        return []
    if path.refit_alphas is not None:
        penalty = number(path.refit_alphas[size - 1])
        how = {
            "loo": f", chosen by leave-one-out on the selected {plural(path.unit)}",
            "cv": f", chosen on the selected {plural(path.unit)} in the folds of the search",
        }
        chosen = how.get(str(settings.refit_alpha), "")
        sentences.append(f"The final model was fitted with the penalty {penalty}{chosen}.")
    if task != "ranking":
        intercept = "an intercept, which was not penalised"
        sentences.append(
            f"The model had {intercept if settings.fit_intercept else 'no intercept'}."
        )
    if path.unit == "centre":
        sentences.append(_KERNEL)
    return sentences


def listed(names: list[str]) -> str:
    """Join names for a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
