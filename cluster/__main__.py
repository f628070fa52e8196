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
from cluster.host.control import send_command
from cluster.host.machine import PATH, run
from cluster.status import render_lines, status
from cluster.up import up

DESCRIPTION = Path(__file__).resolve().parent / "cluster.toml"
ABILITIES = ("cgroups", "mknod", "fuse")
ROOT = "root:x:0:0::/root:/bin/bash"


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python3 -m cluster", description=__doc__)
    top.add_argument("--state", type=Path, required=True, help="the cluster's own folder")
    commands = top.add_subparsers(dest="command", required=True)
    raising = commands.add_parser("up", help="raise it, or bring it up to date")
    raising.add_argument("--description", type=Path, default=DESCRIPTION, help="cluster.toml")
    raising.add_argument("--only-slurm", action="store_true", help="without portal, hub and nginx")
    raising.add_argument("--mode", choices=["auto", "veth", "loopback"], default="auto")
    raising.add_argument(
        "--without",
        choices=ABILITIES,
        action="append",
        default=[],
        help="act as if the machine did not allow this",
    )
    raising.add_argument(
        "--slurm",
        type=Path,
        help="use the Slurm programs of another Debian release in this folder: make test-slurm",
    )
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
    portal = commands.add_parser("portal", help="the portal's command line: portal users list")
    portal.add_argument("argv", nargs=argparse.REMAINDER)
    return top


def main() -> None:
    args = parser().parse_args()
    if os.geteuid() != 0:
        sys.exit("cluster: needs root")
    paths = Paths(args.state.resolve())
    try:
        run_command(args, paths)
    except ClusterError as error:
        sys.exit(f"cluster: {error}")
    except KeyboardInterrupt:
        sys.exit("cluster: interrupted; `up` and `down` can be run again at any time")


def run_command(args: argparse.Namespace, paths: Paths) -> None:
    if args.command == "up":
        options = Options(args.mode, frozenset(args.without), args.only_slurm, args.slurm)
        up(paths, args.description.read_text(encoding="utf-8"), options)
    elif args.command == "down":
        take_down(paths, forget=args.purge)
    elif args.command == "status":
        cluster_status = status(load_handle(paths)) if paths.description.exists() else {"up": False}
        print(json.dumps(cluster_status, indent=1) if args.json else render_lines(cluster_status))
    elif args.command == "credentials":
        print(json.dumps(credentials(load_handle(paths)), indent=1))
    elif args.command == "exec":
        execute(load_handle(paths), args.argv, args.user, args.node)
    elif args.command == "portal":
        execute(load_handle(paths), portal_command(paths, args.argv), "portal")
    else:
        name, _, node = args.name.partition("@")
        send_command(paths.control(node or "head"), args.command, [name])


def load_handle(paths: Paths) -> ClusterHandle:
    if not paths.description.exists():
        raise ClusterError(f"there is no cluster in {paths.state}: `up` makes one")
    layout = parse_layout(paths.description.read_text(encoding="utf-8"))
    return load(paths, layout, TerminalProgress())


def take_down(paths: Paths, *, forget: bool) -> None:
    if paths.state.exists():
        down(paths)
        if forget:
            purge(paths)


def credentials(handle: ClusterHandle) -> dict[str, object]:
    users = handle.secrets.credentials(handle.cluster.layout)
    return {"base_url": handle.cluster.addresses.base_url, "users": users}


def portal_command(paths: Paths, argv: list[str]) -> list[str]:
    """Return the argv of the portal's own program with this cluster's settings."""
    config = f"PORTAL_CONFIG={paths.etc / 'portal.toml'}"
    return ["env", config, str(paths.venv / "bin" / "python"), "-I", "-m", "portal", *argv]


def execute(
    handle: ClusterHandle, arguments: list[str], user: str, node: str | None = None
) -> None:
    """Replace this process with the command, so that exit status, terminal and signals are its
    own."""
    paths = handle.paths
    head = namespaces.find_head(paths)
    if head is None:
        raise ClusterError("the cluster isn't up")
    argv = arguments[1:] if arguments[:1] == ["--"] else arguments
    env = {"PATH": PATH, "LC_ALL": "C.UTF-8", "SLURM_CONF": str(paths.slurm_conf)}
    env |= {name: os.environ[name] for name in ("TERM",) if name in os.environ}
    look_up = namespaces.on_head(head, ["getent", "passwd", user])
    account = ROOT if user == "root" else run(look_up)
    command = namespaces.as_user(account, env, argv or ["/bin/bash"])
    command = enter_node(handle, node, command) if node else namespaces.on_head(head, command)
    os.execvp(command[0], command)  # noqa: S606  there is no shell to start


def enter_node(handle: ClusterHandle, name: str, command: list[str]) -> list[str]:
    pid = namespaces.find_node(handle.paths, name)
    if pid is None:
        raise ClusterError(f"{name} isn't up")
    tree = cgroups.find() if handle.cluster.abilities.cgroups else None
    if tree is not None:
        tree.join(handle.paths.token, name)
    return namespaces.on_node(pid, handle.cluster.addresses.mode == "loopback", command)


if __name__ == "__main__":
    main()
