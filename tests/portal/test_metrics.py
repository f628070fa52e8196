"""The portal's metrics, and access to them."""

import re
from pathlib import Path

import pytest

from portal.metrics import Metrics
from tests.polling import until
from tests.portal.conftest import Browser, Portal, RunPortal
from tests.servers.slapd import PASSWORD

pytestmark = pytest.mark.anyio

FORWARDED = {"X-Forwarded-For": "192.0.2.7"}
TOKEN = "metrics-" + "x" * 32


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "metrics.secret"
    file.touch(mode=0o600)
    file.write_text(TOKEN)
    return file


def value(text: str, name: str, **labels: str) -> float | None:
    """Return a sample from Prometheus' text format; labels that are not named may have any
    value."""
    wanted = {f'{key}="{word}"' for key, word in labels.items()}
    for line in text.splitlines():
        found = re.fullmatch(rf"{name}(?:\{{(.*)\}})? (\S+)", line)
        if found and wanted <= set(re.findall(r'\w+="[^"]*"', found[1] or "")):
            return float(found[2])
    return None


async def test_on_this_host_alone(browser: Browser) -> None:
    assert (await browser.get("/metrics")).status == 200
    for name in ("carol", "alice"):
        await browser.login(name)
        answer = await browser.get("/metrics", headers=FORWARDED)
        assert (answer.status, answer.slug) == (404, "not-found")
    bearer = {**FORWARDED, "Authorization": f"Bearer {TOKEN}"}
    assert (await browser.get("/metrics", headers=bearer)).status == 404


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Bearer wrong", f"Basic {TOKEN}"])
async def test_from_elsewhere_by_its_token(
    run_portal: RunPortal, token_file: Path, given: str
) -> None:
    async with run_portal(metrics_token_file=token_file) as portal, portal.browser() as browser:
        right = {**FORWARDED, "Authorization": f"Bearer {TOKEN}"}
        assert (await browser.get("/metrics", headers=right)).status == 200
        wrong = {**FORWARDED, "Authorization": given}
        assert (await browser.get("/metrics", headers=wrong)).status == 404
        # and it grants no other access
        assert (await browser.get("/api/v1/me", headers=right)).status == 401


async def test_requests_to_other_services_are_measured(portal: Portal, browser: Browser) -> None:
    await browser.login("alice", PASSWORD)
    await browser.get("/readyz")  # queries the hub, which does not exist

    async def asked() -> str | None:
        text: str = (await browser.get("/metrics")).body
        slurm = value(text, "portal_slurm_failures_total", command="squeue")
        return text if slurm else None

    text = await until(asked, "a try of squeue")
    assert text is not None
    (server,) = portal.settings.ldap_urls
    count = value(text, "portal_directory_seconds_count", server=server)
    assert count is not None
    assert count > 0
    assert value(text, "portal_directory_failures_total", server=server) == 0
    hub = value(text, "portal_hub_failures_total", method="GET")
    assert hub is not None
    assert hub > 0
    stale = value(text, "portal_slurm_stale_seconds")
    assert stale is not None
    assert stale > 0
    assert (value(text, "process_resident_memory_bytes") or 0) > 1_000_000


async def test_how_the_parts_are(browser: Browser) -> None:
    async def known() -> str | None:
        text: str = (await browser.get("/metrics")).body
        found = [value(text, "portal_part_up", part=part) for part in ("database", "hub")]
        return None if None in found else text

    text = await until(known, "a look at the parts")
    assert text is not None
    assert value(text, "portal_part_up", part="database") == 1
    assert value(text, "portal_part_up", part="hub") == 0


async def test_nothing_that_a_user_wrote_is_in_it(browser: Browser) -> None:
    hostile = 'eve"} 1\nportal_jobs{kind="forged'
    await browser.login(hostile, hostile)
    await browser.login("alice")
    named = {"X-Request-Id": "my-own-words"}
    await browser.send("BREW", "/api/v1/jobs/my-own-words", headers=named)
    await browser.get("/tensorboard/my-own-words/?q=my-own-words")
    text = (await browser.get("/metrics")).body
    for word in ("eve", "forged", "alice", "my-own-words", "BREW"):
        assert word not in text


async def test_a_fault_is_counted_and_its_answer_has_its_name(portal: Portal) -> None:
    status, portal.app.state.status = portal.app.state.status, None
    async with portal.browser() as browser:
        answer = await browser.get("/metrics")
        assert (answer.status, answer.slug) == (500, "internal")
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-Id"])
        portal.app.state.status = status
        text = (await browser.get("/metrics")).body
    assert value(text, "portal_errors_total", type="internal") == 1


async def test_a_request_keeps_the_name_that_nginx_gave_it(browser: Browser) -> None:
    given = "0123456789abcdef" * 2
    answer = await browser.get("/healthz", headers={"X-Request-Id": given})
    assert answer.headers["X-Request-Id"] == given
    for bad in ("x", given.upper(), given + "0", "../" + given):
        answer = await browser.get("/healthz", headers={"X-Request-Id": bad})
        assert re.fullmatch("[0-9a-f]{32}", answer.headers["X-Request-Id"])
        assert answer.headers["X-Request-Id"] != bad


def test_an_edge_without_a_label_counts_too() -> None:
    metrics = Metrics()
    metrics.proxy("", 0.2, False)
    metrics.hub("GET", 0.2, True)
    counted = metrics.registry.get_sample_value
    assert counted("portal_proxy_failures_total") == 1
    assert counted("portal_hub_failures_total", {"method": "GET"}) == 0
    assert counted("portal_hub_seconds_bucket", {"method": "GET", "le": "0.25"}) == 1
