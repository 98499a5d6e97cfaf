from ._compiled_folds import gains_by_compiled_folds as gains_by_compiled_folds
from ._compiled_moves import Removed as Removed
from ._compiled_moves import moves_for as moves_for
from ._compiled_rows import can_compile as can_compile
from ._stepper import stepping_for as stepping_for
