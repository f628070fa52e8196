"""The main workflow over TLS on two hosts, and its state after services die and after a shutdown.

One project for all of the tests, in this order.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from typing import Any
from urllib.parse import urlsplit

import pytest

from cluster.client import Client, RequestRefused
from cluster.demo import TRAIN
from tests.compose.project import Project, docker
from tests.polling import PATIENCE_S, until

pytestmark = pytest.mark.anyio

# a node has 4: two such sessions do not fit on one
RESOURCES = {"partition": "cpu", "cpus": 3, "memory_gb": 2, "time_limit_minutes": 60}
PORTALS = {"portal": 8001, "portal-standby": 8002}
HOST = "import os, platform; print(platform.node(), bool(os.environ.get('APPTAINER_NAME')))"
REMEMBER = "open('/srv/cluster/home/alice/kept', 'w').write('here'); kept = 42"


async def session(client: Client, name: str) -> Any:
    made = await client.start_session(name=name, resources=RESOURCES)
    found = await client.wait_session(made["id"], "running", "ended", timeout_s=PATIENCE_S)
    assert found["state"] == "running", found["reason"]
    await client.open_lab(found)
    return found


async def until_served(client: Client, timeout_s: float = PATIENCE_S) -> None:
    """Wait until the portal answers; without a leader, nginx responds with 503."""
    async with asyncio.timeout(timeout_s):
        while True:
            try:
                await client.api("GET", "/me")
                return
            except RequestRefused as refused:
                assert refused.status == 503
                await asyncio.sleep(0.1)


async def test_the_main_job_with_kernels_on_two_hosts(project: Project) -> None:
    async with project.login("alice") as client:
        first, second = await session(client, "one"), await session(client, "two")
        async with client.kernel(first) as kernel, client.kernel(second) as other:
            output = [(await each.run(HOST, PATIENCE_S)).text.split() for each in (kernel, other)]
            assert sorted(output) == [["node01", "True"], ["node02", "True"]]
            assert {first["node"], second["node"]} == {"node01", "node02"}
            trained = await kernel.run(TRAIN, PATIENCE_S)
            assert trained.status == "ok", trained.error
        board = await client.wait_tensorboard(first["id"], timeout_s=PATIENCE_S)
        assert board["state"] == "running", board["reason"]
        data = f"{await client.open_tensorboard(board)}data/plugin/scalars/scalars?run=.&tag=loss"
        async with client.http.get(data) as answer:
            points = await answer.json()
        assert points[-1][2] < points[0][2]
        await client.stop_session(second["id"], timeout_s=PATIENCE_S)


async def test_nginx_speaks_http_2_under_a_certificate_of_its_own(
    project: Project,
) -> None:
    at = urlsplit(project.base_url)
    context = project.tls()
    context.set_alpn_protocols(["h2", "http/1.1"])

    def agreed() -> tuple[str | None, str | None]:
        address = (str(at.hostname), int(at.port or 443))
        with (
            socket.create_connection(address, timeout=PATIENCE_S) as plain,
            context.wrap_socket(plain, server_hostname=at.hostname) as secure,
        ):
            return secure.selected_alpn_protocol(), secure.version()

    protocol, version = await asyncio.to_thread(agreed)
    assert protocol == "h2"
    assert version == "TLSv1.3"
    strangers = ssl.create_default_context()
    async with Client(project.base_url, strangers) as client:
        with pytest.raises(ssl.SSLCertVerificationError):
            await client.api("GET", "/me")


async def test_only_the_owner_enters_and_only_public_ports_are_published(project: Project) -> None:
    async with project.login("alice") as client, project.login("bob") as bob:
        (live,) = (await client.api("GET", "/sessions?state=live"))["items"]
        assert await bob.enter(live["url"]) == 403
        assert await bob.status_of(f"{live['url']}api/status") == 403
    published = [
        (port, binding["HostIp"])
        for container in project.containers()
        for port, bindings in (container["NetworkSettings"]["Ports"] or {}).items()
        for binding in bindings or ()
    ]
    # the origins of the portal's pages, of notebooks, and of TensorBoards
    assert sorted(published) == [(f"{port}/tcp", "127.0.0.1") for port in (8443, 8444, 8445)]
    for container in project.containers():
        settings = container["HostConfig"]
        once = container["Config"]["Labels"]["com.docker.compose.service"] == "images"
        assert settings["ReadonlyRootfs"] is not once, container["Name"]
        assert settings["Privileged"] is once, container["Name"]
    # addresses that a user's program on a node may try
    for address in ("10.77.0.1/8001", "10.77.0.1/8081"):
        refused = f"exec 3<>/dev/tcp/{address}"
        script = f"timeout 5 bash -c '{refused}' 2>/dev/null || echo refused"
        assert project.execute("node01", "bash", "-c", script) == "refused\n"


async def test_secrets_are_files_of_their_services_alone(project: Project) -> None:
    listed = project.execute("portal", "stat", "--format=%a %U %n", "/srv/cluster/portal/secrets")
    assert listed.startswith("700 portal ")
    files = project.execute(
        "portal", "find", "/srv/cluster/portal/secrets", "-type", "f", "-printf", "%m %f\n"
    )
    assert {line.split()[0] for line in files.splitlines()} == {"600"}
    for container in project.containers():
        environment = " ".join([*container["Config"]["Env"], *(container["Config"]["Cmd"] or ())])
        for password in project.credentials["users"].values():
            assert password not in environment


def leader(project: Project) -> str:
    """Return the leading service, by its own metrics; none shortly after one has died."""
    for service, port in PORTALS.items():
        script = f"curl --silent http://127.0.0.1:{port}/metrics || true"
        if "portal_leads 1.0" in project.execute("hub", "sh", "-c", script):
            return service
    return ""


async def test_the_portal_that_acts_dies_and_neither_session_nor_job_is_lost(
    project: Project,
) -> None:
    first = leader(project)
    (other,) = PORTALS.keys() - {first}
    async with project.login("alice") as client:
        (live,) = (await client.api("GET", "/sessions?state=live"))["items"]
        script = "#!/bin/bash\nwhile [ ! -e ~/end ]; do sleep 0.2; done\necho over\n"
        resources = {**RESOURCES, "cpus": 1, "memory_gb": 1}
        job = await client.api("POST", "/jobs", {"script": script, "resources": resources})
        await client.open_lab(live)
        async with client.kernel(live) as kernel:
            kept = await kernel.run(REMEMBER, PATIENCE_S)
            assert kept.status == "ok", kept.error
            before = project.container(first)["State"]["StartedAt"]
            # all processes of its account; the container's pid 1 is left, and ends next
            project.compose("exec", "--no-TTY", "--detach", first, "bash", "-c", "kill -KILL -1")
            answer = await kernel.run("print(kept)", PATIENCE_S)
            assert answer.text == "42\n"
        await until_served(client)
        assert leader(project) == other
        await until(
            lambda: project.container(first)["State"]["StartedAt"] != before,
            "the container restarts",
            pause_s=0.2,
        )
        found = await client.api("GET", f"/sessions/{live['id']}")
        assert (found["state"], found["job_id"]) == ("running", live["job_id"])
        project.execute("node01", "touch", "/srv/cluster/home/alice/end")
        found = await until(
            lambda: client.api("GET", f"/jobs/{job['id']}"),
            "the job ends",
            done=lambda answer: answer["state"] == "ended",
            pause_s=0.1,
        )
        assert found["outcome"] == "completed", found["reason"]


async def test_down_and_up_again_with_all_that_was_kept(project: Project) -> None:
    async with project.login("alice") as client:
        before = await client.api("GET", "/jobs")
    project.compose("down")
    assert project.compose("ps", "--all", "--quiet") == ""
    project.up()
    async with project.login("alice") as client:
        assert [job["id"] for job in (await client.api("GET", "/jobs"))["items"]] == [
            job["id"] for job in before["items"]
        ]
        await until(
            lambda: client.api("GET", "/sessions?state=live"),
            "all sessions end",
            done=lambda answer: not answer["items"],
            pause_s=0.2,
        )
        third = await session(client, "three")
        async with client.kernel(third) as kernel:
            output = await kernel.run("print(open('/srv/cluster/home/alice/kept').read())")
            assert output.text == "here\n"
        await client.stop_session(third["id"], timeout_s=PATIENCE_S)


async def test_down_with_its_volumes_leaves_nothing(project: Project) -> None:
    project.compose("down", "--volumes", "--timeout", "5")
    assert docker(["ps", "--all", "--quiet"]) == ""
    assert docker(["volume", "ls", "--quiet"]) == ""
    networks = docker(["network", "ls", "--format={{.Name}}"]).split()
    assert sorted(networks) == ["bridge", "host", "none"]
