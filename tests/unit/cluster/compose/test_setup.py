"""docker-compose.yml, compared with the configuration rendered for it."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
import yaml

from cluster.compose.description import PORTALS, Project, dumps, load_project, loads
from cluster.compose.roles import ROLES
from cluster.compose.setup import configuration
from cluster.config.render import base_ldif, gres_conf
from cluster.config.render import render as rendered
from cluster.errors import LayoutError
from deploy.images.definition import load
from tests.paths import CHECKOUT

COMPOSE = CHECKOUT / "docker-compose.yml"


def defaults(text: str) -> str:
    """Apply the default values as compose does without an environment; `$$` is a dollar sign."""
    inner = re.compile(r"\$\{\w+:-([^${}]*)\}")
    while inner.search(text):
        text = inner.sub(r"\1", text)
    return text.replace("$$", "$")


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(defaults(COMPOSE.read_text("utf-8")))
    return found["services"]


@pytest.fixture(scope="module")
def project(services: dict[str, dict[str, Any]]) -> Project:
    return load_project({name: str(v) for name, v in services["setup"]["environment"].items()})


def test_slurm_gets_the_addresses_of_the_services(
    services: dict[str, dict[str, Any]], project: Project
) -> None:
    addresses = project.cluster.addresses
    given = {
        "slurmctld": addresses.host("slurmctld"),
        "slurmdbd": addresses.host("slurmdbd"),
        "front": addresses.head,
        **{
            node.name: addresses.node(index)
            for index, node in enumerate(project.cluster.layout.nodes)
        },
    }
    networks = {name: services[name]["networks"]["cluster"]["ipv4_address"] for name in given}
    assert networks == given
    assert services["slurmctld"]["hostname"] == "slurmctld"
    assert {name for name in services if re.fullmatch(r"node\d+", name)} == {
        node.name for node in project.cluster.layout.nodes
    }


def test_each_service_has_a_role_and_a_target(services: dict[str, dict[str, Any]]) -> None:
    targets = re.findall(r"(?m)^FROM \S+ AS (\S+)$", (CHECKOUT / "deploy/Dockerfile").read_text())
    froms = re.findall(r"(?m)^FROM (\S+) AS", (CHECKOUT / "deploy/Dockerfile").read_text())
    commands = re.findall(r'(?m)^CMD \["(\S+)"\]$', (CHECKOUT / "deploy/Dockerfile").read_text())
    assert {service["build"]["target"] for service in services.values()} <= set(targets)
    assert set(froms) <= {"debian:trixie-slim", *targets}
    images = [definition.name for definition in load(CHECKOUT / "spawner/catalog/images")]
    assert set(commands) <= {*ROLES, *images}


def test_the_three_origins_are_published_and_only_on_loopback(
    services: dict[str, dict[str, Any]],
) -> None:
    published = {name: service["ports"] for name, service in services.items() if "ports" in service}
    assert published == {"front": [f"127.0.0.1:{port}:{port}" for port in (8443, 8444, 8445)]}
    ports = {name: services[name]["environment"]["PORTAL_LISTEN_PORT"] for name in
             ("portal", "portal-standby")}  # fmt: skip
    assert tuple(ports.values()) == PORTALS


def test_what_is_less_confined_is_known(services: dict[str, dict[str, Any]]) -> None:
    open_roots = {name for name, service in services.items() if not service.get("read_only")}
    with_all = {name for name, service in services.items() if service.get("cap_drop") != ["ALL"]}
    assert open_roots == with_all == {"images"}
    gaining = {
        name
        for name, service in services.items()
        if "no-new-privileges:true" not in service.get("security_opt", [])
    }
    assert gaining == {"images", "portal", "portal-standby"}


def test_without_gpus_there_are_neither_devices_nor_limits_on_them(project: Project) -> None:
    cluster = project.cluster
    assert gres_conf(cluster) == ""
    assert [part.name for part in cluster.layout.partitions] == ["cpu", "debug"]
    assert not any(account.grp_tres for account in cluster.layout.accounts)


CONTENT = {"NOTEBOOK_URL": "https://localhost:8444", "TENSORBOARD_URL": "https://localhost:8445"}


def test_a_node_with_gpus_has_the_machines_own(project: Project) -> None:
    environment = {"NODE_CPUS": "4", "NODE_MEMORY_MB": "8192", "GPU_TYPE": "a100"}
    environment |= {"PUBLIC_URL": "https://portal.example", "NETWORK": "10.9.8", **CONTENT}
    found = load_project({**environment, "NODES": "node01:2 node02"})
    assert gres_conf(found.cluster) == (
        "NodeName=node01 Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"
    )
    assert [account.grp_tres for account in found.cluster.layout.accounts] == ["", "gres/gpu=2"]
    assert found.cluster.addresses.node(1) == "10.9.8.12"
    assert loads(dumps(found)) == found


def test_mistyped_setting_is_reported(project: Project) -> None:
    environment = {"NODE_CPUS": "4", "NODE_MEMORY_MB": "8192", "GPU_TYPE": "gpu"}
    environment |= {"NETWORK": "10.9.8", "NODES": "node01", **CONTENT}
    environment["PUBLIC_URL"] = "http://localhost:8443"
    with pytest.raises(LayoutError, match="https"):
        load_project(environment)
    with pytest.raises(LayoutError, match="four"):
        load_project({**environment, "NODE_CPUS": "four"})


def test_all_containers_read_one_configuration_and_no_secret(project: Project) -> None:
    files = configuration(project, "the authority's certificate\n")
    assert {"slurm.conf", "slapd.conf", "portal.toml", "hub.toml"} <= files.keys()
    assert "nslcd.conf" not in files  # because it contains a password
    assert files["ca.crt"].text == "the authority's certificate\n"
    assert 'public_url = "https://localhost:8443"' in files["portal.toml"].text
    hub = tomllib.loads(files["hub.toml"].text)
    assert hub["cookie_name"] == "__Host-portal"
    portals = tomllib.loads(files["portal.toml"].text)["portals"]
    assert [hub["portal_url"], *hub["other_portal_urls"]] == [f"http://{at}" for at in portals]


def test_the_directory_and_slurm_are_the_clusters_own(project: Project) -> None:
    cluster = project.cluster
    names = {"cn=portal", "cn=nslcd", *(user.name for user in cluster.layout.users)}
    assert "homeDirectory: /srv/cluster/home/alice" in base_ldif(cluster, dict.fromkeys(names, "x"))
    files = rendered(cluster, "")
    assert "SlurmctldHost=slurmctld(10.77.0.2)" in files["slurm.conf"].text
    assert "DbdHost=slurmdbd\nDbdAddr=10.77.0.3" in files["slurmdbd.conf"].text
    assert "uri ldap://slapd:389/" in files["nslcd.conf"].text
