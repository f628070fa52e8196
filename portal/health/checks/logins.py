"""Checks of logins, for `portal check`: the directory's lockout, and ssh logins to this host."""

import ipaddress
import math
import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from portal.config.settings import Settings
from portal.context import AppContext
from portal.directory.contract import Lockout
from portal.errors import DirectoryUnavailable
from portal.health.result import CheckResult, failing, unknown

_RESTRICTS = re.compile(r"^\s*(?:AllowUsers|AllowGroups)\s+\S", re.IGNORECASE | re.MULTILINE)
_PAM_ACCESS = re.compile(r"^\s*account\s+\S.*\bpam_(?:access|listfile)\.so", re.MULTILINE)
_DENIES = re.compile(r"^\s*-\s*:", re.MULTILINE)


async def check_lockout(context: AppContext) -> CheckResult:
    """Check that the portal's limit of failed logins is reached before the directory's."""
    try:
        lockouts = await context.directory.lockouts()
    except DirectoryUnavailable:
        return unknown("unknown")
    problem = lockout_problem(context.settings, lockouts)
    return failing(*problem) if problem else CheckResult()


def lockout_problem(settings: Settings, lockouts: Sequence[Lockout]) -> tuple[str, str] | None:
    """Return the problem with the strictest policy, and its remedy; None if there is no problem."""
    window_s = settings.login_window_minutes * 60
    for policy in sorted(lockouts, key=lambda policy: policy.max_failures):
        if policy.forgets_after_s == 0:
            problem = f"{policy.policy} never resets its count of wrong passwords"
            suggestion = "Set pwdFailureCountInterval (AD: lockOutObservationWindow) in the policy."
            return (
                f"{problem}, so over time anyone can lock an account through the portal",
                suggestion,
            )
        windows = math.ceil(policy.forgets_after_s / window_s)
        tries = settings.login_attempts * windows
        if tries >= policy.max_failures:
            problem = (
                f"the portal allows {tries} wrong passwords in the time in which {policy.policy} "
                f"locks an account after {policy.max_failures}, so anyone can lock any account"
            )
            return problem, "Lower login_attempts, or let the directory allow more."
    return None


def check_host_logins(context: AppContext, root: Path = Path("/")) -> CheckResult:
    """Check that ordinary users cannot log in to this host by ssh, according to its files."""
    if _is_loopback(context.settings.public_url):
        return unknown("not checked: public_url is loopback")
    ssh = root / "etc/ssh"
    if not (ssh / "sshd_config").exists() or (root / "etc/nologin").exists():
        return CheckResult()
    files = [ssh / "sshd_config", *sorted((ssh / "sshd_config.d").glob("*.conf"))]
    if any(_RESTRICTS.search(_read_text(file)) for file in files):
        return CheckResult()
    pam = _read_text(root / "etc/pam.d/sshd")
    access = _read_text(root / "etc/security/access.conf")
    if _PAM_ACCESS.search(pam) and ("pam_listfile" in pam or _DENIES.search(access)):
        return CheckResult()
    problem = "ordinary users can log in to this host by ssh and bypass nginx from here"
    suggestion = "Allow only administrators: AllowGroups in sshd_config, or pam_access."
    return failing(problem, suggestion)


def _read_text(file: Path) -> str:
    """Return a file's text; "" for an unreadable one, which then restricts no user."""
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _is_loopback(url: str) -> bool:
    name = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return name == "localhost" or name.endswith(".localhost")
