"""The gate's decision, and the texts of its pages."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.api.gate import explain, page
from portal.models import JobState, Session, User, Wanted
from portal.services.sessions.gate import (
    Decision,
    GateAnswer,
    LiveSession,
    decide,
    get_target,
)
from portal.web.language import preferred
from spawner.slurm.model import Outcome

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def session(**changes: Any) -> Session:
    values: dict[str, Any] = {
        "name": "s1",
        "state": JobState.RUNNING,
        "wanted": Wanted.RUN,
        "target_host": "10.77.0.11",
        "target_port": 40123,
        "ready_at": NOW,
        "user": User(username="alice"),
        **changes,
    }
    return Session(**values)


def live(**changes: Any) -> LiveSession:
    found = LiveSession.of(session(**changes))
    assert found is not None
    return found


def test_the_owner_of_a_serving_session_enters() -> None:
    assert decide("alice", "alice", "s1", live()) == Decision(GateAnswer.ENTER, "10.77.0.11", 40123)


def test_whose_certificate_its_server_must_show_comes_with_where_it_is() -> None:
    found = decide("alice", "alice", "s1", live(tls_name="x.session.portal.internal"))
    assert found == Decision(GateAnswer.ENTER, "10.77.0.11", 40123, "x.session.portal.internal")


def test_anonymous_request_always_needs_login() -> None:
    for found in (None, live()):
        assert decide(None, "alice", "s1", found).answer is GateAnswer.LOGIN


@pytest.mark.parametrize("who", ["bob", "carol", "root", "Alice", "alice ", "", "alic", "alicee"])
def test_other_users_are_refused(who: str) -> None:
    for found in (None, live()):
        assert decide(who, "alice", "s1", found).answer is GateAnswer.REFUSED


@given(user=st.text(), owner=st.text(), server=st.text())
def test_only_equal_and_plain_names_get_anywhere(user: str, owner: str, server: str) -> None:
    decision = decide(user, owner, server, live())
    assert decision.answer is not GateAnswer.ENTER or (user, owner, server) == (
        "alice",
        "alice",
        "s1",
    )


@given(server=st.from_regex(r"[a-z0-9./%_-]{1,40}", fullmatch=True))
def test_a_row_of_another_name_is_never_entered(server: str) -> None:
    decision = decide("alice", "alice", server, live(name="other"))
    assert decision.answer is (GateAnswer.REFUSED if server != "other" else GateAnswer.ENTER)


def test_a_row_of_another_owner_is_never_entered() -> None:
    foreign = live(user=User(username="bob"))
    assert decide("alice", "alice", "s1", foreign).answer is GateAnswer.REFUSED


@pytest.mark.parametrize(
    "changes",
    [
        *({"state": state} for state in JobState if state is not JobState.RUNNING),
        {"wanted": Wanted.STOP},
        {"ready_at": None},
        {"target_host": None},
        {"target_host": ""},
        {"target_port": None},
        {"target_port": 0},
        {"target_port": 22},
        {"target_port": 1023},
        {"target_port": 65536},
        {"target_port": -1},
    ],
)
def test_what_does_not_serve_is_answered_by_the_portal(changes: dict[str, Any]) -> None:
    found = LiveSession.of(session(**changes))
    assert found is None or get_target(found) is None
    assert decide("alice", "alice", "s1", found) == Decision(GateAnswer.UNAVAILABLE)


def test_stale_state_does_not_block_the_owner() -> None:
    assert decide("alice", "alice", "s1", live(stale_since=NOW)).answer is GateAnswer.ENTER


@pytest.mark.parametrize(("owner", "server"), [("alice\n", "s1"), ("alice", "s1\n")])
def test_decide_refuses_a_name_with_a_newline(owner: str, server: str) -> None:
    assert decide(owner, owner, server, live()).answer is GateAnswer.REFUSED


@pytest.mark.parametrize("state", list(JobState))
def test_every_state_has_words(state: JobState) -> None:
    title, sentences, refresh_s = explain(session(state=state, outcome=None))
    assert title
    assert sentences or state is JobState.STOPPING
    assert (refresh_s is None) == (state is JobState.ENDED)


def test_ended_session_is_explained() -> None:
    ended = session(
        state=JobState.ENDED, outcome=Outcome.TIMEOUT, reason="Why.", suggestion="Do this."
    )
    _, sentences, _ = explain(ended)
    assert sentences == [
        "It reached its time limit.",
        "Why.",
        "Do this.",
        "You can start it again.",
    ]


def test_a_page_escapes_what_users_wrote() -> None:
    evil = "</p><script>alert(1)</script>{title}"
    response = page(evil, [evil], "zh", status=424)
    assert b"<script" not in response.body
    assert b"&lt;script&gt;alert(1)&lt;/script&gt;{title}" in response.body
    assert response.headers["content-security-policy"].startswith("default-src 'none'")


def test_a_page_is_in_its_readers_language() -> None:
    ended = session(state=JobState.ENDED, outcome=Outcome.TIMEOUT, reason="Why.")
    title, sentences, _ = explain(ended)
    english = bytes(page(title, sentences, "en", status=424).body).decode()
    chinese = bytes(page(title, sentences, "zh", status=424).body).decode()
    assert '<html lang="en">' in english
    assert "<h1>This session isn&#x27;t running</h1>" in english
    assert '<html lang="zh-CN">' in chinese
    for words in ("<h1>该会话未在运行</h1>", "<p>它达到了时间上限。</p>", "Why.", ">前往门户</a>"):
        assert words in chinese


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("de-DE, de;q=0.9, zh-TW;q=0.5, en;q=0.7", "en"),
        ("en;q=0.1, ZH", "zh"),
        ("zh;q=0, fr", "en"),
        ("zh;q=x, *;q=0.5", "en"),
        ("zh" * 10_000, "en"),
        ("," * 10_000 + "zh", "en"),
    ],
)
def test_the_browsers_first_language_that_there_is(header: str, language: str) -> None:
    assert preferred(header) == language
