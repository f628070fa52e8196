"""Connects ssh to a session of the Data Scientist Portal: the ProxyCommand in ssh_config.

    ProxyCommand python3 -I ~/.ssh/portal/portal_ssh.py https://HOST/user/NAME/ '%h'

The first label of %h is the session's name. The program opens a websocket to the portal and copies
ssh's bytes both ways. Beside it are

    token        your access token with the permission "SSH", in a file that only you can read;
                 the variable PORTAL_TOKEN takes precedence
    id_ed25519   your key for all sessions, created when it is missing
    known_hosts  the key of each session, as the portal states it; known_hosts.lock protects it

The command line `dsp` contains this file, too, and keeps its key and known_hosts in a folder of its
own. Python 3.8 or later, standard library only. For OpenSSH on Linux, macOS and Windows.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import errno
import hashlib
import ipaddress
import json
import os
import re
import secrets
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn
from urllib.parse import SplitResult, urlsplit

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

FOLDER = Path(__file__).resolve().parent
KEY = "id_ed25519"
KNOWN_HOSTS = "known_hosts"
LOCK = "known_hosts.lock"
LOCK_S = 10
CHUNK_BYTES = 64 * 1024
HEAD_BYTES = 64 * 1024
TOKEN_CHARS = 1000
FRAME_BYTES = 16 * 1024 * 1024
CONNECT_S = 30
ACCEPT_SALT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # RFC 6455, section 1.3
BINARY, CLOSE, PING, PONG = 2, 8, 9, 10
LOOPBACK = ("localhost", "127.0.0.1", "::1")
NAMELESS = "portal"
"""Last part of the hosts' names if the portal itself has an address instead of a name."""
NO_SCOPE = "insufficient-scope"
SUGGESTIONS = {NO_SCOPE: "Create a token with the permission SSH."}
"""What to do about a refusal, by the type of the portal's answer."""

BLOCK = """\
Host *.{suffix}
    User {username}
    ProxyCommand {proxy}
    ForwardAgent no
    IdentityFile {key}
    IdentitiesOnly yes
    UserKnownHostsFile {known_hosts}
    StrictHostKeyChecking yes
"""
"""A block of ssh_config for all of a user's sessions."""


class ConnectionRefusal(Exception):
    """The connection is not possible; the message is for the user.

    `kind` is the type of the portal's answer, if there is one.
    """

    def __init__(self, detail: str, kind: str = "") -> None:
        super().__init__(detail)
        self.kind = kind


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit("usage: portal_ssh.py https://HOST/user/NAME/ SESSION[.ANYTHING]")
    base_url, host = sys.argv[1:]
    try:
        url = f"{base_url.rstrip('/')}/{parse_session(host)}/ssh"
        token = read_token(FOLDER)
    except (ConnectionRefusal, OSError) as error:
        sys.exit(f"portal: {printable(str(error))}")
    asyncio.run(run(url, token, host, FOLDER))


async def run(
    url: str, token: str, host: str, folder: Path, suggestions: Mapping[str, str] = SUGGESTIONS
) -> NoReturn:
    """Connect, and exit with the result; see `connect`.

    The end is immediate: a thread may wait for ssh's next bytes, and asyncio would wait for it.
    """
    try:
        await connect(url, token, host, folder)
        status = 0
    except (ConnectionRefusal, OSError, asyncio.TimeoutError, EOFError) as error:  # noqa: UP041 - 3.8
        text = "The connection was lost." if isinstance(error, EOFError) else str(error)
        kind = error.kind if isinstance(error, ConnectionRefusal) else ""
        lines = [printable(text) or type(error).__name__, suggestions.get(kind, "")]
        print(*(f"portal: {line}" for line in lines if line), sep="\n", file=sys.stderr)
        status = 1
    sys.stderr.flush()
    os._exit(status)


def printable(text: str) -> str:
    """Return a text of the server without characters that control the terminal."""
    return "".join(char if char.isprintable() else " " for char in text)[:500]


# --- names of hosts, and their configuration (pure) -----------------------------------------------


def host_suffix(portal_url: str) -> str:
    """Return the common end of the names by which ssh knows a portal's sessions."""
    name = urlsplit(portal_url).hostname or ""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name if "." in name else NAMELESS
    return NAMELESS


def parse_session(host: str) -> str:
    """Return the session's name. Raises ConnectionRefusal for a host that can't be one.

    The name becomes part of an address and of files.
    """
    if not re.fullmatch(r"[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*", host):
        raise ConnectionRefusal(f"{host} is not the name of a session")
    return host.partition(".")[0]


# --- files beside this program, or of dsp ---------------------------------------------------------


def read_token(folder: Path) -> str:
    """Return the access token. Raises ConnectionRefusal."""
    token = os.environ.get("PORTAL_TOKEN", "").strip()
    if token:
        return token
    path = folder / "token"
    try:
        with path.open(encoding="utf-8") as file:
            refuse_foreign(path, os.fstat(file.fileno()))
            return file.read(TOKEN_CHARS).strip()
    except FileNotFoundError:
        raise ConnectionRefusal(
            f"There is no access token. Create one in the portal, into {path}"
        ) from None


def refuse_foreign(path: Path, found: os.stat_result) -> None:
    """Raise ConnectionRefusal for a token of another user, or that others can read."""
    if os.name != "posix":
        return
    if found.st_uid != os.geteuid():
        raise ConnectionRefusal(f"{path} belongs to another user")
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise ConnectionRefusal(f"Other users can read {path}. Run: chmod 600 {path}")


def public_key(folder: Path) -> str:
    """Return the public half of the key for sessions; create the key if it is missing.

    Raises ConnectionRefusal, OSError.
    """
    private = folder / KEY
    if not private.exists():
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "portal", "-f", str(private)]
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False
        )
        if done.returncode != 0 and not private.exists():  # unless another ssh was faster
            raise ConnectionRefusal(f"ssh-keygen could not create {private}")
    return private.with_suffix(".pub").read_text("utf-8").strip()


def remember(folder: Path, host: str, host_key: str) -> None:
    """Write the session's key to known_hosts, in place of an earlier session's of that name."""
    if not re.fullmatch(r"[a-z0-9-]+ [A-Za-z0-9+/=]+", host_key):
        raise ConnectionRefusal("The portal did not state the session's key.")
    file, line = folder / KNOWN_HOSTS, f"{host} {host_key}"
    if line in known_lines(file):
        return
    with locked(folder / LOCK):  # several ssh may start at once
        lines = known_lines(file)
        others = [other for other in lines if other.split(" ")[0] != host]
        fresh = folder / f".known_hosts-{secrets.token_hex(8)}"
        fresh.touch(0o600, exist_ok=False)
        fresh.write_text("\n".join([*others, line, ""]), "utf-8")
        fresh.replace(file)


def known_lines(file: Path) -> list[str]:
    """Return the lines of known_hosts, none if the file is missing."""
    return file.read_text("utf-8").splitlines() if file.exists() else []


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file, which is created and stays. Raises ConnectionRefusal, OSError."""
    path.touch(0o600)
    deadline = time.monotonic() + LOCK_S
    with path.open("r+b") as file:
        while not try_lock(file.fileno()):
            if time.monotonic() > deadline:
                raise ConnectionRefusal(f"Another program holds {path}")
            time.sleep(0.02)
        try:
            yield
        finally:
            unlock(file.fileno())


if sys.platform == "win32":

    def try_lock(descriptor: int) -> bool:
        """Lock the first byte of a file; return False if another process has."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

    def unlock(descriptor: int) -> None:
        """Release the lock of `try_lock`."""
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:

    def try_lock(descriptor: int) -> bool:
        """Lock a file, if its file system has locks; return False if another process has."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:  # Lustre's default is ENOSYS, that of NFS without lockd ENOLCK
            return error.errno not in (errno.EWOULDBLOCK, errno.EACCES)
        return True

    def unlock(descriptor: int) -> None:
        """Release the lock of `try_lock`."""
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_UN)


# --- the websocket (RFC 6455) ---------------------------------------------------------------------


async def connect(address: str, token: str, host: str, folder: Path) -> None:
    """Connect standard input and output to the sshd at this address, until one side ends.

    `host` is the name by which ssh knows it, `folder` has the key and known_hosts.
    """
    url = urlsplit(address)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ConnectionRefusal(f"{address} is not the address of a portal")
    if url.scheme == "http" and url.hostname not in LOOPBACK:
        raise ConnectionRefusal(f"{address} would get your token unencrypted. Use https://")
    context = ssl.create_default_context() if url.scheme == "https" else None
    opening = asyncio.open_connection(
        url.hostname, url.port or (443 if context else 80), ssl=context, limit=CHUNK_BYTES
    )
    reader, writer = await asyncio.wait_for(opening, CONNECT_S)
    own = {"Authorization": f"Bearer {token}", "X-Portal-Ssh-Key": public_key(folder)}
    shaking = shake_hands(reader, writer, url, own)
    headers = await asyncio.wait_for(shaking, CONNECT_S)
    remember(folder, host, headers.get("x-portal-ssh-host-key", ""))
    directions = [
        asyncio.ensure_future(copy_from_ssh(writer)),
        asyncio.ensure_future(copy_to_ssh(reader, writer)),
    ]
    done, _ = await asyncio.wait(directions, return_when=asyncio.FIRST_COMPLETED)
    for direction in done:
        direction.result()


async def shake_hands(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    url: SplitResult,
    own: Mapping[str, str],
) -> dict[str, str]:
    """Open the websocket with these headers of ours, and return the headers of the answer.

    Raises ConnectionRefusal.
    """
    nonce = base64.b64encode(secrets.token_bytes(16)).decode()
    request = {
        "Host": url.netloc,
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": nonce,
        **own,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in request.items())
    writer.write(f"GET {url.path} HTTP/1.1\r\n{lines}\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *pairs = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (p.partition(":") for p in pairs)}
    if first.split(" ")[1:2] != ["101"]:
        raise await read_refusal(reader, headers, first)
    digest = hashlib.sha1((nonce + ACCEPT_SALT).encode()).digest()  # noqa: S324 - as the RFC says
    if headers.get("sec-websocket-accept") != base64.b64encode(digest).decode():
        raise ConnectionRefusal("The server's answer is not that of a websocket.")
    return headers


async def read_refusal(
    reader: asyncio.StreamReader, headers: dict[str, str], first: str
) -> ConnectionRefusal:
    """Return the reason of a refusal: the `detail` of its JSON, else its status line."""
    try:
        length = min(int(headers.get("content-length", "0")), HEAD_BYTES)
        body = json.loads(await reader.readexactly(length))
        kind = str(body.get("type", "")).rpartition(":")[2]
        return ConnectionRefusal(str(body.get("detail") or body["title"]), kind)
    except (ValueError, KeyError, AttributeError, EOFError):
        return ConnectionRefusal(first)


async def copy_from_ssh(writer: asyncio.StreamWriter) -> None:
    """Send ssh's bytes. A thread reads them, because pipes cannot be waited for on Windows."""
    loop = asyncio.get_running_loop()
    while True:
        chunk = await loop.run_in_executor(None, os.read, 0, CHUNK_BYTES)
        if not chunk:
            writer.write(frame(CLOSE, b"\x03\xe8"))
            await writer.drain()
            return
        writer.write(frame(BINARY, chunk))
        await writer.drain()


async def copy_to_ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass the server's bytes to ssh until it closes.

    Raises ConnectionRefusal if it gives a reason.
    """
    loop = asyncio.get_running_loop()
    while True:
        opcode, payload = await read_frame(reader)
        if opcode == PING:
            writer.write(frame(PONG, payload))
        elif opcode == CLOSE:
            reason = payload[2:].decode("utf-8", "replace")
            if reason:
                raise ConnectionRefusal(reason)
            return
        elif opcode != PONG:
            while payload:
                written = await loop.run_in_executor(None, os.write, 1, payload)
                payload = payload[written:]


async def read_frame(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Return the opcode and the payload; a server's frames are not masked."""
    first, second = await reader.readexactly(2)
    length = second & 0x7F
    if length > 125:
        length = int.from_bytes(await reader.readexactly(2 if length == 126 else 8), "big")
    if second & 0x80 or length > FRAME_BYTES:
        raise ConnectionRefusal("The server sent an invalid frame.")
    return first & 0x0F, await reader.readexactly(length)


def frame(opcode: int, payload: bytes) -> bytes:
    """Return one masked frame, as clients must send them."""
    size = len(payload)
    if size <= 125:
        head = bytes([0x80 | opcode, 0x80 | size])
    elif size <= 0xFFFF:
        head = bytes([0x80 | opcode, 0x80 | 126]) + size.to_bytes(2, "big")
    else:
        head = bytes([0x80 | opcode, 0x80 | 127]) + size.to_bytes(8, "big")
    mask = secrets.token_bytes(4)
    repeated = (mask * (size // 4 + 1))[:size]
    masked = int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")
    return head + mask + masked.to_bytes(size, "big")


if __name__ == "__main__":
    main()
