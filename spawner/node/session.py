"""Node program of a session: `python -I -m spawner.node.session CONFIG.json`.

Slurm runs it as the user. It binds a port, calls the portal, and becomes the user's JupyterLab. Two
tasks run in parallel, because each takes as long as the other: one thread calls the portal and
waits for the hub's environment variables, while the main thread imports Jupyter. It depends on
config.json (described in `spawner/catalog/launch_files.py`) and the portal's /node routes; of Slurm
it uses only the node's name.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import logging
import os
import pwd
import shutil
import signal
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

from spawner.node import node_setup
from spawner.node.portal_client import NotWanted, PortalClient, PortalRequestError

log = logging.getLogger("portal")

PORT_HOLD_S = 4.0
"""Time for which nginx may still use the last answer of the portal's gate (auth_request), and a
second more."""
SECRETS = ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN")
HUB_PREFIX = "JUPYTERHUB_"
KERNEL_STARTUP = Path(__file__).parents[1] / "catalog/kernel/startup.py"
TRUSTED = "SSL_CERT_FILE"
"""Variable with OpenSSL's CA file (openssl-env(7))."""


@dataclass
class StartTimeline:
    """Time at which each step of the start was done, for the log and the portal's timeline."""

    marks: dict[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def mark(self, name: str) -> None:
        self.marks[name] = datetime.now(UTC).isoformat(timespec="milliseconds")
        log.info("%s after %.2f s", name, time.monotonic() - self.started)


def main(arguments: list[str]) -> int:
    """Run the session to its end; the exit status appears in Slurm's accounting."""
    timeline = StartTimeline()
    node_setup.log_to_stderr()
    signal.signal(signal.SIGTERM, _exit_on_signal)
    try:
        config = node_setup.read_config(Path(arguments[0]))
        portal = PortalClient(
            config["portal_url"],
            "sessions",
            config["uuid"],
            config["secret"],
            ca=config.get("portal_ca"),
        )
    except (node_setup.NodeSetupError, LookupError):
        log.exception("this session can't start")
        return 1
    return _run_and_report(portal, config, timeline)


def _run_and_report(portal: PortalClient, config: dict[str, Any], timeline: StartTimeline) -> int:
    """Run, and report the end to the portal, after a failure with an explanation for the user.

    The port stays bound until the portal knows, and nginx no longer sends requests to it: otherwise
    another user's program could take it and receive the owner's cookies.
    """
    with contextlib.ExitStack() as resources:
        return _run_until_end(portal, config, timeline, resources)


def _run_until_end(
    portal: PortalClient,
    config: dict[str, Any],
    timeline: StartTimeline,
    resources: contextlib.ExitStack,
) -> int:
    try:
        node_name = os.environ.get("SLURMD_NODENAME")
        listener = resources.enter_context(node_setup.bind(portal.portal_url, node_name))
        timeline.mark("bound")
        _run(portal, config, timeline, listener)
    except NotWanted as refusal:
        log.info("%s", refusal)
        return 0
    except (
        PortalRequestError,
        node_setup.NodeSetupError,
        OSError,
        ImportError,
        LookupError,
        ServerError,
    ) as error:
        log.exception("this session failed")
        portal.report("failed", explain(error))
        time.sleep(PORT_HOLD_S)
        return 1
    portal.report("exiting", "JupyterLab was shut down")
    time.sleep(PORT_HOLD_S)
    return 0


class ServerError(Exception):
    """JupyterLab failed while starting; the reason is in its log."""


def _run(
    portal: PortalClient, config: dict[str, Any], timeline: StartTimeline, listener: socket.socket
) -> None:
    port = listener.getsockname()[1]
    wants_tls = bool(config.get("tls"))
    call = _in_background(lambda: _call_portal(portal, port, timeline, wants_tls=wants_tls))
    folder = node_setup.node_dir_path(config)
    node_setup.create_node_dir(folder)
    try:
        write_files(folder, config)
        set_variables(folder, config)
        with trusting(config.get("portal_ca"), folder):
            server = _import_server()
        timeline.mark("imported")
        response, tls = call.result()
        apply_hub_variables(response, listener.getsockname(), "http" if tls is None else "https")
        with _server_errors():
            settings = server.settings(config["server_config"], folder)
            arguments = list(response["args"])
            app = server.prepare(
                listener.dup(), settings, arguments, portal, folder, tls, config.get("apps")
            )
            server.forget_secrets(app, SECRETS)
            server.run(app, lambda: timeline.mark("listening"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


Answered = tuple[dict[str, Any], ssl.SSLContext | None]
"""The hub's answer with environment variables, and the TLS context; None for plain HTTP."""


def _call_portal(
    portal: PortalClient, port: int, timeline: StartTimeline, *, wants_tls: bool
) -> Answered:
    tls = None
    if wants_tls:
        from spawner.node import identity  # noqa: PLC0415 - takes a while, and few need it

        node_identity = identity.NodeIdentity()
        certificate = portal.hello(port, dict(timeline.marks), node_identity.request)
        if certificate is not None:
            node_identity.use_certificate(certificate)
            identity.keep_valid_in_background(node_identity, portal)
            tls = node_identity.context
    else:
        portal.hello(port, dict(timeline.marks))
    timeline.mark("called home")
    response = portal.server()
    timeline.mark("got the hub's environment")
    return response, tls


def _in_background(work: Callable[[], Answered]) -> Future[Answered]:
    """Run in a daemon thread, so that a long poll never delays the end of the process."""
    future: Future[Answered] = Future()

    def target() -> None:
        try:
            future.set_result(work())
        except (PortalRequestError, OSError, ValueError, ImportError) as error:
            future.set_exception(error)
        finally:
            if not future.done():  # never leave the other thread waiting
                future.set_exception(ServerError("connecting to the portal failed unexpectedly"))

    threading.Thread(target=target, name="portal", daemon=True).start()
    return future


def _import_server() -> ModuleType:
    """Import Jupyter with an unusable PATH, as importing JupyterLab runs `node` if it finds it.

    An empty PATH would mean the default one.
    """
    path = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.devnull
    gc.disable()  # nothing in 800 modules is garbage, and searching takes time
    try:
        from spawner.node.jupyter import server  # noqa: PLC0415 - the time of the import matters
    finally:
        os.environ["PATH"] = path
        gc.freeze()
        gc.enable()
    return server


@contextlib.contextmanager
def trusting(authority: str | None, folder: Path) -> Iterator[None]:
    """Let this process trust the site's CA for the duration of the context.

    The hub's client, which is a third-party module, reads the setting only when it is imported.
    Programs of the user are not affected.
    """
    if authority is None:
        yield
        return
    file = folder / "portal-ca.pem"
    file.write_text(authority, encoding="ascii")
    before = os.environ.get(TRUSTED)
    os.environ[TRUSTED] = str(file)
    try:
        yield
    finally:
        if before is None:
            del os.environ[TRUSTED]
        else:
            os.environ[TRUSTED] = before


def write_files(folder: Path, config: Mapping[str, Any]) -> None:
    """Write kernelspecs, kernels' startup file and JupyterLab's settings to the node directory.

    Create the folder of PORTAL_LOGDIR too, for the results and TensorBoard logs of the user's
    programs; a session works without it.
    """
    for name, spec in config["kernelspecs"].items():
        _write_json(folder / "kernels" / name / "kernel.json", spec)
    shutil.copyfile(KERNEL_STARTUP, folder / node_setup.KERNEL_STARTUP)
    lab = folder / "lab"
    _write_json(lab / "overrides.json", config["lab"].get("overrides", {}))
    _write_json(lab / "page_config.json", config["lab"].get("page_config", {}))
    try:
        Path(config["logdir"]).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        log.warning("the log folder (PORTAL_LOGDIR) could not be created: %s", error)


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def set_variables(folder: Path, config: Mapping[str, Any]) -> None:
    """Set the environment variables for kernels and terminals, and Jupyter's folder for sockets."""
    os.environ["JUPYTER_RUNTIME_DIR"] = str(folder)
    os.environ["PORTAL_LOGDIR"] = str(config["logdir"])
    home = os.environ.setdefault("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    os.environ["JUPYTERHUB_ROOT_DIR"] = home
    try:
        os.chdir(home)
    except OSError as error:
        raise node_setup.NodeSetupError(
            f"your home directory {home} can't be reached on the node: {error.strerror}"
        ) from error


def apply_hub_variables(
    response: Mapping[str, Any], address: tuple[Any, ...], scheme: str = "http"
) -> None:
    """Set the hub's environment variables, restricted to its own names, and the server's URL."""
    for name, value in response["env"].items():
        if name.startswith(HUB_PREFIX):
            os.environ[name] = str(value)
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    os.environ["JUPYTERHUB_SERVICE_URL"] = f"{scheme}://{host}:{address[1]}{response['base_url']}"


@contextlib.contextmanager
def _server_errors() -> Iterator[None]:
    """Turn an exit of Jupyter with a status other than 0 into a ServerError."""
    try:
        yield
    except SystemExit as leaving:
        if leaving.code not in (0, None):
            raise ServerError(f"JupyterLab exited with status {leaving.code}") from leaving


def explain(error: BaseException) -> str:
    """Return one or two sentences for the user who waits for this session."""
    if isinstance(error, ImportError):
        return (
            f"JupyterLab could not be loaded on the node: {error}. The portal's installation is "
            "incomplete there: contact your administrators."
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        location = f" ({error.filename})" if error.filename else ""
        return f"There is no space left{location}. Delete files you don't need, then start again."
    if isinstance(error, ServerError):
        return f"{error}. See the end of the session's log."
    if isinstance(error, LookupError):
        return (
            f"The job's configuration lacks {error}; it was created by another version of the "
            "portal."
        )
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _exit_on_signal(_number: int, _frame: FrameType | None) -> NoReturn:
    """Handle SIGTERM until the server installs its own handler."""
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
