"""Files and scripts of a job for a session or a TensorBoard, and of a step for SSH.

Pure.

Independent of Slurm and the database. The launcher stores the results in the job's own folder,
`HOME/.local/share/portal/jobs/UUID/` (0700), as 0600.

**config.json of a session**, read by `spawner.node.session CONFIG`, contains

  uuid                 the session's id
  secret               Authorization: Bearer … for requests to the portal; never printed
  portal_url           the cluster-facing listener, without a final slash
  portal_ca            the CA of its certificate, as PEM; null: one that the node trusts anyway
  tls                  whether to request a certificate from the portal and serve HTTPS
  username, name       user and session name: the server is /user/{username}/{name}/
  logdir               absolute; to be created, and set as PORTAL_LOGDIR for kernels and terminals
  runtime_dir_prefix   the node directory is this + uuid[:13]: created with mkdir 0700, refused
                       if it exists with another owner; JUPYTER_RUNTIME_DIR, with the kernels'
                       sockets. Kernelspecs contain its path (`node_dir`), so it must not differ.
                       Its random part keeps other users from creating the folder first: Slurm
                       shows them the uuid. It has nothing to do with `runtime_dir`, the
                       virtualenv on the nodes; the key keeps its name because jobs of an older
                       version may still be queued with it
  kernelspecs          {kernel name: kernel.json as an object}, the default kernel first; to be
                       written as kernels/{kernel name}/kernel.json in the node directory
  default_kernel       the kernel of the session's environment
  lab                  {"overrides": …, "page_config": …}: to be written in the node directory
                       as lab/overrides.json and lab/page_config.json, see
                       spawner/catalog/lab_config.py
  server_config        configuration of jupyter_server as {class: {trait: value}}; the node
                       program adds the part that is the same for every session
  apps                 the apps that it offers, see spawner/catalog/app.py: {"origin": of its
                       address in the browser, "prefix": words before each command, "env": their
                       variables, "declared": {name: fields}}

**config.json of a tensorboard**, read by `spawner.node.tensorboard CONFIG`, contains

  uuid                 this run's id; a restarted tensorboard gets another
  tensorboard_id       the tensorboard's own id: for requests to the portal and in its address
  secret               Authorization: Bearer … for requests to the portal
  guard_key            the signing key: every request must be signed with it, see
                       spawner/signing.py. Named as in earlier versions, for jobs in the queue
  portal_url           as above
  portal_ca, tls       as above
  username             as above
  logdir               absolute
  path_prefix          /tensorboard/{tensorboard_id}, without a final slash
  runtime_dir_prefix   as above

**config.json of a job's SSH**, read by `spawner.node.job_ssh CONFIG`, contains

  uuid                 this run's id
  batch_job_id         the portal's id of the batch job, for requests to the portal
  secret, portal_url, portal_ca, tls, runtime_dir_prefix   as above
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spawner.launcher.folders import JOBS_FOLDER

CONFIG_FILE = "config.json"
NODE_DIR_PREFIX = "/tmp/portal-"  # noqa: S108 - short: a socket path has at most 107 bytes
EXIT_CLAIMED = 75  # EX_TEMPFAIL of sysexits.h: nothing was run


@dataclass(frozen=True)
class SessionLaunch:
    """Parameters of a session's job.

    Paths are absolute; `runtime_dir` is the virtualenv on the nodes, `home` the user's home folder.
    """

    uuid: str
    secret: str = field(repr=False)
    portal_url: str
    runtime_dir: str
    username: str
    home: str
    name: str
    logdir: str
    default_kernel: str
    kernelspecs: Mapping[str, Mapping[str, Any]]
    lab: Mapping[str, Any]
    server_config: Mapping[str, Mapping[str, Any]]
    apps: Mapping[str, Any]
    portal_ca: str | None = None
    tls: bool = False


@dataclass(frozen=True)
class TensorboardLaunch:
    """Parameters of a tensorboard's process, with paths as in SessionLaunch.

    `uuid` is the run's, whose folder no other run may claim; `tensorboard_id` outlives it.
    """

    uuid: str
    tensorboard_id: str
    secret: str = field(repr=False)
    signing_key: str = field(repr=False)
    portal_url: str
    runtime_dir: str
    username: str
    home: str
    logdir: str
    portal_ca: str | None = None
    tls: bool = False


@dataclass(frozen=True)
class JobSshLaunch:
    """Parameters of the program that serves SSH in a job; `uuid` is this run's id."""

    uuid: str
    batch_job_id: str
    secret: str = field(repr=False)
    portal_url: str
    runtime_dir: str
    home: str
    portal_ca: str | None = None
    tls: bool = False


def quote(text: str) -> str:
    """Return a shell word that the shell reads back as exactly `text`; the only way into a script.

    Raises ValueError for a NUL character, which no argument can contain.
    """
    if "\0" in text:
        raise ValueError("a NUL character can't be part of a path or an argument")
    return shlex.quote(text)


def node_dir(uuid: str, secret: str) -> str:
    """Return the node directory of a job: sockets, kernelspecs, caches."""
    return f"{_node_dir_prefix(secret)}{uuid[:13]}"


def _node_dir_prefix(secret: str) -> str:
    digest = hashlib.sha256(f"node folder|{secret}".encode()).hexdigest()
    return f"{NODE_DIR_PREFIX}{digest[:12]}-"


def job_dir(home: str, uuid: str) -> str:
    """Return the job's own folder under the user's home."""
    return f"{home.rstrip('/')}/{JOBS_FOLDER}/{uuid}"


def session_files(launch: SessionLaunch) -> dict[str, str]:
    """Return file name → text of the files beside the script in the session's folder."""
    config = {
        "uuid": launch.uuid,
        "secret": launch.secret,
        "portal_url": launch.portal_url.rstrip("/"),
        "portal_ca": launch.portal_ca,
        "tls": launch.tls,
        "username": launch.username,
        "name": launch.name,
        "logdir": launch.logdir,
        "runtime_dir_prefix": _node_dir_prefix(launch.secret),
        "kernelspecs": {name: dict(spec) for name, spec in launch.kernelspecs.items()},
        "default_kernel": launch.default_kernel,
        "lab": dict(launch.lab),
        "server_config": {name: dict(traits) for name, traits in launch.server_config.items()},
        "apps": dict(launch.apps),
    }
    return {CONFIG_FILE: _to_json(config)}


def session_script(launch: SessionLaunch) -> str:
    """Return the batch script of a session: claim the job, then exec the node program."""
    return _to_script(launch.runtime_dir, "spawner.node.session", job_dir(launch.home, launch.uuid))


def tensorboard_files(launch: TensorboardLaunch) -> dict[str, str]:
    """Return file name → text of the files beside the script in the tensorboard's folder."""
    config = {
        "uuid": launch.uuid,
        "tensorboard_id": launch.tensorboard_id,
        "secret": launch.secret,
        "guard_key": launch.signing_key,
        "portal_url": launch.portal_url.rstrip("/"),
        "portal_ca": launch.portal_ca,
        "tls": launch.tls,
        "username": launch.username,
        "logdir": launch.logdir,
        "path_prefix": f"/tensorboard/{launch.tensorboard_id}",
        "runtime_dir_prefix": _node_dir_prefix(launch.secret),
    }
    return {CONFIG_FILE: _to_json(config)}


def tensorboard_script(launch: TensorboardLaunch) -> str:
    """Return the script of a tensorboard, for a separate job or a step in a running one."""
    folder = job_dir(launch.home, launch.uuid)
    return _to_script(launch.runtime_dir, "spawner.node.tensorboard", folder)


def job_ssh_files(launch: JobSshLaunch) -> dict[str, str]:
    """Return file name → text of the files beside the script in the run's folder."""
    config = {
        "uuid": launch.uuid,
        "batch_job_id": launch.batch_job_id,
        "secret": launch.secret,
        "portal_url": launch.portal_url.rstrip("/"),
        "portal_ca": launch.portal_ca,
        "tls": launch.tls,
        "runtime_dir_prefix": _node_dir_prefix(launch.secret),
    }
    return {CONFIG_FILE: _to_json(config)}


def job_ssh_script(launch: JobSshLaunch) -> str:
    """Return the script of the step that serves SSH in a job."""
    folder = job_dir(launch.home, launch.uuid)
    return _to_script(launch.runtime_dir, "spawner.node.job_ssh", folder)


def _to_json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1) + "\n"


def _to_script(runtime_dir: str, module: str, folder: str) -> str:
    """Return a script that claims the job, then runs a module.

    To claim it means to create `claimed` in its folder. `mkdir` is atomic on every file system used
    for homes, including NFS: of two copies of a job (Slurm may start one again after a crash of its
    controller) only one succeeds, and the other exits.
    """
    return "\n".join(
        [
            "#!/bin/sh",
            f"mkdir -- {quote(folder + '/claimed')} || exit {EXIT_CLAIMED}",
            f"exec {quote(runtime_dir + '/bin/python')} -I -m {module}"
            f" {quote(folder + '/' + CONFIG_FILE)}",
            "",
        ]
    )
