"""The portal's systemd units: to stop them for a change, and to start them after it.

nginx keeps running (it is restarted only if its unit changed), so that browsers get its page that
explains a short interruption.
"""

from __future__ import annotations

import subprocess

from deploy.upgrade import UpgradeRefused

CHANGED = ("portal.socket", "portal.service", "portal-hub.service")
NGINX_UNIT = "portal-nginx.service"
BACKUP_UNITS = "portal-backup.*"
BACKUP_TIMER = "portal-backup.timer"


def find_inactive() -> list[str]:
    """Return the units that don't run, each with its state."""
    units = (*CHANGED, NGINX_UNIT)
    states = _run("is-active", *units).stdout.split()
    return [
        f"{unit} is {state}" for unit, state in zip(units, states, strict=True) if state != "active"
    ]


def stop() -> None:
    """Stop everything that uses the database or the virtualenv. Raises UpgradeRefused.

    A nightly backup that runs is ended, too: its connection would hold up a migration and prevent a
    restore, and it could copy tables that are being rewritten. The upgrade makes its own backup.
    systemctl applies a pattern to the active units only, so it succeeds if there are none.
    """
    _require("stop", BACKUP_UNITS, *CHANGED)


def start(*, restart_nginx: bool = False) -> None:
    """Start what `stop` stopped, and let nginx read its configuration. Raises UpgradeRefused.

    The backup's timer is started if the site has enabled it; it then makes up for a missed backup.
    """
    _require("start", *CHANGED)
    _require("restart" if restart_nginx else "reload-or-restart", NGINX_UNIT)
    if _run("is-enabled", BACKUP_TIMER).returncode == 0:
        _require("start", BACKUP_TIMER)


def reload_units() -> None:
    """Let systemd read its unit files. Raises UpgradeRefused."""
    _require("daemon-reload")


def _require(*words: str) -> None:
    done = _run(*words)
    if done.returncode != 0:
        command = " ".join(["systemctl", *words])
        reason = " ".join(done.stderr.split())[:300] or f"status {done.returncode}"
        raise UpgradeRefused(
            f"`{command}` failed: {reason} See the last lines of each unit in `systemctl status "
            "'portal*'`."
        )


def _run(*words: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            ["systemctl", *words],
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except OSError as error:
        raise UpgradeRefused(f"systemctl can't be run: {error.strerror}.") from error
