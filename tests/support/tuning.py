"""Settings of the engine for tests, in plain words.

A test that needs small tiles or a certain engine says ``tune(tile_elements=1)`` (the fixture) or
``with tuned(fold_engine="many"):`` (also inside Hypothesis tests and for fixtures of a module).
When a private constant is moved or renamed, change its line in `SETTINGS`. A constant that several
modules import is changed in one of them at a time: a setting affects only what it names.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

# The fixture `tune`.
Tune = Callable[..., None]
# Attributes below `greedyrls` and their values.
Changes = Mapping[str, Any]


def constant(*attributes: str) -> Callable[[Any], Changes]:
    """The attributes get the value of the setting."""
    return lambda value: dict.fromkeys(attributes, value)


def answer(*functions: str) -> Callable[[Any], Changes]:
    """The functions always return the value of the setting."""
    return lambda value: dict.fromkeys(functions, lambda *_, **__: value)


def choice(changes: Mapping[Any, Changes]) -> Callable[[Any], Changes]:
    """The value of the setting is one of a few, each of which stands for some changes."""

    def chosen(value: Any) -> Changes:
        if value not in changes:
            raise ValueError(f"{value!r} is not one of {list(changes)}.")
        return changes[value]

    return chosen


def _no_bound(state: Any, beta: Any, rho: Any) -> Any:
    """Every candidate may move the margin of a row by any amount."""
    return np.full(rho.shape[1], np.inf)


def nothing_chosen(is_nothing: Callable[[Any], bool]) -> Changes:
    """Searches choose 0 features where the path is such, and the number was not given."""
    from greedyrls._select._select import select

    def selected(*arguments: Any, **options: Any) -> Any:
        found = select(*arguments, **options)
        path = found.path
        if path.size_choice.rule == "given" or not is_nothing(path):
            return found
        sentence = "0 features chosen by rule 'min': no features do better than the mean."
        choice = replace(path.size_choice, size=0, sentence=sentence)
        return found._replace(path=replace(path, size_choice=choice))

    users = (
        "_select._entrance",
        "estimators._ranker",
        "assess._procedure",
    )
    return {f"{user}.select": selected for user in users}


_NOT_COMPILED = {
    "_steppers._compiled_folds.native": lambda: None,
    "_criteria._fold_curves.native": lambda: None,
}
_ONE_FACTOR = {
    "_search._plan._MANY_FOLDS": 2,
    "_search._plan._WORTH_IT": 0,
    "_search._plan._SMALL_FOLD": math.inf,
}

SETTINGS: dict[str, Callable[[Any], Changes]] = {
    # Which engine runs ---------------------------------------------------------------------------
    # Folds: one factor for all ("many"), the same with every fold kept as columns ("large") or with
    # compiled steps, a model for each fold ("models"), or the faster one of NumPy's.
    "fold_engine": choice(
        {
            "compiled": _ONE_FACTOR,
            "numpy": _NOT_COMPILED,
            "many": _NOT_COMPILED | _ONE_FACTOR,
            "large": _NOT_COMPILED | _ONE_FACTOR | {"_criteria._fold_inverses.DENSE_ROWS": 0},
            "models": _NOT_COMPILED | {"_search._plan._MANY_FOLDS": math.inf},
        }
    ),
    # Whether steps may be compiled ones, where there are any.
    "compiled_steps": choice(
        {
            False: _NOT_COMPILED
            | {
                "_steppers._compiled_stepper.native": lambda: None,
                "_steppers._compiled_moves.native": lambda: None,
                "_search._setup.native": lambda: None,
                "_criteria._curves.native": lambda: None,
            },
            True: {},
        }
    ),
    # Whether compiled code may compute values of the RBF kernel.
    "compiled_kernel": choice({False: {"_data._kernel_functions.native": lambda: None}, True: {}}),
    # Where a search on a Dask collection runs: on the cluster if that supports all options, else
    # with X in memory ("cluster"); or in this process, with X as a file.
    "dask_engine": choice(
        {
            "cluster": {"_cluster._partitions._SMALL": 0},
            "default": {"_cluster._partitions._SMALL": 1 << 28},
            "file": {
                "_cluster._partitions._SMALL": math.inf,
                "_cluster._partitions.Partitions.fits": False,
            },
        }
    ),
    # Removals by rows up to which all are scored, without bounds.
    "few_removals": constant("_criteria._state._LITTLE"),
    # Bytes that are fetched together from a cluster.
    "fetched_bytes": constant("_cluster._partitions._FETCHED"),
    # Who moves to a smaller set: compiled steps, which remove features from what they have or, in
    # doubt, begin again there; or the general engine, after which they begin again at once.
    "compiled_moves": choice(
        {
            "remove": {"_steppers._compiled_moves._QUICK_START": math.inf},
            "begin": {
                "_steppers._compiled_moves._QUICK_START": math.inf,
                "_steppers._compiled_moves.MovingStepper.remove": lambda *_: None,
            },
            "general": {
                "_steppers._compiled_moves._QUICK_START": 0.0,
                "_steppers._compiled_moves._SAVED": math.inf,
                "_steppers._compiled_moves.MovingStepper.remove": lambda *_: None,
            },
        }
    ),
    # Elements of X from which a single search has threads over rows rather than compiled steps.
    "threads_over_rows": constant("_select._request._WORTH_THREADS"),
    # Whether compiled searches compute the Gram columns that they lack by themselves.
    "compiled_fetches": constant("_steppers._compiled_rows._MAY_FETCH"),
    # Threads that share the columns of a product in compiled code.
    "product_threads": answer("_base._blas._Limit.n_threads"),
    # Elements of X from which compiled searches run in threads.
    "threads_over_searches": constant("_select._request._WORTH_SEARCHES"),
    # Seconds of work from which searches by NumPy run in processes.
    "worth_processes": constant("_select._request._WORTH_PROCESSES"),
    # Memory for searches that are kept between the rounds of outer folds.
    "live_bytes": constant("_select._nested._LIVE_BYTES"),
    # Rebuild the feature space after every step: any drift is too much.
    "rebuild_every_step": choice(
        {
            True: {
                "_criteria._state.DRIFT_BOUND": -1.0,
                "_steppers._recorded.DRIFT_BOUND": -1.0,
            },
            False: {},
        }
    ),
    # Elements of all candidates (m × candidates) up to which each of them is scored.
    "exhaustive_elements": constant("_criteria._leave_one_out.EXHAUSTIVE_ELEMENTS"),
    # Rows from which bounds use how leave-one-out errors spread over rows.
    "spread_rows": constant("_criteria._samples.SampleSpace.spread_rows"),
    # Error of inverses of folds from which they are made again.
    "fold_inverse_drift": constant("_criteria._fold_inverses._INVERSE_DRIFT"),
    # Rounding of fold losses in feature space; where it is large, the rows decide.
    "fold_loss_rounding": constant("_criteria._fold_criterion.LOSS_ROUNDING"),
    # Samples that another loss must classify better before the choice of the loss takes it.
    "loss_choice_samples": constant("_select._select._SAMPLES"),
    # Of which paths the size rule chooses 0 features: a function of the path.
    "nothing_chosen": nothing_chosen,
    # Powers of ten of the penalties of alpha="auto".
    "auto_exponents": constant("_select._alphas._AUTO_EXPONENTS"),
    # Whether losses other than the squared one skip rows that cannot change class.
    "skip_rows": choice({False: {"_criteria._loo_loss.LossState._reach": _no_bound}, True: {}}),
    # Tiles and blocks ----------------------------------------------------------------------------
    # Multiplications from which on a call of BLAS gets threads.
    "long_call": constant("_base._blas.LONG_CALL"),
    # Elements of leave-one-out errors by size that are made at a time.
    "curve_elements": constant("_criteria._curves.QUARTER_TILE_ELEMENTS"),
    # Elements of X that are converted and multiplied at a time.
    "tile_elements": constant("_base.kernels.TILE_ELEMENTS"),
    # The same for the sums at the start.
    "start_tile_elements": constant("_base.kernels.START_ELEMENTS"),
    # Elements of X that are sorted by fold at a time.
    "fold_tile_elements": constant("_data._matrix.SET_ELEMENTS"),
    # Elements of held-out rows at a time.
    "held_out_elements": constant("_rows._fold_blocks.TILE_ELEMENTS"),
    # Held-out columns in one buffer.
    "held_out_buffer_columns": constant("_rows._held_out.BUFFER_COLUMNS"),
    # Elements, and columns at least, that leaving out small folds works on at a time.
    "small_fold_elements": constant("_criteria._fold_inverses.HALF_TILE_ELEMENTS"),
    "small_fold_least_columns": constant("_criteria._fold_inverses._LEAST_COLUMNS"),
    # Elements of predictions at a time where a loss needs all rows of a candidate.
    "loss_group_elements": constant("_criteria._loo_loss.PREDICTION_ELEMENTS"),
    "fold_loss_group_elements": constant("_criteria._fold_criterion.PREDICTION_ELEMENTS"),
    # Elements of X, and rows at least, from which losses of candidates are made at a time.
    "loss_elements": constant("_rows._row_losses.HALF_TILE_ELEMENTS"),
    "loss_least_rows": constant("_rows._row_losses.LEAST_TILE_ROWS"),
    # Elements, and rows at least, in which wrong classes are counted at a time.
    "zero_one_elements": constant("_rows._zero_one.HALF_TILE_ELEMENTS"),
    "zero_one_least_rows": constant("_rows._zero_one.LEAST_TILE_ROWS"),
    # Elements of X up to which compiled steps keep z of all candidates, and bytes of a packed copy.
    "compiled_kept_elements": constant("_steppers._compiled_rows.KEPT_ELEMENTS"),
    "compiled_packed_bytes": constant("_steppers._compiled_rows._PACKED_BYTES"),
    # Bytes of Gram columns that are kept, and the fewest columns.
    "compiled_gram_bytes": constant("_steppers._compiled_rows._GRAM_BYTES"),
    "compiled_least_kept": constant("_steppers._compiled_rows._LEAST_KEPT"),
    # Bytes that a compiled search may take for more features than at first.
    "compiled_room_bytes": constant("_steppers._compiled_search.ROOM_BYTES"),
    # Steps that compiled code takes at a time at most.
    "compiled_steps_ahead": constant("_steppers._compiled_search.CompiledSearch._most_ahead"),
    # Features that a compiled search has room for at first.
    "compiled_first_room": constant(
        "_steppers._compiled_search.FIRST_ROOM",
        "_steppers._compiled_folds.FIRST_ROOM",
    ),
    # Values of a sparse X that are looked at together.
    "sparse_values": constant("_data._sparse._VALUES"),
    # Elements in a chunk of a kernel matrix.
    "kernel_chunk_elements": constant("_data._kernel_matrix._CHUNK_ELEMENTS"),
    # The share of the memory limit up to which a kernel matrix is stored.
    "kernel_stored_share": constant("_data._kernel_matrix._STORED_SHARE"),
    # Values of the kernel that a prediction computes at a time.
    "kernel_prediction_elements": constant("estimators._kernel_base._PREDICTED_ELEMENTS"),
    # What is kept -------------------------------------------------------------------------------
    # Memory for kept columns: in bytes however small X is, and as a share of X for chosen ones.
    "spare_bytes": constant("_criteria._samples.SPARE_BYTES"),
    "chosen_share": constant("_rows._columns.CHOSEN_SHARE"),
    # The same for held-out columns of chosen features.
    "held_out_kept_bytes": constant("_criteria._fold_state._KEPT_BYTES"),
    "held_out_kept_share": constant("_criteria._fold_state.CHOSEN_SHARE"),
    # Columns of a kernel matrix that are kept after they were scored.
    "kernel_recent_columns": constant("_data._kernel_matrix._RECENT_COLUMNS"),
    # Memory -------------------------------------------------------------------------------------
    # Memory of the machine.
    "physical_bytes": answer(
        "_criteria._fold_state.physical_bytes", "_criteria._backward.physical_bytes"
    ),
    # Memory that X in a file may use by default.
    "file_memory_limit": answer(
        "_data._files.default_limit", "_data._limited.default_limit", "app.read.default_limit"
    ),
    # Features of which a backward search holds W, if X is not in memory.
    "held_features": answer("_criteria._backward_passes._capacity"),
    # Bytes of a chunk of a file, at least and at most.
    "smallest_file_chunk": constant("_data._file_memory._SMALLEST_CHUNK"),
    "largest_file_chunk": constant("_data._file_memory._LARGEST_CHUNK"),
    # Devices ------------------------------------------------------------------------------------
    # Free memory of the device.
    "device_free_bytes": answer(
        "_data._devices.free_bytes",
        "_data._device_products.free_bytes",
        "_criteria._fold_steps.free_bytes",
    ),
    # Bytes of X that are copied to it at a time.
    "device_copied_bytes": constant("_data._devices._COPIED_BYTES"),
    # Share of it that X may take; if X is larger, it is streamed.
    "device_resident_share": constant("_data._devices.RESIDENT_SHARE"),
    # Share of it for columns of candidates of a streamed X.
    "stream_column_share": constant("_data._stream._COLUMN_SHARE"),
    # How much longer gathering a cache line on the host takes than sending it.
    "stream_gather_cost": constant("_data._stream._GATHERED_LINE"),
    # Features from which vectors of features are on the device.
    "device_features": constant("_criteria._device_rows.DEVICE_FEATURES"),
    # Whether tensors of the host count as such.
    "in_host_memory": answer("_data._device_matrix.is_in_host_memory"),
    # Bytes of X up to which options that a device's engine does not have copy X to the host.
    "copied_from_device": constant("_data._device_products._SMALL_BYTES"),
    # Whether whole steps may be recorded on a device.
    "recorded_steps": answer("_criteria._device_rows.can_find_lowest"),
    # Elements of X from which they are, and steps launched at a time.
    "recorded_step_elements": constant("_rows._rounds._RECORDED_STEP_ELEMENTS"),
    "launched_steps": constant("_steppers._queue._MOST_STEPS"),
    # What records rounds of scores, updates of features with whole steps, and steps of folds: a
    # class, or None.
    "round_recorder": answer("_rows._rounds.recorder_of"),
    "step_recorder": answer("_rows._fused_features.recorder_of", "_steppers._recorded.recorder_of"),
    "fold_step_recorder": answer("_criteria._fold_steps.recorder_of"),
    "fold_queue_recorder": answer("_steppers._recorded_folds.recorder_of"),
    # Whether Triton kernels update vectors of features.
    "feature_kernels": choice(
        {False: {"_features._device_features.DeviceFeatures.fused": None}, True: {}}
    ),
    # Whether Triton kernels run on tensors of the processor, in the interpreter; X is read without.
    "kernels_on_processor": choice(
        {
            True: {
                "_data.fused.runs_at": lambda place: place.xp is not np,
                "_data._device_matrix.DeviceMatrix._is_fused": False,
            },
            False: {},
        }
    ),
    # Whether Triton kernels take steps of folds, and make sums over folds.
    "fold_step_kernels": answer("_criteria._fold_steps.can_fuse"),
    "fold_sum_kernels": answer("_rows._fold_sums.can_fuse"),
    # Elements of vectors that the kernel for sums over folds makes at a time.
    "fold_sum_elements": constant("_rows._fused_sets.DEVICE_ELEMENTS"),
    # Reading tables and files -------------------------------------------------------------------
    # Cells from which the types of the columns of a CSV file are guessed.
    "csv_sample_cells": constant("app.read._header._SAMPLE_CELLS"),
    # Bytes at least, and rows, of a block of a CSV file.
    "csv_smallest_block": constant("app.read._csv._SMALLEST_BLOCK"),
    "csv_block_rows": constant("app.read._csv._BLOCK_ROWS"),
    # Bytes of text parsed, and values written, at a time while svmlight files are converted.
    "svmlight_text_bytes": constant("_data._svmlight._TEXT"),
    "svmlight_values": constant("_data._svmlight._VALUES"),
    # What is shown ------------------------------------------------------------------------------
    # Seconds before a progress bar is shown.
    "progress_delay_seconds": constant("_base._progress._DELAY_SECONDS"),
    # Sizes at most at which profiles of coefficients are drawn.
    "drawn_sizes": constant("plots._coefficients._MOST_SIZES"),
}


def change(patch: pytest.MonkeyPatch, **settings: Any) -> None:
    """Change settings until `patch` undoes it."""
    unknown = sorted(settings.keys() - SETTINGS.keys())
    if unknown:
        raise TypeError(f"There is no setting {unknown}; the settings are {sorted(SETTINGS)}.")
    for name, value in settings.items():
        for attribute, changed in SETTINGS[name](value).items():
            patch.setattr(f"greedyrls.{attribute}", changed)


@contextmanager
def tuned(**settings: Any) -> Iterator[None]:
    """Settings that hold inside a ``with`` statement."""
    with pytest.MonkeyPatch.context() as patch:
        change(patch, **settings)
        yield
