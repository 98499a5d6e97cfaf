from ._compiled_rows import can_compile as can_compile
from ._native import native as native
from ._stepper import stepping_for as stepping_for
