"""The private names that tests use: when a module moves, change it here.

Tests of one private module may import it whole; constants to change are in tuning.py, methods to
interrupt or watch in traps.py.
"""

# ruff: noqa: F401

from __future__ import annotations

from contextlib import suppress

from greedyrls import _cautions as cautions
from greedyrls import _checkpoint as checkpoint
from greedyrls import _columns as columns
from greedyrls import _draw_coefficients as draw_coefficients
from greedyrls import _draw_parts as draw_parts
from greedyrls import _fused as fused
from greedyrls import _held_out_errors as held_out_errors
from greedyrls import _kernels as kernels
from greedyrls._alphas import auto_grid, penalty_scale, refit_grid
from greedyrls._analysis import (
    Question,
    assess,
    choose,
    choose_model,
    feature_names,
    model_curve,
    own_rates,
    permute,
    plan_folds,
    provisional,
    resample,
)
from greedyrls._assessment import Curve
from greedyrls._backward import BackwardState
from greedyrls._blocks import RowBlock
from greedyrls._choice import tie_tolerances
from greedyrls._cluster_folds import ClusterFolds
from greedyrls._coefficient_errors import jackknife_errors
from greedyrls._crew import Alone
from greedyrls._criterion import (
    LeaveOneOut,
    bound_terms,
    leverage_growth,
    lower_bounds,
    support_bounds,
)
from greedyrls._curves import LooCurve
from greedyrls._data_summary import ColumnSummary, DataSummary, Feature, Origin
from greedyrls._dates import (
    MONTHS,
    WEEKDAYS,
    DatePart,
    DateProblem,
    dates_of_values,
    read_dates,
)
from greedyrls._device import DeviceMatrix
from greedyrls._draws import draw_order, draw_rows
from greedyrls._features import FeatureSpace
from greedyrls._file_columns import KeptColumns
from greedyrls._file_memory import check_limit
from greedyrls._flight import Taken
from greedyrls._fold_blocks import FoldBlock
from greedyrls._fold_inverses import DENSE_ROWS, FoldInverses, _SmallFolds
from greedyrls._fold_state import FoldData, FoldState
from greedyrls._folds import Folds, make_folds
from greedyrls._fused_round import FusedRound, FusedState, FusedTerms
from greedyrls._fused_step import FusedStep
from greedyrls._gram import GramColumns
from greedyrls._group_choice import Judge
from greedyrls._group_criterion import lower_bounds as group_lower_bounds
from greedyrls._group_criterion import openness, score_groups, space_of
from greedyrls._group_folds import GroupFoldSpace
from greedyrls._group_layout import inverse_roots
from greedyrls._grouping import grouping_of
from greedyrls._held_out_losses import held_out_losses
from greedyrls._html import _in_line
from greedyrls._kernel_functions import Kernel, make_kernel
from greedyrls._kernel_matrix import KernelMatrix
from greedyrls._labels import code_classes, make_targets
from greedyrls._lanes import LooLanes
from greedyrls._leaks import find_leaks
from greedyrls._leftovers import Leftovers
from greedyrls._linear_model import InputColumn, Term
from greedyrls._loo_data import LooData
from greedyrls._loo_loss import LossState
from greedyrls._losses import UNDECIDED, make_loss
from greedyrls._many_folds import ManyFoldData, ManyFoldState
from greedyrls._measures import Reading, explained, reading_of
from greedyrls._namespace import Float, Place, Transfers, numpy_of, place_of
from greedyrls._numbers import (
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
from greedyrls._numbers import with_error as value_with_error
from greedyrls._outer_fold import chosen_of
from greedyrls._own_fit import coefficient_errors, own_predictions
from greedyrls._own_warnings import GreedyRLSWarning, NumericalWarning
from greedyrls._plan import Plan, make_plan
from greedyrls._predictions import part_of_classes, united
from greedyrls._preparation import Prepared, Roles, prepare
from greedyrls._problem import Problem, make_problem
from greedyrls._procedure import Options, make_procedure
from greedyrls._random_sets import random_orders
from greedyrls._read import FORMATS, read_table
from greedyrls._read._arrow import column_of
from greedyrls._read._names import tidy
from greedyrls._read._styles import Style, take_apart
from greedyrls._removals import choose_removal
from greedyrls._rounds import _state_of, _Terms, find_plainly
from greedyrls._row_order import RowOrder, Split, numbers_on_device
from greedyrls._run import Limits, Watch, search_path
from greedyrls._samples import SampleSpace
from greedyrls._search import forward, replay
from greedyrls._searches import search_paths
from greedyrls._selection_result import order_of
from greedyrls._sets import BestLosses, best_sets
from greedyrls._shared_gram import TrainingColumns, share_columns
from greedyrls._shuffle import Shuffle, make_shuffle
from greedyrls._sigmoid import Sigmoid, fit_sigmoid
from greedyrls._size import choose_size, fold_covariance
from greedyrls._sparse import SparseMatrix
from greedyrls._state import DRIFT_BOUND, SelectionState
from greedyrls._steps import Action, FeatureSet, Moments, Settings
from greedyrls._surface import best_pair, chosen_pair, difference_errors
from greedyrls._svg import BLUE, ORANGE, Line, bar, key, line_picture
from greedyrls._table import Column, Dates, InputError, Numbers, Table, Texts, Unusable, make_texts
from greedyrls._tiles import loo_margins
from greedyrls._time_order import TimeOrderedSplit
from greedyrls.report import _page as page_builder
from greedyrls.report import _tables as tables
from greedyrls.report._contents import make_contents
from greedyrls.report._names import Names
from greedyrls.report._panels import make_panels
from greedyrls.report._path_chart import NARROW, WIDE, draw_panel
from greedyrls.report._scores import best_known_score, source_in_words
from greedyrls.report._words import with_error

with suppress(ImportError):  # click is not installed
    from greedyrls.cli._options import FORMATS as OPTION_FORMATS
    from greedyrls.cli._run import run

# The modules of the engine that an interrupt may hit at any line.
ENGINE_MODULES = {kernels.__name__, columns.__name__} | {
    part.__module__
    for part in (SampleSpace, FeatureSpace, GramColumns, SelectionState, LeaveOneOut, forward)
}
