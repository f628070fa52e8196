"""Unreachable or rejected: the launcher and the portal's own Slurm client agree on every recorded
message.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from spawner.launcher.program import refusal
from spawner.slurm.client import to_error
from tests.paths import TESTS
from tests.unit.spawner.slurm import test_client_texts as test_slurm_words

RECORDED = TESTS / "data/slurm"
OF_OTHER_VERSIONS = "other_clients.json"  # commands of one version with the daemons of another


def list_failures(found: Any) -> Iterator[str]:
    """Yield the error output of each failed command in a recording."""
    if isinstance(found, dict) and "stderr" in found:
        if found["code"] != 0:
            yield found["stderr"]
        return
    for one in found.values() if isinstance(found, dict) else found:
        yield from list_failures(one)


def load_messages(unreachable: bool) -> list[str]:
    words = vars(test_slurm_words)
    messages = {words[name] for name in ("CLOCK", "CLOCK_AT_SLURMDBD", "NO_MUNGE") if unreachable}
    for path in [
        *RECORDED.rglob("stderr.json"),
        *RECORDED.rglob("*refus*"),
        *RECORDED.rglob("other*"),
    ]:
        text = path.read_text(encoding="utf-8")
        if (path.name == OF_OTHER_VERSIONS) is unreachable:
            messages |= set(list_failures(json.loads(text)) if path.suffix == ".json" else [text])
    return sorted(messages)


@pytest.mark.parametrize("unreachable", [True, False])
def test_recorded_messages_mean_the_same_to_both_callers(unreachable: bool) -> None:
    kind = "Unreachable" if unreachable else "Rejected"
    messages = load_messages(unreachable)
    assert len(messages) > 20
    for stderr in messages:
        assert (refusal(stderr).kind, type(to_error(stderr)).__name__) == (kind, kind), stderr
