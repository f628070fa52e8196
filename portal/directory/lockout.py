"""Account lockout policies of the directory itself."""

from portal.directory.connections import BASE, SUBTREE, OpenConnection
from portal.directory.contract import Lockout
from portal.directory.mapping import Entry, texts

MAX_POLICIES = 50
_FILTER = "(|(objectClass=pwdPolicy)(lockoutThreshold=*)(krbPwdMaxFailure=*))"
_TICKS_PER_S = 10_000_000
"""Units per second: Active Directory counts negative intervals of 100 ns."""


def read_lockouts(link: OpenConnection) -> list[Lockout]:
    """Return the policies that are visible to the account that searches."""
    link.bind_reader()
    names = ["namingContexts"]
    root = link.search("", "(objectClass=*)", BASE, names, size_limit=1)
    bases = texts(root[0], "namingContexts") if root else []
    attributes = [
        *("pwdLockout", "pwdMaxFailure", "pwdFailureCountInterval"),
        *("lockoutThreshold", "lockOutObservationWindow"),
        *("krbPwdMaxFailure", "krbPwdFailureCountInterval"),
    ]
    lockouts = []
    for base in bases:
        entries = link.search(base, _FILTER, SUBTREE, attributes, size_limit=MAX_POLICIES)
        lockouts += [policy for entry in entries if (policy := _parse_lockout(entry))]
    return lockouts


def _parse_lockout(entry: Entry) -> Lockout | None:
    def number(name: str) -> int:
        values = texts(entry, name)
        return int(values[0]) if values and values[0].lstrip("-").isdecimal() else 0

    if "TRUE" in texts(entry, "pwdLockout"):
        failures, forgets_s = number("pwdMaxFailure"), number("pwdFailureCountInterval")
    elif texts(entry, "krbPwdMaxFailure"):
        failures, forgets_s = number("krbPwdMaxFailure"), number("krbPwdFailureCountInterval")
    else:
        failures = number("lockoutThreshold")
        forgets_s = abs(number("lockOutObservationWindow")) // _TICKS_PER_S
    return Lockout(str(entry["dn"]), failures, forgets_s) if failures > 0 else None
