"""A real mail server for tests: Debian's Postfix, in a folder and with a port of its own.

It accepts STARTTLS and mail for the users of one domain, and delivers nothing elsewhere.
"""

from __future__ import annotations

import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message
from pathlib import Path

from tests.polling import wait_until
from tests.servers.slapd import free_port

DOMAIN = "test.example"
OWNER = pwd.getpwnam("nobody")
MASTER = Path("/usr/lib/postfix/sbin/master")
MAX_MESSAGE_BYTES = 100_000

_MAIN = """\
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
myhostname = mail.{domain}
mydestination =
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
alias_maps =
local_recipient_maps =
default_transport = error:nothing leaves this machine
relay_transport = error:nothing leaves this machine
virtual_mailbox_domains = {domain}
virtual_mailbox_maps = texthash:{folder}/users
virtual_mailbox_base = {folder}/mail
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
message_size_limit = {max_bytes}
smtpd_relay_restrictions = reject_unauth_destination
smtpd_tls_security_level = may
smtpd_tls_received_header = yes
smtpd_tls_cert_file = {certificate}/cert.pem
smtpd_tls_key_file = {certificate}/key.pem
smtpd_tls_session_cache_database =
"""

_MASTER = """\
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
error unix - - n - - error
virtual unix - n n - - virtual
anvil unix - - n - 1 anvil
tlsmgr unix - - n 1000? 1 tlsmgr
proxymap unix - - n - - proxymap
postlog unix-dgram n - n - 1 postlogd
"""


@dataclass(frozen=True)
class Postfix:
    port: int
    folder: Path

    def messages(self, user: str) -> list[Message]:
        """Return the messages in a user's mailbox, oldest first."""
        new = (self.folder / "mail" / user / "new").glob("*")
        return [message_from_bytes(path.read_bytes()) for path in sorted(new)]

    def log(self) -> str:
        return (self.folder / "log").read_text()


@contextmanager
def running(certificate: Path, *users: str) -> Iterator[Postfix]:
    """Run a server with these users' mailboxes; `certificate` has cert.pem and key.pem."""
    folder = Path(tempfile.mkdtemp(prefix="portal-postfix-"))
    folder.chmod(0o755)  # its processes change their accounts
    server = Postfix(free_port(), folder)
    _write(server, certificate, users)
    try:
        subprocess.run(["postfix", "-c", folder, "check"], check=True, capture_output=True)
        with subprocess.Popen([MASTER, "-c", folder, "-d"]) as master:
            try:
                wait_until(lambda: "daemon started" in _log(server), "Postfix runs")
                yield server
            finally:
                master.terminate()
                master.wait()
    finally:
        shutil.rmtree(folder)


def _write(server: Postfix, certificate: Path, users: tuple[str, ...]) -> None:
    folder = server.folder
    for name, owner in (("queue", "root"), ("data", "postfix"), ("mail", OWNER.pw_uid)):
        (folder / name).mkdir()
        shutil.chown(folder / name, owner)
    (folder / "users").write_text("".join(f"{user}@{DOMAIN} {user}/\n" for user in users))
    main = _MAIN.format(
        folder=folder,
        domain=DOMAIN,
        uid=OWNER.pw_uid,
        gid=OWNER.pw_gid,
        max_bytes=MAX_MESSAGE_BYTES,
        certificate=certificate,
    )
    (folder / "main.cf").write_text(main)
    (folder / "master.cf").write_text(_MASTER.format(port=server.port))


def _log(server: Postfix) -> str:
    return server.log() if (server.folder / "log").exists() else ""
