"""Live feeds: one task per user reads the state and encodes each event once, regardless of the
number of streams.

The cluster's state is encoded once for all users.
"""

import asyncio
import random
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel

from portal.api.announcements import AnnouncementOut, Announcements, current
from portal.api.cluster import ClusterOut, cluster_out
from portal.api.job_schemas import JobOut, jobs_out
from portal.api.session_schemas import SessionOut, sessions_out
from portal.background.notifier import ALL_ROWS, EVERYONE
from portal.context import AppContext
from portal.models import JobState, User
from portal.services.jobs import jobs, listing
from portal.services.sessions import sessions
from portal.streaming.sse import PING, sse
from portal.web.dependencies import Identity, still_open

PING_S = 15.0
PAUSE_S = 0.1
OLDEST_ROWS_S = 60.0
"""Sessions and jobs that were read longer ago are read again at a change of the cluster, too."""
OLDEST_ENDED_ROWS_S = 600.0
"""The same if all of them have ended. Most open pages are of users without live sessions and jobs:
reading the rows of some thousand users every minute would occupy the portal.
"""
MAX_LIVE_JOBS = 100
NEWEST_JOBS = 20
KEPT_STEPS = 50
"""A stream that is farther behind gets a snapshot."""


class ClusterJson:
    """The last state of the cluster that was worth an event, encoded once for all users."""

    def __init__(self) -> None:
        self._newest: ClusterOut | None = None
        self._shown: ClusterOut | None = None
        self._json = ""

    def json(self, newest: ClusterOut) -> str:
        """Return the same string object until something other than the time differs."""
        if newest is not self._newest:
            self._newest = newest
            if self._shown is None or newest.model_copy(update={"at": self._shown.at}) != (
                self._shown
            ):
                self._shown = newest
                self._json = newest.model_dump_json()
        return self._json


class LiveSnapshot(BaseModel):
    """The state of a user's pages: sessions and jobs, live ones and the newest of all, the cluster,
    and current announcements. Later events of the stream change it.
    """

    sessions: list[SessionOut]
    jobs: list[JobOut]
    cluster: ClusterOut
    announcements: list[AnnouncementOut]


@dataclass(frozen=True)
class LiveState:
    """The state behind a user's pages: sessions and jobs by id, and the rest as JSON."""

    sessions: Mapping[str, SessionOut]
    jobs: Mapping[str, JobOut]
    cluster: str
    announcements: str

    @property
    def is_live(self) -> bool:
        """Whether one of the sessions and jobs has not ended."""
        states = [row.state for row in self.sessions.values()]
        states += [row.state for row in self.jobs.values()]
        return any(state is not JobState.ENDED for state in states)

    def to_json(self) -> str:
        """Return the state as a LiveSnapshot."""
        return (
            f'{{"sessions":{_to_json_list(self.sessions)},"jobs":{_to_json_list(self.jobs)},'
            f'"cluster":{self.cluster},"announcements":{self.announcements}}}'
        )

    def events_from(self, before: "LiveState") -> bytes:
        """Return the events that lead from another state to this one."""
        events = [
            *_to_events("session", before.sessions, self.sessions),
            *_to_events("job", before.jobs, self.jobs),
        ]
        if self.cluster is not before.cluster:
            events.append(sse("cluster", self.cluster))
        if self.announcements != before.announcements:
            events.append(sse("announcements", f'{{"items":{self.announcements}}}'))
        return b"".join(events)


class UserFeed:
    """The events of one user, for as long as they have a stream open."""

    def __init__(self, context: AppContext, user: User, cluster_json: ClusterJson) -> None:
        self.round = asyncio.Event()
        """Set once the user's state has been read again; then a new event replaces it."""
        self._context = context
        self._user = user
        self._cluster_json = cluster_json
        self._state: LiveState | None = None
        self._snapshot: bytes | None = None
        self._version = 0
        self._rows_read_s = float("-inf")
        # Feeds that began at the same time, as after a restart, must not all read at the same time.
        self._ended_rows_factor = random.uniform(0.5, 1.0)  # noqa: S311
        self._steps: deque[tuple[int, bytes]] = deque(maxlen=KEPT_STEPS)
        self._logins: dict[str, Identity] = {}
        self._streams: Counter[str] = Counter()
        self._topic = f"feed {id(self)}"
        self._task = asyncio.create_task(self._run_loop(), name="feed")

    @property
    def is_over(self) -> bool:
        return self._task.done()

    def call_at_end(self, act: Callable[[], None]) -> None:
        """Call a function once the feed is over."""
        self._task.add_done_callback(lambda _task: act())

    @property
    def state(self) -> LiveState | None:
        """The state that was read last; None before the first."""
        return self._state

    async def join(self, who: Identity) -> None:
        """Count a stream of this login, and wait until the first state is read."""
        self._logins[who.login_id] = who
        self._streams[who.login_id] += 1
        while self._state is None and not self.is_over:
            await self.round.wait()

    def leave(self, who: Identity) -> None:
        self._streams[who.login_id] -= 1
        if not self._streams[who.login_id]:
            del self._streams[who.login_id]
            self._logins.pop(who.login_id, None)
        self._context.notifier.notify(self._topic)

    def is_open(self, who: Identity) -> bool:
        """Return whether this login is still valid. Raises the error that ended the feed."""
        if self.is_over:
            self._task.result()
            return False
        return who.login_id in self._logins and not self._context.notifier.closed

    def newest(self) -> tuple[int, bytes]:
        """Return the version of the user's state, and the state as a snapshot."""
        if self._snapshot is None:
            assert self._state is not None  # noqa: S101 - after `join`
            self._snapshot = sse("snapshot", self._state.to_json())
        return self._version, self._snapshot

    def since(self, version: int) -> tuple[int, bytes]:
        """Return the newest version, and the events that lead to it from this one, or a
        snapshot.
        """
        steps = [text for number, text in self._steps if number > version]
        if len(steps) == self._version - version:
            return self._version, b"".join(steps)
        return self.newest()

    async def _run_loop(self) -> None:
        notifier = self._context.notifier
        own = (self._user.id, ALL_ROWS)
        try:
            async with (
                notifier.listen(*own, EVERYONE, self._topic) as listener,
                notifier.listen(*own) as rows,
            ):
                await self._refresh(rows=True)
                while self._streams and not notifier.closed:
                    self._signal_round()
                    await asyncio.sleep(PAUSE_S)  # merges bursts of changes into a few events
                    signalled = await listener.wait(PING_S)
                    await self._check_logins()
                    if signalled and self._streams:
                        await self._refresh(rows=rows.take() or self._has_old_rows())
        finally:
            asyncio.get_running_loop().call_soon(self.round.set)  # once this task is done

    def _signal_round(self) -> None:
        ended, self.round = self.round, asyncio.Event()
        ended.set()

    async def _check_logins(self) -> None:
        for login_id, who in list(self._logins.items()):
            if not await still_open(self._context, who):
                self._logins.pop(login_id, None)

    def _has_old_rows(self) -> bool:
        age_s = asyncio.get_running_loop().time() - self._rows_read_s
        if age_s < OLDEST_ROWS_S or self._state is None:
            return False
        oldest_s = OLDEST_ENDED_ROWS_S * self._ended_rows_factor
        return age_s >= oldest_s or self._state.is_live

    async def _refresh(self, *, rows: bool) -> None:
        """Read the state again: all of it, or without the user's `rows`, which have not changed."""
        before = self._state
        if before is None or rows:
            self._rows_read_s = asyncio.get_running_loop().time()
            shown = before.jobs if before else {}
            state = await _load_state(self._context, self._user, self._cluster_json, shown)
        else:
            cluster, announcements = _load_shared(self._context, self._cluster_json)
            state = replace(before, cluster=cluster, announcements=announcements)
        events = state.events_from(before) if before else b""
        if before is None or events:
            self._version += 1
            self._snapshot = None
            self._steps.append((self._version, events))
        self._state = state


class LiveFeeds:
    """The feeds of all users that have a stream open."""

    def __init__(self, context: AppContext) -> None:
        self._context = context
        self._cluster_json = ClusterJson()
        self._feeds: dict[str, UserFeed] = {}

    async def events(self, who: Identity) -> AsyncIterator[bytes]:
        """Yield a snapshot, then changes and pings, until the login ends or the portal stops."""
        loop = asyncio.get_running_loop()
        async with self._join_feed(who) as feed:
            if not feed.is_open(who):
                return
            version, text = feed.newest()
            yield text
            ping_at = loop.time() + PING_S
            while True:
                next_round = feed.round
                if not feed.is_open(who):
                    return
                version, text = feed.since(version)
                if not text:
                    try:
                        await asyncio.wait_for(next_round.wait(), ping_at - loop.time())
                        continue
                    except TimeoutError:
                        text = PING
                yield text
                ping_at = loop.time() + PING_S

    async def snapshot(self, user: User) -> str:
        """Return the user's state as a LiveSnapshot: that of their streams, if any are open."""
        feed = self._feeds.get(user.id)
        state = feed.state if feed is not None and not feed.is_over else None
        if state is None:
            state = await _load_state(self._context, user, self._cluster_json, {})
        return state.to_json()

    @asynccontextmanager
    async def _join_feed(self, who: Identity) -> AsyncIterator[UserFeed]:
        feed = self._feeds.get(who.user.id)
        if feed is None or feed.is_over:
            feed = self._feeds[who.user.id] = UserFeed(self._context, who.user, self._cluster_json)
            feed.call_at_end(partial(self._forget, who.user.id, feed))
        try:
            await feed.join(who)
            yield feed
        finally:
            feed.leave(who)

    def _forget(self, user_id: str, feed: UserFeed) -> None:
        """Drop a feed that has ended, unless another one of the user's has replaced it."""
        if self._feeds.get(user_id) is feed:
            del self._feeds[user_id]


async def _load_state(
    context: AppContext, user: User, cluster_json: ClusterJson, shown: Mapping[str, JobOut]
) -> LiveState:
    """Read a user's state; `shown` are the jobs that their pages show."""
    sessions_by_id = await _load_sessions(context, user)
    jobs_by_id = await _load_jobs(context, user, shown)
    return LiveState(sessions_by_id, jobs_by_id, *_load_shared(context, cluster_json))


def _load_shared(context: AppContext, cluster_json: ClusterJson) -> tuple[str, str]:
    """Return the cluster and the announcements, which are the same for all users."""
    announcements = Announcements(items=current(context)).model_dump_json()
    return (
        cluster_json.json(cluster_out(context)),
        announcements.removeprefix('{"items":').removesuffix("}"),
    )


async def _load_sessions(context: AppContext, user: User) -> dict[str, SessionOut]:
    """Return the user's live sessions, and the newest ended ones."""
    newest = await sessions.page(context, user=user, live=False)
    live = await sessions.page(context, user=user, live=True)
    by_id = {s.id: s for s in (*live, *newest[: sessions.PAGE])}
    return {shown.id: shown for shown in await sessions_out(context, [*by_id.values()])}


async def _load_jobs(
    context: AppContext, user: User, shown: Mapping[str, JobOut]
) -> dict[str, JobOut]:
    """Return the user's live jobs, and the newest of all: as many as one page shows.

    Jobs `shown` before that have ended and are not among the newest are included once more, as
    their last event.
    """
    live = await listing.page(
        context, user, listing.JobSelection(state="live"), limit=MAX_LIVE_JOBS
    )
    newest = await listing.page(context, user, listing.JobSelection(), limit=NEWEST_JOBS)
    # each page has one more row, if there is one
    by_id = {job.id: job for job in (*live[:MAX_LIVE_JOBS], *newest[:NEWEST_JOBS])}
    left = [i for i, job in shown.items() if i not in by_id and job.state is not JobState.ENDED]
    if left:
        by_id |= {job.id: job for job in await jobs.load_ended(context, user, left)}
    return {job.id: job for job in await jobs_out(context, [*by_id.values()])}


def _to_json_list(things: Mapping[str, BaseModel]) -> str:
    return f"[{','.join(thing.model_dump_json() for thing in things.values())}]"


def _to_events(
    kind: str, before: Mapping[str, BaseModel], now: Mapping[str, BaseModel]
) -> list[bytes]:
    changed = [
        sse(kind, thing.model_dump_json()) for i, thing in now.items() if before.get(i) != thing
    ]
    gone = [sse(f"{kind}_removed", f'{{"id":"{i}"}}') for i in before if i not in now]
    return changed + gone
