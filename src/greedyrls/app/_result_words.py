"""What a result says in sentences: what was chosen, how good it is, what to take with care."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from .._base import agree, count, counted, number, plural, score
from ..assess import (
    BALANCED,
    BY_AUC,
    ClassRates,
    assessment_cautions,
    known_leaks,
    no_better,
    noise,
    not_said_by,
    path_cautions,
    too_good,
)
from ..path import explained_in_words, initial_loss_in, measure_in_words
from ._selection_result import SelectionResult

# Names of features in a sentence.
_NAMED = 8
_HONEST = "run with --assess for an honest estimate."

# What advice in Python is on the command line.
_OPTIONS = {
    "(assess.cross_validate_path)": "(--assess)",
    "(max_features)": "(--max-features)",
    BALANCED: "--class-weight balanced",
    BY_AUC: "--loss auc",
}


def on_command_line(sentences: Iterable[str]) -> list[str]:
    """Sentences for those who use the command line or read a file, and do not call functions."""
    found = list(sentences)
    for python, option in _OPTIONS.items():
        found = [one.replace(python, option) for one in found]
    return found


def sentence_of(result: SelectionResult) -> str:
    """What was chosen and how good it honestly is."""
    size = result.size
    if not size:
        return f"{_nothing(result)} {on_command_line([_how_good(result)])[0]}"
    names = ", ".join(result.path.group_names(size)[:_NAMED])
    more = f" and {count(size - _NAMED)} more" if size > _NAMED else ""
    chosen = (
        f"{count(size)} of {counted(result.n_candidates, result.unit)} "
        f"{agree(size, 'was', 'were')} chosen to predict {result.target}: {names}{more}."
    )
    if _doubts(result):
        chosen = f"Nothing clearly predicts {result.target}. {chosen}"
    leaks = _leaks(result)
    told = _how_good(result)
    if leaks:
        # What is too good to be true is not praised.
        told = f"{told} {leaks[0]}"
    else:
        told += _rates(result)
    return f"{chosen} {on_command_line([told])[0]}"


def warnings_of(result: SelectionResult) -> tuple[str, ...]:
    """What a reader should be told; what matters most comes first."""
    found = [] if result.missing is None else [result.missing]
    found += _leaks(result)
    found += _doubts(result)
    if result.null is not None:
        found += noise(result.null.chosen_p_value, len(result.null.null_losses))
    own = path_cautions(result.path, result.own_curve.mean, result.own_reading)
    if result.assessment is not None:
        tested = assessment_cautions(result.path, result.assessment)
        found, own = found + tested, not_said_by(tested, own)
    found += own
    return tuple(dict.fromkeys(on_command_line(found)))


def how_it_was_chosen(result: SelectionResult) -> str:
    """The rule, the penalties and the folds, for those who want to know."""
    return on_command_line([result.path.sentence])[0]


def _nothing(result: SelectionResult) -> str:
    """That no features were chosen, and what is predicted without any."""
    model = result.model(0)
    (constant,) = model.decide(np.array([model.intercepts])).tolist()
    told = f"its mean, {number(constant)}," if result.classes is None else repr(constant)
    if not result.path.settings.fit_intercept and result.classes is None:
        told = "0"
    by = f" by the {measure_in_words(result.path.settings.loss)}" if _is_rate(result) else ""
    return (
        f"Nothing predicts {result.target}{by}: none of "
        f"{counted(result.n_candidates, result.unit)} was chosen, so that {told} is predicted for "
        "every row."
    )


def _is_rate(result: SelectionResult) -> bool:
    """Whether features were chosen by how often classes are wrong."""
    return result.path.settings.loss in ("zero_one", "balanced_zero_one")


def _is_by_own_rates(result: SelectionResult) -> bool:
    """Whether accuracy and AUC of the model itself stand for a loss that people cannot read."""
    is_unread = result.task == "classification" and result.measure == "squared"
    return is_unread and result.assessment is None and result.own_rates is not None


def _rates(result: SelectionResult) -> str:
    """Further measures without an assessment, whose sentence has its own."""
    rates = result.own_rates
    if rates is None or result.assessment is not None:
        return ""
    told = []
    if not _is_by_own_rates(result):
        told.append(_left_out_in_turn(rates))
    told += [rates.advice(result.measure)] if rates.only_class is not None else []
    if _is_blind(result):
        told.append(
            f"By the {measure_in_words(result.measure)} alone it is impossible to say whether "
            f"anything predicts {result.target}: run with --assess, which also reports AUC."
        )
    return "".join(f" {words}" for words in told if words)


def _left_out_in_turn(rates: ClassRates) -> str:
    """All measures of a model on its own rows."""
    return rates.sentence("").replace("measures", "measures, each row left out in turn", 1)


def _is_blind(result: SelectionResult) -> bool:
    """Whether an error rate says nothing of features that may well predict something.

    AUC of the selection's own models is too good to say that they do.
    """
    does_predict = result.own_rates is not None and result.own_rates.predicts
    return _is_rate(result) and does_predict and bool(_by_penalty_folds(result))


def _leaks(result: SelectionResult) -> list[str]:
    """What to say of columns that predict almost exactly alone."""
    names = result.leaks
    if names is None:
        names = known_leaks(result.path, result.assessment)
    return too_good(names, result.target, "--drop")


def _doubts(result: SelectionResult) -> list[str]:
    """Where the model is not clearly better than none on held-out rows: why, in words."""
    if result.assessment is not None:
        return result.assessment.doubts
    return [] if _is_blind(result) else _by_penalty_folds(result)


def _by_penalty_folds(result: SelectionResult) -> list[str]:
    """The same by the folds that chose the penalty."""
    found = result.honest(result.size)
    if found is None:
        return []
    initial = initial_loss_in(result.path.outer_surface, result.path.initial_loss)
    where = "the rows held out in outer folds"
    return no_better(found[0], initial, initial - found[0], found[1], result.reading, where)


def _how_good(result: SelectionResult) -> str:
    """How good the chosen model is, in the measures that people know."""
    if result.assessment is not None:
        is_leaking = bool(result.size and _leaks(result))
        assessment = result.assessment
        return assessment.sentence_without_praise() if is_leaking else assessment.sentence
    if not result.size:
        return _without_features(result)
    if _is_by_own_rates(result):
        assert result.own_rates is not None
        return _by_own_rates(result.own_rates)
    choice, found, reading = result.path.size_choice, result.honest(result.size), result.reading
    is_given = choice is not None and choice.rule == "given"
    if found is not None:
        initial = initial_loss_in(result.path.outer_surface, result.path.initial_loss)
        return (
            f"In the outer folds that chose {'the penalty' if is_given else 'penalty and size'} "
            f"the {reading.name} is {reading.written(*found)}{_share(result, found[0], initial)}, "
            f"against {reading.written(initial)} without features. Since these folds made the "
            f"choice, it is a little too good: {_HONEST}"
        )
    initial, own = result.path.initial_loss, result.own_curve
    loss, error = float(own.mean[result.size - 1]), float(own.error[result.size - 1])
    how = "leave-one-out" if result.path.settings.cv == "loo" else "cross-validated"
    return (
        f"The search's own {how} {reading.name} is {reading.written(loss, error)}"
        f"{_share(result, loss, initial)}, against {reading.written(initial)} without features. "
        f"Since the features were chosen by it, it is too good: {_HONEST}"
    )


def _share(result: SelectionResult, loss: float, initial_loss: float) -> str:
    """R² of a regression."""
    if result.task != "regression" or result.measure != "squared" or _leaks(result):
        return ""
    return explained_in_words(loss, initial_loss)


def _by_own_rates(rates: ClassRates) -> str:
    """Accuracy and AUC with each row left out in turn."""
    rate, initial = rates.error_rate, rates.initial_losses[rates.measures.index("zero_one"), 0]
    name, second = rates.second_score("zero_one")
    also = "" if second is None else f" and the {name} is {score(second)}"
    return (
        f"With each row left out in turn the accuracy is {score(1.0 - (rate or 0.0))}{also}, "
        f"against an accuracy of {score(1.0 - float(initial))} without features. Since the "
        f"features were chosen with all rows, this is too good: {_HONEST}"
    )


def _without_features(result: SelectionResult) -> str:
    """How good a model without features is, what the best one has to say, and what to do."""
    reading, told = result.own_reading, ""
    without, held_out = result.path.initial_loss, result.path.held_out
    if held_out is not None and np.isfinite(held_out[0]).any():
        without = initial_loss_in(result.path.outer_surface, without)
        best = reading.written(float(np.nanmin(held_out[0])))
        told = f"; with {plural(result.unit)} it is {best} at best in outer folds"
    other = f", or {BY_AUC}" if len(result.classes or ()) == 2 else ""
    advice = f"A rare class may still be predictable: try {BALANCED}{other}."
    if not _is_rate(result):
        advice = f"-k 1 takes the best {result.unit} anyway."
    return f"The {reading.name} without features is {reading.written(without)}{told}. {advice}"
