"""What each container does before its program, and the program itself."""

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

from cluster import accounting, directory, secret, services, supervisor
from cluster.compose.description import FILE, FRONT_PORT, STATE, Project, chosen, loads
from cluster.compose.setup import setup
from cluster.control import Spec, dump_specs
from cluster.errors import ClusterError
from cluster.ground import make_munge_key
from cluster.machine import PATH, run, write
from cluster.portal_side import install_launcher
from cluster.render import render

POSTGRES = Path("/usr/lib/postgresql")
# the image's programs hold nothing that an operator chooses
IMAGE = {
    "NODES": "node01",
    "NODE_CPUS": "1",
    "NODE_MEMORY_MB": "1024",
    "GPU_TYPE": "gpu",
    "PUBLIC_URL": "https://localhost",
    "NETWORK": "10.77.0",
}


def do_setup() -> None:
    setup(chosen(os.environ))


def credentials() -> None:
    """Address and passwords, as JSON: `docker compose run --rm setup credentials`."""
    project = _project()
    layout = project.cluster.layout
    users = secret.ensure(project.paths, layout).credentials(layout)
    print(json.dumps({"base_url": project.public_url, "users": users}, indent=1))


def programs() -> None:
    """While the image is built: what sudo permits, and that it does."""
    project = chosen(IMAGE)
    install_launcher(project.cluster)
    sudoers = render(project.cluster, "")["sudoers.d/portal"]
    write(Path("/etc/sudoers.d/portal"), sudoers.text, mode=sudoers.mode)


def munged() -> None:
    paths = _project().paths
    (paths.data / "munge").mkdir(mode=0o700, exist_ok=True)
    make_munge_key(paths)
    _become_service("munged")


def slapd() -> None:
    project = _project()
    paths = project.paths
    (paths.run / "slapd").mkdir(exist_ok=True)
    if not (paths.data / "ldap").exists():
        directory.ensure_database(project.cluster, (paths.tls / "content.ldif").read_text())
    _become_service("slapd")


def nslcd() -> None:
    _become_service("nslcd")


def mariadbd() -> None:
    accounting.ensure_database(_project().paths, run)
    _become_service("mariadbd")


def postgres() -> None:
    """No network: who may enter, its socket's other side says."""
    paths = _project().paths
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
    where = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={paths.postgres_socket}"]
    _become(Spec("postgres", (str(bin_dir / "postgres"), "-D", str(database), *where), ""))


def slurmdbd() -> None:
    (_project().paths.run / "slurm").mkdir(exist_ok=True)
    _become_service("slurmdbd")


def slurmctld() -> None:
    """Accounting must know the cluster before slurmctld speaks for it."""
    cluster = _project().cluster
    for folder in (cluster.paths.run / "slurm", cluster.paths.data / "slurmctld"):
        folder.mkdir(mode=0o755, exist_ok=True)
    if not (cluster.paths.data / "slurmctld" / "clustername").exists():  # slurmctld's own, at last
        accounting.apply(accounting.commands(cluster.layout), _with_slurm)
        known = _with_slurm(["sacctmgr", "-nP", "show", "cluster", "format=cluster"]).split()
        if cluster.layout.name not in known:
            raise ClusterError(f"accounting doesn't take the cluster {cluster.layout.name}")
    _become_service("slurmctld")


def limits() -> None:
    """Accounts, users and their limits: on GPUs too, of which slurmctld tells accounting."""
    layout = _project().cluster.layout
    accounting.apply(accounting.commands(layout), _with_slurm)
    accounting.apply(accounting.limit_commands(layout), _with_slurm)
    accounting.check(layout, _with_slurm)


def node() -> None:
    """slurmd under a pid 1 that lets jobs outlive it."""
    cluster = _project().cluster
    name = socket.gethostname()
    _end_lost_jobs(name)
    file = cluster.paths.run / "services.json"
    specs = [replace(spec, log="/dev/stdout") for spec in services.slurmd(cluster, name)]
    write(file, dump_specs(specs), mode=0o600)
    pid_1 = supervisor.Supervisor(file, cluster.paths.run / "control.sock")
    pid_1.start("slurmd")
    pid_1.run()


def _end_lost_jobs(name: str) -> None:
    """A container that begins has no jobs, whatever Slurm believes of the one before. A node that
    is down ends its jobs, and comes back as it registers (ReturnToService=2)."""
    if _with_slurm(["squeue", "-h", "-w", name, "-t", "R,S", "-o", "%i"]).split():
        _with_slurm(["scontrol", "update", f"nodename={name}", "state=down", "reason=boot"])


def portal() -> None:
    """One of two, which its environment tells apart. On a cluster of one machine a supervisor holds
    the portal's socket; here it has its own."""
    spec = _service("portal")
    own = {name: value for name, value in os.environ.items() if name.startswith("PORTAL_")}
    argv = spec.argv[: spec.argv.index("serve") + 1]
    _become(replace(spec, argv=argv, env={**spec.env, **own}))


def hub() -> None:
    _become_service("hub")


def nginx() -> None:
    paths = _project().paths
    settings = ["--settings", str(paths.etc / "portal.toml"), "--out", str(paths.nginx)]
    tls = ["--certificate", str(paths.certificate / "portal.crt")]
    tls += ["--key", str(paths.certificate / "portal.key")]
    python = str(paths.venv / "bin" / "python")
    listen = ["--listen", f"0.0.0.0:{FRONT_PORT}"]
    run([python, "-I", "-m", "deploy.nginx", *settings, *tls, *listen])
    for name, stream in (("access.log", "/dev/stdout"), ("error.log", "/dev/stderr")):
        log = paths.nginx / "logs" / name
        log.unlink(missing_ok=True)
        log.symlink_to(stream)
    _become_service("nginx")


ROLES: Mapping[str, Callable[[], None]] = {
    "setup": do_setup,
    **{
        role.__name__: role
        for role in (programs, munged, slapd, nslcd, mariadbd, postgres, slurmdbd, slurmctld)
    },
    **{role.__name__: role for role in (credentials, limits, node, portal, hub, nginx)},
}


def _project() -> Project:
    try:
        return loads((STATE / "etc" / FILE).read_text(encoding="utf-8"))
    except OSError as error:
        raise ClusterError(f"setup has left no description: {error}") from error


def _with_slurm(argv: Sequence[str], **how: Any) -> str:
    return run(argv, env={"SLURM_CONF": str(_project().paths.slurm_conf)}, **how)


def _become_service(name: str) -> None:
    _become(_service(name))


def _service(name: str) -> Spec:
    """The same program as on a cluster of one machine; its account is the container's."""
    cluster = _project().cluster
    any_account: defaultdict[str, services.User] = defaultdict(lambda: (0, 0, ()))
    found = services.base_services(cluster, any_account)
    found += services.portal_services(cluster, any_account)
    return next(spec for spec in found if spec.name == name)


def _become(spec: Spec) -> None:
    """Its signals and its exit status are the container's."""
    os.chdir(spec.cwd)
    os.umask(spec.umask)
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", **spec.env}
    os.execvpe(spec.argv[0], list(spec.argv), environment)  # noqa: S606
