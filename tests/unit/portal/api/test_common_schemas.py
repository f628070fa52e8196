"""The representation of a job's usage in the API."""

from __future__ import annotations

import pytest

from portal.api.common_schemas import UsageOut


@pytest.mark.parametrize(
    ("used", "memory", "short"),
    [
        ({"elapsed_s": 4, "longest_s": 4, "max_rss_gb": 0.003}, None, True),
        ({"elapsed_s": 90, "longest_s": 9, "max_rss_gb": 0.003}, None, True),
        ({"elapsed_s": 40, "longest_s": 40, "max_rss_gb": 1.5}, 1.5, False),
        ({"elapsed_s": 40, "max_rss_gb": 1.5}, 1.5, False),
        ({"max_rss_gb": 1.5}, 1.5, False),
    ],
)
def test_memory_of_a_job_too_short_to_be_sampled_is_not_given(
    used: dict[str, float], memory: float | None, short: bool
) -> None:
    found = UsageOut.of(used)
    assert (found.max_rss_gb, found.memory_too_short) == (memory, short)
