"""Cookies of content hosts: their scope and their end."""

import html
import re
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import delete, select, update

from portal.db import utcnow
from portal.models import (
    ContentCode,
    ContentLogin,
    GroupMembership,
    Share,
    Tensorboard,
    User,
    WebSession,
)
from tests.portal.content_visitor import (
    ALICES,
    BOBS,
    LAB,
    ONE,
    PORTAL,
    Visitor,
    cookie_of,
    entered,
    gate,
    home_of,
    inside,
)
from tests.servers.gate_portal import Real, problem, real_portal
from tests.servers.nginx import HOME, PAGE, Answer

pytest_plugins = ["tests.portal.content_fixtures"]


# --- cookies --------------------------------------------------------------------------------------


def test_a_content_cookie_is_worthless_at_the_portal(anywhere: Real) -> None:
    token = cookie_of(entered(anywhere))
    for name in ("portal_session", "portal_content"):
        cookie = {"Cookie": f"{name}={token}"}
        assert anywhere.ask("/api/v1/me", headers=cookie).status == 401
        assert anywhere.gate("alice", headers=cookie).status == 403
        answer = anywhere.ask(HOME, headers={**cookie, **PAGE})
        assert answer.one("location") == f"{home_of(anywhere)}{HOME}"
        host = urlsplit(home_of(anywhere)).netloc
        asked = f"/content/open?host={host}&state={'0' * 64}&next={HOME}"
        answer = anywhere.ask(asked, headers={**cookie, **PAGE})
        assert answer.one("location").startswith("/login?")


def test_the_portals_cookie_is_worthless_at_a_content_host(anywhere: Real) -> None:
    anywhere.add_session()
    at = home_of(anywhere)
    for name in ("portal_session", "portal_content"):
        headers = {"Host": urlsplit(at).netloc, "Cookie": f"{name}=token-of-alice"}
        assert anywhere.ask(HOME, headers=headers).status == 401
    assert gate(anywhere, "token-of-alice", at).status == 401
    assert gate(anywhere, "", at, portal_session="token-of-alice").status == 401


def test_the_gate_opens_nothing_at_the_portals_own_host(anywhere: Real) -> None:
    anywhere.add_session()
    token = cookie_of(inside(anywhere))
    for host in ("http://portal.test", "http://evil.test", "http://"):
        assert gate(anywhere, token, host, portal_session="token-of-alice").status == 403
    assert anywhere.gate("alice", user="alice").status == 403


def test_a_cookie_counts_at_its_own_host_alone(each: Real) -> None:
    each.add_session()
    token = cookie_of(inside(each))
    assert gate(each, token, ALICES).status == 204
    assert gate(each, token, BOBS).status == 403
    assert gate(each, token, BOBS, owner="bob").status == 401
    assert gate(each, token, f"{ALICES}:8080").status == 403


def test_another_is_refused_before_a_code_is_made(each: Real) -> None:
    each.add_session()
    bob = Visitor(each)
    bob.log_in("bob")
    url, answer = bob.follow(f"{ALICES}{LAB}")
    assert (answer.status, url.startswith(f"http://{PORTAL}/content/open?")) == (403, True)
    assert b"belongs to another user" in answer.body
    with each.rows() as db:
        assert db.scalars(select(ContentCode)).all() == []


def test_on_one_host_another_is_refused_at_the_gate(one: Real) -> None:
    one.add_session()
    bob = entered(one, "bob")
    assert gate(one, cookie_of(bob, "bob"), ONE).status == 403
    _, answer = bob.follow(f"{ONE}{LAB}")
    assert (answer.status, b"belongs to another user" in answer.body) == (403, True)


def test_a_planted_login_is_replaced_by_logging_in_again(anywhere: Real) -> None:
    """As if a page that another user made had set that user's cookie in bob's browser."""
    at = home_of(anywhere, "bob")
    page = f"{at}/user/bob/s1/lab?reset=1"
    bob = Visitor(anywhere)
    bob.log_in("bob")
    bob.jars[urlsplit(at).netloc] = {"portal_content": cookie_of(inside(anywhere))}
    url, answer = bob.follow(page)
    if answer.status == 403:  # one host for all; a cookie of another user's host opens nothing
        found = re.search(r'<a href="([^"]+)">Log in again</a>', answer.body.decode())
        assert found
        url, answer = bob.follow(f"{at}{html.unescape(found[1])}")
    assert (url, answer.status) == (page, 424)
    assert gate(anywhere, cookie_of(bob, "bob"), at, owner="bob").status == 204


def test_a_page_at_the_wrong_users_host_leads_to_the_right_one(each: Real) -> None:
    alice = inside(each)
    answer = alice.ask(f"{BOBS}{LAB}")
    assert (answer.status, answer.one("location")) == (302, f"{ALICES}{LAB}")


@pytest.mark.parametrize("how", ["log out", "disable", "end", "let it run out", "out of the group"])
def test_what_ends_the_login_ends_it_at_the_content_host(anywhere: Real, how: str) -> None:
    anywhere.add_session()
    visitor = inside(anywhere)
    token, at = cookie_of(visitor), home_of(anywhere)
    assert gate(anywhere, token, at).status == 204
    if how == "log out":
        origin = {"Origin": f"http://{PORTAL}"}
        done = visitor.ask(f"http://{PORTAL}/api/v1/logout", method="POST", headers=origin)
        assert done.status == 204
    else:
        alice = anywhere.users["alice"].id
        with anywhere.rows() as db:
            if how == "end":
                db.execute(delete(ContentLogin))
                db.execute(delete(WebSession).where(WebSession.user_id == alice))
            elif how == "let it run out":
                db.execute(update(WebSession).values(expires_at=utcnow()))
            elif how == "disable":
                db.execute(update(User).values(disabled_at=utcnow()))
            else:
                db.execute(update(User).values(groups_at=utcnow(), directory_role=None))
    assert gate(anywhere, token, at).status == 401
    headers = {"Host": urlsplit(at).netloc, "Cookie": f"portal_content={token}"}
    assert anywhere.ask(HOME, headers=headers).status == 401
    assert whoami(anywhere, token, at).status == 401


def test_a_logout_takes_the_rows_along(anywhere: Real) -> None:
    visitor = inside(anywhere)
    origin = {"Origin": f"http://{PORTAL}"}
    visitor.ask(f"http://{PORTAL}/api/v1/logout", method="POST", headers=origin)
    with anywhere.rows() as db:
        assert db.scalars(select(ContentLogin)).all() == []


def test_work_at_the_content_host_keeps_the_login_alive(anywhere: Real) -> None:
    anywhere.add_session()
    token = cookie_of(inside(anywhere))
    long_ago = utcnow() - timedelta(hours=2)
    with anywhere.rows() as db:
        db.execute(update(WebSession).values(last_seen_at=long_ago))
    assert gate(anywhere, token, home_of(anywhere)).status == 204
    with anywhere.rows() as db:
        alice = anywhere.users["alice"].id
        login = db.scalars(select(WebSession).where(WebSession.user_id == alice)).one()
        assert login.last_seen_at > long_ago


# --- other ----------------------------------------------------------------------------------------


def whoami(anywhere: Real, token: str, host: str) -> Answer:
    headers = {"Cookie": f"portal_content={token}", "X-Content-Host": urlsplit(host).netloc}
    return anywhere.ask("/internal/whoami", headers=headers)


def test_the_hub_asks_by_the_content_cookie_of_the_owners_host(each: Real) -> None:
    token = cookie_of(inside(each))
    assert whoami(each, token, ALICES).status == 200
    assert whoami(each, token, BOBS).status == 401
    assert whoami(each, token, f"http://{PORTAL}").status == 401
    assert each.ask("/internal/whoami", user="alice").status == 401


def test_hub_rejects_the_login_of_a_viewer(each: Real) -> None:
    _share(each, each.add_board(each.add_session()), username="bob")
    bob = Visitor(each)
    bob.log_in("bob")
    bob.follow(f"{ALICES}/tensorboard/{_board_of(each)}/{'0' * 32}/")
    token = bob.jars["alice.jupyter.test"]["portal_content"]
    assert whoami(each, token, ALICES).status == 401
    assert gate(each, token, ALICES).status == 403
    assert gate(each, token, ALICES, owner="bob").status == 403


@pytest.mark.parametrize(
    "path", ["/api/v1/me", "/api/v1/login", "/", "/start", "/login", "/healthz", "/metrics", "/x"]
)
def test_nothing_of_the_portals_is_at_a_content_host(anywhere: Real, path: str) -> None:
    host = urlsplit(home_of(anywhere)).netloc
    for method in ("GET", "POST"):
        headers = {"Host": host, "Origin": f"http://{host}"}
        assert anywhere.ask(path, method=method, headers=headers, user="alice").status == 404
    if path == "/":
        answer = anywhere.ask(path, headers={"Host": host, **PAGE})
        assert (answer.status, answer.one("location")) == (302, f"http://{PORTAL}/")


def test_a_page_of_content_changes_nothing_at_the_portal(anywhere: Real) -> None:
    for origin in (home_of(anywhere), "http://x.jupyter.test"):
        headers = {"Origin": origin}
        answer = anywhere.ask("/api/v1/logout", method="POST", user="alice", headers=headers)
        assert (answer.status, problem(answer)["type"]) == (403, "urn:portal:origin-refused")
    answer = anywhere.ask(
        "/api/v1/logout", method="POST", user="alice", headers={"Sec-Fetch-Site": "same-site"}
    )
    assert answer.status == 403


def test_without_the_setting_nothing_of_this_is_there(tmp_path: Path) -> None:
    with real_portal(tmp_path) as same_origin:
        for path in ("/content/open", "/content/enter", "/content/begin", "/content/x", "/hub/x"):
            asked = f"{path}?host=jupyter.test&state={'0' * 64}&next=/user/a/b/&code=x"
            assert same_origin.ask(asked, user="alice", headers=dict(PAGE)).status == 404


# --- TensorBoard ----------------------------------------------------------------------------------


def _share(anywhere: Real, board: Tensorboard, **recipient: str) -> None:
    with anywhere.rows() as db:
        db.add(Share(parent_id=board.parent_id, **recipient))
        if "group_name" in recipient:
            db.add(GroupMembership(user_id=anywhere.users["bob"].id, name=recipient["group_name"]))


def _board_of(anywhere: Real) -> str:
    with anywhere.rows() as db:
        return db.scalars(select(Tensorboard.id)).one()


def test_ones_own_tensorboard_is_at_ones_own_host(anywhere: Real) -> None:
    board = anywhere.add_board(anywhere.add_session())
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    at = anywhere.board_at(board)
    url, answer = visitor.follow(f"http://{PORTAL}{at}?x=1")
    assert (url, answer.status) == (f"{home_of(anywhere)}{at}?x=1", 200)
    policy = "; ".join(answer.all("content-security-policy"))
    assert f"connect-src {home_of(anywhere)}{at};" in policy
    (seen,) = anywhere.node.seen
    assert seen.all("cookie") == []


def test_a_shared_tensorboard_is_at_its_owners_host(each: Real) -> None:
    board = each.add_board(each.add_session())
    at = each.board_at(board, "bob")
    bob = Visitor(each)
    bob.log_in("bob")
    _, answer = bob.follow(f"http://{PORTAL}{at}")
    assert answer.status == 404
    _, answer = bob.follow(f"{ALICES}{at}")
    assert answer.status == 403
    _share(each, board, username="bob")
    url, answer = bob.follow(f"http://{PORTAL}{at}")
    assert (url, answer.status) == (f"{ALICES}{at}", 200)
    # he was given access to this only
    url, answer = bob.follow(f"{ALICES}{HOME}lab")
    assert answer.status == 403
    with each.rows() as db:
        db.execute(delete(Share))
    assert bob.ask(f"{ALICES}{at}").status == 404


def test_a_change_there_comes_from_that_hosts_own_pages(each: Real) -> None:
    board = each.add_board(each.add_session())
    alice = inside(each)
    url = f"{ALICES}{each.board_at(board)}data/plugin/timeseries/timeSeries"

    def post(origin: str) -> int:
        return alice.ask(url, method="POST", body=b"x", headers={"Origin": origin}).status

    assert post(ALICES) == 200
    for other in (BOBS, f"http://{PORTAL}", f"{ALICES}:8080", "null"):
        assert post(other) == 403


def test_addresses_in_the_api_are_whole(each: Real) -> None:
    assert each.settings.notebook_address("j.doe", "/x").startswith("http://u-j-doe--")
    assert each.settings.notebook_address("alice", HOME) == f"{ALICES}{HOME}"
