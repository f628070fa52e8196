"""Logging in while the directory is down, silent or sends invalid responses."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from structlog.testing import capture_logs

from tests.portal.conftest import RunPortal
from tests.servers.slapd import SUFFIX, Slapd, free_port

pytestmark = pytest.mark.anyio

DEAD = "directory server failed"


class TestDirectoryTrouble:
    async def test_no_server_answers(self, run_portal: RunPortal) -> None:
        url = f"ldap://127.0.0.1:{free_port()}"
        async with run_portal(ldap_urls=[url]) as portal, portal.browser() as browser:
            answer = await browser.login("alice")
        assert (answer.status, answer.slug) == (503, "directory-unavailable")
        assert "Your password is not the problem" in answer.body["detail"]
        assert "127.0.0.1" not in str(answer.body)

    @pytest.mark.parametrize("start_tls", [True, False])
    async def test_a_certificate_that_does_not_verify(
        self, slapd: Slapd, run_portal: RunPortal, start_tls: bool
    ) -> None:
        url = slapd.ldap_url if start_tls else slapd.ldaps_url
        settings = {
            "ldap_urls": [url],
            "ldap_start_tls": start_tls,
            "ldap_ca_file": slapd.wrong_ca,
        }
        async with run_portal(**settings) as portal, portal.browser() as browser:
            answer = await browser.login("alice")
            (health,) = await portal.context.directory.health()
        assert (answer.status, answer.slug) == (503, "directory-unavailable")
        assert health.cause is not None
        assert "certificate can't be verified" in health.cause

    async def test_a_certificate_for_another_name(
        self, slapd: Slapd, run_portal: RunPortal
    ) -> None:
        url = f"ldap://localhost:{slapd.ldap_port}"
        async with run_portal(ldap_urls=[url]) as portal, portal.browser() as browser:
            assert (await browser.login("alice")).status == 503

    async def test_a_service_account_that_is_refused(self, run_portal: RunPortal) -> None:
        dn = f"cn=unknown,{SUFFIX}"
        async with run_portal(ldap_bind_dn=dn) as portal, portal.browser() as browser:
            assert (await browser.login("alice")).status == 503
            (health,) = await portal.context.directory.health()
        assert "the portal's account" in str(health.cause)

    async def test_the_first_server_refuses_connections(
        self, slapd: Slapd, run_portal: RunPortal
    ) -> None:
        dead = f"ldap://127.0.0.1:{free_port()}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    async def test_the_first_server_drops_packets(
        self, slapd: Slapd, run_portal: RunPortal, black_hole: int
    ) -> None:
        dead = f"ldap://127.0.0.1:{black_hole}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    @pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
    async def test_silent_first_server_is_skipped(
        self, slapd: Slapd, run_portal: RunPortal, mute: int, scheme: str
    ) -> None:
        dead = f"{scheme}://127.0.0.1:{mute}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    @pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
    async def test_the_first_server_speaks_something_else(
        self, slapd: Slapd, run_portal: RunPortal, babble: int, scheme: str
    ) -> None:
        dead = f"{scheme}://127.0.0.1:{babble}"
        await self._logs_in_asking_the_dead_one_once(run_portal, [dead, slapd.ldap_url])

    @staticmethod
    async def _logs_in_asking_the_dead_one_once(run_portal: RunPortal, urls: list[str]) -> None:
        async with run_portal(ldap_urls=urls) as portal, portal.browser() as browser:
            with capture_logs() as lines:
                assert (await browser.login("alice")).status == 200
                assert (await browser.login("alice")).status == 200
            # the dead server is remembered: the next login does not wait for it
            failed = [line["url"] for line in lines if line["event"] == DEAD]
            assert failed == [urls[0]]


@pytest.fixture
def babble() -> Iterator[int]:
    """A server of another protocol: it answers every message with a line of HTTP."""

    class Talk(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def mute() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        yield listener.getsockname()[1]


@pytest.fixture
def black_hole() -> Iterator[int]:
    """A port with a full backlog, so that the kernel drops new connections."""
    with socket.socket() as listener, ExitStack() as stack:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        for _ in range(64):
            client = stack.enter_context(socket.socket())
            client.settimeout(0.2)
            try:
                client.connect(("127.0.0.1", port))
            except TimeoutError:
                break
        else:
            raise AssertionError("the port still answers")
        yield port
