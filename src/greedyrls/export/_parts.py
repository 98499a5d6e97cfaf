"""Common parts of the exports: a checked model, names, and escaped text."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from dataclasses import replace
from typing import Any, Protocol

from ..app import LinearModel

# Keywords of C or C++, and macros that common headers define.
_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
    fortran far near huge interface small pascal cdecl
    EDOM EILSEQ EOF ERANGE FP_ILOGB0 FP_ILOGBNAN FP_INFINITE FP_NAN FP_NORMAL FP_SUBNORMAL FP_ZERO
    HUGE HUGE_VAL HUGE_VALF HUGE_VALL I INFINITY MATH_ERREXCEPT MATH_ERRNO NAN NULL DOMAIN OVERFLOW
    UNDERFLOW PLOSS SING TLOSS assert complex errno i386 imaginary linux math_errhandling stderr
    stdin stdout unix DEC HEX OCT BIN INPUT OUTPUT HIGH LOW PI TRUE FALSE
"""
RESERVED = frozenset(_WORDS.split())
# Further names that a function must not have: those that the headers of the C file declare.
_FUNCTIONS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs
    fdim floor fma fmax fmin fmod fpclassify frexp gamma hypot ilogb isfinite isgreater
    isgreaterequal isinf isless islessequal islessgreater isnan isnormal isunordered j0 j1 jn ldexp
    lgamma llrint llround log log10 log1p log2 logb lrint lround main memchr memcmp memcpy memmove
    memset modf nan nearbyint nextafter nexttoward pow remainder remquo rint round scalb scalbln
    scalbn signbit significand sin sinh sqrt strcat strchr strcmp strcoll strcpy strcspn strdup
    strerror strlen strncat strncmp strncpy strpbrk strrchr strspn strstr strtok strxfrm tan tanh
    tgamma trunc y0 y1 yn bcmp bcopy bzero drem exp10 ffs finite index mempcpy pow10 rindex sincos
    strsep strcasecmp strncasecmp stpcpy basename memccpy memmem strnlen strsignal strlcpy strlcat
"""
# Names in the exported Python module.
_MODULE = "Any CLASSES FILLS INTERCEPTS List Mapping TARGET TERMS math scores"
_LONGEST = 63


class Estimator(Protocol):
    """A fitted estimator of greedyrls, or a pipeline that ends with one."""

    def get_params(self, deep: bool = True) -> Any:
        """Return the parameters, as in scikit-learn."""


# Objects that can be exported.
Exportable = LinearModel | Estimator


def checked(model: object) -> LinearModel:
    """Return the model in consistent plain values, with only the columns that terms use."""
    if hasattr(model, "get_params") and not isinstance(model, type):
        model = LinearModel.from_estimator(model)
    if not isinstance(model, LinearModel):
        raise TypeError(
            "Only a LinearModel, or a fitted estimator or pipeline of greedyrls, can be exported, "
            f"got {type(model).__name__}; use LinearModel.from_path for a path."
        )
    # A model made by hand may hold anything; a JSON round trip makes it plain and valid.
    plain = LinearModel.from_json(model.to_json())
    used = {term.column for term in plain.terms}
    return replace(plain, columns=tuple(column for column in plain.columns if column.name in used))


def check_name(name: Any) -> str:
    """Return a name that is valid for a function in C, C++ and Python, or raise an error."""
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}.")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) or len(name) > _LONGEST:
        raise ValueError(
            f"name must be letters, digits and underscores, a letter first, at most {_LONGEST}; "
            f"got {name[:80]!r}."
        )
    taken = keyword.iskeyword(name) or hasattr(builtins, name) or name in _MODULE.split()
    if taken or name in RESERVED or name in _FUNCTIONS.split():
        raise ValueError(f"name {name!r} is reserved in C or Python; choose another.")
    return name


def identifiers(names: list[str]) -> list[str]:
    """Return unique names of members of a C structure, similar to the given ones."""
    unique: list[str] = []
    taken = set(RESERVED)
    for name in names:
        # Names that begin with an underscore may be reserved for the compiler.
        base = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:40].rstrip("_") or "column"
        if base[0].isdigit():
            base = f"x{base}"
        new, number = base, 1
        while new in taken:
            number += 1
            new = f"{base}_{number}"
        taken.add(new)
        unique.append(new)
    return unique


def shown(text: str) -> str:
    """Return a quoted text for a comment in any language: one line of ASCII."""
    # JSON has an escape for every character. In addition, C comments must not contain "*/" or
    # "/*", nor trigraphs, since "??/" is a backslash.
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)", r"\\", json.dumps(text))


def date_words(model: LinearModel) -> list[str]:
    """Return a line for each input that is part of a date, for a comment."""
    return [
        f"{shown(column.name)} is of the date {shown(column.date.column)}: {column.date.words}."
        for column in model.columns
        if column.date is not None
    ]


def encoded(text: str, role: str, language: str) -> bytes:
    """Return a text in UTF-8, for a language whose texts end at a null character."""
    if "\0" in text:
        raise ValueError(
            f"{role} {text[:40]!r} has a null character, which {language} cannot represent; rename "
            "it."
        )
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"{role} {text[:40]!a} is not valid Unicode (half of a surrogate pair), which "
            f"{language} cannot represent; rename it."
        ) from None


def check_whole_labels(model: LinearModel, language: str) -> None:
    """Raise an error if a label does not fit into 64 bits."""
    for label in model.classes or ():
        if isinstance(label, int) and not -(2**63) <= label < 2**63:
            raise ValueError(f"The class {label} does not fit into the 64 bits of {language}.")
