"""The roles of the containers: preparation, then the program itself."""

from __future__ import annotations

import json
import os
import shutil
import socket
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from cluster.compose.description import (
    FILE,
    FRONT_PORT,
    NOTEBOOK_PORT,
    STATE,
    TENSORBOARD_PORT,
    Project,
    load_project,
    loads,
)
from cluster.compose.setup import setup
from cluster.config import secret
from cluster.config.render import render
from cluster.errors import ClusterError
from cluster.handle import make_munge_key
from cluster.host import supervisor
from cluster.host.control import Spec, dump_specs
from cluster.host.machine import PATH, run, write
from cluster.parts import accounting, directory, services
from cluster.parts.portal import install_launcher

POSTGRES = Path("/usr/lib/postgresql")
# placeholders: the image's programs contain no operator's choices
IMAGE = {
    "NODES": "node01",
    "NODE_CPUS": "1",
    "NODE_MEMORY_MB": "1024",
    "GPU_TYPE": "gpu",
    "PUBLIC_URL": "https://localhost",
    "NOTEBOOK_URL": "https://localhost:8444",
    "TENSORBOARD_URL": "https://localhost:8445",
    "NETWORK": "10.77.0",
}


def do_setup() -> None:
    setup(load_project(os.environ))


def credentials() -> None:
    """Print the address and passwords as JSON: `docker compose run --rm setup credentials`."""
    project = _load_project()
    layout = project.cluster.layout
    users = secret.ensure(project.paths, layout).credentials(layout)
    print(json.dumps({"base_url": project.public_url, "users": users}, indent=1))


def programs() -> None:
    """At image build time, install the programs that sudo permits, and the permission."""
    project = load_project(IMAGE)
    install_launcher(project.cluster)
    sudoers = render(project.cluster, "")["sudoers.d/portal"]
    write(Path("/etc/sudoers.d/portal"), sudoers.text, mode=sudoers.mode)


def munged() -> None:
    paths = _load_project().paths
    (paths.data / "munge").mkdir(mode=0o700, exist_ok=True)
    make_munge_key(paths)
    _exec_service("munged")


def slapd() -> None:
    project = _load_project()
    paths = project.paths
    (paths.run / "slapd").mkdir(exist_ok=True)
    if not (paths.data / "ldap").exists():
        directory.ensure_database(project.cluster, (paths.tls / "content.ldif").read_text())
    _exec_service("slapd")


def nslcd() -> None:
    _exec_service("nslcd")


def mariadbd() -> None:
    accounting.ensure_database(_load_project().paths, run)
    _exec_service("mariadbd")


def postgres() -> None:
    """Run PostgreSQL without a network; its socket authenticates the peer's account."""
    paths = _load_project().paths
    (bin_dir,) = POSTGRES.glob("*/bin")
    database = paths.data / "postgres"
    if not database.exists():
        fresh = paths.data / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        how = ["--auth-local=peer", "--auth-host=reject", "--encoding=UTF8", "--locale=C.UTF-8"]
        run([str(bin_dir / "initdb"), "-D", str(fresh), *how])
        statements = "CREATE ROLE portal LOGIN\nCREATE DATABASE portal OWNER portal\n"
        run([str(bin_dir / "postgres"), "--single", "-D", str(fresh), "postgres"], stdin=statements)
        fresh.rename(database)
    connection = [
        "-c",
        "listen_addresses=",
        "-c",
        f"unix_socket_directories={paths.postgres_socket}",
    ]
    _exec(Spec("postgres", (str(bin_dir / "postgres"), "-D", str(database), *connection), ""))


def slurmdbd() -> None:
    (_load_project().paths.run / "slurm").mkdir(exist_ok=True)
    _exec_service("slurmdbd")


def slurmctld() -> None:
    """Run slurmctld. Accounting must have the cluster before slurmctld registers."""
    cluster = _load_project().cluster
    for folder in (cluster.paths.run / "slurm", cluster.paths.data / "slurmctld"):
        folder.mkdir(mode=0o755, exist_ok=True)
    # written by slurmctld at the end of its start
    if not (cluster.paths.data / "slurmctld" / "clustername").exists():
        accounting.run_commands(accounting.commands(cluster.layout), _run_with_slurm)
        clusters = _run_with_slurm(["sacctmgr", "-nP", "show", "cluster", "format=cluster"]).split()
        if cluster.layout.name not in clusters:
            raise ClusterError(f"accounting doesn't take the cluster {cluster.layout.name}")
    _exec_service("slurmctld")


def limits() -> None:
    """Apply accounts, users and their limits, including GPU limits once slurmctld has registered
    GPUs."""
    layout = _load_project().cluster.layout
    accounting.run_commands(accounting.commands(layout), _run_with_slurm)
    accounting.run_commands(accounting.limit_commands(layout), _run_with_slurm)
    accounting.check(layout, _run_with_slurm)


def node() -> None:
    """Run slurmd under a pid 1 that lets jobs outlive it."""
    cluster = _load_project().cluster
    name = socket.gethostname()
    _end_lost_jobs(name)
    file = cluster.paths.run / "services.json"
    specs = [replace(spec, log="/dev/stdout") for spec in services.slurmd(cluster, name)]
    write(file, dump_specs(specs), mode=0o600)
    pid_1 = supervisor.Supervisor(file, cluster.paths.run / "control.sock")
    pid_1.start("slurmd")
    pid_1.run()


def _end_lost_jobs(name: str) -> None:
    """End jobs that Slurm attributes to this node's previous container.

    A node that is down ends its jobs, and returns when it registers (ReturnToService=2).
    """
    if _run_with_slurm(["squeue", "-h", "-w", name, "-t", "R,S", "-o", "%i"]).split():
        _run_with_slurm(["scontrol", "update", f"nodename={name}", "state=down", "reason=boot"])


def portal() -> None:
    """Run one of the two portals, which differ in their environment.

    It opens its own socket; on a single-machine cluster a supervisor holds the portal's socket.
    """
    spec = _find_service("portal")
    settings = {name: value for name, value in os.environ.items() if name.startswith("PORTAL_")}
    argv = spec.argv[: spec.argv.index("serve") + 1]
    _exec(replace(spec, argv=argv, env={**spec.env, **settings}))


def hub() -> None:
    _exec_service("hub")


def nginx() -> None:
    paths = _load_project().paths
    settings = ["--settings", str(paths.etc / "portal.toml"), "--out", str(paths.nginx)]
    tls = ["--certificate", str(paths.certificate / "portal.crt")]
    tls += ["--key", str(paths.certificate / "portal.key")]
    python = str(paths.venv / "bin" / "python")
    listen = ["--listen", f"0.0.0.0:{FRONT_PORT}"]
    listen += ["--listen-notebooks", f"0.0.0.0:{NOTEBOOK_PORT}"]
    listen += ["--listen-tensorboards", f"0.0.0.0:{TENSORBOARD_PORT}"]
    run([python, "-I", "-m", "deploy.nginx", *settings, *tls, *listen])
    for name, stream in (("access.log", "/dev/stdout"), ("error.log", "/dev/stderr")):
        log = paths.nginx / "logs" / name
        log.unlink(missing_ok=True)
        log.symlink_to(stream)
    _exec_service("nginx")


ROLES: Mapping[str, Callable[[], None]] = {
    "setup": do_setup,
    **{
        role.__name__: role
        for role in (programs, munged, slapd, nslcd, mariadbd, postgres, slurmdbd, slurmctld)
    },
    **{role.__name__: role for role in (credentials, limits, node, portal, hub, nginx)},
}


def _load_project() -> Project:
    try:
        return loads((STATE / "etc" / FILE).read_text(encoding="utf-8"))
    except OSError as error:
        raise ClusterError(f"setup has left no description: {error}") from error


def _run_with_slurm(argv: Sequence[str], **how: Any) -> str:
    return run(argv, env={"SLURM_CONF": str(_load_project().paths.slurm_conf)}, **how)


def _exec_service(name: str) -> None:
    _exec(_find_service(name))


def _find_service(name: str) -> Spec:
    """Return the single-machine cluster's service; its account is replaced by the container's."""
    cluster = _load_project().cluster
    any_account: defaultdict[str, services.User] = defaultdict(lambda: (0, 0, ()))
    specs = services.base_services(cluster, any_account)
    specs += services.portal_services(cluster, any_account)
    return next(spec for spec in specs if spec.name == name)


def _exec(spec: Spec) -> None:
    """Replace this process with the program, so that signals and exit status are the
    container's."""
    os.chdir(spec.cwd)
    os.umask(spec.umask)
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", **spec.env}
    os.execvpe(spec.argv[0], list(spec.argv), environment)  # noqa: S606
