"""The private names that tests use: when a module moves, change it here.

Tests of one private module may import it whole; constants to change are in tuning.py, methods to
interrupt or watch in traps.py.
"""

# ruff: noqa: F401

from __future__ import annotations

from contextlib import suppress

from greedyrls._base import _tolerances as tolerances
from greedyrls._base import kernels as kernels
from greedyrls._base._codec import ArrayOf, Codec, Document, Key, Number, Whole
from greedyrls._base._columns import ColumnCache, SelectedColumns
from greedyrls._base._executors import CopiedLock, Part, SerialExecutor, in_parts
from greedyrls._base._namespaces import (
    HOST,
    ArrayLocation,
    Float,
    Layout,
    Transfers,
    location_of,
    numpy_of,
)
from greedyrls._base._native import native
from greedyrls._base._progress import TimeLeft, jobs_bar
from greedyrls._base._sigmoid import Sigmoid, fit_sigmoid
from greedyrls._base._warnings import GreedyRLSWarning, NumericalWarning
from greedyrls._base.numbers import (
    agree,
    column,
    count,
    counted,
    interval,
    number,
    padded,
    percent,
    plural,
    score,
    scores,
)
from greedyrls._base.numbers import with_error as value_with_error
from greedyrls._cluster._cluster_folds import ClusterFolds
from greedyrls._criteria import _held_out_errors as held_out_errors
from greedyrls._criteria._backward import BackwardState
from greedyrls._criteria._bounds import (
    bound_slack,
    bound_terms,
    leverage_growth,
    lower_bounds,
    support_bounds,
)
from greedyrls._criteria._choice import Judge, tie_tolerances
from greedyrls._criteria._curves import LooCurve
from greedyrls._criteria._fold_curves import FoldCurve
from greedyrls._criteria._fold_inverses import DENSE_ROWS, FoldInverses, _SmallFolds
from greedyrls._criteria._fold_state import FoldData, FoldState
from greedyrls._criteria._group_bounds import group_bounds, group_openness, pairs_of, score_groups
from greedyrls._criteria._held_out_losses import held_out_components
from greedyrls._criteria._leave_one_out import LeaveOneOut
from greedyrls._criteria._loo_data import LooData
from greedyrls._criteria._loo_loss import LossState
from greedyrls._criteria._many_folds import ManyFoldData, ManyFoldState
from greedyrls._criteria._removals import choose_removal
from greedyrls._criteria._samples import SampleSpace
from greedyrls._criteria._state import DRIFT_BOUND, MARGIN, SelectionState
from greedyrls._data import fused as fused
from greedyrls._data._centred import CentredMatrix
from greedyrls._data._centred_sparse import CentredSparse
from greedyrls._data._column_major import ColumnFileMatrix
from greedyrls._data._dense import DenseMatrix
from greedyrls._data._device_matrix import DeviceMatrix
from greedyrls._data._device_products import DeviceProducts, host_matrix
from greedyrls._data._file_columns import ColumnFile
from greedyrls._data._file_memory import check_limit
from greedyrls._data._files import FileMatrix
from greedyrls._data._kernel_functions import Kernel, make_kernel
from greedyrls._data._kernel_matrix import ComputedKernelMatrix, KernelMatrix, StoredKernelMatrix
from greedyrls._data._matrix import Matrix
from greedyrls._data._points import MatrixPoints
from greedyrls._data._recognise import opened as opened
from greedyrls._data._sparse import SparseMatrix
from greedyrls._data._views import RowsOf
from greedyrls._features import _penalties as penalties
from greedyrls._features._feature_space import FeatureSpace
from greedyrls._features._gram import GramColumns
from greedyrls._features._recurrences import Recurrences
from greedyrls._features._spread import follow_spread
from greedyrls._notebook._html import _in_line
from greedyrls._notebook._pictures import BLUE, ORANGE, Line, bar, key, line_picture
from greedyrls._problem._classes import code_classes, make_targets
from greedyrls._problem._folds import Folds, make_folds
from greedyrls._problem._group_layout import inverse_roots
from greedyrls._problem._grouping import grouping_of
from greedyrls._problem._losses import UNDECIDED, make_loss
from greedyrls._problem._pairs import make_pairs
from greedyrls._problem._problem import Problem, make_problem
from greedyrls._problem._row_order import RowOrder, Split, numbers_on_device
from greedyrls._problem._shuffle import Shuffle, make_shuffle
from greedyrls._problem._time_order import TimeOrderedSplit
from greedyrls._rows import _columns as columns
from greedyrls._rows._blocks import RowBlock
from greedyrls._rows._fold_blocks import FoldBlock
from greedyrls._rows._fold_sums import fold_products, fold_set_sums
from greedyrls._rows._fused_round import FusedRound, RoundTerms
from greedyrls._rows._fused_step import FusedStep
from greedyrls._rows._rounds import _state_of, find_plainly
from greedyrls._rows._scores import candidate_residuals
from greedyrls._search import _checkpoint as checkpoint
from greedyrls._search._capabilities import FEATURES, KINDS, check_supported
from greedyrls._search._plan import Plan, make_plan
from greedyrls._search._run import Limits, Setup, Watch
from greedyrls._search._searches import search_path, search_paths
from greedyrls._search._searching import forward, replay_together
from greedyrls._select._alphas import auto_grid, penalty_scale, refit_grid
from greedyrls._select._options import Options
from greedyrls._select._outer_fold import chosen_of
from greedyrls._select._versions import OPTIONAL, REQUIRED
from greedyrls._steppers import _compiled_rows as compiled_rows
from greedyrls._steppers import _compiled_stepper as compiled_stepper
from greedyrls._steppers._recorded import RecordedStepper
from greedyrls._steppers._stepper import Stepping, Stop, stepping_for
from greedyrls.app._analysis import (
    assess,
    choose,
    choose_model,
    feature_names,
    model_curve,
    own_rates,
    permute,
    provisional,
    resample,
)
from greedyrls.app._data_summary import ColumnSummary, DataSummary, Feature, Origin
from greedyrls.app._dates import (
    MONTHS,
    WEEKDAYS,
    DatePart,
    DateProblem,
    dates_of_values,
    read_dates,
)
from greedyrls.app._fold_plan import plan_folds
from greedyrls.app._leaks import find_leaks
from greedyrls.app._linear_model import InputColumn, Term
from greedyrls.app._own_fit import coefficient_errors, own_predictions
from greedyrls.app._preparation import Prepared, Roles, prepare
from greedyrls.app._question import Question
from greedyrls.app._selection_result import order_of
from greedyrls.app._table import (
    Column,
    Dates,
    InputError,
    Numbers,
    Table,
    Texts,
    Unusable,
    make_texts,
)
from greedyrls.app.read import FORMATS, read_table
from greedyrls.app.read._arrow import column_of
from greedyrls.app.read._names import tidy
from greedyrls.app.read._styles import Style, take_apart
from greedyrls.assess import cautions as cautions
from greedyrls.assess._assessment import Curve
from greedyrls.assess._coefficient_errors import jackknife_errors
from greedyrls.assess._draws import draw_order, draw_rows
from greedyrls.assess._predictions import part_of_classes, united
from greedyrls.assess._procedure import make_procedure
from greedyrls.assess._random_sets import random_orders
from greedyrls.path._intervals import corrected, rate_interval
from greedyrls.path._measures import Reading, explained, reading_of
from greedyrls.path._sets import BestLosses, best_sets
from greedyrls.path._size import choose_size, fold_covariance
from greedyrls.path._steps import Action, FeatureSet, Moments, Settings
from greedyrls.path._surface import best_pair, chosen_pair, difference_errors
from greedyrls.plots import _coefficients as draw_coefficients
from greedyrls.plots import _parts as draw_parts
from greedyrls.report import _page as page_builder
from greedyrls.report import _tables as tables
from greedyrls.report._contents import make_contents
from greedyrls.report._frames import NARROW, WIDE
from greedyrls.report._names import Names
from greedyrls.report._panels import make_panels
from greedyrls.report._path_chart import draw_panel
from greedyrls.report._scores import best_known_score, source_in_words
from greedyrls.report._words import with_error

with suppress(ImportError):  # click is not installed
    from greedyrls.cli._options import FORMATS as OPTION_FORMATS
    from greedyrls.cli._run import run

# The modules of the engine that an interrupt may hit at any line.
ENGINE_MODULES = {kernels.__name__, columns.__name__} | {
    part.__module__
    for part in (
        *(SampleSpace, FeatureSpace, Recurrences, GramColumns),
        *(SelectionState, LeaveOneOut, forward),
    )
}
