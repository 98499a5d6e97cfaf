"""The documentation site in a browser: search, colours, a narrow screen, keys, accessibility.

Needs the site (``python3 dev.py docs --fast``), Chromium and its driver; without them the tests are
skipped (`--require-all` ends the run).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any

import pytest

from browser_pages import emulate, keys, one, started_browser
from project import SITE

GUIDE = "guide/choosing.html"
PAGES = (
    *("index.html", "ten-minutes.html", "how-to-choose.html", GUIDE, "guide/capabilities.html"),
    *("gallery/index.html", "gallery/first_steps/plot_regression.html"),
    *("reference/generated/greedyrls.GreedyRLSClassifier.html", "reference/cli.html"),
    *("theory.html", "benchmarks/speed.html"),
)
SCHEMES = ("light", "dark")
pytestmark = pytest.mark.xdist_group("browser")
Open = Callable[..., Any]


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The site, served: a browser searches only what comes from a server."""
    if not (SITE / "index.html").exists():
        pytest.skip("the site is not built: python3 dev.py docs --fast")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory, address: str) -> Iterator[Any]:
    with started_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def open_page(driver: Any, address: str) -> Open:
    def opened(page: str, scheme: str = "light", width: int = 1200) -> Any:
        emulate(driver, scheme=scheme)
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        driver.get_log("browser")
        driver.get(f"{address}/{page}")
        wait(driver, "return document.readyState === 'complete'")
        wait(driver, "return !window.MathJax || !!window.MathJax.startup.promise")
        driver.execute_async_script(
            "const done = arguments[0];"
            "(window.MathJax ? MathJax.startup.promise : Promise.resolve()).then(() => done())"
        )
        return driver

    return opened


def wait(driver: Any, script: str) -> Any:
    """Return the first value of a script that is true."""
    from selenium.webdriver.support.ui import WebDriverWait

    return WebDriverWait(driver, 20).until(lambda _: driver.execute_script(script))


def errors(driver: Any) -> list[str]:
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_errors_and_no_barriers(page: str, scheme: str, open_page: Open) -> None:
    """No errors on the console, pictures with words, and nothing that axe-core objects to."""
    pytest.importorskip("axe_core_python")
    driver = open_page(page, scheme)
    assert errors(driver) == []
    assert driver.execute_script("return document.documentElement.dataset.theme") == scheme
    script = "return [...document.images].filter(image => !image.hasAttribute('alt')).length"
    assert driver.execute_script(script) == 0
    axe = resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8")
    driver.execute_script(axe)
    found = driver.execute_async_script(
        # Formulas are MathJax's, and thousands of elements.
        "const done = arguments[0], what = {exclude: ['mjx-container']};"
        "axe.run(what).then(result => done(result.violations))"
    )
    told = [(each["id"], each["help"], each["nodes"][0]["html"][:200]) for each in found]
    assert told == []


@pytest.mark.parametrize("page", PAGES)
def test_a_narrow_screen_does_not_scroll_sideways(page: str, open_page: Open) -> None:
    driver = open_page(page, width=400)
    widths = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    scrolled, visible = driver.execute_script(widths)
    assert scrolled <= visible == 400


def test_search_finds_an_estimator(open_page: Open) -> None:
    driver = open_page("search.html?q=GreedyRLSClassifier")
    links = "return [...document.querySelectorAll('#search-results li a')].map(link => link.href)"
    found = wait(driver, f"const links = (() => {{ {links} }})(); return links.length && links")
    assert any("greedyrls.GreedyRLSClassifier.html" in link for link in found)
    assert errors(driver) == []


def test_keys_reach_the_content_and_the_search(open_page: Open) -> None:
    from selenium.webdriver.common.keys import Keys

    driver = open_page(GUIDE)
    keys(driver, Keys.TAB)
    focused = "return document.activeElement.textContent.trim()"
    assert driver.execute_script(focused) == "Skip to main content"
    keys(driver, Keys.ENTER)
    assert driver.current_url.endswith("#main-content")
    driver = open_page(GUIDE)
    is_search = "return document.activeElement.matches('.search-button, .search-button__button')"
    for _ in range(20):
        keys(driver, Keys.TAB)
        if driver.execute_script(is_search):
            break
    assert driver.execute_script(is_search)
    keys(driver, Keys.ENTER)
    wait(driver, "return document.activeElement.matches('input[type=search]')")


def test_formulas_are_drawn(open_page: Open) -> None:
    driver = open_page("theory.html")
    assert driver.execute_script("return document.querySelectorAll('mjx-container').length") > 100
    assert not driver.find_elements("css selector", "mjx-merror")


def test_the_picture_of_choices_leads_to_pages(open_page: Open) -> None:
    driver = open_page("how-to-choose.html")
    script = "return [...document.querySelectorAll('.diagram a')].map(link => link.href.baseVal)"
    links = driver.execute_script(script)
    assert len(links) >= 12
    for link in links:
        assert (SITE / link.partition("#")[0]).exists(), link
    assert one(driver, ".diagram title").get_property("textContent")
