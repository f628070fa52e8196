"""From what was found to a proposed settings file. Pure.

Each value has a comment that says where it comes from; what wasn't found is a commented line to be
filled in.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.init_find import Found, SlurmFound
from portal.settings import Settings
from spawner.model import NodeInfo, PartitionInfo

WIDTH = 96
NODE_PORT = 8002
LOWEST_UID: int = Settings.model_fields["min_uid"].default
GOOD_MINUTES = 240
ADMIN_WORDS = ("admin", "root", "wheel", "sudo", "operator", "hpc-team")
PLACES = {
    "state_dir": "/var/lib/portal",
    "hub_token_file": "/etc/portal/hub.token",
    "internal_secret_file": "/etc/portal/internal.secret",
    "runtime_dir": "/opt/portal/runtime",
}
HOW_TO_MAKE = "`portal secrets` makes it"


@dataclass(frozen=True)
class Line:
    """A setting; `value` None is one to be filled in, as `example` shows."""

    name: str
    value: Any
    why: str
    example: Any = None


@dataclass(frozen=True)
class Note:
    """Something found that is no setting of this file."""

    text: str


Part = Line | Note


def toml(found: Found) -> str:
    """The whole file."""
    parts: list[tuple[str, Iterable[Part]]] = [
        ("Where the portal is", _place(found)),
        ("The directory", _directory(found)),
        ("Slurm", _slurm(found.slurm) if found.slurm else [Note("Slurm wasn't found.")]),
        ("What runs on the nodes", _nodes(found)),
    ]
    text = list(
        _comment("Proposed by `portal init`: look at every line; docs/settings.md has all.")
    )
    for sentence in found.missing:
        text += _comment(f"NOT FOUND. {sentence}")
    for title, content in parts:
        text += ["", f"# --- {title} ---"]
        for part in content:
            text += _said(part)
    if found.slurm:
        for preset in _presets(found.slurm):
            text += ["", *preset]
    return "\n".join(text) + "\n"


# --- what is proposed -----------------------------------------------------------------------------


def _place(found: Found) -> Iterator[Part]:
    host = found.host
    node = f"http://{host or 'head.cluster'}:{NODE_PORT}"
    for_nodes = "where nginx listens for the nodes"
    if host:
        yield Line("public_url", f"https://{host}", "this machine's name; what people will type")
        yield Line("node_url", node, f"this machine's name; {for_nodes}, which must reach it so")
    else:
        why = "this machine has no name that others know; fill in what people will type"
        yield Line("public_url", None, why, "https://portal.example.org")
        yield Line("node_url", None, f"fill in: {for_nodes}", node)
    why = "that name's certificate with its chain, unless something before nginx ends TLS"
    yield Line("certificate_file", None, why, "/etc/portal/tls/portal.crt")
    yield Line("certificate_key_file", None, "its key", "/etc/portal/tls/portal.key")
    for name in ("state_dir", "hub_token_file", "internal_secret_file"):
        why = "by default" if name == "state_dir" else f"by default; {HOW_TO_MAKE}"
        yield Line(name, PLACES[name], why)


def _directory(found: Found) -> Iterator[Part]:
    address, directory = found.address, found.directory
    if address is None:
        yield Line("ldap_urls", None, "fill in", ["ldap://ldap.example.org"])
    else:
        yield Line("ldap_urls", [address.url], f"from {found.address_source}")
        if address.url.startswith("ldap://"):
            yield Line("ldap_start_tls", address.start_tls, "passwords are never sent in the open")
    if address is not None and address.ca_file:
        yield Line("ldap_ca_file", str(address.ca_file), f"from {found.address_source}")
    if address is not None and address.bind_dn and address.bind_password_file:
        yield Line("ldap_bind_dn", address.bind_dn, "from the command line")
        file = str(address.bind_password_file)
        yield Line("ldap_bind_password_file", file, "from the command line")
    else:
        example = "cn=portal,ou=services,dc=example,dc=org"
        yield Line("ldap_bind_dn", None, "an account that searches, unless anybody may", example)
        why = "the file with that account's password"
        yield Line("ldap_bind_password_file", None, why, "/etc/portal/ldap.secret")
    if directory is None:
        yield Line("ldap_user_base", None, "fill in", "ou=people,dc=example,dc=org")
        return
    yield Line("ldap_directory", directory.kind, "by what the server's root entry says")
    if directory.user_base:
        why = f"above all of the {directory.people} people looked at"
        yield Line("ldap_user_base", directory.user_base, why)
    else:
        yield Line("ldap_user_base", directory.suffix, "no people were seen: the whole tree")
    why = "by default; whoever is below is never acted for"
    if directory.lowest_uid is not None:
        why += f"; the lowest uid number seen is {directory.lowest_uid}"
    yield Line("min_uid", LOWEST_UID, why)
    yield from _groups(found)


def _groups(found: Found) -> Iterator[Part]:
    directory = found.directory
    if directory is None or not directory.group_base:
        example = "ou=groups,dc=example,dc=org"
        yield Line("ldap_group_base", None, "no groups were seen; fill in", example)
        return
    why = f"above all of the {len(directory.groups)} groups looked at"
    yield Line("ldap_group_base", directory.group_base, why)
    if directory.member_attribute and directory.kind in {"openldap", "other"}:
        why = "what most of these groups name their members by"
        yield Line("ldap_group_member_attribute", directory.member_attribute, why)
    why = "by default everybody may use the portal; otherwise these groups' members"
    yield Line("ldap_user_groups", [], why)
    admins = [group for group in directory.groups if _is_admins(group.name)]
    names = ", ".join(f"{group.name} ({group.members})" for group in admins)
    why = "who administers the portal is yours to say; "
    why += f"by name (and members) it could be: {names}" if admins else "no group's name says so"
    yield Line("ldap_admin_groups", [], why)


def _is_admins(name: str) -> bool:
    return any(word in name.lower() for word in ADMIN_WORDS)


def _slurm(slurm: SlurmFound) -> Iterator[Part]:
    yield Note(f"Slurm {slurm.version}; nodes: {len(slurm.nodes)}.")
    if slurm.cluster:
        yield Line("cluster_name", slurm.cluster, "ClusterName of slurm.conf")
    else:
        yield Line("cluster_name", None, "accounting didn't answer; fill in", "cluster")
    yield Line("slurm_bin_dir", str(slurm.bin_dir), "where sinfo is")
    if slurm.conf:
        yield Line("slurm_conf", str(slurm.conf), "from the command line")
    for partition in slurm.partitions:
        yield Note(_about(partition, slurm.nodes))
    yield from _defaults(slurm)
    yield from _accounts(slurm)


def _defaults(slurm: SlurmFound) -> Iterator[Part]:
    gpus = {node.name for node in slurm.nodes if node.gpus}
    default = next((part for part in slurm.partitions if part.default), None)
    with_gpus = [part for part in slurm.partitions if gpus.intersection(part.nodes)]
    # those of GPU nodes alone first, then those with the most of them
    with_gpus.sort(key=lambda part: (not gpus.issuperset(part.nodes), -len(gpus & {*part.nodes})))
    without = [part for part in slurm.partitions if part.nodes and not gpus & {*part.nodes}]
    if default:
        yield Line("default_partition", default.name, "Slurm's default")
    if with_gpus:
        name = with_gpus[0].name
        yield Line("default_gpu_partition", name, "the one with most GPU nodes, GPU nodes alone")
    quiet = without[0] if without else default
    if quiet:
        why = "no GPU there" if without else "Slurm's default: all others have GPUs, too"
        yield Line("service_partition", quiet.name, f"for TensorBoards of ended jobs; {why}")
    chosen = [part for part in (default, *with_gpus[:1]) if part]
    longest = [part.max_time_minutes for part in chosen if part.max_time_minutes]
    minutes = min([GOOD_MINUTES, *longest])
    yield Line("default_time_limit_minutes", minutes, "no longer than these partitions allow")
    types = Counter[str]()
    for node in slurm.nodes:
        types.update(dict(node.gpus))
    if types:
        why = f"Slurm doesn't know it; GPUs by type: {_counted(types)}"
        yield Line("gpu_memory_gb", None, why, dict.fromkeys(types, 32))


def _accounts(slurm: SlurmFound) -> Iterator[Part]:
    if not slurm.accounts:
        yield Note("No accounts: without slurmdbd Slurm enforces no limits.")
        return
    for name, figures in slurm.accounts.items():
        said = ", ".join(f"{key} {_worded(value)}" for key, value in figures.items())
        yield Note(f"Account {name}: {said or 'no limits'}")
    if slurm.qos:
        yield Note(f"QOS: {', '.join(sorted(slurm.qos))}")
    if not {"limits", "safe", "all"} & slurm.enforces:
        yield Note("Slurm doesn't enforce limits: AccountingStorageEnforce lacks `limits`.")
    why = "the groups whose account isn't called the same"
    yield Line("slurm_account_of_group", None, why, {"physics": "phys"})


def _nodes(found: Found) -> Iterator[Part]:
    environments = found.environments
    yield Line("runtime_dir", PLACES["runtime_dir"], "by default; at the same path on all nodes")
    if environments.image_dir:
        why = f"from the command line; images there: {len(environments.images)}"
        yield Line("image_dir", str(environments.image_dir), why)
    else:
        yield Line("image_dir", "/opt/portal/images", "by default; at the same path on all nodes")
    for image in environments.images:
        yield Note(f"Image {image}")
    apptainer = found.programs.get("apptainer")
    if apptainer:
        yield Line("apptainer_path", str(apptainer), "on this machine's PATH; the nodes' counts")
    else:
        why = "it isn't on this machine's PATH; where it is on the nodes"
        yield Line("apptainer_path", None, why, "/usr/bin/apptainer")
    sudo = found.programs.get("sudo")
    if sudo:
        yield Line("sudo_path", str(sudo), "on this machine's PATH")
    if environments.modules_init:
        why = "makes `module` known here; must be the same on the nodes"
        yield Line("modules_init", str(environments.modules_init), why)
    if environments.modules:
        yield Note(f"Modules: {', '.join(environments.modules)}")
    for place in environments.virtualenvs:
        yield Note(f"Virtualenv {place}")
    why = "your own environments, a file for each of the above: docs/environments.md"
    yield Line("catalog_dir", None, why, "/etc/portal/catalog")


def _presets(slurm: SlurmFound) -> Iterator[list[str]]:
    """One GPU of each type, with its share of the smallest node that has it."""
    seen: dict[str, NodeInfo] = {}
    for node in sorted(slurm.nodes, key=lambda node: (node.cpus, node.memory_mb)):
        for kind in node.gpus:
            seen.setdefault(kind, node)
    for kind, node in sorted(seen.items()):
        share = node.gpus[kind]
        cpus, memory = max(1, node.cpus // share), max(1, node.memory_mb // 1024 // share)
        resources = f"gpus = 1, cpus = {cpus}, memory_gb = {memory}"
        if kind != "gpu":
            resources += f", gpu_type = {_value(kind)}"
        why = f"from {node.name}: {node.cpus} CPUs, {node.memory_mb // 1024} GB, {share} of these"
        yield [
            *_comment(why),
            "[[presets]]",
            f"name = {_value(f'one-{kind}')}",
            f"title = {_value(f'One {kind}' if kind != 'gpu' else 'One GPU')}",
            f"resources = {{ {resources} }}",
        ]


def _about(partition: PartitionInfo, nodes: tuple[NodeInfo, ...]) -> str:
    longest = partition.max_time_minutes
    of_it = [node for node in nodes if node.name in partition.nodes]
    types = Counter[str]()
    for node in of_it:
        types.update(dict(node.gpus))
    said = [f"{len(of_it)} nodes", _counted(types) or "no GPUs"]
    said.append(f"up to {longest} minutes" if longest else "no time limit")
    return f"Partition {partition.name}: {', '.join(said)}"


def _counted(types: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(types.items()))


# --- TOML -----------------------------------------------------------------------------------------


def _said(part: Part) -> Iterator[str]:
    if isinstance(part, Note):
        yield from _comment(part.text)
        return
    yield from _comment(part.why)
    if part.value is None:
        yield f"# {part.name} = {_value(part.example)}"
    else:
        yield f"{part.name} = {_value(part.value)}"


def _comment(text: str) -> Iterator[str]:
    """On lines of a bounded width; nothing that comes from outside ends the comment."""
    line = "#"
    for word in "".join(char if char.isprintable() else "?" for char in text).split():
        if len(line) + 1 + len(word) > WIDTH and line != "#":
            yield line
            line = "#"
        line += f" {word}"
    yield line


def _value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{_value(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, Path):
        value = str(value)
    # JSON's strings are TOML's, but for the one control character that JSON lets through
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _worded(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
