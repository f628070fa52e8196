"""Command line of the single-machine cluster: python3 -m cluster --state DIR COMMAND."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from cluster.config.description import parse_layout
from cluster.config.paths import Paths
from cluster.down import down, purge
from cluster.errors import ClusterError
from cluster.handle import ClusterHandle, Options, TerminalProgress, load
from cluster.host import cgroups, namespaces
from cluster.host.control import ask
from cluster.host.machine import PATH, run
from cluster.status import lines, status
from cluster.up import up

DESCRIPTION = Path(__file__).resolve().parent / "cluster.toml"
FALLBACKS = ("cgroups", "mknod", "fuse")
ROOT = "root:x:0:0::/root:/bin/bash"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python3 -m cluster", description=__doc__)
    top.add_argument("--state", type=Path, required=True, help="the cluster's own folder")
    commands = top.add_subparsers(dest="command", required=True)
    raising = commands.add_parser("up", help="raise it, or bring it up to date")
    raising.add_argument("--description", type=Path, default=DESCRIPTION, help="cluster.toml")
    raising.add_argument("--only-slurm", action="store_true", help="without portal, hub and nginx")
    raising.add_argument("--mode", choices=["auto", "veth", "loopback"], default="auto")
    raising.add_argument("--without", choices=FALLBACKS, action="append", default=[])
    ending = commands.add_parser("down", help="end it; nothing is left outside its folder")
    ending.add_argument("--purge", action="store_true", help="remove the folder too")
    reporting = commands.add_parser("status", help="what runs")
    reporting.add_argument("--json", action="store_true")
    commands.add_parser("credentials", help="address and passwords, as JSON")
    for name in ("start", "stop", "restart"):
        service = commands.add_parser(name, help=f"{name} a service; `slurmd@node01` is a node's")
        service.add_argument("name")
    entering = commands.add_parser("exec", help="run a command inside: exec --user alice -- id")
    entering.add_argument("--node", help="on this node; else on the head")
    entering.add_argument("--user", default="root")
    entering.add_argument("argv", nargs=argparse.REMAINDER)
    own = commands.add_parser("portal", help="the portal's command line: portal users list")
    own.add_argument("argv", nargs=argparse.REMAINDER)
    return top


def main() -> None:
    asked = parser().parse_args()
    if os.geteuid() != 0:
        sys.exit("cluster: needs root")
    paths = Paths(asked.state.resolve())
    try:
        act(asked, paths)
    except ClusterError as error:
        sys.exit(f"cluster: {error}")
    except KeyboardInterrupt:
        sys.exit("cluster: interrupted; `up` and `down` can be run again at any time")


def act(asked: argparse.Namespace, paths: Paths) -> None:
    if asked.command == "up":
        options = Options(asked.mode, frozenset(asked.without), asked.only_slurm)
        up(paths, asked.description.read_text(encoding="utf-8"), options)
    elif asked.command == "down":
        take_down(paths, forget=asked.purge)
    elif asked.command == "status":
        found = status(ground_of(paths)) if paths.description.exists() else {"up": False}
        print(json.dumps(found, indent=1) if asked.json else lines(found))
    elif asked.command == "credentials":
        print(json.dumps(credentials(ground_of(paths)), indent=1))
    elif asked.command == "exec":
        execute(ground_of(paths), asked.argv, asked.user, asked.node)
    elif asked.command == "portal":
        execute(ground_of(paths), portal_command(paths, asked.argv), "portal")
    else:
        name, _, node = asked.name.partition("@")
        ask(paths.control(node or "head"), asked.command, [name])


def ground_of(paths: Paths) -> ClusterHandle:
    if not paths.description.exists():
        raise ClusterError(f"there is no cluster in {paths.state}: `up` makes one")
    layout = parse_layout(paths.description.read_text(encoding="utf-8"))
    return load(paths, layout, TerminalProgress())


def take_down(paths: Paths, *, forget: bool) -> None:
    if paths.state.exists():
        down(paths)
        if forget:
            purge(paths)


def credentials(ground: ClusterHandle) -> dict[str, object]:
    users = ground.secrets.credentials(ground.cluster.layout)
    return {"base_url": ground.cluster.addresses.base_url, "users": users}


def portal_command(paths: Paths, argv: list[str]) -> list[str]:
    """Return the argv of the portal's own program with this cluster's settings."""
    config = f"PORTAL_CONFIG={paths.etc / 'portal.toml'}"
    return ["env", config, str(paths.venv / "bin" / "python"), "-I", "-m", "portal", *argv]


def execute(ground: ClusterHandle, given: list[str], user: str, node: str | None = None) -> None:
    """Replace this process with the command, so that exit status, terminal and signals are its
    own."""
    paths = ground.paths
    head = namespaces.find_head(paths)
    if head is None:
        raise ClusterError("the cluster isn't up")
    argv = given[1:] if given[:1] == ["--"] else given
    env = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SLURM_CONF": str(paths.slurm_conf)}
    env |= {name: os.environ[name] for name in ("TERM",) if name in os.environ}
    look_up = namespaces.on_head(head, ["getent", "passwd", user])
    account = ROOT if user == "root" else run(look_up)
    command = namespaces.as_user(account, env, argv or ["/bin/bash"])
    command = enter_node(ground, node, command) if node else namespaces.on_head(head, command)
    os.execvp(command[0], command)  # noqa: S606  there is no shell to start


def enter_node(ground: ClusterHandle, name: str, command: list[str]) -> list[str]:
    pid = namespaces.find_node(ground.paths, name)
    if pid is None:
        raise ClusterError(f"{name} isn't up")
    tree = cgroups.find() if ground.cluster.abilities.cgroups else None
    if tree is not None:
        tree.join(ground.paths.token, name)
    return namespaces.on_node(pid, ground.cluster.addresses.mode == "loopback", command)


if __name__ == "__main__":
    main()
