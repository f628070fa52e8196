"""One session's JupyterLab: kernels of three languages, widgets, terminals, a notebook as a job."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import jupyterlab as jl
from tests.browser.scenes import Api
from tests.images import needs
from tests.live import Live
from tests.polling import wait_until

LogIn = Callable[[Page, str], None]
SESSION = f"kernels-{token_hex(2)}"
NOTEBOOK = "one-click.ipynb"
SLOW_S = 120


@dataclass(frozen=True)
class Language:
    """A kernel by its name in the launcher, and the same cells in its language."""

    kernel: str
    image: str
    where: str
    version: str
    plot: str
    endless: str
    interrupted: str | None
    keep: str
    kept: str


PYTHON = {
    "where": (
        "import os, sys; print('where %d.%d %s %s' % (sys.version_info[0], sys.version_info[1],"
        " os.path.exists('/.singularity.d'), os.environ['PORTAL_ENVIRONMENT']))"
    ),
    "plot": "import matplotlib.pyplot as plt; plt.plot([3, 1, 2]); plt.show()",
    "endless": "print('asleep')\nwhile True: pass",
    "interrupted": "KeyboardInterrupt",
    "keep": "kept = 6; print('is %d' % (7 * kept))",
    "kept": "print('there: %s' % ('kept' in globals()))",
}
LANGUAGES = [
    Language("Python 3.11", "python3", version="3.11 True python3", **PYTHON),
    Language("Python 2.7", "python2", version="2.7 True python2", **PYTHON),
    Language(
        "R 4.2",
        "r",
        where=(
            'cat("where", paste(R.version$major, R.version$minor, sep="."),'
            ' file.exists("/.singularity.d"), Sys.getenv("PORTAL_ENVIRONMENT"))'
        ),
        version=r"4\.2\.\d TRUE r",
        plot="plot(c(3, 1, 2))",
        endless='cat("asleep\\n")\nrepeat Sys.sleep(0.01)',
        interrupted=None,  # IRkernel ends the cell without a message
        keep='kept <- 6; cat("is", 7 * kept)',
        kept='cat("there:", exists("kept"))',
    ),
]


@dataclass(frozen=True)
class Started:
    url: str
    node: str


@pytest.fixture(scope="module")
def session(portal: Live, chromium: Browser) -> Iterator[Started]:
    """One session of alice's for the whole file."""
    context = chromium.new_context(extra_http_headers={"Origin": portal.base_url})
    api = f"{portal.base_url}/api/v1"
    login = {"username": "alice", "password": portal.users["alice"]}
    assert context.request.post(f"{api}/login", data=login).ok
    wanted = {"environment": "python3", "name": SESSION, "resources": {"memory_gb": 6}}
    made = context.request.post(f"{api}/sessions", data=wanted)
    assert made.ok, made.text()
    now = Api(context.request, portal.base_url).until(f"/sessions/{made.json()['id']}", "running")
    context.close()
    yield Started(now["url"], now["node"])
    portal.exec_as("alice", ["scancel", "--user=alice"])
    portal.exec_as("alice", ["/bin/sh", "-c", "rm -f Untitled*.ipynb one-click.ipynb in-terminal"])


@pytest.fixture
def lab(context: BrowserContext, log_in: LogIn, session: Started) -> Page:
    """The session's JupyterLab, in a logged-in browser."""
    page = context.new_page()
    log_in(page, "alice")
    jl.open_launcher(page, session.url)
    return page


@needs("python2", "r")
def test_the_session_s_own_kernel_comes_first_and_the_others_beside_it(
    lab: Page,
) -> None:
    kernels = jl.kernels(lab)
    assert kernels[0] == "Python 3.11"
    assert {"Python 2.7", "R 4.2"} < set(kernels)
    assert kernels[1:] == sorted(kernels[1:], key=str.lower)


@pytest.mark.parametrize(
    "language", [pytest.param(of, marks=needs(of.image), id=of.kernel) for of in LANGUAGES]
)
def test_a_kernel_runs_plots_and_obeys(
    portal: Live, lab: Page, session: Started, language: Language
) -> None:
    before = in_containers(portal, session.node)
    jl.open_notebook(lab, language.kernel)
    jl.run_cell(lab, language.where)
    assert re.search(f"where {language.version}", jl.output(lab, "where"))

    jl.run_cell(lab, language.plot)
    jl.front(lab).locator(".jp-RenderedImage img").wait_for()

    jl.run_cell(lab, language.endless)
    jl.output(lab, "asleep")
    jl.kernel_menu(lab, "Interrupt Kernel")
    if language.interrupted:
        jl.output(lab, language.interrupted)
    jl.run_cell(lab, language.keep)
    jl.output(lab, "is 42")

    jl.restart(lab, language.kernel)
    jl.run_cell(lab, language.kept)
    assert "there: false" in jl.output(lab, "there:").lower()

    running = in_containers(portal, session.node) - before
    assert any("squashfuse" in line for line in running), running
    jl.kernel_menu(lab, "Shut Down Kernel")
    wait_until(
        lambda: in_containers(portal, session.node) - before,
        "all processes in containers end",
        SLOW_S,
        done=operator.not_,
        pause_s=0.2,
    )


def in_containers(portal: Live, node: str) -> set[str]:
    """Return alice's processes on the node that mount an image, start a container or are a
    kernel."""
    shown = portal.exec_as("alice", ["ps", "-u", "alice", "-o", "pid=,args="], node=node)
    relevant = re.compile(r"squashfuse|[Aa]pptainer|starter|ipykernel|IRkernel")
    return {line for line in shown.splitlines() if relevant.search(line)}


def test_a_slider_moves_a_value_of_python(lab: Page) -> None:
    jl.open_notebook(lab, "Python 3.11")
    jl.run_cell(lab, "import ipywidgets; s = ipywidgets.IntSlider(value=3, description='speed'); s")
    slider = jl.front(lab).locator(".widget-slider .noUi-handle")
    slider.wait_for()
    expect(jl.front(lab).locator(".widget-readout")).to_have_text("3")
    slider.focus()
    lab.keyboard.press("ArrowRight")
    expect(jl.front(lab).locator(".widget-readout")).to_have_text("4")
    jl.run_cell(lab, "print('speed is', s.value); s.value = 77")
    jl.output(lab, "speed is 4")
    expect(jl.front(lab).locator(".widget-readout")).to_have_text("77")


@needs("r")
def test_a_terminal_is_one_click_away_on_the_node_and_in_each_environment(
    portal: Live, context: BrowserContext, log_in: LogIn, session: Started
) -> None:
    page = context.new_page()
    log_in(page, "alice")
    card = page.get_by_role("article").filter(has_text=SESSION).first
    record = portal.state / "home" / "alice" / "in-terminal"
    for place, shows in (
        ("On the node", f"{session.node}  no\n"),
        ("In R", f"{session.node} r yes\n"),
    ):
        card.get_by_role("button", name=re.compile("^Actions of")).click()
        with context.expect_page() as opened:
            page.get_by_role("menuitem", name=place).click()
        say_in_terminal(opened.value, record)
        wait_until(lambda: record.exists() and record.read_text().endswith("\n"), "the record")
        assert record.read_text() == shows
        portal.exec_as("alice", ["rm", str(record)])
        opened.value.close()
    with context.expect_page() as opened:
        page.evaluate("url => { window.open(url) }", f"{session.url}portal/terminal/env_none")
    expect(opened.value.get_by_text(re.compile("has no such environment"))).to_be_visible()


def say_in_terminal(terminal: Page, file: Path) -> None:
    """Type a command that records where it runs."""
    terminal.locator(".jp-Terminal .xterm-helper-textarea").first.wait_for(state="attached")
    terminal.locator(".jp-Terminal").first.click()
    terminal.keyboard.type(
        'echo "$(hostname) $PORTAL_ENVIRONMENT $([ -e /.singularity.d ] && echo yes || echo no)"'
        f" > {file.name}\n"
    )


@needs("r")
def test_a_notebook_of_the_session_is_run_as_a_job_by_one_click(
    portal: Live, context: BrowserContext, log_in: LogIn, session: Started
) -> None:
    write_notebook(portal)
    page = context.new_page()
    log_in(page, "alice")
    card = page.get_by_role("article").filter(has_text=SESSION).first
    card.get_by_text("Run a notebook as a job").click()
    card.get_by_role("link", name=f"Run ~/{NOTEBOOK} as a job").click()

    page.get_by_role("heading", name="Run a notebook", level=1).wait_for()
    expect(page.get_by_label("Notebook", exact=True)).to_have_value(f"~/{NOTEBOOK}")
    environment = page.get_by_role("combobox", name="Environment")
    expect(environment).to_have_value("r")
    page.reload()
    expect(environment).to_have_value("r")
    page.get_by_label("Parameters", exact=True).fill("count=21")
    page.get_by_role("button", name="Submit job").click()
    page.get_by_role("heading", name="notebook", level=1).wait_for()
    expect(page.get_by_text("Completed", exact=True)).to_be_visible()
    expect(page.locator("section pre").first).to_contain_text("answer 42")


def write_notebook(portal: Live) -> None:
    """Write an R notebook as saved in a session."""
    cells: list[dict[str, Any]] = [
        {"cell_type": "code", "metadata": {"tags": tags}, "source": source,
         "execution_count": None, "outputs": [], "id": source[:3]}
        for tags, source in ((["parameters"], "count <- 1"), ([], 'cat("answer", 2 * count)'))
    ]  # fmt: skip
    kernel = {"kernelspec": {"display_name": "R 4.2", "language": "R", "name": "r"}}
    text = json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})
    portal.exec_as("alice", ["/bin/sh", "-c", f"cat > {NOTEBOOK} <<'END'\n{text}\nEND\n"])
