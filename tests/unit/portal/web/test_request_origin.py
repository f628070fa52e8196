"""The requests that may use the cookie they carry."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.web.request_origin import SAFE_METHODS, origin_allowed

OWN = frozenset({"http://127.0.0.1:8000"})


def allowed(**changes: Any) -> bool:
    request: dict[str, Any] = {
        "method": "POST",
        "websocket": False,
        "has_cookie": True,
        "origin": "http://127.0.0.1:8000",
        "sec_fetch_site": "same-origin",
        "own_origins": OWN,
    }
    return origin_allowed(**{**request, **changes})


def test_our_own_page_may() -> None:
    assert allowed()
    assert allowed(origin=None)
    assert allowed(sec_fetch_site=None)


@pytest.mark.parametrize(
    "origin",
    [
        "https://127.0.0.1:8000",
        "http://127.0.0.1:8001",
        "http://127.0.0.1",
        "http://127.0.0.1:8000.evil.example",
        "http://evil.example",
        "null",
        "",
    ],
)
def test_another_origin_may_not(origin: str) -> None:
    assert not allowed(origin=origin)
    assert not allowed(origin=origin, sec_fetch_site=None)
    assert not allowed(origin=origin, has_cookie=False)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "", "Same-Origin"])
def test_cross_site_request_is_refused(site: str) -> None:
    assert not allowed(sec_fetch_site=site)
    assert not allowed(sec_fetch_site=site, origin=None)


def test_a_cookie_without_a_word_about_its_page_is_refused() -> None:
    assert not allowed(origin=None, sec_fetch_site=None)


def test_a_program_without_a_cookie_needs_no_origin() -> None:
    assert allowed(origin=None, sec_fetch_site=None, has_cookie=False)


def test_a_request_by_token_alone_comes_from_anywhere() -> None:
    assert allowed(has_token=True, origin=None, sec_fetch_site=None)
    assert allowed(has_token=True, origin="http://evil.example", sec_fetch_site="cross-site")


@pytest.mark.parametrize("method", sorted(SAFE_METHODS))
def test_reading_is_free(method: str) -> None:
    assert allowed(method=method, origin="http://evil.example", sec_fetch_site="cross-site")


def test_a_websocket_is_no_reading() -> None:
    assert not allowed(method="GET", websocket=True, origin="http://evil.example")
    assert not allowed(method="GET", websocket=True, origin=None, sec_fetch_site=None)
    assert allowed(method="GET", websocket=True, sec_fetch_site=None)


@given(method=st.text(), origin=st.text(), site=st.none() | st.just("same-origin"))
def test_whatever_the_method_no_foreign_origin_changes_anything(
    method: str, origin: str, site: str | None
) -> None:
    if method in SAFE_METHODS or origin.lower() in OWN:
        return
    assert not allowed(method=method, origin=origin, sec_fetch_site=site)


@pytest.mark.parametrize("site", ["same-site", "cross-site"])
@pytest.mark.parametrize("method", sorted(SAFE_METHODS))
def test_origin_allowed_own_pages_only_refuses_reads_of_other_pages(method: str, site: str) -> None:
    read = {"method": method, "origin": None, "sec_fetch_site": site}
    assert allowed(**read)
    assert not allowed(**read, own_pages_only=True)
    assert allowed(**read, own_pages_only=True, has_token=True)
    assert allowed(**read, own_pages_only=True, has_cookie=False)
    for own in ("same-origin", "none", None):
        assert allowed(**{**read, "sec_fetch_site": own}, own_pages_only=True)
