"""The functions of c/module.c. Rows and searches are capsules."""

from typing import Any

from numpy.typing import NDArray

def variant() -> str: ...
def new_rows(
    X: NDArray[Any],
    rows: NDArray[Any] | None,
    means: NDArray[Any] | None,
    root: NDArray[Any] | None,
    weights: NDArray[Any],
    shares: NDArray[Any],
    scale: float,
    diagonal: NDArray[Any],
    correlation: NDArray[Any],
    r: NDArray[Any],
    d: NDArray[Any],
    y: NDArray[Any],
    n_targets: int,
    is_packed: bool,
    kernel_diagonal: NDArray[Any] | None,
    /,
) -> object: ...
def products(
    rows: object,
    indices: NDArray[Any],
    out: NDArray[Any],
    columns: NDArray[Any] | None,
    kernels: NDArray[Any] | None,
    /,
) -> None: ...
def forget(rows: object, /) -> bool: ...
def kept(rows: object, /) -> int: ...
def let_fetch(rows: object, count: int, numbers: int, /) -> None: ...
def new_search(
    rows: object,
    alpha: float,
    loss: int,
    initial_loss: float,
    barred: NDArray[Any],
    capacity: int,
    keeps_z: bool,
    /,
) -> object: ...
def steps(
    search: object,
    best: NDArray[Any],
    losses: NDArray[Any],
    sums: NDArray[Any],
    products: NDArray[Any],
    r: NDArray[Any] | None,
    d: NDArray[Any] | None,
    n_more: int,
    n_threads: int,
    /,
) -> tuple[int, int]: ...
def add(search: object, index: int, /) -> int: ...
def read(search: object, what: str, out: NDArray[Any], /) -> None: ...
def lowest(search: object, out: NDArray[Any], /) -> int: ...
def likely(search: object, first: int, out: NDArray[Any], /) -> int: ...
def set_anchor(search: object, products: NDArray[Any], /) -> None: ...
def new_tests(
    loss: int,
    n_rows: int,
    rows: NDArray[Any],
    y: NDArray[Any],
    target_means: NDArray[Any],
    first: NDArray[Any],
    weights: NDArray[Any],
    totals: NDArray[Any],
    strata: NDArray[Any],
    clusters: NDArray[Any],
    shares: NDArray[Any],
    share_sums: NDArray[Any],
    scaled: NDArray[Any],
    amounts: NDArray[Any],
    /,
) -> object: ...
def test_models(
    search: object,
    grid: NDArray[Any],
    positions: NDArray[Any],
    tests: object,
    values: NDArray[Any] | None,
    squares: NDArray[Any] | None,
    products: NDArray[Any] | None,
    centres: NDArray[Any] | None,
    measure: object,
    measured: NDArray[Any] | None,
    /,
) -> int: ...
def most_dots() -> int: ...
def column_product(
    V: NDArray[Any],
    X: NDArray[Any],
    out: NDArray[Any],
    weights: NDArray[Any] | None,
    squares: NDArray[Any] | None,
    n_threads: int,
    /,
) -> None: ...
def remove_worst(
    search: object,
    stays: bytes,
    below: float,
    largest: float,
    best: NDArray[Any],
    losses: NDArray[Any],
    /,
) -> int: ...
def radial_kernel(
    centers: NDArray[Any],
    points: NDArray[Any],
    gamma: float,
    out: NDArray[Any],
    is_square: bool,
    n_threads: int,
    /,
) -> None: ...
def multiplies() -> bool: ...
def multiply(
    V: NDArray[Any],
    X: NDArray[Any],
    out: NDArray[Any],
    weights: NDArray[Any] | None,
    squares: NDArray[Any] | None,
    n_threads: int,
    /,
) -> None: ...
def gram_columns(
    rows: object,
    indices: NDArray[Any],
    out: NDArray[Any],
    columns: NDArray[Any] | None,
    n_threads: int,
    /,
) -> None: ...
def loo_curve(
    columns: NDArray[Any],
    inverses: NDArray[Any],
    steps: NDArray[Any],
    r: NDArray[Any],
    d: NDArray[Any],
    is_end: NDArray[Any],
    out: NDArray[Any],
    k: int,
    m: int,
    n_models: int,
    n_targets: int,
    /,
) -> None: ...
def new_fold_rows(
    n_rows: int,
    starts: NDArray[Any],
    delta: NDArray[Any],
    tau: NDArray[Any],
    errors: NDArray[Any],
    diagonal: NDArray[Any],
    energy: NDArray[Any],
    /,
) -> object: ...
def new_fold_search(
    rows: object, V: NDArray[Any], alpha: float, barred: NDArray[Any], capacity: int, /
) -> object: ...
def fold_choose(search: object, best: NDArray[Any], losses: NDArray[Any], /) -> int: ...
def fold_add(
    search: object,
    index: int,
    gram: NDArray[Any],
    x: NDArray[Any],
    sums: NDArray[Any],
    /,
) -> int: ...
def fold_drift(search: object, /) -> float: ...
def fold_losses(search: object, out: NDArray[Any], /) -> None: ...
def fold_curve(
    starts: NDArray[Any],
    start: NDArray[Any] | None,
    columns: NDArray[Any],
    steps: NDArray[Any],
    errors: NDArray[Any],
    sums: NDArray[Any],
    kept: NDArray[Any] | None,
    /,
) -> int: ...
