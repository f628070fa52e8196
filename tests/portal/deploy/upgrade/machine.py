"""An installation below a folder, with a systemd and services that are played.

Its database, backups, migrations and restores are real. The old version is this code, the new one
is this code with one more migration.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

from deploy import runtime, system
from deploy.nginx_inputs import ListenOptions
from deploy.upgrade.installed import find_installed
from deploy.upgrade.journal import FOLDER, JournalStore
from deploy.upgrade.plan import Plan, begin, build_plan
from deploy.upgrade.steps import Upgrade
from deploy.wheel import COMPILED
from portal.__main__ import app
from portal.backup import revisions
from portal.config.settings import Settings
from portal.db import MIGRATIONS
from tests.paths import CHECKOUT
from tests.portal.command_line import write_config
from tests.portal.migrations.rows import Rows, connected, read_rows, reflect

# Records its arguments, and fails for those that a file names.
SYSTEMCTL = """#!/bin/sh
echo "$@" >> {folder}/calls
if grep --quiet --line-regexp --fixed-strings -- "$1" {folder}/fails; then
    echo "Job failed." >&2
    exit 1
fi
if [ "$1" = is-active ]; then shift; for unit; do echo active; done; fi
"""
PORTAL = """#!/bin/sh
cd {checkout} && exec {python} -m portal "$@"
"""


OLD_NAME = "portal-app-1"
NEW_REVISION = "9001"
MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{NEW_REVISION}"
down_revision = "{revisions.head()}"

def upgrade() -> None:
    op.create_table("instruments", sa.Column("name", sa.String(), primary_key=True))
    op.add_column("users", sa.Column("instrument", sa.String(), nullable=True))
"""


class _PlayedServices(BaseHTTPRequestHandler):
    """nginx with the portal behind it, and the hub: they answer unless they are broken."""

    server: _Server

    def do_GET(self) -> None:
        is_alive = not self.server.is_broken()
        known = {"/healthz": b'{"status":"ok"}', "/hub/api/": b'{"version":"6.1"}'}
        body = known.get(self.path, b"{}")
        self.send_response((200 if self.path in known else 404) if is_alive else 503)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Print nothing."""


class _Server(ThreadingHTTPServer):
    is_broken: Any


@dataclass
class Machine:
    """The installation. `broken_link`: services don't answer while the link leads there."""

    root: Path
    settings: Settings
    played: _Server
    broken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.played.is_broken = lambda: self.current.name in self.broken

    @property
    def old(self) -> Path:
        return self.root / "opt" / OLD_NAME

    @property
    def new(self) -> Path:
        return self.root / "opt/portal-app-2"

    @property
    def current(self) -> Path:
        """Return the virtualenv that the units run."""
        unit = (self.root / "etc/systemd/system/portal.service").read_text()
        (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
        return Path(line.removeprefix("ExecStart=").split()[0]).parents[1].resolve()

    @property
    def command(self) -> Path:
        return (self.root / "usr/local/bin/portal").resolve()

    @property
    def config(self) -> Path:
        return self.root / "etc/portal/portal.toml"

    @property
    def store(self) -> JournalStore:
        return JournalStore(self.root / FOLDER.relative_to("/"))

    @property
    def calls(self) -> list[str]:
        return (self.root / "systemctl/calls").read_text().splitlines()

    def fail_on(self, *words: str) -> None:
        (self.root / "systemctl/fails").write_text("".join(f"{word}\n" for word in words))

    def plan(self) -> Plan:
        return build_plan(find_installed(self.root), self.settings, ListenOptions(), self.new)

    def begin(self, *, has_settings: bool = False) -> Upgrade:
        plan, store = self.plan(), self.store
        with store.lock():
            return Upgrade(plan, store, begin(plan, store, has_settings=has_settings), wait_s=0)

    def resume(self) -> Upgrade:
        """Return the interrupted upgrade, as the next run of the command finds it."""
        journal = self.store.read()
        assert journal is not None
        return Upgrade(self.plan_of(journal.old), self.store, journal, wait_s=0)

    def plan_of(self, old: Path) -> Plan:
        installed = find_installed(self.root)
        before = type(installed)(old, installed.config, installed.accounts, self.root)
        return build_plan(before, self.settings, ListenOptions(), self.new)

    def rows(self) -> tuple[str, Rows]:
        with connected(self.settings.database) as connection:
            revision = connection.execute(sa.text("SELECT version_num FROM alembic_version"))
            return str(revision.scalar_one()), read_rows(connection, reflect(connection))

    def files(self) -> dict[str, bytes]:
        """Return every file of the system, by its path."""
        folders = [self.root / name for name in ("etc", "usr", "var/lib/portal-nginx")]
        paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_bytes() for path in paths}


@contextmanager
def played_machine(
    root: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any
) -> Iterator[Machine]:
    """Install the old version below `root`."""
    served = _Server(("127.0.0.1", 0), _PlayedServices)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        url = f"http://127.0.0.1:{served.server_port}"
        machine = Machine(root, _make_settings(root, url, changes), served)
        _install(machine, monkeypatch)
        yield machine
    finally:
        served.shutdown()
        thread.join()
        served.server_close()


def _make_settings(root: Path, url: str, changes: dict[str, Any]) -> Settings:
    state, etc = root / "var/lib/portal", root / "etc/portal"
    for folder in (state, etc, root / "var/backups/portal", root / "opt/shared"):
        folder.mkdir(parents=True)
    for name in ("internal", "hub"):
        secret = etc / f"{name}.secret"
        secret.touch(mode=0o600)
        secret.write_text(f"{name}-" + "x" * 32)
    values: dict[str, Any] = {
        "public_url": url,
        "same_origin_content": True,
        "node_url": "http://127.0.0.1:8002",
        "hub_url": url,
        "state_dir": state,
        "hub_token_file": etc / "hub.secret",
        "internal_secret_file": etc / "internal.secret",
        "launcher_path": "/usr/local/libexec/portal/launcher",
        "ldap_urls": ["ldaps://ldap.example.org"],
        "ldap_user_base": "ou=people,dc=example,dc=org",
        "ldap_group_base": "ou=groups,dc=example,dc=org",
        "runtime_dir": root / "opt/shared/runtime",
        "image_dir": root / "opt/shared/images",
    }
    return Settings(**{**values, **changes})


def _install(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    root = machine.root
    write_config(machine.settings, machine.config)
    for prefix, version in ((machine.old, "0.0.9"), (machine.new, "0.1.0")):
        (prefix / "bin").mkdir(parents=True)
        program = prefix / "bin/portal"
        program.write_text(PORTAL.format(checkout=CHECKOUT, python=sys.executable))
        program.chmod(0o755)
        name = f"data_scientist_portal-{version}.dist-info"
        (prefix / "lib/python3.11/site-packages" / name).mkdir(parents=True)
    (root / "usr/local/bin").mkdir(parents=True)
    (root / "usr/local/bin/portal").symlink_to(machine.old / "bin/portal")
    me = pwd.getpwuid(os.geteuid()).pw_name
    accounts = system.ServiceAccounts(me, me, me)
    site = system.Installation(machine.settings, machine.config, accounts, machine.old)
    system.write_files(system.files(site), root)
    link = machine.settings.runtime_dir
    runtime.locate(link, runtime.PYTHON).mkdir()
    (runtime.locate(link, runtime.PYTHON) / ".complete").touch()
    (link.parent / "runtime-before").mkdir()
    link.symlink_to("runtime-before")
    _put_systemctl(root / "systemctl", monkeypatch)
    migrations = shutil.copytree(MIGRATIONS, root / "migrations", ignore=COMPILED)
    (migrations / f"versions/{NEW_REVISION}_instruments.py").write_text(MIGRATION)
    monkeypatch.setattr("portal.db.MIGRATIONS", migrations)
    monkeypatch.setattr("os.sync", lambda: None)  # it would wait for the files of other tests
    monkeypatch.setattr("deploy.upgrade.database.run_portal", run_old_version)


def run_old_version(
    prefix: Path, words: list[str], config: Path, _uid: int
) -> subprocess.CompletedProcess[str]:
    """Run a command of the old version in this process, because to start one takes longer."""
    assert prefix.name == OLD_NAME
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("portal.db.MIGRATIONS", MIGRATIONS)
        done = CliRunner().invoke(app, words, env={"PORTAL_CONFIG": str(config)})
    return subprocess.CompletedProcess(words, done.exit_code, done.stdout, done.stderr)


def _put_systemctl(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir()
    (folder / "fails").touch()
    program = folder / "systemctl"
    program.write_text(SYSTEMCTL.format(folder=folder))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
