"""Rendering of a proposed settings file from the findings of detection.py. Pure.

Each value has a comment with its source; what was not found is a commented line to fill in.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.cli.detection import Detected, SlurmFound
from portal.config.settings import Settings
from spawner.names import replace_unprintable
from spawner.slurm.model import NodeInfo, PartitionInfo

WIDTH = 96
NODE_PORT = 8002
NOTEBOOK_PORT = 8443
TENSORBOARD_PORT = 8444
LOWEST_UID: int = Settings.model_fields["min_uid"].default
DEFAULT_MINUTES = 240
ADMIN_WORDS = ("admin", "root", "wheel", "sudo", "operator", "hpc-team")
PLACES = {
    "state_dir": "/var/lib/portal",
    "hub_token_file": "/etc/portal/hub.token",
    "internal_secret_file": "/etc/portal/internal.secret",
    "runtime_dir": "/opt/portal/runtime",
}
HOW_TO_MAKE = "`portal secrets` creates it"


@dataclass(frozen=True)
class ProposedSetting:
    """A setting; `value` None means one to fill in, as `example` shows."""

    name: str
    value: Any
    why: str
    example: Any = None


@dataclass(frozen=True)
class Note:
    """A finding that is no setting of this file."""

    text: str


Part = ProposedSetting | Note


def render_settings_file(detected: Detected) -> str:
    """Return the whole file, as TOML."""
    parts: list[tuple[str, Iterable[Part]]] = [
        ("Addresses and files", _propose_place(detected)),
        ("The directory", _propose_directory(detected)),
        (
            "Slurm",
            _propose_slurm(detected.slurm) if detected.slurm else [Note("Slurm wasn't found.")],
        ),
        ("Software on the nodes", _propose_nodes(detected)),
    ]
    text = list(
        _wrap_comment(
            "Proposed by `portal init`. Review every line; docs/settings.md lists all settings."
        )
    )
    for sentence in detected.missing:
        text += _wrap_comment(f"NOT FOUND. {sentence}")
    for title, content in parts:
        text += ["", f"# --- {title} ---"]
        for part in content:
            text += _render_part(part)
    if detected.slurm:
        for preset in _propose_presets(detected.slurm):
            text += ["", *preset]
    return "\n".join(text) + "\n"


# --- proposals ------------------------------------------------------------------------------------


def _propose_place(detected: Detected) -> Iterator[Part]:
    host = detected.host
    node = f"http://{host or 'head.cluster'}:{NODE_PORT}"
    for_nodes = "where nginx listens for the nodes"
    if host:
        yield ProposedSetting(
            "public_url", f"https://{host}", "this machine's name; the address that users open"
        )
        yield from _propose_content(f"https://{host}", "the same name on another port")
        yield ProposedSetting(
            "node_url", node, f"this machine's name; {for_nodes}, which must reach it by this name"
        )
    else:
        why = "this machine has no fully qualified name; fill in the address that users open"
        yield ProposedSetting("public_url", None, why, "https://portal.example.org")
        yield from _propose_content("https://portal.example.org", "fill in", known=False)
        yield ProposedSetting("node_url", None, f"fill in: {for_nodes}", node)
    why = "the certificate of that name with its chain, unless a proxy before nginx ends TLS"
    yield ProposedSetting("certificate_file", None, why, "/etc/portal/tls/portal.crt")
    yield ProposedSetting("certificate_key_file", None, "its key", "/etc/portal/tls/portal.key")
    for name in ("state_dir", "hub_token_file", "internal_secret_file"):
        why = "by default" if name == "state_dir" else f"by default; {HOW_TO_MAKE}"
        yield ProposedSetting(name, PLACES[name], why)


def _propose_content(public_url: str, why: str, *, known: bool = True) -> Iterator[Part]:
    """Propose origins of user content that differ from the portal's: neighboring ports, which need
    no DNS.
    """
    for name, port, what in (
        ("notebook_url", NOTEBOOK_PORT, "notebooks and apps"),
        ("tensorboard_url", TENSORBOARD_PORT, "TensorBoards"),
    ):
        url = f"{public_url}:{port}"
        reason = f"{why}, for {what}; open it in the firewall, or use a separate name"
        yield ProposedSetting(name, url if known else None, reason, url)


def _propose_directory(detected: Detected) -> Iterator[Part]:
    address, directory = detected.address, detected.directory
    if address is None:
        yield ProposedSetting("ldap_urls", None, "fill in", ["ldap://ldap.example.org"])
    else:
        yield ProposedSetting("ldap_urls", [address.url], f"from {detected.address_source}")
        if address.url.startswith("ldap://"):
            yield ProposedSetting(
                "ldap_start_tls", address.start_tls, "passwords are never sent in plain text"
            )
    if address is not None and address.ca_file:
        yield ProposedSetting(
            "ldap_ca_file", str(address.ca_file), f"from {detected.address_source}"
        )
    if address is not None and address.bind_dn and address.bind_password_file:
        yield ProposedSetting("ldap_bind_dn", address.bind_dn, "from the command line")
        file = str(address.bind_password_file)
        yield ProposedSetting("ldap_bind_password_file", file, "from the command line")
    else:
        example = "cn=portal,ou=services,dc=example,dc=org"
        yield ProposedSetting(
            "ldap_bind_dn",
            None,
            "an account for searches, unless anonymous search is allowed",
            example,
        )
        why = "the file with that account's password"
        yield ProposedSetting("ldap_bind_password_file", None, why, "/etc/portal/ldap.secret")
    if directory is None:
        yield ProposedSetting("ldap_user_base", None, "fill in", "ou=people,dc=example,dc=org")
        return
    yield ProposedSetting("ldap_directory", directory.kind, "detected from the server's root entry")
    if directory.user_base:
        why = f"contains all {directory.users} users found"
        yield ProposedSetting("ldap_user_base", directory.user_base, why)
    else:
        yield ProposedSetting(
            "ldap_user_base", directory.suffix, "no users were found: the whole tree"
        )
    why = "by default; the portal never acts for users with a lower UID"
    if directory.lowest_uid is not None:
        why += f"; the lowest UID found is {directory.lowest_uid}"
    yield ProposedSetting("min_uid", LOWEST_UID, why)
    yield from _propose_groups(detected)


def _propose_groups(detected: Detected) -> Iterator[Part]:
    directory = detected.directory
    if directory is None or not directory.group_base:
        example = "ou=groups,dc=example,dc=org"
        yield ProposedSetting("ldap_group_base", None, "no groups were found; fill in", example)
        return
    why = f"contains all {len(directory.groups)} groups found"
    yield ProposedSetting("ldap_group_base", directory.group_base, why)
    if directory.member_attribute and directory.kind in {"openldap", "other"}:
        why = "used by most of these groups"
        yield ProposedSetting("ldap_group_member_attribute", directory.member_attribute, why)
    why = "empty: all users may use the portal; else only members of these groups"
    yield ProposedSetting("ldap_user_groups", [], why)
    admins = [group for group in directory.groups if _is_admin_group(group.name)]
    names = ", ".join(f"{group.name} ({group.members})" for group in admins)
    why = "one of these groups, for new users"
    example = next(
        (group.name for group in directory.groups if not _is_admin_group(group.name)), "users"
    )
    yield ProposedSetting("default_login_group", None, why, example)
    why = "choose the groups of administrators; "
    why += (
        f"candidates by name (and members): {names}" if admins else "no group has a matching name"
    )
    yield ProposedSetting("ldap_admin_groups", [], why)


def _is_admin_group(name: str) -> bool:
    return any(word in name.lower() for word in ADMIN_WORDS)


def _propose_slurm(slurm: SlurmFound) -> Iterator[Part]:
    yield Note(f"Slurm {slurm.version}; nodes: {len(slurm.nodes)}.")
    if slurm.cluster:
        yield ProposedSetting("cluster_name", slurm.cluster, "ClusterName of slurm.conf")
    else:
        yield ProposedSetting("cluster_name", None, "accounting didn't answer; fill in", "cluster")
    yield ProposedSetting("slurm_bin_dir", str(slurm.bin_dir), "where sinfo is")
    if slurm.conf:
        yield ProposedSetting("slurm_conf", str(slurm.conf), "from the command line")
    for partition in slurm.partitions:
        yield Note(_describe_partition(partition, slurm.nodes))
    yield from _propose_defaults(slurm)
    yield from _propose_accounts(slurm)


def _propose_defaults(slurm: SlurmFound) -> Iterator[Part]:
    gpus = {node.name for node in slurm.nodes if node.gpus}
    default = next((each for each in slurm.partitions if each.default), None)
    with_gpus = [each for each in slurm.partitions if gpus.intersection(each.nodes)]
    # Partitions that have only GPU nodes come first; among each kind, the one with the most.
    with_gpus.sort(key=lambda each: (not gpus.issuperset(each.nodes), -len(gpus & {*each.nodes})))
    without = [each for each in slurm.partitions if each.nodes and not gpus & {*each.nodes}]
    if default:
        yield ProposedSetting("default_partition", default.name, "Slurm's default")
    if with_gpus:
        partition = with_gpus[0]
        why = "the one with the most GPU nodes"
        if gpus.issuperset(partition.nodes):
            why += ", of those with only GPU nodes"
        yield ProposedSetting("default_gpu_partition", partition.name, why)
    service = without[0] if without else default
    if service:
        why = "no GPU there" if without else "Slurm's default: all others have GPUs too"
        yield ProposedSetting(
            "service_partition", service.name, f"for TensorBoards of ended jobs; {why}"
        )
    chosen = [each for each in (default, *with_gpus[:1]) if each]
    longest = [each.max_time_minutes for each in chosen if each.max_time_minutes]
    minutes = min([DEFAULT_MINUTES, *longest])
    yield ProposedSetting(
        "default_time_limit_minutes", minutes, "no longer than these partitions allow"
    )
    types = Counter[str]()
    for node in slurm.nodes:
        types.update(dict(node.gpus))
    if types:
        why = f"Slurm doesn't report it; GPUs by type: {_format_counts(types)}"
        yield ProposedSetting("gpu_memory_gb", None, why, dict.fromkeys(types, 32))


def _propose_accounts(slurm: SlurmFound) -> Iterator[Part]:
    if not slurm.accounts:
        yield Note("No accounts: without slurmdbd Slurm enforces no limits.")
        return
    for name, figures in slurm.accounts.items():
        details = ", ".join(f"{key} {_to_text(value)}" for key, value in figures.items())
        yield Note(f"Account {name}: {details or 'no limits'}")
    if slurm.qos:
        yield Note(f"QOS: {', '.join(sorted(slurm.qos))}")
    if not {"limits", "safe", "all"} & slurm.enforces:
        yield Note("Slurm doesn't enforce limits: AccountingStorageEnforce lacks `limits`.")
    names = [name for name in slurm.accounts if name != "root"]
    if len(names) == 1:
        yield ProposedSetting("default_slurm_account", names[0], "the only account; for new users")
    elif names:
        yield ProposedSetting(
            "default_slurm_account", None, "one of these accounts, for new users", names[0]
        )
    why = "groups whose Slurm account has another name"
    yield ProposedSetting("slurm_account_of_group", None, why, {"physics": "phys"})


def _propose_nodes(detected: Detected) -> Iterator[Part]:
    environments = detected.environments
    source = "from the command line" if environments.runtime_dir else "by default"
    runtime = str(environments.runtime_dir or PLACES["runtime_dir"])
    yield ProposedSetting("runtime_dir", runtime, f"{source}; at the same path on all nodes")
    why = "beside runtime_dir; programs of apps, such as VS Code, which `portal vscode` installs"
    yield ProposedSetting("app_dir", str(Path(runtime).parent / "apps"), why)
    if environments.image_dir:
        why = f"from the command line; images there: {len(environments.images)}"
        yield ProposedSetting("image_dir", str(environments.image_dir), why)
    else:
        yield ProposedSetting(
            "image_dir", "/opt/portal/images", "by default; at the same path on all nodes"
        )
    for image in environments.images:
        yield Note(f"Image {image}")
    apptainer = detected.programs.get("apptainer")
    if apptainer:
        yield ProposedSetting(
            "apptainer_path",
            str(apptainer),
            "on this machine's PATH; must be the same on the nodes",
        )
    else:
        why = "it isn't on this machine's PATH; where it is on the nodes"
        yield ProposedSetting("apptainer_path", None, why, "/usr/bin/apptainer")
    sudo = detected.programs.get("sudo")
    if sudo:
        yield ProposedSetting("sudo_path", str(sudo), "on this machine's PATH")
    if environments.modules_init:
        why = "defines `module` here; must be the same on the nodes"
        yield ProposedSetting("modules_init", str(environments.modules_init), why)
    if environments.modules:
        yield Note(f"Modules: {', '.join(environments.modules)}")
    for path in environments.virtualenvs:
        yield Note(f"Virtualenv {path}")
    why = "your own environments, a file for each of the above: docs/environments.md"
    yield ProposedSetting("catalog_dir", None, why, "/etc/portal/catalog")


def _propose_presets(slurm: SlurmFound) -> Iterator[list[str]]:
    """Propose one GPU of each type, with its share of the smallest node that has it."""
    seen: dict[str, NodeInfo] = {}
    for node in sorted(slurm.nodes, key=lambda node: (node.cpus, node.memory_mb)):
        for kind in node.gpus:
            seen.setdefault(kind, node)
    for kind, node in sorted(seen.items()):
        count = node.gpus[kind]
        cpus, memory = max(1, node.cpus // count), max(1, node.memory_mb // 1024 // count)
        resources = f"gpus = 1, cpus = {cpus}, memory_gb = {memory}"
        if kind != "gpu":
            resources += f", gpu_type = {to_toml(kind)}"
        why = f"from {node.name}: {node.cpus} CPUs, {node.memory_mb // 1024} GB, {count} of these"
        yield [
            *_wrap_comment(why),
            "[[presets]]",
            f"name = {to_toml(f'one-{kind}')}",
            f"title = {to_toml(f'One {kind}' if kind != 'gpu' else 'One GPU')}",
            f"resources = {{ {resources} }}",
        ]


def _describe_partition(partition: PartitionInfo, nodes: tuple[NodeInfo, ...]) -> str:
    longest = partition.max_time_minutes
    of_it = [node for node in nodes if node.name in partition.nodes]
    types = Counter[str]()
    for node in of_it:
        types.update(dict(node.gpus))
    details = [f"{len(of_it)} nodes", _format_counts(types) or "no GPUs"]
    details.append(f"up to {longest} minutes" if longest else "no time limit")
    return f"Partition {partition.name}: {', '.join(details)}"


def _format_counts(types: Counter[str]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(types.items()))


# --- TOML -----------------------------------------------------------------------------------------


def _render_part(part: Part) -> Iterator[str]:
    if isinstance(part, Note):
        yield from _wrap_comment(part.text)
        return
    yield from _wrap_comment(part.why)
    if part.value is None:
        yield f"# {part.name} = {to_toml(part.example)}"
    else:
        yield f"{part.name} = {to_toml(part.value)}"


def _wrap_comment(text: str) -> Iterator[str]:
    """Wrap a comment to a bounded width; text from outside cannot end the comment."""
    line = "#"
    for word in replace_unprintable(text).split():
        if len(line) + 1 + len(word) > WIDTH and line != "#":
            yield line
            line = "#"
        line += f" {word}"
    yield line


def to_toml(value: Any) -> str:
    """Return a value on one line, which can be commented out."""
    if isinstance(value, dict):
        pairs = ", ".join(f"{to_toml(key)} = {to_toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(to_toml, value))}]"
    if isinstance(value, Path):
        value = str(value)
    # JSON strings are valid TOML, except for the one control character that JSON allows.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _to_text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
