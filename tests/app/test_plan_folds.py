"""Folds in folds: as many as rows, classes and groups allow, or one line that says why not."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from internals import InputError, Prepared, Question, assess, choose, plan_folds
from small_tables import attempt, numbers, prepared_of, regression, texts

SEED = 4


def counts(prepared: Prepared, question: Question, outer: int | None = None) -> list[Any]:
    plan = plan_folds(prepared, question, outer)
    return [
        None if one is None else "loo" if isinstance(one, str) else one.get_n_splits()
        for one in (plan.outer, plan.penalty, plan.criterion)
    ]


def splitters(prepared: Prepared, question: Question, outer: int | None) -> list[Any]:
    plan = plan_folds(prepared, question, outer)
    return [one for one in (plan.outer, plan.penalty, plan.criterion) if one not in (None, "loo")]


@pytest.mark.parametrize(
    ("m", "question", "outer", "expected"),
    [
        (60, Question(), None, [None, 5, "loo"]),
        (60, Question(alpha=1.0), None, [None, None, "loo"]),
        (60, Question(alpha=[1.0, 2.0]), None, [None, 5, "loo"]),
        (60, Question(folds=7), None, [None, 5, 7]),
        (60, Question(alpha=1.0, folds=7), 10, [10, None, 7]),
        (60, Question(folds=10), 10, [10, 5, 10]),
        (60, Question(alpha=1.0, folds=100), None, [None, None, 60]),
        (6, Question(folds=10), 10, [6, 5, 4]),
        (4, Question(folds=10), 10, [4, 3, 2]),
        (3, Question(), 10, [3, 2, "loo"]),
    ],
)
def test_numbers_of_folds_of_a_regression(
    m: int, question: Question, outer: int | None, expected: list[Any]
) -> None:
    prepared = prepared_of(regression(m))
    assert counts(prepared, question, outer) == expected
    made = splitters(prepared, question, outer)
    assert all(isinstance(one, KFold) and one.shuffle for one in made)
    assert all(one.random_state == question.seed for one in made)


@pytest.mark.parametrize(
    ("fewest", "question", "outer", "expected"),
    [
        (20, Question(), 10, [10, 5, "loo"]),
        (6, Question(folds=10), 10, [6, 5, 4]),
        (4, Question(folds=10), 10, [4, 3, 2]),
        (2, Question(), None, [None, 2, "loo"]),
        (3, Question(), 10, [3, 2, "loo"]),
        (2, Question(alpha=1.0), 10, [2, None, "loo"]),
        (1, Question(alpha=1.0), None, [None, None, "loo"]),
    ],
)
def test_numbers_of_folds_go_by_the_rarest_class(
    fewest: int, question: Question, outer: int | None, expected: list[Any]
) -> None:
    columns = regression(60)
    columns["y"] = texts(["rare"] * fewest + ["b"] * 25 + ["a"] * (35 - fewest))
    prepared = prepared_of(columns)
    assert counts(prepared, question, outer) == expected
    made = splitters(prepared, question, outer)
    assert all(isinstance(one, StratifiedKFold) and one.shuffle for one in made)


@pytest.mark.parametrize(
    ("fewest", "question", "outer"),
    [
        (1, Question(), None),
        (1, Question(alpha=1.0, folds=5), None),
        (1, Question(alpha=1.0), 10),
        (2, Question(), 10),
        (2, Question(folds=5), None),
        (3, Question(folds=5), 10),
    ],
)
def test_classes_too_rare_for_folds(fewest: int, question: Question, outer: int | None) -> None:
    columns = regression(60)
    columns["y"] = texts(["rare"] * fewest + ["b"] * 25 + ["a"] * (35 - fewest))
    prepared = prepared_of(columns)
    with pytest.raises(InputError, match="of class 'rare', too few for nested folds") as caught:
        plan_folds(prepared, question, outer)
    assert f"{fewest} row" in str(caught.value)
    assert "--alpha" in str(caught.value)


@pytest.mark.parametrize(
    ("groups", "question", "outer", "expected"),
    [
        (20, Question(), 10, [10, 5, 10]),
        (20, Question(folds=4), None, [None, 5, 4]),
        (6, Question(), None, [None, 5, 4]),
        (4, Question(), 10, [4, 3, 2]),
        (3, Question(), None, [None, 3, 2]),
        (2, Question(alpha=1.0), None, [None, None, 2]),
        (3, Question(alpha=1.0), 10, [3, None, 2]),
    ],
)
def test_numbers_of_folds_go_by_groups(
    groups: int, question: Question, outer: int | None, expected: list[Any]
) -> None:
    prepared = prepared_of(
        regression(60, site=numbers(row % groups for row in range(60))), groups="site"
    )
    assert counts(prepared, question, outer) == expected
    made = splitters(prepared, question, outer)
    assert all(isinstance(one, GroupKFold) for one in made)


@pytest.mark.parametrize(
    ("groups", "question", "outer"),
    [(2, Question(), None), (3, Question(), 10), (2, Question(alpha=1.0), 10)],
)
def test_too_few_groups_for_folds(groups: int, question: Question, outer: int | None) -> None:
    columns = regression(60, site=numbers(row % groups for row in range(60)))
    prepared = prepared_of(columns, groups="site")
    with pytest.raises(InputError, match=f"There are {groups} groups, too few for nested folds"):
        plan_folds(prepared, question, outer)


@pytest.mark.parametrize("m", [4, 5, 6, 8])
@pytest.mark.parametrize("folds", [None, 2, 10])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_tiny_data_give_an_answer_or_one_line(m: int, folds: int | None, task: str) -> None:
    """Whatever the engine cannot do with so few rows is said, not raised as a warning."""
    columns = regression(m)
    if task == "classification":
        columns["y"] = texts(["p", "q"][row % 2] for row in range(m))
    prepared = prepared_of(columns)
    for alpha in (1.0, "auto"):
        question = Question(2, alpha, folds, seed=SEED)  # type: ignore[arg-type]
        for call in (partial(choose, prepared, question), partial(assess, prepared, question, 3)):
            found, message = attempt(call)
            assert (found is None) == bool(message)


def test_folds_of_planned_numbers_can_be_made() -> None:
    """Folds in folds in folds, to the last one: no warning and no error of scikit-learn."""
    for fewest in range(2, 9):
        labels = np.array(["rare"] * fewest + ["b"] * 25 + ["a"] * (35 - fewest))
        columns = {**regression(60), "y": texts(labels.tolist())}
        prepared = prepared_of(columns)
        try:
            plan = plan_folds(prepared, Question(folds=10), 10)
        except InputError:
            assert fewest < 4
            continue
        y, X = prepared.y, prepared.X
        for outer, _ in plan.outer.split(X, y):
            for inner, _ in plan.penalty.split(X[outer], y[outer]):
                kept = y[outer][inner]
                for last, _ in plan.criterion.split(kept, kept):
                    assert len(np.unique(kept[last])) == 3


def test_classes_in_a_single_group() -> None:
    columns = {**regression(60), "site": numbers(row // 10 for row in range(60))}
    columns["y"] = texts(["a", "b", *["c"] * 8, *["a", "b"] * 25])
    prepared = prepared_of(columns, groups="site")
    with pytest.raises(InputError, match="There is 1 group with class 'c', too few"):
        plan_folds(prepared, Question(alpha=1.0), None)
