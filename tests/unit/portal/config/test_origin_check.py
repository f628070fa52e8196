"""The report on the origins of user content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from portal.config.origin_check import check_content_origins
from tests.unit.portal.config.test_settings import NOTEBOOKS, load

TENSORBOARDS = "http://127.0.0.1:8003"


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"same_origin_content": True}, "Unsafe: notebooks and TensorBoards share the portal's"),
        ({"content_url": NOTEBOOKS}, "TensorBoards share the notebooks' origin (content_url)"),
    ],
)
def test_shared_origins_are_reported_with_the_settings_to_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, Any], text: str
) -> None:
    problem = check_content_origins(load(monkeypatch, tmp_path, **given))
    assert problem is not None
    assert text in problem.text
    assert "notebook_url and tensorboard_url" in problem.suggestion


def test_separate_origins_are_no_problem(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = load(monkeypatch, tmp_path, notebook_url=NOTEBOOKS, tensorboard_url=TENSORBOARDS)
    assert check_content_origins(settings) is None
