"""The errors that the cluster tests retry after they have killed a service."""

import pytest

from cluster.client import RequestRefused
from tests.cluster.job_tools import is_away


def refused(status: int, kind: str = "about:blank") -> RequestRefused:
    return RequestRefused(status, {"type": kind})


@pytest.mark.parametrize("error", [ConnectionResetError(), refused(502), refused(503)])
def test_a_service_that_restarts_is_retried(error: Exception) -> None:
    assert is_away(error)


@pytest.mark.parametrize("status", [400, 404, 424, 500, 507])
def test_other_responses_are_final(status: int) -> None:
    assert not is_away(refused(status))


def test_an_internal_error_is_final_where_other_500s_are_not() -> None:
    assert is_away(refused(500), 500)
    assert not is_away(refused(500, "urn:portal:internal"), 500)
