"""What tests do with a page in a browser: find, press, point, and compare with a result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from components import browser, driver_program
from greedyrls import SelectionResult
from internals import (
    best_known_score,
    column,
    padded,
    source_in_words,
)

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1100,900",
)


@contextmanager
def started_browser(profile: Path) -> Iterator[Any]:
    """A headless browser with a profile of its own; the test is skipped where there is none."""
    pytest.importorskip("selenium")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    program, service = browser(), driver_program()
    if program is None or service is None:
        pytest.skip("Chromium or its driver is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=Service(service))
    yield started
    started.quit()


def emulate(driver: Any, media: str = "", scheme: str = "light") -> None:
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})


def one(driver: Any, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def text_of(driver: Any, selector: str) -> str:
    """As it is in the document, shown or not."""
    return " ".join(one(driver, selector).get_property("textContent").split())


def data_of(driver: Any) -> Any:
    return json.loads(one(driver, "#report-data").get_property("textContent"))


def keys(driver: Any, *pressed: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    ActionChains(driver).send_keys(*pressed).perform()


def point(driver: Any, element: Any, across: float, down: float) -> None:
    """Move the mouse to shares of the width and the height of an element."""
    from selenium.webdriver.common.action_chains import ActionChains

    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    size = element.size
    x, y = round((across - 0.5) * size["width"]), round((down - 0.5) * size["height"])
    # Once beside it, so that the mouse moves even if it was there.
    ActionChains(driver, duration=0).move_to_element_with_offset(element, x, y - 9).perform()
    ActionChains(driver, duration=0).move_to_element_with_offset(element, x, y).perform()


def rows_of(driver: Any) -> list[list[str]]:
    script = """return [...document.querySelectorAll('#model-rows tr')].map(
        row => [...row.children].map(cell => cell.textContent.trim()))"""
    rows: list[list[str]] = driver.execute_script(script)
    return rows


def check_model(driver: Any, result: SelectionResult, k: int) -> None:
    """The page shows the model of a size, and how good it is."""
    model, standard = result.model(k), result.standardised_coefficients(k).T
    effects = column(standard.ravel().tolist())
    shown = {int(row[0]): row[1:] for row in rows_of(driver)}
    assert sorted(shown) == list(range(1, k + 1))
    for place, term in enumerate(model.terms):
        outputs = standard.shape[1]
        own = [padded(value) for value in term.coefficients]
        expected = [term.name, *own, *effects[place * outputs : (place + 1) * outputs]]
        assert shown[place + 1][: len(expected)] == expected
    feet = driver.find_elements("css selector", "[data-intercept]")
    intercepts = [*model.intercepts, *np.atleast_1d(result.path.intercept(k)).tolist()]
    assert [foot.text for foot in feet] == [padded(value) for value in intercepts]
    score = best_known_score(result, k)
    assert text_of(driver, "#score-loss") == " ".join(score.text.split())
    assert text_of(driver, "#score-measure") == score.measure
    assert text_of(driver, "#score-source") == source_in_words(result, score.source)
    assert text_of(driver, "#score-size") == f"{k} feature{'s' * (k != 1)}"
    assert text_of(driver, "#caption-size") == f"{k} feature{'s' * (k != 1)}"
    assert one(driver, "#score-chosen").is_displayed() == (k == result.size)
    assert one(driver, "#size-number").get_property("value") == str(k)
