"""Node program of a TensorBoard: `python -I -m spawner.node.tensorboard CONFIG.json`.

Slurm runs it as the user, in a separate job or as a step of a running one. There are two processes,
because the portal is unreachable from a private network namespace: this one calls the portal and
ends the other; the other serves TensorBoard on a socket that was opened before it changed its
namespace. Every request must be signed with the run's key, because any host on the cluster's
network can reach the port. This process keeps the port until the portal knows that TensorBoard has
ended: otherwise another user's program on the node could take it and receive the next requests. The
program depends on config.json (see `spawner/catalog/launch_files.py`) and the portal's /node
routes; of Slurm it uses only the node's name.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from spawner import signing
from spawner.node import node_setup
from spawner.node.network import loopback, namespace
from spawner.node.portal_client import NotWanted, PortalClient, PortalRequestError

log = logging.getLogger("portal")

THREADS = 8
BODY_LIMIT_BYTES = 16 << 20
REASON_BYTES = 1500
LISTENING = "listening"
TERM_WAIT_S = 5.0
BACKLOG = 128
INNER = "tensorboard"
"""Name of the socket behind the TLS relay."""

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Wsgi = Callable[[Environ, StartResponse], Iterable[bytes]]


class TensorboardError(Exception):
    """TensorBoard did not start, or ended by itself; the message is for the user."""


def main(arguments: list[str]) -> int:
    """Run TensorBoard to its end; the exit status appears in Slurm's accounting."""
    node_setup.log_to_stderr()
    try:
        config = node_setup.read_config(Path(arguments[0]))
        name = config.get("tensorboard_id", config["uuid"])
        portal = PortalClient(
            config["portal_url"],
            "tensorboards",
            name,
            config["secret"],
            ca=config.get("portal_ca"),
        )
    except (node_setup.NodeSetupError, LookupError):
        log.exception("TensorBoard can't start")
        return 1
    with contextlib.ExitStack() as until_reported:
        try:
            listener = node_setup.bind(portal.portal_url, os.environ.get("SLURMD_NODENAME"))
            until_reported.enter_context(listener)
            _supervise(portal, config, listener)
        except NotWanted as answer:
            log.info("%s", answer)
            return 0
        except (
            PortalRequestError,
            node_setup.NodeSetupError,
            TensorboardError,
            OSError,
            LookupError,
        ) as error:
            log.exception("TensorBoard failed")
            portal.report("failed", f"TensorBoard could not run: {error}")
            return 1
        portal.report("exiting", "TensorBoard was stopped")
        return 0


def _supervise(portal: PortalClient, config: dict[str, Any], listener: socket.socket) -> None:
    """Start the serving process, call the portal once it listens, and wait until either ends."""
    folder = node_setup.node_dir_path(config)
    node_setup.create_node_dir(folder)
    inner = _make_inner_socket(folder) if config.get("tls") else listener
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        if inner is not listener:
            listener.close()
        _run_child(config, folder, inner, writing, parent)
    os.close(writing)
    if inner is not listener:
        inner.close()
    signal.signal(signal.SIGTERM, _raise_ended)
    try:
        _require_listening(_read_first_line(reading))
        _call_and_relay(portal, listener, folder if inner is not listener else None)
        _in_background(lambda: _end_when_unwanted(portal, child))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        child = 0
        if status != 0:
            raise TensorboardError(f"it exited with status {status}; see its log")
    except _Ended:
        pass
    finally:
        if child:
            _terminate(child)
        os.close(reading)
        shutil.rmtree(folder, ignore_errors=True)


def _make_inner_socket(folder: Path) -> socket.socket:
    """Return the socket on which TensorBoard serves if this process runs the TLS relay.

    It is in the 0700 folder, where it is reachable from any network namespace.
    """
    inner = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    inner.bind(str(folder / INNER))
    return inner


def _call_and_relay(portal: PortalClient, listener: socket.socket, folder: Path | None) -> None:
    """Call the portal; with a folder, serve TLS and forward connections to the socket there.

    A portal that no longer issues certificates expects plain HTTP.
    """
    port = listener.getsockname()[1]
    if folder is None:
        portal.hello(port)
        return
    from spawner.node import identity  # noqa: PLC0415 - takes a while, and few need it
    from spawner.node.network import relay  # noqa: PLC0415 - takes a while, and few need it

    node_identity = identity.NodeIdentity()
    listener.listen(BACKLOG)  # the portal may connect as soon as it has answered
    certificate = portal.hello(port, request=node_identity.request)
    if certificate is not None:
        node_identity.use_certificate(certificate)
        identity.keep_valid_in_background(node_identity, portal)
    context = node_identity.context if certificate is not None else None
    relay.serve_in_background(listener, context, folder / INNER)


def _end_when_unwanted(portal: PortalClient, child: int) -> None:
    """End the child when the portal no longer wants it.

    A step of a running job has no other signal.
    """
    portal.wait_until_unwanted()
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGTERM)


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


class _Ended(Exception):
    """SIGTERM was received."""


def _raise_ended(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise _Ended


def _read_first_line(descriptor: int) -> str:
    """Return the child's first line: LISTENING, a reason, or nothing if it died silently."""
    with open(descriptor, "rb", closefd=False) as pipe:
        return pipe.readline(REASON_BYTES).decode(errors="replace").strip()


def _require_listening(first_line: str) -> None:
    if first_line != LISTENING:
        raise TensorboardError(first_line or "it exited while starting; see its log")


def _terminate(child: int) -> None:
    """Terminate the child, kill it after a while, and reap it."""
    os.kill(child, signal.SIGTERM)
    timer = threading.Timer(TERM_WAIT_S, os.kill, (child, signal.SIGKILL))
    timer.start()
    os.waitpid(child, 0)
    timer.cancel()


def _run_child(
    config: dict[str, Any], folder: Path, listener: socket.socket, writing: int, parent: int
) -> NoReturn:
    """Run the serving process from fork to exit.

    All errors are logged here and sent to the other process, because no caller can handle them.
    """
    status = 1
    try:
        status = _serve(config, folder, listener, writing, parent)
    except SystemExit as leaving:
        status = leaving.code if isinstance(leaving.code, int) else 0
    finally:
        error = sys.exception()
        if error is not None:
            log.error("TensorBoard can't be served", exc_info=error)
            os.write(writing, f"{error}\n".encode()[:REASON_BYTES])
        logging.shutdown()
        os._exit(status)


def _serve(
    config: dict[str, Any], folder: Path, listener: socket.socket, writing: int, parent: int
) -> int:
    private = _enter_private_network()
    namespace.die_with(parent)
    _use_private_files(folder)
    logdir = Path(config["logdir"])
    logdir.mkdir(parents=True, exist_ok=True)
    from tensorboard import default, program  # noqa: PLC0415 - only in the new namespace

    def make_server(app: Wsgi, flags: Any) -> GuardedServer:
        safe = require_signature(app, config["guard_key"])
        return GuardedServer(safe, listener, config["path_prefix"], writing)

    board = program.TensorBoard(plugins=default.get_plugins(), server_class=make_server)
    board._register_info = lambda _server: None  # it would write a file that all users can change
    board.configure(argv=arguments_for(logdir, config["path_prefix"], private=private))
    return int(board.main())


def arguments_for(logdir: Path, path_prefix: str, *, private: bool) -> list[str]:
    """Return TensorBoard's command line, with the fast data server only in a private namespace."""
    return [
        "tensorboard",
        f"--logdir={logdir}",
        f"--path_prefix={path_prefix}",
        f"--load_fast={'auto' if private else 'false'}",
    ]


def _enter_private_network() -> bool:
    try:
        namespace.enter_private_network()
    except OSError as error:
        log.warning(
            "no network namespace (%s): TensorBoard reads the logs itself, more slowly", error
        )
        return False
    try:
        loopback.acknowledge_at_once()
    except OSError as error:
        log.warning("each request to the data server takes 40 ms longer: %s", error)
    return True


def _use_private_files(folder: Path) -> None:
    """Move temporary files to the 0700 folder, so that only the logdir of the home is used."""
    for name in ("TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME"):
        os.environ[name] = str(folder)
    os.environ.pop("PYTHONPATH", None)


def require_signature(app: Wsgi, key: str, now_s: Callable[[], float] = time.time) -> Wsgi:
    """Wrap `app` to serve only requests signed with the key, with proof in each answer.

    All other requests get 403.
    """

    def check(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        method, target = str(environ.get("REQUEST_METHOD")), str(environ.get("REQUEST_URI"))
        signature = str(environ.pop("HTTP_X_PORTAL_SIGNATURE", ""))

        def start_proven(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            proof = (signing.PROOF_HEADER, signing.prove(key, signature))
            return start_response(status, [*headers, proof], *error)

        if signing.is_signed(key, method, target, signature, now_s()):
            return app(environ, start_proven)
        body = b"Forbidden"
        headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
        start_response("403 Forbidden", headers)
        return [body]

    return check


class GuardedServer:
    """Web server for TensorBoard (`program.TensorBoardServer`): waitress on an existing socket.

    In waitress a slow client does not occupy a thread.
    """

    def __init__(self, app: Wsgi, listener: socket.socket, path_prefix: str, writing: int) -> None:
        self._app = app
        self._listener = listener
        self._path_prefix = path_prefix
        self._writing = writing

    def get_url(self) -> str:
        if self._listener.family == socket.AF_UNIX:
            return f"{self._listener.getsockname()}{self._path_prefix}/"
        host, port = self._listener.getsockname()[:2]
        return f"http://{host}:{port}{self._path_prefix}/"

    def print_serving_message(self) -> None:
        log.info("TensorBoard serves at %s", self.get_url())

    def serve_forever(self) -> None:
        import waitress.server  # noqa: PLC0415 - only in the serving process

        server = waitress.server.create_server(
            self._app,
            sockets=[self._listener],
            threads=THREADS,
            ident=None,
            max_request_body_size=BODY_LIMIT_BYTES,
        )
        os.write(self._writing, f"{LISTENING}\n".encode())
        os.close(self._writing)
        server.run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
