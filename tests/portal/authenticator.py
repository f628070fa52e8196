"""A user's authenticator app, the portal's clock for codes, and the stored state of both."""

import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select, update

from portal.services.auth import totp
from tests.portal.conftest import Answer, Browser, Portal

HERE = "/api/v1/second-factor"
FOREIGN = "http://evil.example"


class Clock:
    """The portal's clock for codes; it stands still, so that no code expires during a test."""

    def __init__(self) -> None:
        self.now_s = time.time()

    def __call__(self) -> datetime:
        return datetime.fromtimestamp(self.now_s, UTC)

    def code(self, secret: bytes, skew: int = 0) -> str:
        return totp.compute_code(secret, totp.step_at(self.now_s) + skew)

    def next_step(self) -> None:
        self.now_s += totp.STEP_S


class App:
    """A user's authenticator app and recovery codes."""

    def __init__(self, clock: Clock, secret: bytes, recovery: list[str]) -> None:
        self.clock, self.secret, self.recovery = clock, secret, recovery

    def code(self, skew: int = 0) -> str:
        return self.clock.code(self.secret, skew)

    def next_code(self) -> str:
        """Return an unused code."""
        self.clock.next_step()
        return self.code()


async def enrol(browser: Browser, clock: Clock) -> App:
    await browser.confirm()
    begun = await browser.post(f"{HERE}/enrolment")
    assert begun.status == 201, begun
    secret = base64.b32decode(begun.body["secret"])
    done = await browser.post(f"{HERE}/confirm", {"code": clock.code(secret)})
    assert done.status == 200, done
    return App(clock, secret, done.body["codes"])


async def give(browser: Browser, code: str) -> Answer:
    return await browser.post("/api/v1/login/second-factor", {"code": code})


async def rows(portal: Portal, table: Any) -> list[Any]:
    async with portal.context.db.session() as db:
        return list((await db.scalars(select(table))).all())


async def change(portal: Portal, table: Any, **values: Any) -> None:
    async with portal.context.db.session() as db:
        await db.execute(update(table).values(**values))
        await db.commit()


@asynccontextmanager
async def logged_in(portal: Portal, username: str) -> AsyncIterator[Browser]:
    async with portal.browser() as browser:
        answer = await browser.login(username)
        assert answer.status == 200
        if answer.body["second_factor"] != "required":
            await browser.confirm()
        yield browser


def cookie(browser: Browser) -> str:
    return next((morsel.value for morsel in browser.http.cookie_jar), "")
