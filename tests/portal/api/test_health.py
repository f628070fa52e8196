"""Liveness, readiness, metrics; and the headers and files of the portal's own pages."""

from pathlib import Path

import pytest

from portal.db import utcnow
from portal.models import JobState, Session, User
from tests.polling import until
from tests.portal.conftest import Answer, Browser, Portal, RunPortal
from tests.servers.slapd import free_port

pytestmark = pytest.mark.anyio


async def test_alive(browser: Browser) -> None:
    answer = await browser.get("/healthz")
    assert (answer.status, answer.body) == (200, {"status": "ok"})


async def test_ready_lists_the_state_of_each_part(browser: Browser) -> None:
    async def ready() -> Answer:
        return await browser.get("/readyz")

    # a check that takes longer than its limit on a busy machine is repeated some seconds later
    answer = await until(ready, "it is ready", done=lambda answer: answer.status == 200)
    assert answer.body["checks"]["database"] == "ok"
    assert answer.body["checks"]["directory"] == "ok"
    # this portal has no Slurm and no hub
    assert answer.body["checks"]["slurm"] == "failed"
    assert answer.body["checks"]["hub"] == "failed"
    assert answer.body["status"] == "degraded"


async def test_ready_reports_unreachable_directory(run_portal: RunPortal) -> None:
    url = f"ldap://127.0.0.1:{free_port()}"
    async with run_portal(ldap_urls=[url]) as portal, portal.browser() as browser:
        answer = await browser.get("/readyz")
    assert answer.body["checks"]["directory"] == "failed"
    assert "127.0.0.1" not in str(answer.body)


async def test_requests_are_counted_by_route_not_by_what_was_asked(browser: Browser) -> None:
    await browser.login("alice", "wrong")
    await browser.get("/some/unknown-page")
    await browser.send("BREW", "/api/v1/me")
    text = (await browser.get("/metrics")).body
    assert 'portal_requests_total{method="POST",route="/api/v1/login",status="401"} 1.0' in text
    assert "unknown-page" not in text
    assert "BREW" not in text
    assert "alice" not in text


async def test_live_jobs_are_counted(portal: Portal) -> None:
    async with portal.context.db.session() as db:
        user = User(username="alice")
        db.add(user)
        await db.flush()
        db.add(Session(user_id=user.id, name="s1", state=JobState.ENDED))
        db.add(Session(user_id=user.id, name="s2", state=JobState.QUEUED, removed_at=utcnow()))
        await db.commit()
    async with portal.browser() as browser:
        text = (await browser.get("/metrics")).body
    found = [line for line in text.splitlines() if line.startswith("portal_jobs{")]
    assert len(found) == 1
    assert 'kind="session"' in found[0]


@pytest.fixture
def frontend(tmp_path: Path) -> Path:
    folder = tmp_path / "dist"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<title>the application</title>")
    (folder / "favicon.svg").write_text("<svg/>")
    (folder / "assets" / "index-4f2a.js").write_text("run()")
    (tmp_path / "secret.txt").write_text("not for anyone")
    return folder


async def test_pages_files_and_their_headers(run_portal: RunPortal, frontend: Path) -> None:
    async with run_portal(frontend_dir=frontend) as portal, portal.browser() as browser:
        for path in ("/", "/login", "/sessions/42", "/index.html"):
            answer = await browser.get(path)
            assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-cache")
            assert "the application" in answer.body
            policy = answer.headers["Content-Security-Policy"]
            assert "default-src 'self'" in policy
            assert "frame-ancestors 'none'" in policy
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["X-Frame-Options"] == "DENY"
            assert answer.headers["Referrer-Policy"] == "same-origin"
            assert "server" not in answer.headers
        script = await browser.get("/assets/index-4f2a.js")
        assert script.body == "run()"
        assert "immutable" in script.headers["Cache-Control"]
        assert (await browser.get("/assets/index-old.js")).status == 404
        assert (await browser.get("/favicon.svg")).status == 200


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt"]
)
async def test_nothing_outside_the_pages_is_served(
    run_portal: RunPortal, frontend: Path, path: str
) -> None:
    from yarl import URL

    async with run_portal(frontend_dir=frontend) as portal, portal.browser() as browser:
        url = URL(portal.url + path, encoded=True)
        async with browser.http.get(url) as response:
            assert "not for anyone" not in await response.text()


async def test_missing_pages_are_reported(browser: Browser) -> None:
    answer = await browser.get("/")
    assert answer.status == 404
    assert "pages are not installed" in answer.body
