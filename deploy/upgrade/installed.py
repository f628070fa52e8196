"""The current installation, as its systemd units describe it."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy import system
from deploy.upgrade import UpgradeRefused

COMMAND_LINK = Path("/usr/local/bin/portal")
VERSION = re.compile(r"data_scientist_portal-(.+)\.dist-info")


@dataclass(frozen=True)
class CurrentInstallation:
    """The installation below `root`, which is another folder than / only in tests.

    `prefix` is the virtualenv that the units run, without links. `config` is the settings file.
    """

    prefix: Path
    config: Path
    accounts: system.ServiceAccounts
    root: Path = Path("/")

    @property
    def version(self) -> str:
        names = (path.name for path in self.prefix.glob("lib/python3*/site-packages/*.dist-info"))
        return next((found[1] for name in names if (found := VERSION.fullmatch(name))), "unknown")

    def below_root(self, path: Path) -> Path:
        return self.root / path.relative_to("/")


def find_installed(root: Path = Path("/")) -> CurrentInstallation:
    """Read the units. Raises UpgradeRefused."""
    folder = root / system.UNITS.relative_to("/")
    portal = _read_unit(folder / "portal.service")
    accounts = system.ServiceAccounts(
        _get_value(portal, "User"),
        _get_value(_read_unit(folder / "portal-hub.service"), "User"),
        _get_value(_read_unit(folder / "portal-nginx.service"), "User"),
    )
    python = Path(_get_value(portal, "ExecStart").split()[0])
    config = Path(_get_value(portal, "Environment", "PORTAL_CONFIG="))
    return CurrentInstallation(python.parents[1].resolve(), config, accounts, root)


def _read_unit(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UpgradeRefused(
            f"{file} can't be read: {error}. `portal upgrade` is for an installation as in "
            "docs/install.md, as root."
        ) from error


def _get_value(unit: str, key: str, start: str = "") -> str:
    found = re.search(rf"^{key}={re.escape(start)}(\S.*)$", unit, re.MULTILINE)
    if found is None:
        raise UpgradeRefused(
            f"A systemd unit of the portal has no {key}={start}: run `portal system-files "
            "--install`, which renders the units again."
        )
    return found[1]


def run_portal(
    prefix: Path, words: Sequence[str], config: Path, uid: int
) -> subprocess.CompletedProcess[str]:
    """Run a command of the version in `prefix` as an account, with the environment of its units.

    Raises OSError if the command can't be run.
    """
    account = pwd.getpwuid(uid)
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LC_ALL": "C.UTF-8",
        "HOME": account.pw_dir,
        "PORTAL_CONFIG": str(config),
    }
    is_other = uid != os.geteuid()
    groups = os.getgrouplist(account.pw_name, account.pw_gid)
    return subprocess.run(
        [str(prefix / "bin/portal"), *words],
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        user=uid if is_other else None,
        group=account.pw_gid if is_other else None,
        extra_groups=groups if is_other else None,
    )
