"""The services with their command lines, from the description and the paths. Pure: no I/O."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from cluster.config import slurm_release
from cluster.config.addresses import LOCALHOST
from cluster.config.render import Cluster
from cluster.config.render_modules import MODULEPATH
from cluster.host.control import SOCKET, Spec
from cluster.host.machine import PATH
from cluster.host.node import NodeConfig

User = tuple[int, int, tuple[int, ...]]
# Slurm notices that a rebooted node's jobs are lost if the node registers more than 20 s (10 s
# beside its BatchStartTimeout) after their start. After a faster restart they would seem to run on.
BOOT_S = 21.0
PORTAL_STOP_S = 30.0  # it completes requests in progress first (portal/server.py)
ETC_FILES = ("hosts", "nsswitch.conf", "nslcd.conf", "passwd", "shadow", "group")


def base_services(cluster: Cluster, users: dict[str, User]) -> list[Spec]:
    """Return directory, accounting, Slurm and the nodes. `users`: the daemons' accounts,
    resolved."""
    paths, addresses = cluster.paths, cluster.addresses
    slurm_env = {"SLURM_CONF": str(paths.slurm_conf), "MYSQL_UNIX_PORT": str(paths.mysql_socket)}
    ldap, ldaps = addresses.ports["ldap"], addresses.ports["ldaps"]

    def spec(name: str, argv: Sequence[str], user: str = "", **more: Any) -> Spec:
        env = {"PATH": PATH, "LC_ALL": "C.UTF-8", **more.pop("env", {})}
        account = users[user] if user else None
        return Spec(name, tuple(argv), str(paths.log / f"{name}.log"), account, env, **more)

    directory_host = addresses.host("directory")
    urls = f"ldap://{directory_host}:{ldap}/ ldaps://{directory_host}:{ldaps}/"
    slapd = ["slapd", "-d", "0", "-h", urls, "-f", str(paths.etc / "slapd.conf")]
    return [
        spec("slapd", [*slapd, "-u", "openldap", "-g", "openldap"]),
        spec("nslcd", ["nslcd", "--nofork"]),
        spec("munged", _munged_argv(cluster), "munge"),
        spec("mariadbd", ["mariadbd", f"--defaults-file={paths.etc}/my.cnf"], "mysql"),
        spec("slurmdbd", ["slurmdbd", "-D"], "slurm", env=slurm_env),
        spec("slurmctld", ["slurmctld", "-D"], "slurm", env=slurm_env),
        *(
            spec(
                node.name,
                [
                    "/usr/bin/python3",
                    "-m",
                    "cluster.host.node",
                    "outside",
                    str(paths.state),
                    node.name,
                ],
                env={"PYTHONPATH": str(paths.lib), "PYTHONDONTWRITEBYTECODE": "1"},
                backoff_s=BOOT_S,
            )
            for node in cluster.layout.nodes
        ),
    ]


def portal_services(cluster: Cluster, users: dict[str, User]) -> list[Spec]:
    """Return portal, hub and nginx, each under its own account."""
    paths, python = cluster.paths, str(cluster.paths.venv / "bin" / "python")

    def spec(name: str, argv: Sequence[str], user: str, home: Path, **env: str) -> Spec:
        environment = {
            "PATH": f"{paths.venv}/bin:{PATH}",
            "LC_ALL": "C.UTF-8",
            "HOME": str(home),
            "PYTHONUNBUFFERED": "1",
            **env,
        }
        log = str(paths.log / f"{name}.log")
        return Spec(name, tuple(argv), log, users[user], environment, str(home), umask=0o077)

    portal = [python, "-I", "-m", "portal", "serve", "--fd", SOCKET]
    hub = [python, "-I", "-m", "jupyterhub", "-f", str(paths.app / "deploy/jupyterhub_config.py")]
    front = ["nginx", "-p", str(paths.nginx), "-e", str(paths.nginx / "logs" / "error.log")]
    front += ["-c", str(paths.nginx / "nginx.conf"), "-g", "daemon off;"]
    settings, hub_settings = str(paths.etc / "portal.toml"), str(paths.etc / "hub.toml")
    served = spec("portal", portal, "portal", paths.portal_home, PORTAL_CONFIG=settings)
    portal_address = (LOCALHOST, cluster.addresses.ports["portal"])
    return [
        replace(served, listen=portal_address, stop_timeout_s=PORTAL_STOP_S),
        spec("hub", hub, "portalhub", paths.hub_home, PORTAL_HUB_CONFIG=hub_settings),
        spec("nginx", front, "www-data", paths.nginx),
    ]


def package_proxy(cluster: Cluster) -> list[Spec]:
    """Return the proxy through which nodes reach the indexes of this machine's pip.

    It starts as root, to read pip's settings.
    """
    paths, port = cluster.paths, cluster.addresses.ports.get("packages")
    if port is None:
        return []
    program = ("/usr/bin/python3", "-m", "cluster.parts.package_proxy", SOCKET)
    env = {
        "PATH": PATH,
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": f"{paths.lib}:{paths.app}",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    listen = (cluster.addresses.head, port)
    log = str(paths.log / "packages.log")
    return [Spec("packages", program, log, env=env, listen=listen, inherits=True)]


def _munged_argv(cluster: Cluster) -> list[str]:
    paths = cluster.paths
    return [
        "munged",
        "--foreground",
        f"--key-file={paths.data}/munge/munge.key",
        f"--seed-file={paths.data}/munge/munged.seed",
        f"--socket={paths.munge_socket}",
        f"--pid-file={paths.run}/munge/munged.pid",
        f"--log-file={paths.log}/munge/munged.log",
        "--num-threads=10",
    ]


def slurmd(cluster: Cluster, name: str) -> list[Spec]:
    """Return the services of a node's own pid 1."""
    paths = cluster.paths
    return [
        Spec(
            "slurmd",
            # -b: the node has booted, earlier jobs are gone
            ("slurmd", "-D", "-b"),
            str(paths.log / f"slurmd-{name}.log"),
            env={"PATH": PATH, "LC_ALL": "C.UTF-8", "SLURM_CONF": str(paths.slurm_conf)},
            kill_group=False,  # jobs outlive a dead slurmd
        )
    ]


def node_config(cluster: Cluster, index: int) -> dict[str, Any]:
    paths = cluster.paths
    return asdict(
        NodeConfig(
            name=cluster.layout.nodes[index].name,
            address=cluster.addresses.node(index),
            loopback=cluster.addresses.mode == "loopback",
            bridge=paths.token,
            cable=paths.cable(index),
            confined=bool(cluster.abilities.cgroups),
            private_fuse=cluster.abilities.fuse == "private",
            keep_in_tmp=str(paths.state),
        )
    )


def head_binds(cluster: Cluster) -> list[tuple[str, str]]:
    etc = cluster.paths.etc
    binds = [(str(etc / name), f"/etc/{name}") for name in ETC_FILES]
    binds.append((str(etc / "ldap.conf"), "/etc/ldap/ldap.conf"))
    binds.append((str(etc / "sudoers.d"), "/etc/sudoers.d"))
    binds.append((str(etc / "modulespath"), str(MODULEPATH)))
    if cluster.abilities.slurm:
        binds += slurm_release.binds(Path(cluster.abilities.slurm))
    return binds


def folders(cluster: Cluster) -> list[tuple[Path, str | int, int]]:
    """Return (folder, owner, mode) of every folder that must exist before the services start."""
    paths, layout = cluster.paths, cluster.layout
    plain = [paths.etc, paths.etc / "sudoers.d", paths.run, paths.log, paths.data, paths.home]
    return [
        *((path, "root", 0o755) for path in (*plain, paths.tls, paths.dev, paths.libexec)),
        (paths.catalog, "root", 0o755),
        (paths.run / "munge", "munge", 0o755),
        (paths.log / "munge", "munge", 0o700),
        (paths.data / "munge", "munge", 0o700),
        (paths.archived_homes, "root", 0o700),
        (paths.run / "mysql", "mysql", 0o755),
        (paths.run / "slurm", "slurm", 0o755),
        (paths.data / "slurmctld", "slurm", 0o700),
        (paths.run / "slapd", "openldap", 0o755),
        (paths.nginx, "www-data", 0o700),
        (paths.imported, layout.service_account("portal").uid, 0o755),
        (paths.portal_home, layout.service_account("portal").uid, 0o700),
        (paths.hub_home, layout.service_account("portalhub").uid, 0o700),
    ]
