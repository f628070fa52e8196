"""TensorBoard's node program: `python -I -m spawner.node.tensorboard CONFIG.json`, run by Slurm as
the user, in a job of its own or as a step of a running one.

Two processes, for the portal can't be called from a network of one's own: this one calls home and
ends the other; the other serves TensorBoard on a socket that was opened before it moved. Every
request must carry the guard's secret, for whoever is on the cluster's network can reach the port.
It knows config.json (see `spawner/scripts.py`) and the portal's /node routes, and no Slurm.
"""

from __future__ import annotations

import contextlib
import hmac
import logging
import os
import shutil
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any

from spawner.node import netns, place
from spawner.node.home import Home, HomeError, NotWanted

log = logging.getLogger("portal")

THREADS = 8
BODY_LIMIT_BYTES = 16 << 20
REASON_BYTES = 1500
LISTENING = "listening"
TERM_WAIT_S = 5.0
BACKLOG = 128
INNER = "tensorboard"
"""The name of the socket behind the TLS."""

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Wsgi = Callable[[Environ, StartResponse], Iterable[bytes]]


class TensorboardError(Exception):
    """TensorBoard didn't come up or came to an end by itself; the message is for the user."""


def main(arguments: list[str]) -> int:
    """Run TensorBoard to its end; the exit status is what Slurm's accounting will show."""
    place.log_to_stderr()
    try:
        config = place.read_config(Path(arguments[0]))
        name = config.get("tensorboard_id", config["uuid"])
        home = Home(
            config["portal_url"],
            "tensorboards",
            name,
            config["secret"],
            ca=config.get("portal_ca"),
        )
    except (place.PlaceError, LookupError):
        log.exception("TensorBoard can't start")
        return 1
    try:
        _supervise(home, config)
    except NotWanted as answer:
        log.info("%s", answer)
        return 0
    except (HomeError, place.PlaceError, TensorboardError, OSError, LookupError) as error:
        log.exception("TensorBoard failed")
        home.report("failed", f"TensorBoard could not run: {error}")
        return 1
    home.report("exiting", "TensorBoard was ended")
    return 0


def _supervise(home: Home, config: dict[str, Any]) -> None:
    """Start the serving process, say hello once it listens, and stay until either ends."""
    folder = place.folder_path(config)
    listener = place.bind(home.portal_url, os.environ.get("SLURMD_NODENAME"))
    place.make_folder(folder)
    inner = _inner(folder) if config.get("tls") else listener
    reading, writing = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.close(reading)
        if inner is not listener:
            listener.close()
        _child(config, folder, inner, writing, parent)
    os.close(writing)
    if inner is not listener:
        inner.close()
    signal.signal(signal.SIGTERM, _leave)
    try:
        _must_listen(_read_all_or_line(reading))
        _open(home, listener, folder if inner is not listener else None)
        _in_background(lambda: _end_when_unwanted(home, child))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        child = 0
        if status != 0:
            raise TensorboardError(f"it ended with status {status}; its log says why")
    except _Ended:
        pass
    finally:
        if child:
            _end(child)
        os.close(reading)
        shutil.rmtree(folder, ignore_errors=True)


def _inner(folder: Path) -> socket.socket:
    """Where TensorBoard serves when this process has the TLS: a socket in the 0700 folder, which
    is there for the other process in whatever network that is."""
    inner = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    inner.bind(str(folder / INNER))
    return inner


def _open(home: Home, listener: socket.socket, folder: Path | None) -> None:
    """Say hello; with a folder, show the certificate that the portal gives, and pass on what comes
    to the socket there. A portal that gives none any more wants to be spoken to in the clear."""
    port = listener.getsockname()[1]
    if folder is None:
        listener.close()  # the child has it
        home.hello(port)
        return
    from spawner.node import identity, tls_relay  # noqa: PLC0415 - takes a while, and few need it

    own = identity.Identity()
    listener.listen(BACKLOG)  # whoever is told of the port by the answer to hello can connect
    certificate = home.hello(port, request=own.request)
    if certificate is not None:
        own.take(certificate)
        identity.keep_valid_in_background(own, home)
    context = own.context if certificate is not None else None
    tls_relay.serve_in_background(listener, context, folder / INNER)


def _end_when_unwanted(home: Home, child: int) -> None:
    """A step of somebody's running job has nobody but the portal to say that it should end."""
    home.while_wanted()
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGTERM)


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


class _Ended(Exception):
    """We were asked to end."""


def _leave(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough
    raise _Ended


def _read_all_or_line(descriptor: int) -> str:
    """What the child says first: LISTENING, a reason, or nothing when it died silently."""
    with open(descriptor, "rb", closefd=False) as pipe:
        return pipe.readline(REASON_BYTES).decode(errors="replace").strip()


def _must_listen(said: str) -> None:
    if said != LISTENING:
        raise TensorboardError(said or "it ended while starting; its log says why")


def _end(child: int) -> None:
    """Ask the child to end, make it after a while, and reap it."""
    os.kill(child, signal.SIGTERM)
    timer = threading.Timer(TERM_WAIT_S, os.kill, (child, signal.SIGKILL))
    timer.start()
    os.waitpid(child, 0)
    timer.cancel()


def _child(
    config: dict[str, Any], folder: Path, listener: socket.socket, writing: int, parent: int
) -> None:
    """The serving process, from fork to exit; never returns. Whatever goes wrong is logged here
    and told to the other process, for nothing is left above to do so."""
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
    private = _private_network()
    netns.die_with(parent)
    _private_files(folder)
    logdir = Path(config["logdir"])
    logdir.mkdir(parents=True, exist_ok=True)
    from tensorboard import default, program  # noqa: PLC0415 - only after the move

    guard = config.get("guard", config["secret"])

    def make_server(app: Wsgi, flags: Any) -> GuardedServer:
        return GuardedServer(guarded(app, guard), listener, config["path_prefix"], writing)

    board = program.TensorBoard(plugins=default.get_plugins(), server_class=make_server)
    board._register_info = lambda _server: None  # it would write a file that everyone may change
    board.configure(argv=arguments_for(logdir, config["path_prefix"], private=private))
    return int(board.main())


def arguments_for(logdir: Path, path_prefix: str, *, private: bool) -> list[str]:
    """TensorBoard's own command line: the fast data server only where nobody else can ask it."""
    return [
        "tensorboard",
        f"--logdir={logdir}",
        f"--path_prefix={path_prefix}",
        f"--load_fast={'auto' if private else 'false'}",
    ]


def _private_network() -> bool:
    try:
        netns.enter_private_network()
    except OSError as error:
        log.warning(
            "no network of its own (%s): TensorBoard reads the logs itself, more slowly", error
        )
        return False
    return True


def _private_files(folder: Path) -> None:
    """Temporary files into the 0700 folder, and nothing in the home but the logdir."""
    for name in ("TMPDIR", "TMP", "TEMP", "XDG_CACHE_HOME"):
        os.environ[name] = str(folder)
    os.environ.pop("PYTHONPATH", None)


def guarded(app: Wsgi, secret: str) -> Wsgi:
    """`app` for those who know the secret; 403 for all others, whatever they ask."""
    expected = secret.encode()

    def guard(environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        given = str(environ.pop("HTTP_X_PORTAL_SECRET", ""))
        if hmac.compare_digest(given.encode(), expected):
            return app(environ, start_response)
        body = b"Forbidden"
        headers = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
        start_response("403 Forbidden", headers)
        return [body]

    return guard


class GuardedServer:
    """What TensorBoard takes for its web server (`program.TensorBoardServer`): waitress on our
    socket, where a slow client holds no thread."""

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
