"""The session's node program: `python -I -m spawner.node.session CONFIG.json`, run by Slurm as the
user. It binds a port, calls home, and becomes the user's JupyterLab.

Two things go on at once, for each takes as long as the other: one thread calls the portal and
waits for the hub's environment, the main thread imports Jupyter. It knows config.json (whose
content `spawner/scripts.py` describes) and the portal's /node routes; of Slurm only the node's
name.
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

from spawner.node import place
from spawner.node.home import Home, HomeError, NotWanted

log = logging.getLogger("portal")

SECRETS = ("JUPYTERHUB_API_TOKEN", "JPY_API_TOKEN")
HUB_PREFIX = "JUPYTERHUB_"
TRUSTED = "SSL_CERT_FILE"
"""Where OpenSSL looks for authorities (openssl-env(7))."""


@dataclass
class Clock:
    """When each part of the start was done, for the log and the portal's timeline."""

    marks: dict[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)

    def mark(self, name: str) -> None:
        self.marks[name] = datetime.now(UTC).isoformat(timespec="milliseconds")
        log.info("%s after %.2f s", name, time.monotonic() - self.started)


def main(arguments: list[str]) -> int:
    """Run the session to its end; the exit status is what Slurm's accounting will show."""
    clock = Clock()
    place.log_to_stderr()
    signal.signal(signal.SIGTERM, _leave)
    try:
        config = place.read_config(Path(arguments[0]))
        home = Home(
            config["portal_url"],
            "sessions",
            config["uuid"],
            config["secret"],
            ca=config.get("portal_ca"),
        )
    except (place.PlaceError, LookupError):
        log.exception("this session can't start")
        return 1
    return _tell_the_end(home, config, clock)


def _tell_the_end(home: Home, config: dict[str, Any], clock: Clock) -> int:
    """Run, and let the portal know how it ended, in the user's words where it failed. The port is
    kept until the portal knows, or a neighbour could take it and be sent the owner's cookies."""
    with contextlib.ExitStack() as kept:
        return _end_of(home, config, clock, kept)


def _end_of(home: Home, config: dict[str, Any], clock: Clock, kept: contextlib.ExitStack) -> int:
    try:
        node_name = os.environ.get("SLURMD_NODENAME")
        listener = kept.enter_context(place.bind(home.portal_url, node_name))
        clock.mark("bound")
        _run(home, config, clock, listener)
    except NotWanted as answer:
        log.info("%s", answer)
        return 0
    except (HomeError, place.PlaceError, OSError, ImportError, LookupError, ServerError) as error:
        log.exception("this session failed")
        home.report("failed", explain(error))
        return 1
    home.report("exiting", "JupyterLab was shut down")
    return 0


class ServerError(Exception):
    """JupyterLab gave up while it was starting; its log says why."""


def _run(home: Home, config: dict[str, Any], clock: Clock, listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    wants_tls = bool(config.get("tls"))
    call = _in_background(lambda: _call_home(home, port, clock, wants_tls=wants_tls))
    folder = place.folder_path(config)
    place.make_folder(folder)
    try:
        write_files(folder, config)
        set_environment(folder, config)
        with trusting(config.get("portal_ca"), folder):
            server = _import_server()
        clock.mark("imported")
        answer, tls = call.result()
        apply_environment(answer, listener.getsockname(), "http" if tls is None else "https")
        with _server_errors():
            settings = server.settings(for_folder(config["server_config"], folder), folder)
            app = server.prepare(listener.dup(), settings, list(answer["args"]), home, tls)
            server.forget_secrets(app, SECRETS)
            server.run(app, lambda: clock.mark("listening"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


Answered = tuple[dict[str, Any], ssl.SSLContext | None]
"""What to become, and with whose certificate; None: the portal wants none shown."""


def _call_home(home: Home, port: int, clock: Clock, *, wants_tls: bool) -> Answered:
    tls = None
    if wants_tls:
        from spawner.node import identity  # noqa: PLC0415 - takes a while, and few need it

        own = identity.Identity()
        certificate = home.hello(port, dict(clock.marks), own.request)
        if certificate is not None:
            own.take(certificate)
            identity.keep_valid_in_background(own, home)
            tls = own.context
    else:
        home.hello(port, dict(clock.marks))
    clock.mark("called home")
    answer = home.server()
    clock.mark("got the hub's environment")
    return answer, tls


def _in_background(work: Callable[[], Answered]) -> Future[Answered]:
    """Run in a daemon thread, so that a long poll never holds up the end of the process."""
    future: Future[Answered] = Future()

    def target() -> None:
        try:
            future.set_result(work())
        except (HomeError, OSError, ValueError, ImportError) as error:
            future.set_exception(error)
        finally:
            if not future.done():  # never leave the other thread waiting
                future.set_exception(ServerError("calling home failed unexpectedly"))

    threading.Thread(target=target, name="home", daemon=True).start()
    return future


def _import_server() -> ModuleType:
    """Import Jupyter, with nothing on PATH: importing JupyterLab runs `node` if it finds one,
    and takes an empty PATH for the usual one."""
    path = os.environ.get("PATH", os.defpath)
    os.environ["PATH"] = os.devnull
    gc.disable()  # nothing of 800 modules is garbage, and looking for some takes time
    try:
        from spawner.node import server  # noqa: PLC0415 - the point is when
    finally:
        os.environ["PATH"] = path
        gc.freeze()
        gc.enable()
    return server


@contextlib.contextmanager
def trusting(authority: str | None, folder: Path) -> Iterator[None]:
    """While this lasts, the site's authority is the one that the node trusts. The hub's client,
    which is not ours, asks for that when it is imported and never again; what the user's own
    programs trust is left alone."""
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
    """Kernelspecs and JupyterLab's settings into the node-local folder; the logdir too, whose
    absence a session survives."""
    for name, spec in config["kernelspecs"].items():
        _write_json(folder / "kernels" / name / "kernel.json", spec)
    lab = folder / "lab"
    _write_json(lab / "overrides.json", config["lab"].get("overrides", {}))
    _write_json(lab / "page_config.json", config["lab"].get("page_config", {}))
    try:
        Path(config["logdir"]).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        log.warning("the log folder could not be made: %s", error)


def _write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def set_environment(folder: Path, config: Mapping[str, Any]) -> None:
    """What kernels and terminals are to find, and where Jupyter puts its sockets."""
    os.environ["JUPYTER_RUNTIME_DIR"] = str(folder)
    os.environ["PORTAL_LOGDIR"] = str(config["logdir"])
    home = os.environ.setdefault("HOME", pwd.getpwuid(os.getuid()).pw_dir)
    os.environ["JUPYTERHUB_ROOT_DIR"] = home
    try:
        os.chdir(home)
    except OSError as error:
        raise place.PlaceError(
            f"your home folder {home} can't be reached on the node: {error.strerror}"
        ) from error


def apply_environment(
    answer: Mapping[str, Any], address: tuple[Any, ...], scheme: str = "http"
) -> None:
    """The hub's environment into ours; only the hub's own names, and our own address."""
    for name, value in answer["env"].items():
        if name.startswith(HUB_PREFIX):
            os.environ[name] = str(value)
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    os.environ["JUPYTERHUB_SERVICE_URL"] = f"{scheme}://{host}:{address[1]}{answer['base_url']}"


def for_folder(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Configuration with `{runtime_dir}` replaced by the node-local folder, at any depth."""
    return {name: _replace(value, str(folder)) for name, value in settings.items()}


def _replace(value: Any, folder: str) -> Any:
    if isinstance(value, str):
        return value.replace("{runtime_dir}", folder)
    if isinstance(value, list):
        return [_replace(item, folder) for item in value]
    if isinstance(value, dict):
        return {name: _replace(item, folder) for name, item in value.items()}
    return value


@contextlib.contextmanager
def _server_errors() -> Iterator[None]:
    """Jupyter exits where it fails; only a status other than 0 is a failure."""
    try:
        yield
    except SystemExit as leaving:
        if leaving.code not in (0, None):
            raise ServerError(f"JupyterLab ended with status {leaving.code}") from leaving


def explain(error: BaseException) -> str:
    """One or two sentences for the user who waits for this session."""
    if isinstance(error, ImportError):
        return (
            "JupyterLab could not be loaded on the node: "
            f"{error}. The portal's installation is not complete there; tell your administrator."
        )
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        where = f" ({error.filename})" if error.filename else ""
        return f"There is no space left{where}. Delete files you don't need, then start again."
    if isinstance(error, ServerError):
        return f"{error}. The end of the session's log says why."
    if isinstance(error, LookupError):
        return f"The job's configuration lacks {error}; it was made by another version."
    text = str(error)
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """SIGTERM before the server has a handler of its own."""
    raise SystemExit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
