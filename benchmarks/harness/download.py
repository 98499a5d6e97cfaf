"""Fetching the data sets, for those who have a network: `run.py paper --download`.

Only https; into a draft that gets its name after its content was checked. What is checked is what
the results here were made with, see `DataFile`: shape and content for all but colon-cancer, whose
LIBSVM file was not at hand, so that its shape alone is checked. The addresses are the usual
public ones; this code was tested on files made by a test, not against these servers.
"""

from __future__ import annotations

import shutil
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

from .data_files import digest_of_bytes, digest_of_rows, read_svmlight
from .data_sets import DataFile, DataSet, missing

OpenUrl = Callable[[str], BinaryIO]
_SECONDS = 60.0


class WrongContentError(ValueError):
    """A file that is not the one that was asked for."""


def download(data: DataSet, folder: Path, open_url: OpenUrl | None = None) -> list[Path]:
    """Fetch the files of a data set that are not there yet; those that were fetched."""
    return [_fetch(data, file, folder, open_url or _over_https) for file in missing(data, folder)]


def _fetch(data: DataSet, file: DataFile, folder: Path, open_url: OpenUrl) -> Path:
    if not file.url.startswith("https://"):
        raise ValueError(f"{file.url} is not an https address; it is not fetched")
    name = file.url.rsplit("/", 1)[1]
    target = folder / Path(file.stem).parent / name
    target.parent.mkdir(parents=True, exist_ok=True)
    # The draft keeps the ending, by which it is unpacked for the check.
    draft = target.with_name(f"draft-{name}")
    try:
        with open_url(file.url) as source, draft.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        _check(data, file, draft)
        return draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _over_https(url: str) -> BinaryIO:
    response = urllib.request.urlopen(url, timeout=_SECONDS)
    if not response.geturl().startswith("https://"):
        response.close()
        raise ValueError(f"{url} leads to {response.geturl()}, which is not https; not fetched")
    return cast(BinaryIO, response)


def _check(data: DataSet, file: DataFile, draft: Path) -> None:
    """Raise unless the draft holds what it should."""
    try:
        found = digest_of_bytes(draft) if data.is_images else _digest_of_rows(data, draft)
    except (OSError, EOFError, ValueError) as error:
        raise WrongContentError(f"{file.url} could not be read: {error}") from error
    if file.digest is not None and found != file.digest:
        raise WrongContentError(
            f"{file.url} is not the file that the results were made with: expected SHA-256 "
            f"{file.digest} of its content, found {found}. It was not kept."
        )


def _digest_of_rows(data: DataSet, draft: Path) -> str:
    X, y = read_svmlight(draft, data.features)
    if len(data.files) == 1 and len(X) != data.rows:
        raise ValueError(f"expected {data.rows:,} rows, found {len(X):,}")
    return digest_of_rows(X, y)
