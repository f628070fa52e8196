"""The responses to JupyterLab's page when the portal refuses a request."""

from __future__ import annotations

import time
from typing import Any

import pytest

from spawner.node.jupyter.session_sources import (
    ENDING,
    NO_JOB,
    NO_PORTAL,
    UNKNOWN,
    SessionSources,
    to_app_input,
    to_app_page_error,
    to_job_page_error,
    to_page_error,
    to_server_path,
)
from spawner.node.portal_client import PortalClient, PortalResponse


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (409, {"detail": "It has that already."}, (409, "It has that already.")),
        (422, {"detail": "Too much."}, (422, "Too much.")),
        (503, {"detail": "Slurm does not answer."}, (503, "Slurm does not answer.")),
        (503, {}, (503, NO_PORTAL)),
        (422, {"detail": ["no", "sentence"]}, (422, NO_PORTAL)),
        (410, {"detail": "Gone"}, (410, ENDING)),
        # never 401 or 403: JupyterLab would conclude that its own login has expired
        (401, {"detail": "This address wants a secret."}, (502, UNKNOWN)),
        (404, {}, (502, UNKNOWN)),
        (403, {}, (502, NO_PORTAL)),
        (500, {"detail": "x"}, (502, NO_PORTAL)),
        (502, {}, (502, NO_PORTAL)),
    ],
)
def test_a_refusal_in_words(status: int, body: dict[str, Any], expected: tuple[int, str]) -> None:
    assert to_page_error(PortalResponse(status, body)) == expected


def test_only_a_cell_newer_than_the_last_moves_tensorboard() -> None:
    now = time.time()
    sources = SessionSources(PortalClient("http://portal", "sessions", "1", "secret"))
    assert not sources.accept_logdir(now - 3600)  # a notebook of an earlier session was opened
    assert sources.accept_logdir(now + 10)
    assert not sources.accept_logdir(now + 10)  # its page was reloaded
    assert not sources.accept_logdir(now + 5)
    assert sources.accept_logdir(now + 20)


def test_job_refusal_missing_job_is_not_a_missing_session() -> None:
    assert to_job_page_error(PortalResponse(404, {})) == (404, NO_JOB)
    assert to_job_page_error(PortalResponse(409, {"detail": "It ended."})) == (409, "It ended.")


def test_app_refusal_missing_app_is_not_a_missing_session() -> None:
    missing = PortalResponse(404, {"detail": "This session offers no such app."})
    assert to_app_page_error(missing) == (404, "This session offers no such app.")
    assert to_app_page_error(PortalResponse(404, {})) == (502, UNKNOWN)
    assert to_app_page_error(PortalResponse(422, {"detail": "No file."})) == (422, "No file.")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/alice/runs/a.ipynb", "runs/a.ipynb"),
        ("/home/alice2/a.ipynb", None),
        ("/data/a.ipynb", None),
        ("/home/alice/../bob/a.ipynb", None),
        (None, None),
    ],
)
def test_to_server_path_only_inside_the_root(path: str | None, expected: str | None) -> None:
    assert to_server_path(path, "/home/alice") == expected
    assert to_server_path(path, "/home/alice/") == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"file": "apps/demo.py"}, {"file": "/home/alice/apps/demo.py"}),
        ({"file": "/data/demo.py"}, {"file": "/data/demo.py"}),
        ({"file": "~/demo.py"}, {"file": "~/demo.py"}),
        ({"file": "~/demo.py", "replace": True}, {"file": "~/demo.py", "replace": True}),
        ({"file": "~/demo.py", "replace": "yes"}, {"file": "~/demo.py"}),
        ({"file": ""}, {}),
        ({"file": ["x"]}, {}),
        ({"command": "rm"}, {}),
        (None, {}),
        (["x"], {}),
    ],
)
def test_to_app_input_names_the_absolute_file(body: Any, expected: dict[str, Any]) -> None:
    assert to_app_input(body, "/home/alice") == {"replace": False, **expected}
