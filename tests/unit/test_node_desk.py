"""What the page of JupyterLab is told when the portal says no."""

from __future__ import annotations

from typing import Any

import pytest

from spawner.node.desk import ENDING, NO_PORTAL, UNKNOWN, refusal
from spawner.node.home import Answer


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (409, {"detail": "It has that already."}, (409, "It has that already.")),
        (422, {"detail": "Too much."}, (422, "Too much.")),
        (503, {"detail": "Slurm does not answer."}, (503, "Slurm does not answer.")),
        (503, {}, (503, NO_PORTAL)),
        (422, {"detail": ["no", "sentence"]}, (422, NO_PORTAL)),
        (410, {"detail": "Gone"}, (410, ENDING)),
        # never 401 or 403: JupyterLab would think that its own login has ended
        (401, {"detail": "This address wants a secret."}, (502, UNKNOWN)),
        (404, {}, (502, UNKNOWN)),
        (403, {}, (502, NO_PORTAL)),
        (500, {"detail": "x"}, (502, NO_PORTAL)),
        (502, {}, (502, NO_PORTAL)),
    ],
)
def test_a_refusal_in_words(status: int, body: dict[str, Any], expected: tuple[int, str]) -> None:
    assert refusal(Answer(status, body)) == expected
