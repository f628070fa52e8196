"""Apps of other projects, installed in an environment as users do, started and used in Chromium."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from cluster.config.paths import Paths
from tests.browser import scenes
from tests.browser.chromium import window
from tests.browser.scenes import SMALL, Api
from tests.live import Live
from tests.paths import CHECKOUT
from tests.polling import wait_until

LOCK = CHECKOUT / "requirements-apps.lock"
USER = "bob"
NAME = f"apps-{token_hex(2)}"
START_S = 180
PROGRAMS = {
    "streamlit": """
import streamlit as st
if st.button("Multiply"):
    st.write(f"The product is {6 * 7}")
upload = st.file_uploader("Table")
if upload:
    st.write(f"It has {len(upload.read())} bytes")
""",
    "gradio": """
import gradio as gr
with gr.Blocks() as page:
    number = gr.Number(label="Number", value=6)
    product = gr.Textbox(label="Product")
    gr.Button("Multiply").click(lambda value: str(int(value) * 7), number, product)
page.launch()
""",
    "marimo": """
import marimo
app = marimo.App()

@app.cell
def multiply():
    product = f"The product is {6 * 7}"
    product
    return

if __name__ == "__main__":
    app.run()
""",
    "log_run": """
from pathlib import Path
import mlflow
mlflow.set_tracking_uri(f"sqlite:///{Path.home()}/mlflow/mlflow.db")
mlflow.set_experiment("multiplication")
with mlflow.start_run(run_name="first-product"):
    mlflow.log_metric("product", 42)
    mlflow.log_text("six times seven", "formula.txt")
""",
}


@pytest.fixture(scope="module")
def user(portal: Live, chromium: Browser) -> Iterator[tuple[BrowserContext, Api]]:
    """A browser in which bob is logged in; his files and packages are removed at the end."""
    home = Paths(portal.state).home / USER
    context = window(chromium, viewport={"width": 1280, "height": 900})
    api = scenes.log_in(context, portal.base_url, USER, portal.users[USER])
    portal.exec_as(USER, ["/bin/sh", "-c", "mkdir -p ~/app-files"])
    shutil.copy(LOCK, home / "app-files")
    for name, text in PROGRAMS.items():
        (home / f"app-files/{name}_page.py").write_text(text)
    yield context, api
    context.close()
    for folder in ("app-files", "mlflow", ".local/share/portal/packages/python3"):
        shutil.rmtree(home / folder)


@pytest.fixture(scope="module")
def session(user: tuple[BrowserContext, Api]) -> Iterator[dict[str, Any]]:
    """A session in whose environment the apps are installed."""
    _, api = user
    run_job(
        api, f"#!/bin/sh\npip install -q --no-deps --require-hashes -r ~/app-files/{LOCK.name}\n"
    )
    wanted = {"environment": "python3", "name": NAME, "resources": {**SMALL, "memory_gb": 4}}
    made = api.ask("POST", "/sessions", wanted)
    yield api.until(f"/sessions/{made['id']}", "running")
    api.end(made["id"])


def run_job(api: Api, script: str) -> None:
    """Run a script in the environment, as a job."""
    resources = {**SMALL, "memory_gb": 2}
    wanted = {"environment": "python3", "script": script, "resources": resources}
    made = api.ask("POST", "/jobs", wanted)
    ended = api.until(f"/jobs/{made['id']}", "ended")
    assert ended["outcome"] == "completed", ended["reason"]


@contextmanager
def opened(
    user: tuple[BrowserContext, Api], session: dict[str, Any], name: str, file: str | None = None
) -> Iterator[Page]:
    """Start an app and open it; its page must ask no host but the portal's."""
    context, api = user
    path, hosts = f"/sessions/{session['id']}/apps", set[str]()
    api.ask("PUT", f"{path}/{name}", {"file": file} if file else {})

    def show() -> Any:
        return next(app for app in api.ask("GET", path)["items"] if app["name"] == name)

    app = wait_until(
        show, f"{name} has started", START_S,
        done=lambda app: app["state"] != "starting", pause_s=0.5,
    )  # fmt: skip
    assert app["state"] == "running", (app["problem"], app["log"])
    page = context.new_page()
    page.on("request", lambda request: hosts.add(urlsplit(request.url).hostname or ""))
    page.goto(app["url"])
    yield page
    assert hosts - {""} == {urlsplit(app["url"]).hostname}
    page.close()
    api.ask("DELETE", f"{path}/{name}")


def test_streamlit_answers_a_button_and_an_upload(
    user: tuple[BrowserContext, Api], session: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "table.csv").write_text("a,b\n")
    with opened(user, session, "streamlit", "~/app-files/streamlit_page.py") as page:
        page.get_by_role("button", name="Multiply").click()
        expect(page.get_by_text("The product is 42")).to_be_visible()
        page.locator("input[type=file]").set_input_files(tmp_path / "table.csv")
        expect(page.get_by_text("It has 4 bytes")).to_be_visible()


def test_gradio_answers_a_button(user: tuple[BrowserContext, Api], session: dict[str, Any]) -> None:
    with opened(user, session, "gradio", "~/app-files/gradio_page.py") as page:
        page.get_by_role("button", name="Multiply").click()
        expect(page.get_by_label("Product")).to_have_value("42")


def test_marimo_runs_a_cell(user: tuple[BrowserContext, Api], session: dict[str, Any]) -> None:
    with opened(user, session, "marimo", "~/app-files/marimo_page.py") as page:
        page.locator(".cm-content").first.click()
        page.keyboard.press("Control+Enter")
        expect(page.get_by_text(re.compile("The product is 42")).first).to_be_visible()


def test_mlflow_shows_what_a_job_logged(
    user: tuple[BrowserContext, Api], session: dict[str, Any]
) -> None:
    run_job(user[1], "#!/bin/sh\nmkdir -p ~/mlflow\nexec python3 ~/app-files/log_run_page.py\n")
    with opened(user, session, "mlflow") as page:
        expect(page.get_by_role("link", name="multiplication").first).to_be_visible()
        page.goto(f"{page.url.partition('#')[0]}#/experiments/1/runs")
        expect(page.get_by_role("link", name="first-product")).to_be_visible()
