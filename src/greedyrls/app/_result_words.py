"""Sentences about a result: what was chosen, how good it is, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._base import agree, count, counted, number, plural, score
from ..assess import (
    BALANCED,
    BY_AUC,
    ClassRates,
    assessment_cautions,
    leaking_features,
    no_better,
    noise,
    not_said_by,
    path_cautions,
    too_good,
)
from ..path import explained_in_words, initial_loss_in, measure_in_words
from ._selection_result import SelectionResult

# Largest number of feature names in a sentence.
_NAMED = 8
_HONEST = "run assess.cross_validate_path for an honest estimate."

# Advice for Python, and its equivalent on the command line.
_OPTIONS = {
    "(assess.cross_validate_path)": "(--assess)",
    "run assess.cross_validate_path": "run with --assess",
    "Run assess.cross_validate_path": "Run with --assess",
    "n_features_to_select=1 takes": "-k 1 takes",
    "(max_features)": "(--max-features)",
    BALANCED: "--class-weight balanced",
    BY_AUC: "--loss auc",
}


def on_command_line(sentences: Iterable[str]) -> list[str]:
    """Return sentences with advice for the command line instead of Python."""
    translated = list(sentences)
    for python, option in _OPTIONS.items():
        translated = [sentence.replace(python, option) for sentence in translated]
    return translated


def in_terms_of(result: SelectionResult, sentences: Iterable[str]) -> list[str]:
    """Return sentences with advice for Python or for the command line, whichever made a result."""
    return on_command_line(sentences) if result.origin.command else list(sentences)


def sentence_of(result: SelectionResult) -> str:
    """Return what was chosen, and how good it is by the most honest estimate."""
    size = result.size
    if not size:
        return f"{_nothing(result)} {in_terms_of(result, [_how_good(result)])[0]}"
    names = ", ".join(result.path.group_names(size)[:_NAMED])
    more = f" and {count(size - _NAMED)} more" if size > _NAMED else ""
    chosen = (
        f"{count(size)} of {counted(result.n_candidates, result.unit)} "
        f"{agree(size, 'was', 'were')} chosen to predict {result.target}: {names}{more}."
    )
    if _doubts(result):
        chosen = f"Nothing clearly predicts {result.target}. {chosen}"
    leaks = _leaks(result)
    quality = _how_good(result)
    if leaks:
        # A suspected leak replaces further praise.
        quality = f"{quality} {leaks[0]}"
    else:
        quality += _rates(result)
    return f"{chosen} {in_terms_of(result, [quality])[0]}"


def warnings_of(result: SelectionResult) -> tuple[str, ...]:
    """Return all warnings about a result, the most important first."""
    sentences = [] if result.missing is None else [result.missing]
    sentences += _leaks(result)
    sentences += _doubts(result)
    if result.null is not None:
        sentences += noise(result.null.chosen_p_value, len(result.null.null_losses))
    of_path = path_cautions(result.path, result.own_curve.mean, result.own_reading)
    if result.assessment is not None:
        tested = assessment_cautions(result.path, result.assessment)
        sentences, of_path = sentences + tested, not_said_by(tested, of_path)
    sentences += of_path
    return tuple(dict.fromkeys(in_terms_of(result, sentences)))


def how_it_was_chosen(result: SelectionResult) -> str:
    """Return a sentence on the rule, the penalties and the folds."""
    return in_terms_of(result, [result.path.sentence])[0]


def _nothing(result: SelectionResult) -> str:
    """Return a sentence that no features were chosen, and what is predicted without any."""
    model = result.model(0)
    (constant,) = model.decide(np.array([model.intercepts])).tolist()
    value = f"its mean, {number(constant)}," if result.classes is None else repr(constant)
    if not result.path.settings.fit_intercept and result.classes is None:
        value = "0"
    by = f" by the {measure_in_words(result.path.settings.loss)}" if _is_rate(result) else ""
    return (
        f"Nothing predicts {result.target}{by}: none of "
        f"{counted(result.n_candidates, result.unit)} was chosen, so that {value} is predicted for "
        "every row."
    )


def _is_rate(result: SelectionResult) -> bool:
    """Whether features were chosen by an error rate."""
    return result.path.settings.loss in ("zero_one", "balanced_zero_one")


def _is_by_own_rates(result: SelectionResult) -> bool:
    """Whether accuracy and AUC of the model itself are shown, for lack of a readable loss."""
    is_unread = result.task == "classification" and result.measure == "squared"
    return is_unread and result.assessment is None and result.own_rates is not None


def _rates(result: SelectionResult) -> str:
    """Return further measures if there is no assessment, which has its own."""
    rates = result.own_rates
    if rates is None or result.assessment is not None:
        return ""
    parts = []
    if not _is_by_own_rates(result):
        parts.append(_left_out_in_turn(rates))
    parts += [rates.advice(result.measure)] if rates.only_class is not None else []
    if _is_blind(result):
        parts.append(
            f"By the {measure_in_words(result.measure)} alone it is impossible to say whether "
            f"anything predicts {result.target}: run assess.cross_validate_path, which also "
            "reports AUC."
        )
    return "".join(f" {words}" for words in parts if words)


def _left_out_in_turn(rates: ClassRates) -> str:
    """Return all measures of a model on its training rows, by leave-one-out."""
    return rates.sentence("").replace("measures", "measures, each row left out in turn", 1)


def _is_blind(result: SelectionResult) -> bool:
    """Whether the error rate shows no effect of features that may well predict something.

    AUC of the selection's own models is too optimistic to decide that.
    """
    does_predict = result.own_rates is not None and result.own_rates.predicts
    return _is_rate(result) and does_predict and bool(_by_penalty_folds(result))


def _leaks(result: SelectionResult) -> list[str]:
    """Return a warning about columns that predict almost exactly alone."""
    names = result.leaks
    if names is None:
        names = leaking_features(result.path, result.assessment)
    return too_good(names, result.target, "--drop" if result.origin.command else "")


def _doubts(result: SelectionResult) -> list[str]:
    """Return why the model is not clearly better than none on held-out rows, if it is not."""
    if result.assessment is not None:
        return result.assessment.doubts
    return [] if _is_blind(result) else _by_penalty_folds(result)


def _by_penalty_folds(result: SelectionResult) -> list[str]:
    """Return such doubts by the folds that chose the penalty."""
    estimate = result.honest(result.size)
    if estimate is None:
        return []
    initial = initial_loss_in(result.path.outer_surface, result.path.initial_loss)
    where = "the rows held out in outer folds"
    return no_better(
        estimate[0], initial, initial - estimate[0], estimate[1], result.reading, where
    )


def _how_good(result: SelectionResult) -> str:
    """Return how good the chosen model is, in familiar measures."""
    if result.assessment is not None:
        is_leaking = bool(result.size and _leaks(result))
        assessment = result.assessment
        return assessment.sentence_without_praise() if is_leaking else assessment.sentence
    if not result.size:
        return _without_features(result)
    if _is_by_own_rates(result):
        assert result.own_rates is not None
        return _by_own_rates(result.own_rates)
    choice, expected, reading = result.path.size_choice, result.honest(result.size), result.reading
    is_given = choice is not None and choice.rule == "given"
    if expected is not None:
        initial = initial_loss_in(result.path.outer_surface, result.path.initial_loss)
        return (
            f"In the outer folds that chose {'the penalty' if is_given else 'penalty and size'} "
            f"the {reading.name} is {reading.written(*expected)}"
            f"{_share(result, expected[0], initial)}, "
            f"against {reading.written(initial)} without features. Since these folds made the "
            f"choice, it is a little too good: {_HONEST}"
        )
    initial, curve = result.path.initial_loss, result.own_curve
    loss, error = float(curve.mean[result.size - 1]), float(curve.error[result.size - 1])
    how = "leave-one-out" if result.path.settings.cv == "loo" else "cross-validated"
    return (
        f"The search's own {how} {reading.name} is {reading.written(loss, error)}"
        f"{_share(result, loss, initial)}, against {reading.written(initial)} without features. "
        f"Since the features were chosen by it, it is too good: {_HONEST}"
    )


def _share(result: SelectionResult, loss: float, initial_loss: float) -> str:
    """Return R² of a regression in words."""
    if result.task != "regression" or result.measure != "squared" or _leaks(result):
        return ""
    return explained_in_words(loss, initial_loss)


def _by_own_rates(rates: ClassRates) -> str:
    """Return accuracy and AUC in words, with each row left out in turn."""
    rate, initial = rates.error_rate, rates.initial_losses[rates.measures.index("zero_one"), 0]
    name, second = rates.second_score("zero_one")
    also = "" if second is None else f" and the {name} is {score(second)}"
    return (
        f"With each row left out in turn the accuracy is {score(1.0 - (rate or 0.0))}{also}, "
        f"against an accuracy of {score(1.0 - float(initial))} without features. Since the "
        f"features were chosen with all rows, this is too good: {_HONEST}"
    )


def _without_features(result: SelectionResult) -> str:
    """Return how good the model without features is, how good the best one is, and advice."""
    reading, best_words = result.own_reading, ""
    without, held_out = result.path.initial_loss, result.path.held_out
    if held_out is not None and np.isfinite(held_out[0]).any():
        without = initial_loss_in(result.path.outer_surface, without)
        best = reading.written(float(np.nanmin(held_out[0])))
        best_words = f"; with {plural(result.unit)} it is {best} at best in outer folds"
    other = f", or {BY_AUC}" if len(result.classes or ()) == 2 else ""
    advice = f"A rare class may still be predictable: try {BALANCED}{other}."
    if not _is_rate(result):
        advice = f"n_features_to_select=1 takes the best {result.unit} anyway."
    return (
        f"The {reading.name} without features is {reading.written(without)}{best_words}. {advice}"
    )
