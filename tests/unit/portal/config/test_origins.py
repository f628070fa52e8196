"""Content hosts: the user that each belongs to, and names that are none."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.config.origins import ContentHosts, ContentOrigins, label_of
from spawner.names import USERNAME

ONE = ContentHosts.of("https://jupyter.example.org")
EACH = ContentHosts.of("https://{user}.jupyter.example.org")
LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
names = st.from_regex(USERNAME, fullmatch=True)


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
def test_two_users_never_share_a_label(one: str, other: str) -> None:
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
    assert hosts.to_content_host(host) == found


@given(prefix=st.text(alphabet="aA0-._@/:\u0131", max_size=70))
def test_here_host_that_is_found_is_a_label_and_the_suffix(prefix: str) -> None:
    suffix = ".jupyter.example.org"
    is_label = LABEL.fullmatch(prefix.lower()) is not None
    assert EACH.to_content_host(prefix + suffix) == (
        f"{prefix.lower()}{suffix}" if is_label else None
    )


@pytest.mark.parametrize(
    "url",
    [
        "jupyter.example.org",
        "ftp://jupyter.example.org",
        "https://",
        "https://jupyter.example.org/x",
        "https://jupyter.example.org?x",
        "https://a@jupyter.example.org",
        "https://10.0.0.{user}",
        "https://1.2.3",
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
    ("notebooks", "tensorboards", "others", "wrong"),
    [
        ("https://portal.test:8443", "https://portal.test:8444", [], None),
        ("https://jupyter.test", "https://tensorboard.test", [], None),
        ("https://{user}.jupyter.test", "https://tensorboard.test", [], None),
        ("https://jupyter.test", "https://jupyter.test", [], None),  # the older content_url
        ("https://portal.test", "https://tensorboard.test", [], "notebook_url"),
        ("https://portal.test:443", "https://tensorboard.test", [], "notebook_url"),
        ("https://PORTAL.test", "https://tensorboard.test", [], "notebook_url"),
        ("https://jupyter.test", "https://portal.test", [], "tensorboard_url"),
        ("http://jupyter.test", "https://tensorboard.test", [], "notebook_url"),
        ("https://jupyter.test", "https://tb.test", ["https://tb.test"], "tensorboard_url"),
        ("https://{user}.test", "https://tb.test:1", [], "notebook_url"),  # a user named "portal"
        ("https://{user}.jupyter.test", "https://tb.jupyter.test", [], "tensorboard_url"),
        ("https://a.b.test", "https://{user}.b.test", [], "tensorboard_url"),
        ("https://{user}.jupyter.test", "https://{user}.jupyter.test:1", [], None),
    ],
)
def test_problem_origins_that_are_not_apart_names_the_setting(
    notebooks: str, tensorboards: str, others: list[str], wrong: str | None
) -> None:
    origins = ContentOrigins(ContentHosts.of(notebooks), ContentHosts.of(tensorboards))
    problem = origins.problem("https://portal.test", others)
    assert (problem[0] if problem else None) == wrong


def test_paths_of_an_origin_are_its_own_alone() -> None:
    origins = ContentOrigins(
        ContentHosts.of("http://127.0.0.1:8020"), ContentHosts.of("http://127.0.0.1:8030")
    )
    assert origins.to_content_host("127.0.0.1:8000") is None
    assert origins.paths("127.0.0.1:8020") == ("/user/", "/content/")
    assert origins.paths("127.0.0.1:8030") == ("/tensorboard/", "/content/")


@pytest.mark.parametrize("url", ["http://127.0.0.1:8020", "http://[::1]:8020"])
def test_here_address_with_a_port_is_compared_as_a_whole(url: str) -> None:
    hosts = ContentHosts.of(url)
    host = url.removeprefix("http://")
    assert hosts.to_content_host(host) == host
    assert hosts.to_content_host(host.removesuffix(":8020")) is None
    assert hosts.origin_of("alice") == url
