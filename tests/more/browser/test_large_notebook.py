"""A notebook of 200 MB, saved in JupyterLab."""

from __future__ import annotations

from secrets import token_hex

from playwright.sync_api import Browser, expect

from tests.browser import jupyterlab as jl
from tests.browser.notebooks import KERNEL, outputs, running_session, write_notebook
from tests.live import Live
from tests.polling import wait_until

BIG_MB = 200


def test_large_notebook_does_not_end_the_session(portal: Live, chromium: Browser) -> None:
    notebook = f"large-{token_hex(3)}.ipynb"
    with running_session(portal, chromium) as session:
        program = (
            "output = dict(output_type='display_data', metadata={})\n"
            f"data = [{{'application/x-test': 'A' * 1000000}} for _ in range({BIG_MB})]\n"
            "book['cells'].append({**cell, 'id': 'two', 'source': '1', 'execution_count': 1,"
            " 'outputs': [{**output, 'data': each} for each in data]})"
        )
        write_notebook(portal, notebook, program)
        context = session.open_browser()
        lab = session.open_notebook(context, notebook)
        jl.idle(lab, KERNEL)
        jl.front(lab).locator(".jp-CodeCell .cm-content").first.click()
        lab.keyboard.insert_text("print(6 * 7)")
        lab.keyboard.press("Shift+Enter")
        expect(outputs(lab, 0)).to_have_text(["42\n"])
        begin = ["/bin/sh", "-c", f"head -c 1000 ~/{notebook}"]
        wait_until(lambda: "42" in portal.exec_as("alice", begin), "it is saved", 180, pause_s=1)
        context.close()
        small = f"small-{notebook}"
        write_notebook(portal, small, "")
        context = session.open_browser()
        lab = session.open_notebook(context, small)
        jl.idle(lab, KERNEL)
        jl.run_cell(lab, "print(6 * 7)")
        jl.output(lab, "42")
        context.close()
        portal.exec_as("alice", ["/bin/sh", "-c", f"rm ~/{small} ~/{notebook}"])
