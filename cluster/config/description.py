"""The description of a cluster: cluster.toml as validated, immutable values.

Pure: independent of the machine, of folders and of the addresses in use.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from cluster.errors import LayoutError

HOST_LIST = re.compile(r"^(?P<prefix>[a-z][a-z0-9-]*)\[(?P<first>\d+)-(?P<last>\d+)\]$")
HOST_NAME = re.compile(r"^[a-z][a-z0-9-]{0,30}$")
SELECTORS = ("all", "gpu", "cpu")
# as in spawner.names, which is missing where this package runs alone
USERNAME = re.compile(r"[a-z_][a-z0-9_.-]{0,31}")


@dataclass(frozen=True)
class NodeSpec:
    name: str
    sockets: int
    cores_per_socket: int
    memory_mb: int
    gpus: int = 0
    gpu_type: str = "gpu"

    @property
    def feature(self) -> str:
        return self.gpu_type if self.gpus else "cpuonly"


@dataclass(frozen=True)
class PartitionSpec:
    name: str
    nodes: tuple[str, ...]
    default: bool
    max_time: str
    default_time: str
    priority: int


@dataclass(frozen=True)
class Account:
    name: str
    description: str
    grp_tres: str = ""


@dataclass(frozen=True)
class UserSpec:
    name: str
    uid: int
    full_name: str
    accounts: tuple[str, ...]
    groups: tuple[str, ...] = ()
    locked: bool = False


@dataclass(frozen=True)
class GroupSpec:
    name: str
    gid: int


@dataclass(frozen=True)
class ServiceAccount:
    name: str
    uid: int
    operator: bool = False


@dataclass(frozen=True)
class PresetSpec:
    """A named choice of resources that the portal offers."""

    name: str
    title: str
    description: str
    partition: str
    cpus: int
    memory_gb: int
    time_limit_minutes: int
    gpus: int = 0


@dataclass(frozen=True)
class Layout:
    name: str
    subnet: str
    suffix: str
    mail_domain: str
    nodes: tuple[NodeSpec, ...]
    partitions: tuple[PartitionSpec, ...]
    accounts: tuple[Account, ...]
    users: tuple[UserSpec, ...]
    groups: tuple[GroupSpec, ...]
    service_accounts: tuple[ServiceAccount, ...]
    presets: tuple[PresetSpec, ...]

    @property
    def most_gpus(self) -> int:
        return max((node.gpus for node in self.nodes), default=0)

    @property
    def most_cores(self) -> int:
        return max((node.sockets * node.cores_per_socket for node in self.nodes), default=0)

    @property
    def gpu_types(self) -> tuple[str, ...]:
        return tuple(sorted({node.gpu_type for node in self.nodes if node.gpus}))

    def service_account(self, name: str) -> ServiceAccount:
        return next(account for account in self.service_accounts if account.name == name)

    def members(self, group: str) -> tuple[str, ...]:
        """Return a group's members. All users are in the first group; users list their other
        groups."""
        everyone = self.groups[0].name == group
        return tuple(user.name for user in self.users if everyone or group in user.groups)


def expand(names: str) -> tuple[str, ...]:
    """Expand `node[01-03]` to node01, node02, node03; return a plain name as it is."""
    match = HOST_LIST.match(names)
    if match is None:
        if not HOST_NAME.match(names):
            raise LayoutError(f"{names!r} is neither a host name nor prefix[first-last]")
        return (names,)
    first, last = match["first"], match["last"]
    if int(first) > int(last):
        raise LayoutError(f"{names!r} counts backwards")
    width = len(first)
    return tuple(f"{match['prefix']}{n:0{width}d}" for n in range(int(first), int(last) + 1))


def parse_layout(text: str, **instead: Any) -> Layout:
    """Parse cluster.toml's text, with `instead` replacing its top-level keys.

    Raises LayoutError, or tomllib.TOMLDecodeError for invalid TOML.
    """
    raw = {**tomllib.loads(text), **instead}
    try:
        layout = _build(raw)
    except (KeyError, TypeError) as error:
        raise LayoutError(f"the description lacks or mistypes {error}") from error
    _validate(layout)
    return layout


def _build(raw: Mapping[str, Any]) -> Layout:
    nodes = tuple(node for entry in raw["node"] for node in _nodes(entry))
    accounts = tuple(Account(**entry) for entry in raw["account"])
    partitions = _partitions(raw["partition"], nodes)
    presets = (PresetSpec(**entry) for entry in raw.get("preset", ()))
    partition_names = {partition.name for partition in partitions}
    return Layout(
        name=raw["name"],
        subnet=str(IPv4Network(raw["subnet"])),
        suffix=raw["suffix"],
        mail_domain=raw["mail_domain"],
        nodes=nodes,
        partitions=partitions,
        accounts=accounts,
        users=tuple(_user(entry) for entry in raw["user"]),
        groups=tuple(GroupSpec(**entry) for entry in raw["group"]),
        service_accounts=tuple(ServiceAccount(**entry) for entry in raw["service_account"]),
        presets=tuple(preset for preset in presets if preset.partition in partition_names),
    )


def _nodes(entry: Mapping[str, Any]) -> list[NodeSpec]:
    values = {key: value for key, value in entry.items() if key != "names"}
    return [NodeSpec(name=name, **values) for name in expand(entry["names"])]


def _user(entry: Mapping[str, Any]) -> UserSpec:
    values = dict(entry)
    values["accounts"] = tuple(values["accounts"])
    values["groups"] = tuple(values.get("groups", ()))
    return UserSpec(**values)


def _partitions(
    entries: list[dict[str, Any]], nodes: tuple[NodeSpec, ...]
) -> tuple[PartitionSpec, ...]:
    """Return the partitions that have nodes; exactly one is the default (else the first)."""
    selected = [(entry, _select_nodes(entry["nodes"], nodes)) for entry in entries]
    non_empty = [(entry, names) for entry, names in selected if names]
    default = next((e["name"] for e, _ in non_empty if e.get("default")), None)
    default = default or (non_empty[0][0]["name"] if non_empty else None)
    return tuple(
        PartitionSpec(
            name=entry["name"],
            nodes=names,
            default=entry["name"] == default,
            max_time=entry["max_time"],
            default_time=entry["default_time"],
            priority=entry.get("priority", 1),
        )
        for entry, names in non_empty
    )


def _select_nodes(selector: str, nodes: tuple[NodeSpec, ...]) -> tuple[str, ...]:
    if selector not in SELECTORS:
        raise LayoutError(f"nodes = {selector!r}: one of {', '.join(SELECTORS)}")
    return tuple(
        node.name for node in nodes if selector == "all" or (selector == "gpu") == bool(node.gpus)
    )


def _validate(layout: Layout) -> None:
    hosts = [node.name for node in layout.nodes]
    uids = [user.uid for user in layout.users]
    uids += [service.uid for service in layout.service_accounts]
    known_accounts = {account.name for account in layout.accounts}
    known_groups = {group.name for group in layout.groups}
    names = [user.name for user in layout.users] + [group.name for group in layout.groups]
    names += [service.name for service in layout.service_accounts]
    problems = [
        (not hosts, "there must be a node"),
        (len(hosts) > 200, "a /24 subnet holds at most 200 nodes"),
        (len(set(hosts)) < len(hosts) or "head" in hosts, "node names must differ"),
        (len(set(uids)) < len(uids), "uids must differ"),
        (len(set(names)) < len(names), "names of users and groups must differ"),
        (not all(map(USERNAME.fullmatch, names)), f"names must match {USERNAME.pattern}"),
        (IPv4Network(layout.subnet).prefixlen != 24, "the subnet must be a /24"),
        *(
            (not set(user.accounts) <= known_accounts, f"{user.name}: unknown account")
            for user in layout.users
        ),
        *((not user.accounts, f"{user.name}: needs an account") for user in layout.users),
        *(
            (not set(user.groups) <= known_groups, f"{user.name}: unknown group")
            for user in layout.users
        ),
    ]
    for wrong, message in problems:
        if wrong:
            raise LayoutError(message)
