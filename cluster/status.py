"""What runs, for people and for programs."""

from __future__ import annotations

from typing import Any

from cluster import namespaces
from cluster.control import ask
from cluster.errors import ClusterError
from cluster.ground import Ground, notes
from cluster.paths import Paths
from cluster.render_portal import bind_dn, ldap_url


def status(ground: Ground) -> dict[str, Any]:
    """The whole state, as JSON can hold it; paths and addresses also while it is down."""
    cluster, paths = ground.cluster, ground.paths
    addresses = cluster.addresses
    head = namespaces.find_head(paths)
    running = head is not None
    return {
        "up": running and paths.ready.exists(),
        "base_url": addresses.base_url,
        "mode": addresses.mode,
        "subnet": addresses.subnet,
        "head": addresses.head,
        "node_url": addresses.node_url,
        "ports": dict(addresses.ports),
        "notes": notes(cluster),
        "services": _services(paths, head) if head is not None else [],
        "nodes": _nodes(ground, running),
        "slurm_conf": str(paths.slurm_conf),
        "ldap": {
            "url": ldap_url(cluster),
            "ldaps_url": f"ldaps://{addresses.head}:{addresses.ports['ldaps']}",
            "ca_file": str(paths.tls / "ca.crt"),
            "suffix": cluster.layout.suffix,
            "bind_dn": bind_dn(cluster.layout),
            "bind_password_file": str(paths.etc / "ldap-portal-password"),
        },
        "log": str(paths.log),
    }


def _services(paths: Paths, head: int) -> list[dict[str, Any]]:
    """As the head's supervisor knows them, with the machine's pids."""
    found: dict[str, dict[str, Any]] = ask(paths.control(), "status")["services"]
    pids = namespaces.machine_pids(head)
    return [{"name": name, **item, "pid": pids.get(item["pid"])} for name, item in found.items()]


def _nodes(ground: Ground, running: bool) -> list[dict[str, Any]]:
    cluster = ground.cluster
    states = _slurm_states(ground) if running else {}
    return [
        {
            "name": node.name,
            "address": cluster.addresses.node(index),
            "gpus": node.gpus,
            "gpu_type": node.gpu_type if node.gpus else None,
            "state": states.get(node.name),
            # what an experiment may cut: ip link set CABLE down
            "cable": ground.paths.cable(index) if cluster.addresses.mode == "veth" else None,
        }
        for index, node in enumerate(cluster.layout.nodes)
    ]


def _slurm_states(ground: Ground) -> dict[str, str]:
    """Empty when slurmctld doesn't answer at once."""
    try:
        lines = ground.on_head(["sinfo", "-h", "-N", "-o", "%N %T"], timeout_s=2).splitlines()
    except ClusterError:
        return {}
    return dict(line.split() for line in lines)


def _table(rows: list[tuple[str, str, str]]) -> str:
    first, second = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"  {a:<{first}}  {b:<{second}}  {c}".rstrip() for a, b, c in rows)


def lines(found: dict[str, Any]) -> str:
    """The same for a reader."""
    if not found["up"]:
        return "down"
    services = [
        (item["name"], item["state"], f"for {item['uptime_s']:.0f} s" if item["pid"] else "")
        for item in found["services"]
    ]
    nodes = [(node["name"], node["state"] or "unknown", _gpus(node)) for node in found["nodes"]]
    parts = [
        f"up at {found['base_url']}",
        f"services\n{_table(services)}",
        f"nodes in {found['subnet']}\n{_table(nodes)}",
        *(f"note: {note}" for note in found["notes"]),
    ]
    return "\n".join(parts)


def _gpus(node: dict[str, Any]) -> str:
    return f"{node['address']}" + (f"  {node['gpus']} × {node['gpu_type']}" if node["gpus"] else "")
