"""User content on separate hosts: how access is granted, and attempts to bypass it."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import delete, select, update

from portal.db import utcnow
from portal.models import (
    ContentCode,
    ContentLogin,
    User,
    WebSession,
)
from portal.services.hashes import hash_token
from portal.services.tensorboards import access
from tests.portal.content_visitor import (
    ALICES,
    BOBS,
    ENTERING,
    LAB,
    ONE,
    PORTAL,
    Visitor,
    code_for,
    cookie_of,
    gate,
    home_of,
)
from tests.servers.gate_portal import TARGET, Real, problem

pytest_plugins = ["tests.portal.content_fixtures"]


# --- entry ----------------------------------------------------------------------------------------


def test_logged_in_user_reaches_the_requested_page(anywhere: Real) -> None:
    anywhere.add_session()
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    at = home_of(anywhere)
    first = visitor.ask(f"{at}{LAB}")
    there = urlsplit(first.one("location"))
    asked = parse_qs(there.query)
    assert (first.status, there.netloc, there.path) == (302, PORTAL, "/content/open")
    assert asked["next"] == [LAB]
    assert asked["state"] == [hash_token(visitor.jars[urlsplit(at).netloc]["portal_entry"])]
    second = visitor.ask(first.one("location"))
    assert second.one("location").startswith(f"{at}{ENTERING}")
    third = visitor.ask(second.one("location"))
    assert (third.status, third.one("location")) == (303, LAB)
    for answer in (first, second, third):
        assert answer.one("cache-control") == "no-store"
        assert answer.one("referrer-policy") == "no-referrer"
    token = cookie_of(visitor)
    answer = gate(anywhere, token, at)
    assert (answer.status, answer.one("x-target")) == (204, TARGET)
    # the value in the database grants no access
    with anywhere.rows() as db:
        login = db.scalars(select(ContentLogin)).one()
        assert login.token_hash == hash_token(token)
        assert db.scalars(select(ContentCode)).all() == []


def test_anonymous_visitor_logs_in_and_returns(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    at = home_of(anywhere)
    url, _ = visitor.follow(f"{at}{LAB}", until=f"http://{PORTAL}/login?")
    back = parse_qs(urlsplit(url).query)["next"][0]
    assert back.startswith("/content/open?")
    visitor.log_in("alice")
    url, answer = visitor.follow(f"http://{PORTAL}{back}")
    assert (url, answer.status) == (f"{at}{LAB}", 424)
    assert f'href="http://{PORTAL}/"'.encode() in answer.body


def test_whose_login_ends_on_the_way_is_asked_to_log_in(
    anywhere: Real, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The login ends in another tab, between the check of the cookie and the code."""
    look = access.load_access

    async def end_login_first(*args: Any) -> Any:
        with anywhere.rows() as db:
            db.execute(delete(WebSession))
        return await look(*args)

    monkeypatch.setattr(access, "load_access", end_login_first)
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    at = home_of(anywhere)
    url, _ = visitor.follow(f"{at}{LAB}", until=f"http://{PORTAL}/login?")
    assert url.startswith(f"http://{PORTAL}/login?next=/content/open")


def test_programs_get_errors_instead_of_redirects(anywhere: Real) -> None:
    at = urlsplit(home_of(anywhere)).netloc
    answer = anywhere.ask(LAB, headers={"Host": at})
    assert (answer.status, problem(answer)["type"]) == (401, "urn:portal:login-required")
    for path in (LAB, "/hub/home", "/hub/api/user"):
        answer = anywhere.ask(path, user="alice")
        assert (answer.status, home_of(anywhere) in problem(answer)["detail"]) == (404, True)


def test_old_addresses_lead_to_the_new_host(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    for path in (LAB, "/hub/home?x=1"):
        answer = visitor.ask(f"http://{PORTAL}{path}")
        assert (answer.status, answer.one("location")) == (302, f"{home_of(anywhere)}{path}")


def test_the_hub_sends_browsers_the_same_way(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    at = home_of(anywhere)
    back = "%2Fhub%2Fapi%2Foauth2%2Fauthorize%3Fa%3D1"
    url, _ = visitor.follow(f"{at}/content/begin?next={back}", until=f"{at}/hub/")
    assert url == f"{at}/hub/api/oauth2/authorize?a=1"


@pytest.mark.parametrize(
    "back",
    ["//evil.test/", "https://evil.test/", "/\\evil.test", "/api/v1/me", "/user/%0d%0ax", "x", ""],
)
def test_next_cannot_leave_the_host(anywhere: Real, back: str) -> None:
    at = home_of(anywhere)
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    begun = visitor.ask(f"{at}/content/begin?next={back}")
    assert begun.status == 404
    state = "0" * 64
    host = urlsplit(at).netloc
    opened = visitor.ask(f"http://{PORTAL}/content/open?host={host}&state={state}&next={back}")
    assert opened.status == 404
    assert visitor.ask(f"{at}{ENTERING}code=x&next={back}").status == 404


@pytest.mark.parametrize(
    "host", ["evil.test", "portal.test", "jupyter.test.evil.test", "a.b.jupyter.test", "", "x"]
)
def test_codes_are_for_content_hosts_alone(anywhere: Real, host: str) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    asked = f"/content/open?host={host}&state={'0' * 64}&next=/user/alice/s1/"
    answer = visitor.ask(f"http://{PORTAL}{asked}")
    assert (answer.status, answer.all("location")) == (404, [])


# --- codes ----------------------------------------------------------------------------------------


def test_a_code_is_good_once(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    at = home_of(anywhere)
    entering = code_for(visitor, at)
    assert visitor.ask(entering).status == 303
    del visitor.jars[urlsplit(at).netloc]["portal_content"]
    again = visitor.ask(entering)
    assert (again.status, again.all("set-cookie")) == (403, [])
    assert b"could not be opened" in again.body


def test_of_two_who_show_a_code_at_once_one_gets_in(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    entering = code_for(visitor, home_of(anywhere))
    jars = visitor.jars.items()
    twins = [Visitor(anywhere, {name: dict(jar) for name, jar in jars}) for _ in "abcd"]
    with ThreadPoolExecutor() as pool:
        answers = list(pool.map(lambda twin: twin.ask(entering), twins))
    assert sorted(answer.status for answer in answers) == [303, 403, 403, 403]


def test_a_tab_that_comes_second_is_let_in_all_the_same(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    at = home_of(anywhere)
    entering = code_for(visitor, at)
    assert visitor.ask(entering).status == 303
    again = visitor.ask(entering)
    assert (again.status, again.all("set-cookie"), again.one("location")) == (303, [], LAB)


def test_a_code_is_old_after_a_minute(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    entering = code_for(visitor, home_of(anywhere))
    with anywhere.rows() as db:
        left = db.scalars(select(ContentCode)).one().expires_at - utcnow()
        assert left <= timedelta(seconds=60)
        db.execute(update(ContentCode).values(expires_at=utcnow()))
    assert visitor.ask(entering).status == 403


def test_a_code_in_another_browser_opens_nothing_and_is_used_up(anywhere: Real) -> None:
    """The code was seen elsewhere; or it is the attacker's own, to make a victim work in their
    account."""
    at = home_of(anywhere)
    host = urlsplit(at).netloc
    victim = Visitor(anywhere)
    victim.log_in("alice")
    entering = code_for(victim, at)
    for jar in ({}, {"portal_entry": "A" * 43}):
        thief = Visitor(anywhere, {host: dict(jar)})
        answer = thief.ask(entering)
        assert (answer.status, answer.all("set-cookie")) == (403, [])
    assert victim.ask(entering).status == 403


def test_code_of_another_user_is_refused(one: Real) -> None:
    """Bob's own code, issued to his browser, in the browser of alice, who is entering at the
    same time."""
    bob, alice = Visitor(one), Visitor(one)
    bob.log_in("bob")
    alice.log_in("alice")
    bobs = code_for(bob, ONE, "/user/bob/s1/")
    own = code_for(alice, ONE)
    assert alice.ask(bobs).status == 403
    assert "portal_content" not in alice.jars["jupyter.test"]
    assert alice.ask(own).status == 303
    assert gate(one, cookie_of(alice), ONE).status == 204


def test_a_code_at_another_host_opens_nothing(each: Real) -> None:
    alice = Visitor(each)
    alice.log_in("alice")
    entering = code_for(alice, ALICES)
    alice.jars["bob.jupyter.test"] = dict(alice.jars["alice.jupyter.test"])
    for other in (BOBS, f"http://{PORTAL}"):
        elsewhere = entering.replace(ALICES, other)
        answer = alice.ask(elsewhere)
        assert (answer.status, answer.all("set-cookie")) == ((403 if other == BOBS else 404), [])
    assert alice.ask(entering).status == 403  # used up by bob


def test_a_code_of_a_login_that_is_over_opens_nothing(anywhere: Real) -> None:
    visitor = Visitor(anywhere)
    visitor.log_in("alice")
    for end in ("disabled", "expired", "gone"):
        entering = code_for(visitor, home_of(anywhere))
        with anywhere.rows() as db:
            if end == "disabled":
                db.execute(update(User).values(disabled_at=utcnow()))
            elif end == "expired":
                db.execute(update(WebSession).values(expires_at=utcnow()))
            else:
                db.execute(delete(ContentCode))
                db.execute(delete(WebSession))
        assert visitor.ask(entering).status == 403
        with anywhere.rows() as db:
            db.execute(update(User).values(disabled_at=None))
            db.execute(update(WebSession).values(expires_at=utcnow() + timedelta(hours=1)))


def test_codes_and_logins_of_one_browser_are_few(one: Real) -> None:
    visitor = Visitor(one)
    visitor.log_in("alice")
    for _ in range(15):
        code_for(visitor, ONE)
    with one.rows() as db:
        assert len(db.scalars(select(ContentCode)).all()) == 10
    tokens = []
    for _ in range(5):
        visitor.ask(code_for(visitor, ONE))
        tokens.append(visitor.jars["jupyter.test"].pop("portal_content"))
    assert [gate(one, token, ONE).status for token in tokens] == [401, 401, 204, 204, 204]
