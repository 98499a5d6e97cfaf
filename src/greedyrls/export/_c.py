"""Export a model as a self-contained C file."""

from __future__ import annotations

from ..app import InputColumn, Label, LinearModel, Term
from ._parts import Exportable, check_name, checked, date_words, encoded, identifiers, shown

# C99 guarantees no more characters in a string.
_LONGEST = 4095

_HEAD = """\
/*
 * Predicts {target} from {count}. Written by {made_by}.
 *
 * C99 or C++11 with <math.h> and <string.h>: no memory allocation, no state between calls.
 * Include this file in one source file; for the declarations only, define {name}_DECLARATIONS
 * before. Do not compile with -ffast-math, which does not support missing values (NAN).
{dates} */
#ifndef {name}_DECLARED
#define {name}_DECLARED

#ifdef __cplusplus
extern "C" {{
#endif

/* Inputs of the model; true and false are 1 and 0. */
typedef struct {name}_input {{
{members}
}} {name}_input;

enum {{ {name}_OUTPUTS = {outputs} }};

{declarations}

#ifdef __cplusplus
}}
#endif

#endif

#ifndef {name}_DECLARATIONS

#include <math.h>
#include <string.h>
"""

_FILLED = """\
/* The number, or the fill value if it is missing. */
static double {name}_filled(double value, double fill)
{{
    return isnan(value) ? fill : value;
}}
"""

_IS = """\
/* 1 for this text, 0 for others, NAN if the text is missing and has no fill value. */
static double {name}_is(const char *text, const char *fill, const char *level)
{{
    const char *filled = text == NULL ? fill : text;
    if (filled == NULL) {{
        return NAN;
    }}
    return strcmp(filled, level) == 0 ? 1.0 : 0.0;
}}
"""

_ONE_OUTPUT = """\
double {name}(const {name}_input *input)
{{
    double scores[1];
    {name}_scores(input, scores);
    return scores[0];
}}
"""

_OUTPUTS = """\
void {name}(const {name}_input *input, double predictions[{outputs}])
{{
    {name}_scores(input, predictions);
}}
"""

_TWO_CLASSES = """\
int {name}_class(const {name}_input *input)
{{
    double scores[1];
    {name}_scores(input, scores);
    if (!isfinite(scores[0])) {{
        return -1;
    }}
    return scores[0] > 0.0 ? 1 : 0;
}}
"""

_CLASSES = """\
int {name}_class(const {name}_input *input)
{{
    double scores[{outputs}];
    int best = 0;
    int output;
    {name}_scores(input, scores);
    for (output = 0; output < {outputs}; ++output) {{
        if (!isfinite(scores[output])) {{
            return -1;
        }}
        if (scores[output] > scores[best]) {{
            best = output;
        }}
    }}
    return best;
}}
"""

_LABELS = """\
static const char *const {name}_labels[{count}] = {{
{labels}
}};
"""

_LABEL = """\
const char *{name}(const {name}_input *input)
{{
    const int number = {name}_class(input);
    return number < 0 ? NULL : {name}_labels[number];
}}
"""


def to_c(model: Exportable, *, name: str = "predict") -> str:
    """Export a model as a self-contained C file for C99 and C++11, without memory allocation.

    The file defines a structure ``NAME_input`` with a member for each column that the model uses,
    ``NAME_scores`` for the outputs of the model, and ``NAME`` for the prediction: a number, an
    array of numbers, or the text of a label. For classes there is ``NAME_class``, the index of the
    label in ``NAME_labels``, or −1 if a missing value leaves it undecided.

    Parameters
    ----------
    model : LinearModel, or fitted estimator or pipeline
        As in `export_model`.
    name : str, default="predict"
        Prefix of the names in the file.

    Returns
    -------
    str
        ASCII.

    Notes
    -----
    A missing number is ``NAN``, a missing text ``NULL``. If the model has no fill value for it, the
    scores are NaN. The terms are added in the same order as by `LinearModel.predict`, so that both
    give the same bits if the compiler follows IEEE arithmetic.

    Examples
    --------
    >>> from greedyrls import LinearModel, greedy_path
    >>> from greedyrls.export import to_c
    >>> path = greedy_path([[1.0, 3.0], [2.0, 5.0], [4.0, 4.0]], [1.0, 2.0, 4.0], 1, alpha=1.0)
    >>> code = to_c(LinearModel.from_path(path, target="height"), name="estimate")
    >>> [line for line in code.splitlines() if "double x0" in line or line.startswith("double")]
    ['    double x0; /* "x0" */', 'double estimate(const estimate_input *input);',
     'double estimate(const estimate_input *input)']
    """
    name, model = check_name(name), checked(model)
    members = identifiers([column.name for column in model.columns])
    return "\n".join(
        (
            _head(model, name, members),
            *_helpers(model, name),
            _scores(model, name, members),
            *_prediction(model, name),
            "#endif\n",
        )
    )


def _head(model: LinearModel, name: str, members: list[str]) -> str:
    lines = [
        f"    {_member(column, member)}"
        for column, member in zip(model.columns, members, strict=True)
    ]
    outputs = len(model.intercepts)
    columns = len(model.columns)
    return _HEAD.format(
        name=name,
        target=shown(model.target),
        count=f"{columns} column{'' if columns == 1 else 's'}",
        made_by=shown(model.made_by),
        dates="".join(f" * {line}\n" for line in date_words(model)),
        # A C structure must have a member.
        members="\n".join(lines) or "    char nothing;",
        outputs=outputs,
        declarations=_declarations(model, name),
    )


def _declarations(model: LinearModel, name: str) -> str:
    outputs = len(model.intercepts)
    parameter = f"const {name}_input *input"
    scores = f"void {name}_scores({parameter}, double scores[{outputs}]);"
    if model.classes is not None:
        return (
            f"/* Outputs of the model: {_meaning(model)}. */\n{scores}\n"
            "/* The index of the label; -1 if a value is missing. */\n"
            f"int {name}_class({parameter});\n"
            "/* The label; NULL if a value is missing. */\n"
            f"const char *{name}({parameter});"
        )
    prediction = (
        f"double {name}({parameter});"
        if outputs == 1
        else f"void {name}({parameter}, double predictions[{outputs}]);"
    )
    return f"/* NAN if a value is missing. */\n{scores}\n{prediction}"


def _meaning(model: LinearModel) -> str:
    if len(model.intercepts) == 1:
        return "above 0 for the second label"
    return "the largest is that of the label"


def _member(column: InputColumn, member: str) -> str:
    if column.levels is None:
        fill = "" if column.fill is None else f"; NAN counts as {column.fill!r}"
        return f"double {member}; /* {shown(column.name)}{fill} */"
    fill = "" if column.fill is None else f"; NULL counts as {shown(str(column.fill))}"
    return f"const char *{member}; /* {shown(column.name)}, UTF-8{fill} */"


def _helpers(model: LinearModel, name: str) -> list[str]:
    """Return the helper functions that are used; compilers warn about unused ones."""
    helpers = []
    if any(column.levels is None and column.fill is not None for column in model.columns):
        helpers.append(_FILLED.format(name=name))
    if any(column.levels is not None for column in model.columns):
        helpers.append(_IS.format(name=name))
    return helpers


def _scores(model: LinearModel, name: str, members: list[str]) -> str:
    member_of = {
        column.name: (column, member) for column, member in zip(model.columns, members, strict=True)
    }
    outputs = len(model.intercepts)
    lines = [
        f"void {name}_scores(const {name}_input *input, double scores[{outputs}])",
        "{",
        *(["    double value;"] if outputs > 1 and model.terms else []),
        *([] if model.terms else ["    (void)input;"]),
        *(f"    scores[{output}] = {value!r};" for output, value in enumerate(model.intercepts)),
    ]
    for term in model.terms:
        value = _value(term, *member_of[term.column], name)
        if outputs == 1:
            lines.append(f"    scores[0] += {term.coefficients[0]!r} * {value};")
        else:
            lines.append(f"    value = {value};")
            lines += [
                f"    scores[{output}] += {coefficient!r} * value;"
                for output, coefficient in enumerate(term.coefficients)
            ]
    return "\n".join((*lines, "}", ""))


def _value(term: Term, column: InputColumn, member: str, name: str) -> str:
    """Return the value that the term multiplies."""
    if term.level is None:
        if column.fill is None:
            return f"input->{member}"
        return f"{name}_filled(input->{member}, {column.fill!r})"
    fill = "NULL" if column.fill is None else _string(str(column.fill), "The fill")
    return f"{name}_is(input->{member}, {fill}, {_string(term.level, 'The text')})"


def _string(text: str, role: str) -> str:
    """Return a literal: printable ASCII unchanged, other bytes in octal, no trigraphs."""
    data = encoded(text, role, "a C string")
    if len(data) > _LONGEST:
        raise ValueError(f"{role} {text[:40]!r}… has {len(data)} bytes; C99 holds {_LONGEST}.")
    plain = set(range(32, 127)) - set(b'"\\?')
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in data) + '"'


def _prediction(model: LinearModel, name: str) -> list[str]:
    outputs = len(model.intercepts)
    if model.classes is None:
        template = _ONE_OUTPUT if outputs == 1 else _OUTPUTS
        return [template.format(name=name, outputs=outputs)]
    labels = ",\n".join(f"    {_string(_label(label), 'The class')}" for label in model.classes)
    return [
        _LABELS.format(name=name, count=len(model.classes), labels=labels),
        (_TWO_CLASSES if outputs == 1 else _CLASSES).format(name=name, outputs=outputs),
        _LABEL.format(name=name),
    ]


def _label(label: Label) -> str:
    if isinstance(label, str):
        return label
    return str(label).lower() if isinstance(label, bool) else repr(label)
