"""Reports in a browser: what scripts show, keys, colours, names that would be markup, paper.

Needs Chromium and its driver; without them the tests are skipped (`--require-all` ends the run).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser_pages import (
    check_model,
    data_of,
    emulate,
    keys,
    one,
    point,
    rows_of,
    started_browser,
    text_of,
)
from greedyrls import SelectionResult, SizeChoice
from greedyrls.report import write_report
from internals import (
    Question,
    choose,
    column,
    number,
    padded,
    reading_of,
    with_error,
)
from report_results import HOSTILE, hostile, large, regression, wine
from small_tables import numbers, prepared_of, result_of

RESULTS = {"regression": regression, "wine": wine, "hostile": hostile}
pytestmark = pytest.mark.xdist_group("browser")
Open = Callable[[str], Any]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """One browser for all tests of a worker, with a profile of its own."""
    pytest.importorskip("jinja2")
    with started_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("reports")
    for name, make in RESULTS.items():
        write_report(make(), folder / f"{name}.html")
    return {name: folder / f"{name}.html" for name in RESULTS}


@pytest.fixture
def visit(driver: Any, pages: dict[str, Path]) -> Iterator[Open]:
    """Opens a report; afterwards nothing may be on the console."""

    def open_page(name: str) -> Any:
        driver.get(pages[name].as_uri())
        return driver

    driver.get_log("browser")
    yield open_page
    emulate(driver)
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert driver.get_log("browser") == []


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.slow
def test_loads_nothing(visit: Open, name: str) -> None:
    driver, result = visit(name), RESULTS[name]()
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert driver.execute_script("return document.documentElement.classList.contains('js')")
    check_model(driver, result, result.size)


def test_what_the_policy_forbids_does_not_run(visit: Open) -> None:
    driver = visit("hostile")
    driver.execute_script(
        """const script = document.createElement('script');
        script.textContent = 'window.hacked = 4';
        document.body.append(script);
        const image = document.createElement('img');
        image.setAttribute('src', 'http://127.0.0.1:9/x.png');
        document.body.append(image);"""
    )
    assert driver.execute_script("return window.hacked") is None
    messages = [entry["message"] for entry in driver.get_log("browser")]
    assert any("violates the following Content Security Policy" in text for text in messages)


def test_slider_shows_the_model_of_any_size(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    driver, result = visit("regression"), regression()
    slider = one(driver, "#size-slider")
    slider.send_keys(Keys.HOME)
    for k in range(1, len(result.path) + 1):
        check_model(driver, result, k)
        assert slider.get_attribute("aria-valuetext") == f"{k} feature{'s' * (k != 1)}"
        slider.send_keys(Keys.ARROW_RIGHT)
    reset = one(driver, "#size-reset")
    assert reset.is_enabled()
    reset.click()
    check_model(driver, result, result.size)
    assert not reset.is_enabled()


def test_levels_of_a_column_stay_together(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    driver = visit("regression")
    one(driver, "#size-slider").send_keys(Keys.END)
    columns = [row[1].partition("=")[0] for row in rows_of(driver)]
    places = [place for place, column in enumerate(columns) if column == "hue"]
    assert len(places) == 3
    assert places == list(range(places[0], places[0] + 3))
    continued = driver.find_elements("css selector", "#model-rows .continued")
    assert len(continued) == 2


def test_number_shows_the_model_of_any_size(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    driver, result = visit("wine"), wine()
    box = one(driver, "#size-number")
    for typed, k in (("3", 3), ("999", len(result.path)), ("-2", 1), ("", 1), ("7", 7)):
        box.send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.BACKSPACE, typed, Keys.ENTER)
        check_model(driver, result, k)


@pytest.mark.slow
def test_a_long_path_offers_some_of_its_sizes(driver: Any, visit: Open, tmp_path: Path) -> None:
    from selenium.webdriver.common.keys import Keys

    result = large(steps=450, penalties=120, n_features=1000)
    write_report(result, tmp_path / "large.html")
    driver.get((tmp_path / "large.html").as_uri())
    offered = data_of(driver)["sizes"]
    assert 20 < len(offered) < 450
    wanted = next(k for k in range(20, 450) if k not in offered)
    for typed in (wanted, result.size, 450):
        nearest = min(offered, key=lambda k: abs(k - typed))
        box = one(driver, "#size-number")
        box.send_keys(Keys.CONTROL, "a", Keys.NULL, Keys.BACKSPACE, str(typed), Keys.ENTER)
        check_model(driver, result, nearest)
    probe = one(driver, ".panel .wide .probe")
    driver.execute_script("arguments[0].focus()", probe)
    keys(driver, Keys.END, Keys.ARROW_LEFT)
    told = data_of(driver)["panels"][0]["sizes"]
    assert probe.get_attribute("aria-valuenow") == str(told[-2])


def test_a_model_without_features(driver: Any, visit: Open, tmp_path: Path) -> None:
    result = regression()
    choice = SizeChoice(0, "min", "Nothing predicts.")
    result = replace(result, path=replace(result.path, size_choice=choice))
    write_report(result, tmp_path / "nothing.html")
    driver.get((tmp_path / "nothing.html").as_uri())
    check_model(driver, result, 0)
    cursors = driver.find_elements("css selector", ".panel .cursor")
    assert {cursor.get_attribute("visibility") for cursor in cursors} == {"hidden"}
    driver.execute_script("document.getElementById('size-slider').value = 2")
    driver.execute_script(
        "document.getElementById('size-slider').dispatchEvent(new Event('input'))"
    )
    check_model(driver, result, 2)
    one(driver, "#size-reset").click()
    check_model(driver, result, 0)


def tangled() -> SelectionResult:
    """Of a search that removes features again: x0 sums up the others, and goes when they are in."""
    generator = np.random.default_rng(0)
    causes = generator.standard_normal((80, 4))
    X = np.column_stack([causes.sum(axis=1) + generator.standard_normal(80), causes])
    columns = {f"x{place}": numbers(X[:, place]) for place in range(5)}
    y = causes.sum(axis=1) + 0.4 * generator.standard_normal(80)
    prepared = prepared_of({**columns, "y": numbers(y)})
    return result_of(prepared, choose(prepared, Question(5, 1.0, direction="floating")))


def test_sizes_that_do_not_have_the_features_of_smaller_ones(
    driver: Any, visit: Open, tmp_path: Path
) -> None:
    """A search that removes features: every size shows its own, and the chart what it changes."""
    result = tangled()
    assert not result.path.is_nested
    write_report(result, tmp_path / "moved.html")
    driver.get((tmp_path / "moved.html").as_uri())
    move = "const s = document.getElementById('size-slider'); s.value = arguments[0]; "
    for k in range(1, len(result.path) + 1):
        driver.execute_script(f"{move} s.dispatchEvent(new Event('input'))", k - 1)
        shown = {row[1]: row[2:4] for row in rows_of(driver)}
        standard = column(result.standardised_coefficients(k)[0].tolist())
        assert shown == {
            term.name: [padded(term.coefficients[0]), value]
            for term, value in zip(result.model(k).terms, standard, strict=True)
        }
    chart = one(driver, ".panel .probe")
    texts = set()
    for across in np.linspace(0.02, 0.98, 12):
        point(driver, chart, across, 0.5)
        texts.add(one(driver, ".panel .tip").text)
    assert any("−x0" in text for text in texts), texts
    assert [entry["message"] for entry in driver.get_log("browser")] == []


def test_mouse_shows_the_numbers_of_a_size(visit: Open) -> None:
    driver, result = visit("regression"), regression()
    assert result.assessment is not None
    places = data_of(driver)["panels"][0]["places"]["wide"]
    probe = one(driver, ".panel .wide .probe")
    tip = ".panel .wide .tip"
    test, root = result.assessment.test, reading_of("squared", is_classification=False)
    roots = np.sqrt([result.path.initial_loss, *result.own_curve.mean])
    gains = column((-np.diff(roots)).tolist())
    for row in (result.rows()[place] for place in (0, 3, 6)):
        k = row["n_features"]
        point(driver, probe, places[k - 1], 0.6)
        text = text_of(driver, tip)
        assert text.startswith(f"{k}: {row['feature']}")
        assert root.written(test.mean[k - 1], test.error[k - 1]) in text
        assert root.written(row["loss"], row["standard_error"]) in text
        assert f"gain of this step{gains[k - 1]}" in text
        assert f"runner-up{row['runner_up']}" in text
        assert one(driver, tip).is_displayed()
    point(driver, one(driver, "h2#model-heading"), 0.5, 0.5)
    assert not one(driver, tip).is_displayed()
    point(driver, probe, places[1], 0.6)
    probe_click(driver, probe, places[1])
    check_model(driver, result, 2)


def probe_click(driver: Any, probe: Any, across: float) -> None:
    from selenium.webdriver.common.action_chains import ActionChains

    point(driver, probe, across, 0.6)
    ActionChains(driver).click().perform()


def test_keys_move_through_a_chart(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    driver, result = visit("regression"), regression()
    probe = one(driver, ".panel .wide .probe")
    # From the last control of the model the next stops are its table, as long as it scrolls, and
    # the chart.
    driver.execute_script("document.querySelector('#size-number').focus()")
    for _ in range(4):
        keys(driver, Keys.TAB)
        if driver.switch_to.active_element == probe:
            break
    assert driver.switch_to.active_element == probe
    assert one(driver, ".panel .wide .tip").is_displayed()
    outline = driver.execute_script(
        "return getComputedStyle(arguments[0]).outlineStyle", driver.switch_to.active_element
    )
    assert outline == "solid"
    for pressed, k in (
        (Keys.HOME, 1),
        (Keys.ARROW_LEFT, 1),
        (Keys.ARROW_RIGHT, 2),
        (Keys.END, 10),
        (Keys.ARROW_LEFT, 9),
    ):
        keys(driver, pressed)
        assert probe.get_attribute("aria-valuenow") == str(k)
        assert text_of(driver, ".panel .wide .tip").startswith(f"{k}: ")
        assert probe.get_attribute("aria-valuetext").startswith(f"{k} feature")
    keys(driver, Keys.ENTER)
    check_model(driver, result, 9)
    keys(driver, Keys.ESCAPE)
    assert not one(driver, ".panel .wide .tip").is_displayed()


def test_heat_map_tells_its_numbers(visit: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    driver, surface = visit("regression"), regression().path.surface
    assert surface is not None
    drawing = "figure.surface-figure .wide"
    left, top, right, bottom = data_of(driver)["surface"]["areas"]["wide"]
    for row, size in ((0, 1), (3, 4), (4, 10)):
        # The largest penalty is on top.
        down = top + (bottom - top) * (len(surface.alphas) - row - 0.5) / len(surface.alphas)
        across = left + (right - left) * (size - 0.5) / surface.losses.shape[1]
        point(driver, one(driver, f"{drawing} .probe"), across, down)
        loss = with_error(
            float(surface.losses[row, size - 1]), float(surface.standard_errors[row, size - 1])
        )
        text = text_of(driver, f"{drawing} .tip")
        assert f"penalty α{number(float(surface.alphas[row]))}" in text
        assert f"features{size}" in text
        assert f"loss{' '.join(loss.split())}" in text
    probe = one(driver, f"{drawing} .probe")
    driver.execute_script("arguments[0].focus()", probe)
    keys(driver, Keys.HOME, Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert "features2" in text_of(driver, f"{drawing} .tip")


CONTRASTS = """
const read = colour => colour.match(/[\\d.]+/g).map(Number);
const light = parts => {
  const [r, g, b] = parts.map(
    part => part / 255 <= 0.04045 ? part / 3294.6 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = element => {
  for (let one = element; one; one = one.parentElement) {
    const parts = read(getComputedStyle(one).backgroundColor);
    if (parts.length === 3 || parts[3] > 0) return parts.slice(0, 3);
  }
  return [255, 255, 255];
};
const found = [];
for (const element of document.querySelectorAll('body *')) {
  const texts = [...element.childNodes].filter(node => node.nodeType === 3 && node.data.trim());
  if (!texts.length || !element.getClientRects().length || element.closest('script, :disabled'))
    continue;
  const style = getComputedStyle(element);
  const colour = read(element.closest('svg') ? style.fill : style.color).slice(0, 3);
  const [dark, bright] = [light(colour), light(behind(element))].sort((a, b) => a - b);
  found.push([(bright + 0.05) / (dark + 0.05), element.tagName, texts[0].data]);
}
return found;
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["regression", "hostile"])
def test_text_can_be_read(visit: Open, scheme: str, name: str) -> None:
    driver = visit(name)
    emulate(driver, scheme=scheme)
    found = driver.execute_script(CONTRASTS)
    assert len(found) > 150
    assert [entry for entry in found if entry[0] < 4.5] == []
    assert is_dark(driver) == (scheme == "dark")


def is_dark(driver: Any) -> bool:
    colour = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    return int(colour.removeprefix("rgb(").split(",")[0]) < 128


def test_button_switches_light_and_dark(visit: Open) -> None:
    driver = visit("regression")
    button = one(driver, "#theme")
    assert (is_dark(driver), button.text) == (False, "Dark")
    button.click()
    assert (is_dark(driver), button.text) == (True, "Light")
    assert [entry for entry in driver.execute_script(CONTRASTS) if entry[0] < 4.5] == []
    emulate(driver, scheme="dark")
    button.click()
    assert (is_dark(driver), button.text) == (False, "Dark")


def test_names_stay_text(visit: Open, driver: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    # What the page itself puts into the window while it loads; drivers add names of their own when
    # they are asked for something later.
    listener = driver.execute_cdp_cmd(
        "Page.addScriptToEvaluateOnNewDocument",
        {
            "source": """
            const before = new Set(Object.getOwnPropertyNames(window));
            addEventListener("load", () => {
                const added = Object.getOwnPropertyNames(window).filter(name => !before.has(name));
                document.documentElement.dataset.added = JSON.stringify(added);
            });
            """
        },
    )
    try:
        visit("hostile")
    finally:
        driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", listener)
    assert json.loads(one(driver, "html").get_attribute("data-added")) == []
    one(driver, "#size-slider").send_keys(Keys.END)
    point(driver, one(driver, ".panel .wide .probe"), 0.9, 0.5)
    shown = {row[1] for row in rows_of(driver)}
    assert {HOSTILE[0], HOSTILE[1], HOSTILE[2], HOSTILE[3], HOSTILE[8], HOSTILE[9]} <= shown
    assert driver.execute_script("return window.hacked") is None
    assert driver.execute_script("return document.getElementById('injected')") is None
    wrong = "script:not([type]), img, iframe, object, b, i, [onmouseover], [onerror]"
    assert len(driver.find_elements("css selector", wrong)) == 1  # our own script
    assert driver.title == "<img src=x onerror='window.hacked = 3'>: selection of features"
    heading = one(driver, "h1").text
    assert heading == "What predicts <img src=x onerror='window.hacked = 3'>?"


def test_can_be_read_without_scripts(visit: Open, driver: Any) -> None:
    switch = "Emulation.setScriptExecutionDisabled"
    driver.execute_cdp_cmd(switch, {"value": True})
    try:
        visit("regression")
        result = regression()
        assert "js" not in (one(driver, "html").get_attribute("class") or "")
        for selector in ("#control", "#theme", ".hint.needs-script"):
            assert not one(driver, selector).is_displayed()
        text = " ".join(one(driver, "body").text.split())
        assert result.sentence in text
        assert all(warning in text for warning in result.warnings)
        for term in result.model().terms:
            assert padded(term.coefficients[0]) in one(driver, "#model-table").text
        table = one(driver, "#path-table").text
        for gain in column([row["gain"] for row in result.rows()]):
            assert gain in table
        assert one(driver, ".panel .wide svg").is_displayed()
        assert not driver.find_elements("css selector", ".probe")
        titles = driver.find_elements("css selector", ".panel .wide .strips title")
        assert len(titles) == len(result.path)
    finally:
        driver.execute_cdp_cmd(switch, {"value": False})


@pytest.mark.parametrize("name", ["wine", "hostile"])
def test_prints(visit: Open, name: str) -> None:
    driver = visit(name)
    one(driver, "#theme").click()
    emulate(driver, media="print", scheme="dark")
    assert not is_dark(driver)
    for selector in ("nav", "#control", "#theme", "footer"):
        assert not one(driver, selector).is_displayed()
    for selector in (".panel .wide svg", "#model-table", "#path-table"):
        assert one(driver, selector).is_displayed()
    # As wide as a sheet of paper without its margins.
    size = {"width": 680, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    cut = driver.execute_script(
        """return [...document.querySelectorAll('.scroll, .name')].filter(
            box => box.scrollHeight > box.clientHeight + 1 || box.scrollWidth > box.clientWidth + 1
        ).map(box => box.textContent)"""
    )
    assert cut == []
    emulate(driver)
    paper = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
    printed = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", paper)["data"])
    assert printed.startswith(b"%PDF")
    assert 2 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 12


@pytest.mark.parametrize("name", RESULTS)
def test_fits_a_telephone(visit: Open, name: str) -> None:
    driver = visit(name)
    size = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    assert driver.execute_script("return document.documentElement.scrollWidth") == 380
    assert one(driver, ".panel .narrow svg").is_displayed()
    assert not one(driver, ".panel .wide svg").is_displayed()
    point(driver, one(driver, ".panel .narrow .probe"), 0.5, 0.5)
    tip = one(driver, ".panel .narrow .tip").rect
    assert tip["x"] >= 0
    assert tip["x"] + tip["width"] <= 380


COPIES = {
    "by the page": "navigator.clipboard.writeText = async (text) => { window.copied = text; }",
    "as a selection": """navigator.clipboard.writeText = () => Promise.reject();
        document.execCommand = () => { window.copied = String(getSelection()); return true; }""",
    "by hand": """navigator.clipboard.writeText = () => Promise.reject();
        document.execCommand = () => { window.copied = String(getSelection()); return false; }""",
}


@pytest.mark.parametrize("how", COPIES)
def test_the_paragraph_for_a_paper_is_copied(visit: Open, how: str) -> None:
    driver = visit("regression")
    driver.execute_script(COPIES[how])
    one(driver, "#copy-methods").click()
    driver.execute_async_script("setTimeout(arguments[0], 20)")
    copied = driver.execute_script("return window.copied")
    assert copied.split() == regression().methods_text().split()
    said = "Selected: press Ctrl+C to copy." if how == "by hand" else "Copied."
    assert text_of(driver, "#copied") == said
