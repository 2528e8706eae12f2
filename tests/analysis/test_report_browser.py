"""The report in a real browser: what a reader clicks, what a hostile bundle tries, what leaves the page."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark_app.bundle.equivalence import FORMAT
from benchmark_app.cli import main
from benchmark_app.rendering.mp4 import open_video
from benchmark_app.rendering.thumbnail import write_thumbnail
from tests.analysis import report_cases as cases

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None or shutil.which("chromedriver") is None, reason="needs chromium, chromedriver"),
]

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
HOSTILE = '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2"><b>bold</b>'


class Reader:
    """A browser with what a reader does in it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, page: Path, address: str = "") -> None:
        self.driver.get("about:blank")  # so that another address of the same file is loaded, not only followed
        self.driver.get(page.as_uri() + address)
        self.wait("return document.documentElement.dataset.ready === 'true'")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements("css selector", selector)

    def click(self, selector: str, text: str | None = None) -> None:
        found = [node for node in self.all(selector) if text is None or node.text == text]
        assert found, f"nothing to click: {selector} {text}"
        self.run("arguments[0].scrollIntoView({block: 'center'}); arguments[0].click()", found[0])

    def visit(self, section: str) -> None:
        """Scroll to a section and wait until it is drawn."""
        self.run(f"document.getElementById('{section}').scrollIntoView()")
        self.wait(f"return document.getElementById('{section}').dataset.drawn === 'true'")

    def wait(self, script: str) -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        WebDriverWait(self.driver, 20).until(lambda _: self.run(script), message=script)

    def column(self, table: str, key: str) -> list[str]:
        """Texts of one column of a table, from top to bottom."""
        return self.run(
            """
            const table = document.querySelector(arguments[0]);
            const at = [...table.querySelectorAll("thead th")].findIndex((th) => th.dataset.column === arguments[1]);
            return [...table.querySelectorAll("tr.row")].map((row) => row.children[at].textContent);
            """,
            table,
            key,
        )

    def requests(self) -> list[str]:
        """Addresses of everything the browser asked for since the last call, unless the page's policy stopped it."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        failed = [e["params"] for e in events if e["method"] == "Network.loadingFailed"]
        stopped = {params["requestId"] for params in failed if params.get("blockedReason") == "csp"}
        asked = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return [params["request"]["url"] for params in asked if params["requestId"] not in stopped]

    def size(self, width: int, height: int, **media: str) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture
def reader(browser: Any) -> Iterator[Reader]:
    """A reader; at the end the console must be silent and no request may have gone anywhere but to the page itself."""
    reader = Reader(browser)
    reader.size(1440, 1000)
    browser.get("about:blank")
    browser.get_log("browser")
    reader.requests()
    yield reader
    assert browser.get_log("browser") == []
    assert [url for url in reader.requests() if not url.startswith(("file:", "data:", "about:"))] == []


def make_report(folder: Path, *options: str) -> Path:
    page = folder / "report.html"
    assert main(["report", str(folder), "-o", str(page), *options]) == 0
    return page


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sweep")
    cases.write_sweep(folder, 500)
    return make_report(folder)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("small")
    index = 0
    for framework in ("rsl_rl", "skrl"):
        for num_envs in (64, 512):
            for seed in (1, 2, 3):
                given: dict[str, Any] = {"framework": framework, "num_envs": num_envs, "seed": seed}
                cases.write(folder, "training", index, journal=True, **given)
                index += 1
    cases.write(
        folder, "training", index, status="crashed", seed=9, extra={"reason": "out of memory"}, log="last words"
    )
    return make_report(folder)


def test_a_sweep_of_500_runs_is_under_10_mb_and_interactive_within_2_seconds(sweep: Path, reader: Reader) -> None:
    assert sweep.stat().st_size < 10_000_000
    ready = []
    for _ in range(3):  # the machine may be busy with something else for one of them
        reader.open(sweep)
        ready.append(reader.run("return performance.getEntriesByName('report-ready')[0].startTime"))
    assert min(ready) < 2000, ready


def test_a_filter_of_500_runs_answers_within_half_a_second(sweep: Path, reader: Reader) -> None:
    reader.open(sweep)
    reader.click("#filters summary")
    spent = reader.run(
        """
        const chips = [...document.querySelectorAll("[data-filter=framework]")];
        const chip = chips.find((node) => node.textContent === "skrl");
        const begin = performance.now();
        chip.click();
        document.body.offsetHeight;
        return performance.now() - begin;
        """
    )
    assert spent < 500


def test_filters_choose_runs_and_stand_in_the_address(small: Path, reader: Reader) -> None:
    reader.open(small)
    assert reader.find("#shown").text == "all 13 runs"
    reader.click("#filters summary")
    reader.click("[data-filter=framework]", "skrl")
    assert reader.find("#shown").text == "6 of 13 runs"
    reader.click("[data-filter=num_envs]", "512")
    assert reader.find("#shown").text == "3 of 13 runs"
    assert "framework=skrl" in reader.driver.current_url
    reader.visit("runs")
    assert set(reader.column("#runs table", "framework")) == {"skrl"}
    address = "#" + reader.driver.current_url.partition("#")[2]
    reader.open(small, address)
    assert reader.find("#shown").text == "3 of 13 runs"
    reader.click("#filters .plain", "clear")
    assert reader.find("#shown").text == "all 13 runs"
    assert "framework" not in reader.driver.current_url


def test_a_table_sorts_by_a_click_and_the_other_way_by_a_second(small: Path, reader: Reader) -> None:
    def values() -> list[float]:
        texts = reader.column("#runs table", "total_fps")
        assert texts[-1] == "–" or "–" not in texts, "what is missing comes last"
        return [float(text.replace(",", "")) for text in texts if text != "–"]

    reader.open(small)
    reader.visit("runs")
    head = "#runs th[data-column=total_fps]"
    reader.click(f"{head} button")
    assert reader.find(head).get_attribute("aria-sort") == "descending"
    assert values() == sorted(values(), reverse=True)
    reader.click(f"{head} button")
    assert reader.find(head).get_attribute("aria-sort") == "ascending"
    assert values() == sorted(values())
    reader.open(small, "#" + reader.driver.current_url.partition("#")[2])
    reader.visit("runs")
    assert reader.find(head).get_attribute("aria-sort") == "ascending"


def test_a_ranking_puts_the_better_end_first(small: Path, reader: Reader) -> None:
    reader.open(small)
    reader.visit("ranking")
    head = "#ranking th[data-column=total_wall_time_s]"
    reader.click(f"{head} button")
    assert reader.find(head).get_attribute("aria-sort") == "ascending"


def test_a_link_to_a_run_opens_it_with_its_command_and_its_last_words(small: Path, reader: Reader) -> None:
    name = "training_rsl_rl_newton_mjwarp_00012"
    reader.open(small, f"#section=runs&run={name}")
    detail = reader.find("tr.detail")
    assert 0 <= reader.run("return arguments[0].getBoundingClientRect().top", detail) < 1000
    assert "python -m benchmark_app task=cartpole seed=9" in detail.text
    assert "out of memory" in detail.text
    assert "last words" in detail.text
    links = [node.get_attribute("href") for node in detail.find_elements("css selector", "a")]
    assert links == [(small.parent / "run-00012" / "training.json").as_uri()]


def test_the_contents_follow_the_reader_and_the_back_button_returns(small: Path, reader: Reader) -> None:
    reader.open(small)
    reader.click("#contents a", "Scaling")
    reader.wait("return document.querySelector('#contents a[aria-current]').textContent === 'Scaling'")
    assert "section=scaling" in reader.driver.current_url
    reader.click("#contents a", "Learning curves")
    reader.driver.back()
    reader.wait("return location.hash.includes('section=scaling')")
    reader.wait("return Math.abs(document.getElementById('scaling').getBoundingClientRect().top) < 300")


def test_a_warning_leads_to_the_run_it_is_about(small: Path, reader: Reader) -> None:
    reader.open(small)
    reader.click(".notices a")
    reader.wait("return document.querySelector('tr.detail') !== null")
    assert "out of memory" in reader.find("tr.detail").text


def test_a_legend_hides_a_curve_in_all_charts_and_shows_it_again(small: Path, reader: Reader) -> None:
    reader.open(small)
    reader.visit("curves")

    def drawn() -> int:
        return len(reader.all("#curves .plot .curve"))

    assert drawn() == 4
    reader.click("#curves .legend button", "skrl")
    assert drawn() == 2
    reader.click("#curves .legend button", "skrl")
    assert drawn() == 4


def test_a_chart_tells_its_values_by_keys(small: Path, reader: Reader) -> None:
    from selenium.webdriver.common.keys import Keys

    reader.open(small)
    reader.visit("curves")
    plot = reader.find("#curves .plot")
    assert plot.find_element("css selector", ".tooltip").text == ""
    for _ in range(3):
        plot.send_keys(Keys.ARROW_RIGHT)
    text = plot.find_element("css selector", ".tooltip").text
    assert "environment steps" in text
    assert "rsl_rl" in text
    assert "–" in text, "the interval"


def test_curves_can_be_drawn_against_seconds_and_with_single_seeds(small: Path, reader: Reader) -> None:
    reader.open(small)
    reader.visit("curves")
    reader.click("#curves .controls button", "seconds")
    assert "seconds of training" in reader.find("#curves .plot svg").get_attribute("textContent")
    reader.click("#curves .controls button", "drawn")
    assert len(reader.all("#curves .curve.faint")) == 12


def test_every_section_is_drawn_without_a_word_in_the_console(small: Path, reader: Reader) -> None:
    reader.open(small)
    for section in reader.run("return [...document.querySelectorAll('section')].map((node) => node.id)"):
        reader.visit(section)
    assert {"ranking", "curves", "load", "runs"} <= {node.get_attribute("id") for node in reader.all("section")}
    assert "NaN" not in reader.find("#main").get_attribute("textContent")
    assert "undefined" not in reader.find("#main").get_attribute("textContent")
    assert "[object" not in reader.find("#main").get_attribute("textContent")
    assert reader.all("svg path[d*=NaN]") == []


@pytest.mark.parametrize("width", [1440, 390])
def test_the_page_is_never_wider_than_the_screen(small: Path, reader: Reader, width: int) -> None:
    reader.size(width, 900)
    reader.open(small)
    for section in reader.run("return [...document.querySelectorAll('section')].map((node) => node.id)"):
        reader.visit(section)
    assert reader.run("return document.documentElement.scrollWidth") <= width


def test_on_a_phone_a_name_stays_beside_its_colour_and_a_cut_table_tells_that_it_goes_on(
    small: Path, reader: Reader
) -> None:
    reader.size(390, 900)
    reader.open(small)
    reader.visit("ranking")
    apart = reader.run(
        """
        return [...document.querySelectorAll("#ranking tbody th .swatch")].filter((swatch) => {
          const [colour, name] = [swatch.getBoundingClientRect(), swatch.nextSibling.getBoundingClientRect()];
          return name.left < colour.right || name.top > colour.bottom;
        }).length;
        """
    )
    assert apart == 0
    assert reader.all("#ranking tbody th .named")
    shadows = reader.run("return getComputedStyle(document.querySelector('#ranking .scroll')).backgroundAttachment")
    assert shadows == "local, local, scroll, scroll"


def test_nobody_is_named_where_nobody_leads(tmp_path: Path, reader: Reader) -> None:
    for index, framework in enumerate(("rsl_rl", "skrl")):
        cases.write(tmp_path, "play", index, framework=framework)
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "report.html")]) == 0
    reader.open(tmp_path / "report.html")
    reader.visit("summary")
    assert set(reader.column("#summary table", "success_rate")) == {"no leadertoo few runs to name one"}
    assert reader.all("#summary td b") == []


def test_equivalence_runs_alone_make_a_page_with_a_link_to_their_plot(tmp_path: Path, reader: Reader) -> None:
    content = {"format": FORMAT, "task": HOSTILE, "physics": "a", "reference_physics": "b", "synthetic": False}
    (tmp_path / "equivalence.json").write_text(json.dumps(content), encoding="utf-8")
    (tmp_path / "equivalence.svg").write_text("<svg/>", encoding="utf-8")
    assert main(["report", str(tmp_path), "-o", str(tmp_path / "report.html")]) == 0
    reader.open(tmp_path / "report.html")
    reader.visit("equivalence")
    assert reader.column("#equivalence table", "task") == [HOSTILE]
    links = [link.get_attribute("href").rpartition("/")[2] for link in reader.all("#equivalence a")]
    assert links == ["equivalence.json", "equivalence.svg"]
    assert reader.run("return window.hacked") is None
    assert reader.all("#ranking") == []


def test_the_page_is_dark_where_the_reader_prefers_that_until_switched(small: Path, reader: Reader) -> None:
    def lightness() -> int:
        colour = reader.run("return getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in colour.strip("rgb()").split(","))

    reader.size(1440, 900, prefers_color_scheme="dark")
    reader.open(small)
    assert lightness() < 120
    reader.click("#masthead .switch button", "light")
    assert lightness() > 700
    assert "theme=light" in reader.driver.current_url
    reader.size(1440, 900, prefers_color_scheme="light")
    reader.click("#masthead .switch button", "dark")
    assert lightness() < 120


def test_a_print_holds_every_section_and_no_controls(small: Path, reader: Reader) -> None:
    reader.open(small)
    printed = reader.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(printed["data"]) > 50_000
    assert reader.run("return [...document.querySelectorAll('section .body')].every((body) => body.childElementCount)")
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not reader.find("#contents").is_displayed()
    assert not reader.find("#filters details").is_displayed()
    reader.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_hostile_bundle_reaches_the_page_as_text_only(tmp_path: Path, reader: Reader) -> None:
    given: dict[str, Any] = {"task": HOSTILE, "presets": [HOSTILE], "run_id": f"javascript:alert(1){HOSTILE}"}
    extra = {"reason": HOSTILE, "kernel_cache": HOSTILE, "device": HOSTILE, "perturbed": HOSTILE, HOSTILE: HOSTILE}
    path = cases.write(tmp_path, "training", 1, **given, log=HOSTILE, status="crashed", extra=extra)
    cases.write(tmp_path, "training", 2, **given, framework="skrl")
    cases.write(tmp_path, "startup", 3, task=HOSTILE)
    (path.parent / "conditions.json").write_text(json.dumps({"warnings": [HOSTILE]}), encoding="utf-8")
    manifest = {"command": HOSTILE, "workflows": {"training": {"log": "logs/training.log"}}}
    (path.parent / "run.json").write_text(json.dumps(manifest), encoding="utf-8")
    (tmp_path / "training.json").write_text(json.dumps({"schema_version": HOSTILE}), encoding="utf-8")
    if os.name != "nt":
        cases.write(tmp_path / "<img src=x onerror='window.hacked=3'>", "runtime", 4)
    page = make_report(tmp_path, "--title", HOSTILE)
    reader.open(page, "#section=runs&run=" + "javascript%3Aalert(1)" + HOSTILE.replace("<", "%3C").replace("#", "%23"))
    for section in reader.run("return [...document.querySelectorAll('section')].map((node) => node.id)"):
        reader.visit(section)
    reader.click("#filters summary")
    reader.click("[data-filter=task]", HOSTILE) if reader.all("[data-filter=task]") else None
    for index in range(len(reader.all("#runs tr.row button"))):  # a click draws the table anew
        reader.run("document.querySelectorAll('#runs tr.row button')[arguments[0]].click()", index)
    assert reader.run("return window.hacked") is None
    assert reader.run("return document.querySelectorAll('img, b > b, iframe, object, embed').length") == 0
    assert reader.run("return document.scripts.length") == 2
    assert HOSTILE in reader.find("h1").text
    assert reader.run("return [...document.links].every((a) => /^(file:|#)/.test(a.protocol + a.hash))")


def test_the_policy_stops_a_script_that_was_not_ours(small: Path, reader: Reader) -> None:
    reader.open(small)
    thrown = reader.run("try { document.body.innerHTML = '<b>x</b>'; return ''; } catch (error) { return error.name; }")
    assert thrown == "TypeError"
    reader.run(
        "const s = document.createElement('img'); s.src = 'https://example.invalid/x.png'; document.body.append(s)"
    )
    reader.wait("return document.querySelector('img').complete")
    blocked = reader.driver.get_log("browser")
    assert blocked
    assert all("Content Security Policy" in entry["message"] or "TrustedHTML" in entry["message"] for entry in blocked)


def test_pictures_and_videos_play_from_inside_the_file(tmp_path: Path, reader: Reader) -> None:
    path = cases.write(tmp_path, "play", 1, video="videos/rollout.gif")
    (path.parent / "videos").mkdir()
    gif = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
    (path.parent / "videos" / "rollout.gif").write_bytes(gif)
    page = make_report(tmp_path)
    shutil.rmtree(path.parent)  # nothing of it is needed any more
    reader.open(page, "#section=gallery")
    reader.wait("return document.querySelector('#gallery img')?.naturalWidth === 1")


def test_a_recorded_video_plays_in_the_page_behind_its_first_picture(tmp_path: Path, reader: Reader) -> None:
    path = cases.write(tmp_path, "play", 1, video="videos/play.mp4")
    video = path.parent / "videos" / "play.mp4"
    with open_video(video, 25.0) as take:
        for index in range(50):
            take(np.full((48, 64, 3), (200, 5 * index, 0), np.uint8))
    write_thumbnail(np.full((48, 64, 3), 90, np.uint8), video)
    page = make_report(tmp_path)
    shutil.rmtree(path.parent)
    reader.open(page, "#section=gallery")
    reader.wait("return document.querySelector('#gallery video')?.poster.startsWith('data:image/jpeg;base64,')")
    reader.run("const v = document.querySelector('#gallery video'); v.muted = true; v.play();")
    reader.wait("const v = document.querySelector('#gallery video'); return v.currentTime > 0.2 && v.videoWidth === 64")
    assert reader.run("return Math.abs(document.querySelector('#gallery video').duration - 2) < 0.1")
