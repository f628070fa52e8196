"""Rendering of every configuration file from the description. Pure: text only, no writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from cluster.config.addresses import Addresses
from cluster.config.description import Layout, NodeSpec, PartitionSpec
from cluster.config.paths import Paths
from deploy import sudoers

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"


@dataclass(frozen=True)
class Abilities:
    """The machine's abilities; each missing one has a fallback that `up` prints."""

    cgroups: int = 1  # the version that confines jobs; 0: none
    no_cgroups: str = ""  # the reason for 0
    cores: bool = False  # whether a job can be confined to the cores that Slurm allocates
    mknod: bool = True
    # "private": a device of the nodes' own; "opened": the machine's, made 0666; "none"
    fuse: str = "private"
    # a folder with another release's Slurm, mounted over the machine's own; "": the machine's own
    slurm: str = ""


@dataclass(frozen=True)
class ConfigFile:
    text: str
    owner: str = "root"
    mode: int = 0o644


@dataclass(frozen=True)
class Cluster:
    """Everything that rendering needs."""

    layout: Layout
    addresses: Addresses
    abilities: Abilities
    paths: Paths

    def gpu_files(self, node: NodeSpec) -> str:
        """Return the character devices that stand for a node's GPUs.

        With other files Slurm counts GPUs, but never sets CUDA_VISIBLE_DEVICES.
        """
        if self.abilities.mknod:
            base, first = f"{self.paths.dev}/nvidia", 0
        else:
            # unused consoles; there are 63
            base, first = "/dev/tty", 64 - self.layout.most_gpus
        last = first + node.gpus - 1
        return f"{base}[{first}-{last}]" if last > first else f"{base}{first}"


def template(name: str) -> Template:
    return Template((TEMPLATES / name).read_text(encoding="utf-8"))


def render(cluster: Cluster, nslcd_password: str) -> dict[str, ConfigFile]:
    """Return the files of STATE/etc by name. `base_ldif` renders LDAP's initial content."""
    values = _collect_values(cluster)
    return {
        "slurm.conf": ConfigFile(slurm_conf(cluster, values)),
        "gres.conf": ConfigFile(gres_conf(cluster)),
        "hosts": ConfigFile(hosts(cluster)),
        "slurmdbd.conf": ConfigFile(_fill("slurmdbd.conf", values), "slurm", 0o600),
        "slapd.conf": ConfigFile(_fill("slapd.conf", values)),
        "my.cnf": ConfigFile(_fill("my.cnf", values)),
        "mysql-init.sql": ConfigFile(_fill("mysql-init.sql", values)),
        "nsswitch.conf": ConfigFile(_fill("nsswitch.conf", values)),
        "cgroup.conf": ConfigFile(cgroup_conf(cluster)),
        "epilog": ConfigFile(template("epilog").template, mode=0o755),
        "ldap.conf": ConfigFile(ldap_conf(cluster)),
        "nslcd.conf": ConfigFile(
            _fill("nslcd.conf", {**values, "nslcd_password": nslcd_password}), mode=0o600
        ),
        "sudoers.d/portal": ConfigFile(_render_sudoers(cluster), mode=0o440),
    }


def _render_sudoers(cluster: Cluster) -> str:
    everyone, *_ = (group.name for group in cluster.layout.groups)
    paths = cluster.paths
    return sudoers.render(
        "portal", str(paths.launcher), [everyone], root_programs=[str(paths.home_directory)]
    )


def _fill(name: str, values: Mapping[str, str]) -> str:
    return template(name).substitute(values)


def _collect_values(cluster: Cluster) -> dict[str, str]:
    paths, addresses, layout = cluster.paths, cluster.addresses, cluster.layout
    ports = {f"{name}_port": str(port) for name, port in addresses.ports.items()}
    return {
        **ports,
        "cluster": layout.name,
        "suffix": layout.suffix,
        **{f"{role}_name": addresses.name(role) for role in ("slurmctld", "slurmdbd")},
        **{role: addresses.host(role) for role in ("slurmctld", "slurmdbd", "directory")},
        "data": str(paths.data),
        "run": str(paths.run),
        "etc": str(paths.etc),
        "tls": str(paths.tls),
        "home": str(paths.home),
        "munge_socket": str(paths.munge_socket),
        "mysql_socket": str(paths.mysql_socket),
    }


def slurm_conf(cluster: Cluster, values: Mapping[str, str]) -> str:
    layout, loopback = cluster.layout, cluster.addresses.mode == "loopback"
    with_cgroups = cluster.abilities.cgroups
    tres = ["gres/gpu", *(f"gres/gpu:{kind}" for kind in layout.gpu_types)]
    return template("slurm.conf").substitute(
        values,
        slurmd_port=cluster.addresses.slurmd_port(""),
        # in loopback mode srun would hang with NoInAddrAny
        communication="NoCtldInAddrAny" if loopback else "NoInAddrAny,NoCtldInAddrAny",
        proctrack="proctrack/cgroup" if with_cgroups else "proctrack/linuxproc",
        task_plugin="task/cgroup" if with_cgroups else "task/none",
        epilog=f"Epilog={cluster.paths.etc}/epilog" if cluster.abilities.cgroups == 2 else "",
        job_acct_gather_params="" if with_cgroups else "JobAcctGatherParams=OverMemoryKill",
        accounting_tres=f"AccountingStorageTRES={','.join(tres)}" if layout.gpu_types else "",
        gres_types="GresTypes=gpu" if layout.gpu_types else "",
        nodes="\n".join(_render_node(cluster, i, node) for i, node in enumerate(layout.nodes)),
        partitions="\n".join(_render_partition(partition) for partition in layout.partitions),
    )


def _render_node(cluster: Cluster, index: int, node: NodeSpec) -> str:
    addresses = cluster.addresses
    parts = [
        f"NodeName={node.name} NodeHostname={node.name} NodeAddr={addresses.node(index)}",
        f"Sockets={node.sockets} CoresPerSocket={node.cores_per_socket} ThreadsPerCore=1",
        f"RealMemory={node.memory_mb} Feature={node.feature}",
    ]
    if addresses.mode == "loopback":
        parts.append(f"Port={addresses.slurmd_port(node.name)}")
    if node.gpus:
        parts.append(f"Gres=gpu:{node.gpu_type}:{node.gpus}")
    return " ".join(parts)


def _render_partition(partition: PartitionSpec) -> str:
    return (
        f"PartitionName={partition.name} Nodes={','.join(partition.nodes)}"
        f" Default={'YES' if partition.default else 'NO'} MaxTime={partition.max_time}"
        f" DefaultTime={partition.default_time} PriorityJobFactor={partition.priority} State=UP"
    )


def gres_conf(cluster: Cluster) -> str:
    return "".join(
        f"NodeName={node.name} Name=gpu Type={node.gpu_type} File={cluster.gpu_files(node)}\n"
        for node in cluster.layout.nodes
        if node.gpus
    )


def cgroup_conf(cluster: Cluster) -> str:
    abilities = cluster.abilities
    if not abilities.cgroups:
        # version 1 does nothing until it is used; autodetection would fail
        return "CgroupPlugin=cgroup/v1\n"
    return template("cgroup.conf").substitute(
        version=abilities.cgroups,
        cores="yes" if abilities.cores else "no",
        # a node has no systemd that could create a scope
        alone="IgnoreSystemd=yes\nCgroupAutomount=yes" if abilities.cgroups == 2 else "",
    )


def hosts(cluster: Cluster) -> str:
    lines = ["127.0.0.1 localhost", "::1 localhost", f"{cluster.addresses.head} head"]
    for index, node in enumerate(cluster.layout.nodes):
        lines.append(f"{cluster.addresses.node(index)} {node.name}")
    return "\n".join(lines) + "\n"


def ldap_conf(cluster: Cluster) -> str:
    """Render ldap.conf for ldap-utils on the head and the nodes."""
    addresses = cluster.addresses
    return (
        f"URI ldap://{addresses.host('directory')}:{addresses.ports['ldap']}\n"
        f"BASE {cluster.layout.suffix}\nTLS_CACERT {cluster.paths.tls}/ca.crt\n"
    )


def base_ldif(cluster: Cluster, hashes: Mapping[str, str]) -> str:
    """Render the directory's initial content.

    `hashes`: a crypted password for each name in the tree.
    """
    layout = cluster.layout
    text = template("base.ldif").substitute(
        suffix=layout.suffix,
        top=layout.suffix.split(",", 1)[0].removeprefix("dc="),
        portal_password_hash=hashes["cn=portal"],
        nslcd_password_hash=hashes["cn=nslcd"],
    )
    for group in layout.groups:
        text += f"\ndn: cn={group.name},ou=groups,{layout.suffix}\nobjectClass: posixGroup\n"
        text += f"cn: {group.name}\ngidNumber: {group.gid}\n"
        text += "".join(f"memberUid: {name}\n" for name in layout.members(group.name))
    entry = template("user.ldif")
    for user in layout.users:
        text += entry.substitute(
            name=user.name,
            suffix=layout.suffix,
            uid=user.uid,
            full_name=user.full_name,
            given_name=user.full_name.split()[0],
            surname=user.full_name.split()[-1],
            mail_domain=layout.mail_domain,
            home=cluster.paths.home,
            password_hash=hashes[user.name],
        )
        if user.locked:
            # ppolicy's value for "until an administrator unlocks it"
            text += "pwdAccountLockedTime: 000001010000Z\n"
    return text


def private_accounts(cluster: Cluster, machine: Mapping[str, str]) -> dict[str, ConfigFile]:
    """Return the machine's passwd, shadow and group with the services' accounts added.

    They are bind-mounted over /etc inside the head's mount namespace only. PAM refuses an account
    without a shadow entry.
    """
    homes = {"portal": cluster.paths.portal_home, "portalhub": cluster.paths.hub_home}
    added: dict[str, list[str]] = {"passwd": [], "shadow": [], "group": []}
    for account in cluster.layout.service_accounts:
        name, uid, home = account.name, account.uid, homes.get(account.name, "/nonexistent")
        added["passwd"].append(f"{name}:x:{uid}:{uid}::{home}:/usr/sbin/nologin")
        added["shadow"].append(f"{name}:!:20000::::::")
        added["group"].append(f"{name}:x:{uid}:")
    names = {account.name for account in cluster.layout.service_accounts}
    modes = {"passwd": 0o644, "shadow": 0o600, "group": 0o644}
    texts = {
        file: "\n".join([*_drop_accounts(machine[file], names), *lines]) + "\n"
        for file, lines in added.items()
    }
    return {file: ConfigFile(text, mode=modes[file]) for file, text in texts.items()}


def _drop_accounts(text: str, names: Iterable[str]) -> list[str]:
    dropped = set(names)
    return [line for line in text.splitlines() if line.split(":", 1)[0] not in dropped]
