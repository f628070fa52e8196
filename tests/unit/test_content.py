"""Content hosts: whose is which, and what is none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.content import ContentHosts, label_of
from portal.settings import USERNAME_PATTERN
from portal.settings_content import content_problem

ONE = ContentHosts.of("https://jupyter.example.org")
EACH = ContentHosts.of("https://{user}.jupyter.example.org")
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
names = st.from_regex(USERNAME_PATTERN.replace("$", r"\Z"))


@pytest.mark.parametrize("name", ["alice", "a", "x1", "anna-lena", "user3-dev-2"])
def test_a_name_that_is_a_label_is_its_own(name: str) -> None:
    assert label_of(name) == name


@pytest.mark.parametrize(
    "name", ["j.doe", "_x", "j_doe", "j-", "a--b", "xn--a", "a.b.c", "_", "-".join("_" * 16)]
)
def test_others_get_one_that_no_name_is(name: str) -> None:
    label = label_of(name)
    assert LABEL.fullmatch(label)
    assert label.startswith("u-")
    assert label[2:4] != "--"  # such labels are reserved
    assert label_of(label) != label


@given(one=names, other=names)
def test_two_people_never_share_a_label(one: str, other: str) -> None:
    assert LABEL.fullmatch(label_of(one))
    assert (label_of(one) == label_of(other)) == (one == other)


def test_one_that_looks_like_anothers_label_does_not_get_it() -> None:
    assert label_of("j.doe") != label_of("j_doe") != label_of("j-doe")
    assert label_of(label_of("j.doe")[:32]) != label_of("j.doe")


def test_where_someones_content_is() -> None:
    assert ONE.origin_of("alice") == ONE.origin_of("bob") == "https://jupyter.example.org"
    assert EACH.origin_of("alice") == "https://alice.jupyter.example.org"
    port = ContentHosts.of("http://{user}.jupyter.localhost:8000")
    assert port.origin_of("alice") == "http://alice.jupyter.localhost:8000"
    assert ContentHosts.of("http://a.test:80").origin_of("x") == "http://a.test"


@pytest.mark.parametrize(
    ("hosts", "host", "found"),
    [
        (ONE, "jupyter.example.org", "jupyter.example.org"),
        (ONE, "Jupyter.Example.ORG:443", "jupyter.example.org"),
        (ONE, "jupyter.example.org:8443", None),
        (ONE, "jupyter.example.org.", None),
        (ONE, "alice.jupyter.example.org", None),
        (ONE, "portal.example.org", None),
        (ONE, "", None),
        (EACH, "alice.jupyter.example.org", "alice.jupyter.example.org"),
        (EACH, "alice.jupyter.example.org:443", "alice.jupyter.example.org"),
        (EACH, "jupyter.example.org", None),
        (EACH, ".jupyter.example.org", None),
        (EACH, "a.b.jupyter.example.org", None),
        (EACH, "-.jupyter.example.org", None),
        (EACH, "alice.jupyter.example.org.evil.test", None),
        (EACH, "alice.jupyter.example.org@evil.test", None),
        (EACH, "alicejupyter.example.org", None),
    ],
)
def test_which_host_is_one_of_them(hosts: ContentHosts, host: str, found: str | None) -> None:
    assert hosts.here(host) == found


@given(host=st.text())
def test_whatever_the_host_is_a_content_host_is_a_label_and_the_suffix(host: str) -> None:
    found = EACH.here(host)
    if found is not None:
        assert LABEL.fullmatch(found.removesuffix(".jupyter.example.org"))


@pytest.mark.parametrize(
    "url",
    [
        "jupyter.example.org",
        "ftp://jupyter.example.org",
        "https://",
        "https://jupyter.example.org/x",
        "https://jupyter.example.org?x",
        "https://a@jupyter.example.org",
        "https://10.0.0.1",
        "https://[::1]",
        "https://jupyter.example.org:x",
        "https://{user}",
        "https://{user}jupyter.example.org",
        "https://x.{user}.example.org",
        "https://{name}.example.org",
        "https://jupyter_x.example.org",
        "https://jupyter.example.org.",
    ],
)
def test_what_can_be_no_content_host(url: str) -> None:
    with pytest.raises(ValueError, match="must be"):
        ContentHosts.of(url)


@pytest.mark.parametrize(
    ("hosts", "public_url", "others", "apart"),
    [
        (ONE, "https://portal.example.org", [], True),
        (ONE, "http://portal.example.org", [], False),
        (ONE, "https://jupyter.example.org:8443", [], False),  # cookies tell no ports apart
        (ONE, "https://portal.example.org", ["https://jupyter.example.org"], False),
        (EACH, "https://portal.example.org", [], True),
        (EACH, "https://jupyter.example.org", [], True),
        (EACH, "https://portal.jupyter.example.org", [], False),  # that of someone named "portal"
        (EACH, "https://portal.example.org", ["https://x.jupyter.example.org"], False),
    ],
)
def test_content_is_apart_from_what_else_there_is(
    hosts: ContentHosts, public_url: str, others: list[str], apart: bool
) -> None:
    assert (content_problem(hosts, public_url, others) is None) is apart
