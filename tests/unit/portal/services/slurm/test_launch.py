"""The field of the request to which Slurm's refusal belongs."""

from __future__ import annotations

import pytest

from portal.services.slurm.launch import to_launch_error
from spawner.errors import Rejected
from spawner.slurm.model import Resources


@pytest.mark.parametrize(
    ("code", "gpus", "fields"),
    [
        ("no-such-node", 1, ["resources.gpus"]),
        ("no-such-node", 0, []),  # the script's own --constraint, for example
        ("invalid-feature", 1, []),
        ("invalid-node", 1, []),
        ("too-many-cpus", 0, ["resources.cpus"]),
    ],
)
def test_a_refusal_is_put_at_a_field_that_was_asked_for(
    code: str, gpus: int, fields: list[str]
) -> None:
    found = to_launch_error(Rejected(code, "No.", None), Resources(gpus=gpus))
    assert [error.field for error in found.errors] == fields
