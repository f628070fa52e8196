"""Rate limits per key, with a clock of their own."""

import pytest

from portal.services.rate_limit import RateLimit


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The present time, as its only entry."""
    now = [1000.0]
    monkeypatch.setattr("portal.services.rate_limit.time.monotonic", lambda: now[0])
    return now


def test_no_period_has_more_events_than_the_limit(clock: list[float]) -> None:
    limit = RateLimit(2, 60)
    for _ in range(2):
        assert limit.wait_s("alice") == 0
        limit.count("alice")
        clock[0] += 10
    assert limit.wait_s("alice") == 40
    assert limit.wait_s("bob") == 0
    clock[0] += 40
    assert limit.wait_s("alice") == 0
    limit.count("alice")
    assert limit.wait_s("alice") == 10


def test_spare_events_are_left(clock: list[float]) -> None:
    limit = RateLimit(3, 60)
    limit.count("alice")
    assert limit.wait_s("alice", spare=2) == 60
    assert limit.wait_s("alice", spare=1) == 0


def test_an_event_is_taken_back(clock: list[float]) -> None:
    limit = RateLimit(1, 60)
    event = limit.count("alice")
    assert limit.wait_s("alice") == 60
    limit.take_back("bob", event)
    assert limit.wait_s("alice") == 60
    limit.take_back("alice", event)
    assert limit.wait_s("alice") == 0
    limit.take_back("alice", event)
    assert limit.wait_s("alice") == 0


def test_an_event_that_is_taken_back_leaves_later_ones(clock: list[float]) -> None:
    limit = RateLimit(1, 60)
    first = limit.count("alice")
    clock[0] += 30
    limit.count("alice")
    limit.take_back("alice", first)
    assert limit.wait_s("alice") == 60


def test_two_events_at_the_same_time_are_two(clock: list[float]) -> None:
    limit = RateLimit(2, 60)
    limit.take_back("alice", limit.count("alice"))
    first, _ = limit.count("alice"), limit.count("alice")
    limit.take_back("alice", first)
    limit.take_back("alice", first)
    assert limit.wait_s("alice", spare=1) == 60


def test_keys_are_forgotten_after_the_period(clock: list[float]) -> None:
    limit = RateLimit(5, 60)
    for key in ("alice", "bob"):
        limit.count(key)
    clock[0] += 60
    limit.count("carol")
    assert set(limit._events) == {"carol"}
