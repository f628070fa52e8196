"""What a cluster consists of: cluster.toml as checked, immutable values.

Pure: knows no machine, no folder, no address in use.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from cluster.errors import LayoutError

NAME = re.compile(r"^[a-z_][a-z0-9_.-]{0,31}$")
HOST_LIST = re.compile(r"^(?P<prefix>[a-z][a-z0-9-]*)\[(?P<first>\d+)-(?P<last>\d+)\]$")
HOST_NAME = re.compile(r"^[a-z][a-z0-9-]{0,30}$")
SELECTORS = ("all", "gpu", "cpu")


@dataclass(frozen=True)
class Node:
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
class Partition:
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
class User:
    name: str
    uid: int
    full_name: str
    accounts: tuple[str, ...]
    groups: tuple[str, ...] = ()
    locked: bool = False


@dataclass(frozen=True)
class Group:
    name: str
    gid: int


@dataclass(frozen=True)
class ServiceAccount:
    name: str
    uid: int
    operator: bool = False


@dataclass(frozen=True)
class Preset:
    """A choice of resources that the portal offers by name."""

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
    nodes: tuple[Node, ...]
    partitions: tuple[Partition, ...]
    accounts: tuple[Account, ...]
    users: tuple[User, ...]
    groups: tuple[Group, ...]
    service_accounts: tuple[ServiceAccount, ...]
    presets: tuple[Preset, ...]

    @property
    def most_gpus(self) -> int:
        return max((node.gpus for node in self.nodes), default=0)

    @property
    def gpu_types(self) -> tuple[str, ...]:
        return tuple(sorted({node.gpu_type for node in self.nodes if node.gpus}))

    def service_account(self, name: str) -> ServiceAccount:
        return next(account for account in self.service_accounts if account.name == name)

    def members(self, group: str) -> tuple[str, ...]:
        """Everyone is in the first group; the others name theirs in the user's entry."""
        everyone = self.groups[0].name == group
        return tuple(user.name for user in self.users if everyone or group in user.groups)


def expand(names: str) -> tuple[str, ...]:
    """`node[01-03]` → node01, node02, node03; a plain name → itself."""
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
    """`instead` of what the text says under these names. Raises LayoutError, or
    tomllib.TOMLDecodeError for what isn't TOML."""
    raw = {**tomllib.loads(text), **instead}
    try:
        layout = _build(raw)
    except (KeyError, TypeError) as error:
        raise LayoutError(f"the description lacks or mistypes {error}") from error
    _check(layout)
    return layout


def _build(raw: Mapping[str, Any]) -> Layout:
    nodes = tuple(node for entry in raw["node"] for node in _nodes(entry))
    accounts = tuple(Account(**entry) for entry in raw["account"])
    partitions = _partitions(raw["partition"], nodes)
    presets = (Preset(**entry) for entry in raw.get("preset", ()))
    known = {partition.name for partition in partitions}
    return Layout(
        name=raw["name"],
        subnet=str(IPv4Network(raw["subnet"])),
        suffix=raw["suffix"],
        mail_domain=raw["mail_domain"],
        nodes=nodes,
        partitions=partitions,
        accounts=accounts,
        users=tuple(_user(entry) for entry in raw["user"]),
        groups=tuple(Group(**entry) for entry in raw["group"]),
        service_accounts=tuple(ServiceAccount(**entry) for entry in raw["service_account"]),
        presets=tuple(preset for preset in presets if preset.partition in known),
    )


def _nodes(entry: Mapping[str, Any]) -> list[Node]:
    values = {key: value for key, value in entry.items() if key != "names"}
    return [Node(name=name, **values) for name in expand(entry["names"])]


def _user(entry: Mapping[str, Any]) -> User:
    values = dict(entry)
    values["accounts"] = tuple(values["accounts"])
    values["groups"] = tuple(values.get("groups", ()))
    return User(**values)


def _partitions(entries: list[dict[str, Any]], nodes: tuple[Node, ...]) -> tuple[Partition, ...]:
    """Partitions that have nodes; exactly one is the default (the first if none says so)."""
    found = [(entry, _selected(entry["nodes"], nodes)) for entry in entries]
    kept = [(entry, names) for entry, names in found if names]
    chosen = next((e["name"] for e, _ in kept if e.get("default")), None)
    chosen = chosen or (kept[0][0]["name"] if kept else None)
    return tuple(
        Partition(
            name=entry["name"],
            nodes=names,
            default=entry["name"] == chosen,
            max_time=entry["max_time"],
            default_time=entry["default_time"],
            priority=entry.get("priority", 1),
        )
        for entry, names in kept
    )


def _selected(selector: str, nodes: tuple[Node, ...]) -> tuple[str, ...]:
    if selector not in SELECTORS:
        raise LayoutError(f"nodes = {selector!r}: one of {', '.join(SELECTORS)}")
    return tuple(
        node.name for node in nodes if selector == "all" or (selector == "gpu") == bool(node.gpus)
    )


def _check(layout: Layout) -> None:
    hosts = [node.name for node in layout.nodes]
    uids = [user.uid for user in layout.users] + [own.uid for own in layout.service_accounts]
    known_accounts = {account.name for account in layout.accounts}
    known_groups = {group.name for group in layout.groups}
    names = [user.name for user in layout.users] + [group.name for group in layout.groups]
    names += [own.name for own in layout.service_accounts]
    problems = [
        (not hosts, "there must be a node"),
        (len(hosts) > 200, "a /24 subnet holds at most 200 nodes"),
        (len(set(hosts)) < len(hosts) or "head" in hosts, "node names must differ"),
        (len(set(uids)) < len(uids), "uids must differ"),
        (len(set(names)) < len(names), "names of users and groups must differ"),
        (not all(NAME.match(name) for name in names), f"names must match {NAME.pattern}"),
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
