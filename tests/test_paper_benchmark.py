"""The experiments of the paper: reading and fetching data, going on after a stop, verdicts."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import struct
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
# After everything else: no module of the tests may be hidden.
sys.path.append(str(BENCHMARKS))

from harness import data_files as files  # noqa: E402
from harness import data_sets as datasets  # noqa: E402
from harness import download  # noqa: E402
from harness.command import main  # noqa: E402
from harness.data_sets import DataFile, DataSet  # noqa: E402
from harness.writer import read_json, write_compact_json  # noqa: E402
from suites.paper import combine, quality, scaling, tasks  # noqa: E402
from suites.paper.claims import SETS, Verdict, claims  # noqa: E402

ROWS = "+1 1:1 3:2.5\n-1 2:-1\n-1 1:0.5 2:3 3:-0\n"
X = np.array([[1.0, 0.0, 2.5], [0.0, -1.0, 0.0], [0.5, 3.0, 0.0]])
Y = np.array([1.0, -1.0, -1.0])
PACKERS: dict[str, Any] = {"": bytes, ".xz": lzma.compress, ".bz2": bz2.compress}
URL = "https://example.invalid/sets/small"


def small_set(digest: str | None = None, url: str = URL) -> DataSet:
    return DataSet("small", 3, 3, (DataFile("small/rows", url, digest),), "as it is")


def put(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def idx(values: np.ndarray[Any, Any]) -> bytes:
    head = struct.pack(f">HBB{values.ndim}I", 0, 8, values.ndim, *values.shape)
    return head + values.astype(np.uint8).tobytes()


# Reading -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", PACKERS)
def test_svmlight_is_read_however_it_is_packed(tmp_path: Path, suffix: str) -> None:
    put(tmp_path / f"small/rows{suffix}", PACKERS[suffix](ROWS.encode()))
    rows, labels = datasets.load(small_set(), tmp_path)
    assert_array_equal(rows, X)
    assert_array_equal(labels, Y)
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous


def test_parts_are_put_together(tmp_path: Path) -> None:
    put(tmp_path / "small/rows", ROWS.encode())
    put(tmp_path / "small/more.xz", lzma.compress(ROWS.encode()))
    both = replace(
        small_set(), rows=6, files=(*small_set().files, DataFile("small/more", URL, None))
    )
    rows, labels = datasets.load(both, tmp_path)
    assert_array_equal(rows, np.concatenate([X, X]))
    assert_array_equal(labels, np.concatenate([Y, Y]))


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"small needs .*rows.*--data-dir.*--download"):
        datasets.load(small_set(), tmp_path)


def test_files_of_another_version_are_refused(tmp_path: Path) -> None:
    put(tmp_path / "small/rows", ROWS.encode())
    with pytest.raises(ValueError, match=r"should be 4 × 3 and .* make 3 × 3"):
        datasets.load(replace(small_set(), rows=4), tmp_path)


def test_columns_are_scaled_to_one() -> None:
    scaled = datasets.scaled(np.array([[2.0, 7.0], [3.0, 7.0], [6.0, 7.0]]))
    assert_allclose(scaled, [[-1.0, 0.0], [-0.5, 0.0], [1.0, 0.0]])


def test_digit_five_against_the_rest(tmp_path: Path) -> None:
    images = np.arange(24).reshape(4, 2, 3)
    for part, rows in (("train", slice(0, 3)), ("t10k", slice(3, 4))):
        packed = gzip.compress(idx(images[rows]))
        put(tmp_path / f"mnist/{part}-images-idx3-ubyte.gz", packed)
        labels = gzip.compress(idx(np.array([5, 0, 9, 5])[rows]))
        put(tmp_path / f"mnist/{part}-labels-idx1-ubyte.gz", labels)
    small = replace(datasets.DATA_SETS["mnist5"], rows=4, features=5)
    rows, labels = datasets.load(small, tmp_path)
    assert_allclose(rows, images.reshape(4, 6)[:, :5] / 255.0)
    assert_array_equal(labels, [1.0, -1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\x00\x00\x0d\x01\x00\x00\x00\x01\x00", "starts with the bytes 00 00 0d 01"),
        (idx(np.arange(6).reshape(2, 3))[:-1], r"5 bytes of data; its head announces \(2, 3\)"),
    ],
    ids=["of other numbers", "cut short"],
)
def test_other_idx_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    put(tmp_path / "images", content)
    with pytest.raises(ValueError, match=message):
        files.read_idx(tmp_path / "images")


def test_a_digest_is_of_the_numbers() -> None:
    assert files.digest_of_rows(X, Y) == files.digest_of_rows(np.asfortranarray(X), Y)
    assert files.digest_of_rows(X, Y) == files.digest_of_rows(np.where(X == 0, -0.0, X), Y)
    assert files.digest_of_rows(X, Y) != files.digest_of_rows(X, -Y)
    assert files.digest_of_rows(X, Y) != files.digest_of_rows(X + 1e-12, Y)


# Fetching ----------------------------------------------------------------------------------------


def serve(content: bytes) -> download.OpenUrl:
    return lambda url: io.BytesIO(content)


@pytest.mark.parametrize("suffix", PACKERS)
def test_fetched_files_are_checked_and_kept(tmp_path: Path, suffix: str) -> None:
    data = small_set(files.digest_of_rows(X, Y), f"https://example.invalid/rows{suffix}")
    content = PACKERS[suffix](ROWS.encode())
    assert [file.name for file in download.download(data, tmp_path, serve(content))] == [
        f"rows{suffix}"
    ]
    assert_array_equal(datasets.load(data, tmp_path)[0], X)
    # What is there is not fetched again.
    assert download.download(data, tmp_path, serve(b"")) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            ROWS.replace("2.5", "2.6").encode(),
            "expected SHA-256 [0-9a-f]{64} .* found [0-9a-f]{64}",
        ),
        (ROWS.encode() * 2, "expected 3 rows, found 6"),
        (b"<html>not found</html>", "could not be read"),
    ],
    ids=["changed", "longer", "no data"],
)
def test_other_content_is_not_kept(tmp_path: Path, content: bytes, message: str) -> None:
    data = small_set(files.digest_of_rows(X, Y))
    with pytest.raises(download.WrongContentError, match=message) as caught:
        download.download(data, tmp_path, serve(content))
    assert URL in str(caught.value)
    assert not list((tmp_path / "small").iterdir())


def test_only_https_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not an https address"):
        download.download(small_set(url="http://example.invalid/rows"), tmp_path, serve(b""))


def test_every_file_has_an_address_and_most_a_digest() -> None:
    known = [file for data in datasets.DATA_SETS.values() for file in data.files]
    assert all(file.url.startswith("https://") for file in known)
    assert [file.stem for file in known if file.digest is None] == ["colon-cancer/colon-cancer"]
    assert set(datasets.DATA_SETS) == set(SETS)


# Tasks -------------------------------------------------------------------------------------------


def no_processes(*_: Any, **__: Any) -> Any:
    raise AssertionError("nothing was left to do")


def australian(folder: Path) -> None:
    """A file of the right shape: its first column decides."""
    generator = np.random.default_rng(0)
    values = generator.standard_normal((690, 14))
    labels = np.sign(values[:, 0] + 0.3 * generator.standard_normal(690))
    lines = [
        f"{label:+.0f} " + " ".join(f"{i}:{value:.4f}" for i, value in enumerate(row, 1))
        for label, row in zip(labels, values, strict=True)
    ]
    put(folder / "australian/australian.xz", lzma.compress("\n".join(lines).encode()))


@pytest.mark.slow
@pytest.mark.slow
def test_a_second_run_does_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    australian(tmp_path / "data")
    home = tmp_path / "cache"
    arguments = ["paper", "--quick", "--only", "australian", "--jobs", "1", "--data-dir"]
    arguments += [str(tmp_path / "data"), "--cache", str(home)]
    assert main(arguments) == 0
    result = read_json(home / "quick/results/australian.json")
    assert result["summary"]["smallest_as_good"] <= 3
    assert result["curves"]["test"][0] > 0.8 > result["curves"]["random"][0]
    other = read_json(home / "quick/results/australian-intercept.json")
    assert other["settings"]["fit_intercept"] is True
    assert result["settings"]["fit_intercept"] is False
    page = (home / "quick/paper.md").read_text()
    assert "australian: leave-one-out and test accuracy are about the same" in page
    assert (home / "quick/images/paper-quality.png").stat().st_size > 10_000

    monkeypatch.setattr(tasks, "ProcessPoolExecutor", no_processes)
    assert main(arguments) == 0
    assert read_json(home / "quick/results/australian.json") == result
    # Other settings are another question.
    monkeypatch.setattr(quality, "QUICK", replace(quality.QUICK, n_random=2))
    with pytest.raises(AssertionError, match="nothing was left"):
        main(arguments)


def test_missing_data_are_named_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["paper", "--data-dir", str(tmp_path), "--only", "ijcnn1"]) == 1
    told = capsys.readouterr().err
    assert told.count("--data-dir, or --download") == 2
    assert "ijcnn1.t" in told


# Numbers and verdicts ----------------------------------------------------------------------------


def test_one_point_of_the_times_agrees_with_algorithms_2_and_3() -> None:
    plan = scaling.Plan((60,), (), features=20, selected=3, budget=5.0, rounds=1)
    point = scaling.time_point(60, plan)
    assert point["same_features"]
    assert point["same_losses"]
    assert point["same_features_algorithm_2"]
    assert not point["algorithm_2"]["is_scaled"]


def test_algorithm_2_is_scaled_where_it_would_take_too_long() -> None:
    rows, labels = scaling.two_normals(60, 40)
    timed, features = scaling.time_algorithm_2(rows, labels, 5, budget=1e-9)
    assert features == []
    assert timed["is_scaled"]
    assert timed["candidates_timed"] == 16
    assert timed["candidates_in_all"] == 40 + 39 + 38 + 37 + 36


def test_slopes_are_exponents() -> None:
    times = [{"m": m, "ours": {"seconds": 3e-6 * m**1.5}} for m in (10, 100, 1000)]
    assert scaling.slope(times, "ours") == pytest.approx(1.5)


def test_numbers_of_a_data_set() -> None:
    test = np.array([[0.5, 0.82, 0.9, 0.9], [0.7, 0.82, 0.9, 0.8]])
    folds = [
        {
            "settings": {},
            "rows": 40,
            "features": 4,
            "test_rows": 20,
            "alpha": 1.0,
            "test": curve.tolist(),
            "loo": [0.7, 0.9, 0.9, 0.8],
            "random": [0.5, 0.6, 0.7, curve[-1]],
            "larger_class": 0.5,
            "order": [0, 1, 2, 3],
            "seconds": 1.0,
        }
        for curve in test
    ]
    result = combine.combine("made up", folds)
    summary = result["summary"]
    assert summary["best_loo_size"] == 2
    assert summary["optimism_at_best"] == pytest.approx([0.08, 0.0])
    assert summary["smallest_as_good"] == 2  # 0.82 is within 0.05 of 0.85
    assert summary["smallest_within_point"] == 3
    assert summary["mean_lead"][0] == pytest.approx((0.1 + 0.22 + 0.2) / 3, abs=1e-6)
    assert result["curves"]["test_error"] == pytest.approx([0.1, 0.0, 0.0, 0.05])


def test_long_curves_are_thinned_out() -> None:
    assert_array_equal(combine.kept_sizes(123), np.arange(1, 124))
    kept = combine.kept_sizes(2000)
    assert_array_equal(kept[:100], np.arange(1, 101))
    assert kept[-1] == 2000
    assert len(kept) < 250


def made_up_scaling(growth_2: float = 2.0, differing: tuple[str, ...] = ()) -> dict[str, Any]:
    points = [
        {
            "m": m,
            "algorithm_2": {"seconds": 1e-5 * m**growth_2},
            "algorithm_3": {"seconds": 1e-3 * m},
            "ours": {"seconds": 1e-5 * m},
            "same_features": True,
            "same_losses": True,
            "same_features_algorithm_2": None,
        }
        for m in (500, 5000, 50_000)
    ]
    check = {"problems": 1, "samples": 2, "features": 3, "differing": list(differing)}
    return {"points": points, "identity": check}


def made_up_set(
    lead: float = 0.05, gap: float = 0.0, error: float = 0.005, as_good: int = 5
) -> dict[str, Any]:
    return {
        "features": 20,
        "summary": {
            "mean_lead": [lead, 0.01],
            "share_of_sizes_ahead": 1.0,
            "smallest_as_good": as_good,
            "smallest_within_point": as_good,
            "best_loo_size": 7,
            "loo_at_best": [0.9 + gap, 0.0],
            "test_at_best": [0.9, 0.0],
            "optimism_at_best": [gap, error],
            "mean_optimism": [gap, error],
        },
    }


def as_in_the_paper() -> dict[str, dict[str, Any]]:
    optimistic = ("colon-cancer", "german.numer")
    return {name: made_up_set(gap=0.04 if name in optimistic else 0.002) for name in SETS}


def verdicts(scaling_result: dict[str, Any] | None, sets: dict[str, Any]) -> dict[str, Verdict]:
    return {claim.says: claim.verdict for claim in claims(scaling_result, sets)}


def verdict_on(words: str, found: dict[str, Verdict]) -> Verdict:
    (verdict,) = [verdict for says, verdict in found.items() if words in says]
    return verdict


def test_all_claims_hold_where_they_should() -> None:
    assert set(verdicts(made_up_scaling(), as_in_the_paper()).values()) == {Verdict.HOLDS}


def test_nothing_is_claimed_of_what_was_not_run() -> None:
    assert set(verdicts(None, {}).values()) == {Verdict.NOT_RUN}


def test_claims_that_do_not_hold_are_told() -> None:
    found = verdicts(made_up_scaling(growth_2=2.6, differing=("Algorithm 1",)), as_in_the_paper())
    assert verdict_on("quadratic", found) is Verdict.FAILS
    assert verdict_on("same features", found) is Verdict.FAILS
    assert verdict_on("linear in", found) is Verdict.HOLDS


@pytest.mark.parametrize(
    ("words", "name", "changed", "expected"),
    [
        ("beats random", "ijcnn1", made_up_set(lead=-0.05), Verdict.FAILS),
        ("beats random", "ijcnn1", made_up_set(lead=0.015), Verdict.OPEN),
        ("small subset", "adult", made_up_set(as_good=11), Verdict.HOLDS),
        ("adult:", "adult", made_up_set(gap=0.03), Verdict.FAILS),
        ("adult:", "adult", made_up_set(gap=0.03, error=0.02), Verdict.OPEN),
        ("colon-cancer:", "colon-cancer", made_up_set(gap=0.03, error=0.02), Verdict.OPEN),
        ("colon-cancer:", "colon-cancer", made_up_set(gap=-0.03), Verdict.FAILS),
    ],
)
def test_verdicts_follow_the_numbers(
    words: str, name: str, changed: dict[str, Any], expected: Verdict
) -> None:
    found = verdicts(made_up_scaling(), as_in_the_paper() | {name: changed})
    assert verdict_on(words, found) is expected


def test_few_small_subsets_are_not_most() -> None:
    sets = as_in_the_paper() | {name: made_up_set(as_good=11) for name in SETS[:3]}
    assert verdict_on("small subset", verdicts(None, sets)) is Verdict.FAILS


def test_answers_are_found_again_whatever_their_settings(tmp_path: Path) -> None:
    # JSON turns tuples into lists.
    settings = {"sizes": (1, 2), "name": "x"}
    task = tasks.Task("made up", dict, (), tmp_path / "answer.json", settings, 1.0)
    write_compact_json(task.file, {"task_settings": settings, "answer": {"seconds": 1.0}})
    assert tasks.kept(task) == {"seconds": 1.0}
    assert tasks.kept(replace(task, settings=settings | {"name": "y"})) is None


def test_the_cost_of_a_candidate_is_never_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Of two noisy timings the longer problem may look the quicker.
    seconds = iter([1.0, 0.9, 5.0])

    def timed(call: Any) -> tuple[float, Any]:
        return next(seconds), call()

    monkeypatch.setattr(scaling, "_timed", timed)
    X, y = scaling.two_normals(30, 40)
    found, _ = scaling.time_algorithm_2(X, y, 20, budget=0.5)
    assert found["candidates_timed"] < found["candidates_in_all"]
