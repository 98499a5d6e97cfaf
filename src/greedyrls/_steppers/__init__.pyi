from ._compiled_folds import gains_by_compiled_folds as gains_by_compiled_folds
from ._compiled_moves import moves_for as moves_for
from ._compiled_rows import LOSSES as LOSSES
from ._compiled_rows import can_compile as can_compile
from ._compiled_tests import CompiledTests as CompiledTests
from ._compiled_tests import best_positions as best_positions
from ._stepper import Stepping as Stepping
from ._stepper import stepping_for as stepping_for
