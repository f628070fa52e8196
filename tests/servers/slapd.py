"""A real slapd for tests: own folder, own CA, StartTLS and LDAPS, password policy."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.polling import wait_until

SUFFIX = "dc=test,dc=example"
SERVICE_DN = f"cn=portal,{SUFFIX}"
SERVICE_PASSWORD = "the-service-account"
PASSWORD = "correct horse battery"
START_TIMEOUT_S = 120.0
_GIVEN = set[int]()

CONFIG = """\
include {schema}/core.schema
include {schema}/cosine.schema
include {schema}/nis.schema
include {schema}/inetorgperson.schema
modulepath {modules}
moduleload back_mdb
moduleload ppolicy
pidfile {folder}/slapd.pid
TLSCACertificateFile {folder}/ca.pem
TLSCertificateFile {folder}/server.pem
TLSCertificateKeyFile {folder}/server.key
TLSVerifyClient never
security simple_bind=128
database mdb
suffix "{suffix}"
rootdn "cn=root,{suffix}"
directory {folder}/db
access to attrs=userPassword by self write by anonymous auth by * none
access to * by dn.exact="{service}" read by self read by anonymous auth by * none
overlay ppolicy
ppolicy_default "cn=default,ou=policies,{suffix}"
ppolicy_use_lockout
ppolicy_hash_cleartext
"""

BASE = f"""\
dn: {SUFFIX}
objectClass: organization
objectClass: dcObject
o: Test
dc: test

dn: ou=people,{SUFFIX}
objectClass: organizationalUnit
ou: people

dn: ou=more,ou=people,{SUFFIX}
objectClass: organizationalUnit
ou: more

dn: ou=groups,{SUFFIX}
objectClass: organizationalUnit
ou: groups

dn: ou=policies,{SUFFIX}
objectClass: organizationalUnit
ou: policies

dn: cn=default,ou=policies,{SUFFIX}
objectClass: device
objectClass: pwdPolicy
cn: default
pwdAttribute: userPassword
pwdCheckQuality: 1
pwdMinLength: 8
pwdInHistory: 3
pwdLockout: TRUE
pwdMaxFailure: 100
pwdMustChange: TRUE

dn: cn=short-lived,ou=policies,{SUFFIX}
objectClass: device
objectClass: pwdPolicy
cn: short-lived
pwdAttribute: userPassword
pwdMaxAge: 60
pwdLockout: TRUE

dn: cn=grace,ou=policies,{SUFFIX}
objectClass: device
objectClass: pwdPolicy
cn: grace
pwdAttribute: userPassword
pwdMaxAge: 3600
pwdGraceAuthNLimit: 3

dn: cn=strict,ou=policies,{SUFFIX}
objectClass: device
objectClass: pwdPolicy
cn: strict
pwdAttribute: userPassword
pwdLockout: TRUE
pwdMaxFailure: 3

dn: {SERVICE_DN}
objectClass: device
objectClass: simpleSecurityObject
cn: portal
userPassword: {SERVICE_PASSWORD}

dn: cn=portal-admins,ou=groups,{SUFFIX}
objectClass: posixGroup
cn: portal-admins
gidNumber: 30000
memberUid: carol

dn: cn=scientists,ou=groups,{SUFFIX}
objectClass: posixGroup
cn: scientists
gidNumber: 30001
memberUid: alice
memberUid: carol
"""


@dataclass(frozen=True)
class Slapd:
    """A running server; `ca` verifies its certificate, `wrong_ca` does not."""

    ldap_port: int
    ldaps_port: int
    ca: Path
    wrong_ca: Path

    @property
    def ldap_url(self) -> str:
        return f"ldap://127.0.0.1:{self.ldap_port}"

    @property
    def ldaps_url(self) -> str:
        return f"ldaps://127.0.0.1:{self.ldaps_port}"


def user_entry(uid: str, number: int, *, ou: str = "ou=people", extra: str = "") -> str:
    return f"""
dn: cn={uid} {number},{ou},{SUFFIX}
objectClass: inetOrgPerson
objectClass: posixAccount
cn: {uid} {number}
sn: {uid}
displayName: {uid.title()} Example
uid: {uid}
uidNumber: {number}
gidNumber: 30001
homeDirectory: /home/{uid}
mail: {uid}@test.example
userPassword: {PASSWORD}
{extra}"""


USER_ENTRIES = "".join(
    (
        user_entry("alice", 20001),
        user_entry("bob", 20002),
        user_entry("carol", 20003),
        user_entry("dave", 20004, extra="pwdAccountLockedTime: 000001010000Z\n"),
        user_entry("erin", 20005, extra="pwdReset: TRUE\n"),
        user_entry(
            "frank",
            20006,
            extra=f"pwdPolicySubentry: cn=short-lived,ou=policies,{SUFFIX}\n"
            "pwdChangedTime: 20200101000000Z\n",
        ),
        user_entry("grace", 20007, extra=f"pwdPolicySubentry: cn=strict,ou=policies,{SUFFIX}\n"),
        user_entry("twin", 20008),
        user_entry("twin", 20009, ou="ou=more,ou=people"),
        user_entry("system", 12),
        user_entry("heidi", 20010),  # a test changes the password
        user_entry("judy", 20011),
        user_entry("kate", 20013),  # an administrator resets the password
        user_entry(
            "ivan",
            20012,
            extra=f"pwdPolicySubentry: cn=grace,ou=policies,{SUFFIX}\n"
            "pwdChangedTime: 20200101000000Z\n",
        ),
    )
)


@dataclass(frozen=True)
class Content:
    """A server's content: `config`, with the placeholders of CONFIG, and its entries."""

    config: str
    ldif: str


LOGINS = Content(CONFIG, BASE + USER_ENTRIES)


def free_port() -> int:
    """Return a port on which nothing listens.

    It lies below the ephemeral ports, any of which the kernel may assign to an outgoing connection
    before a server has bound it.
    """
    first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = secrets.choice(range(first // 2, first))
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            if port not in _GIVEN:
                _GIVEN.add(port)
                return port


@contextmanager
def running(folder: Path, content: Content = LOGINS) -> Iterator[Slapd]:
    """Create the certificates and the database, start slapd, and stop it again."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "db").mkdir()
    _certificates(folder)
    config = folder / "slapd.conf"
    modules = next(
        path for path in map(Path, ("/usr/lib/ldap", "/usr/lib/openldap")) if path.is_dir()
    )
    config.write_text(
        content.config.format(
            schema="/etc/ldap/schema",
            modules=modules,
            folder=folder,
            suffix=SUFFIX,
            service=SERVICE_DN,
        )
    )
    _run("slapadd", "-q", "-f", str(config), input_text=content.ldif)
    slapd = Slapd(free_port(), free_port(), folder / "ca.pem", folder / "other-ca.pem")
    urls = f"{slapd.ldap_url} {slapd.ldaps_url}"
    log = (folder / "slapd.log").open("w")
    words = [_find("slapd"), "-f", str(config), "-h", urls, "-d", "0"]
    # it ends with a test process that is killed, too
    process = subprocess.Popen(["setpriv", "--pdeathsig", "TERM", *words], stdout=log, stderr=log)
    try:
        for port in (slapd.ldap_port, slapd.ldaps_port):
            _wait_for(port, process, folder / "slapd.log")
        yield slapd
    finally:
        process.terminate()
        process.wait(timeout=START_TIMEOUT_S)
        log.close()


def _find(program: str) -> str:
    found = shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin")
    assert found, f"{program} is not installed"
    return found


def _run(program: str, *args: str, input_text: str = "") -> None:
    done = subprocess.run(
        [_find(program), *args], input=input_text, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    def listens() -> bool:
        assert process.poll() is None, log.read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    wait_until(listens, f"slapd listens on {port}", START_TIMEOUT_S)


def _certificates(folder: Path) -> None:
    """Create a CA with a server certificate for 127.0.0.1, and a CA that signed nothing."""
    for name in ("ca", "other-ca"):
        _run(
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-days", "2", "-subj", f"/CN={name}",
            "-addext", "keyUsage=critical,keyCertSign,cRLSign",
            "-keyout", str(folder / f"{name}.key"), "-out", str(folder / f"{name}.pem"),
        )  # fmt: skip
    _run(
        "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
        "-nodes", "-days", "2", "-subj", "/CN=slapd",
        "-addext", "subjectAltName=IP:127.0.0.1",
        "-addext", "basicConstraints=critical,CA:FALSE",
        "-CA", str(folder / "ca.pem"), "-CAkey", str(folder / "ca.key"),
        "-keyout", str(folder / "server.key"), "-out", str(folder / "server.pem"),
    )  # fmt: skip
