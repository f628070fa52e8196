"""The command line as an administrator uses it: processes, output, exit status."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.paths import CHECKOUT
from tests.polling import PATIENCE_S, wait_until
from tests.portal.command_line import write_config
from tests.portal.conftest import MakeSettings
from tests.servers import databases
from tests.servers.slapd import free_port


def command(*args: str, config: Path | None = None) -> tuple[list[str], dict[str, Any]]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("PORTAL_")}
    if config is not None:
        env["PORTAL_CONFIG"] = str(config)
    return [sys.executable, "-m", "portal", *args], {"env": env, "cwd": CHECKOUT, "text": True}


def run(*args: str, config: Path | None = None) -> subprocess.CompletedProcess[str]:
    argv, options = command(*args, config=config)
    return subprocess.run(argv, capture_output=True, timeout=PATIENCE_S, check=False, **options)


@pytest.fixture
def config(make_settings: MakeSettings, tmp_path: Path) -> Path:
    """A configuration file with the settings of the other tests."""
    return write_config(make_settings(listen_port=free_port()), tmp_path / "portal.toml")


def test_the_schema_is_that_of_the_clients() -> None:
    done = run("openapi")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (CHECKOUT / "openapi.json").read_text("utf-8"), "run make api"
    schema = json.loads(done.stdout)
    assert "/api/v1/sessions" in schema["paths"]
    assert not any(path.startswith(("/internal", "/node")) for path in schema["paths"])
    assert "SessionOut" in schema["components"]["schemas"]


@pytest.mark.parametrize("name", ["serve", "migrate", "check", "secrets"])
def test_missing_settings_stop_the_start_and_are_named(name: str, tmp_path: Path) -> None:
    config = tmp_path / "portal.toml"
    config.write_text('public_url = "http://127.0.0.1:8000"\n')
    done = run(name, config=config)
    assert done.returncode == 2
    assert "ldap_urls: is missing" in done.stderr
    assert "internal_secret_file: is missing" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(databases.kind() != "sqlite", reason="looks at SQLite's file")
def test_migrate_makes_the_database(config: Path, tmp_path: Path) -> None:
    done = run("migrate", config=config)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "portal.db").stat().st_mode & 0o777 == 0o600


def test_check_reports_each_part_with_suggestion(config: Path, tmp_path: Path) -> None:
    done = run("check", config=config)
    assert done.returncode == 1
    assert not (tmp_path / "portal.db").exists()
    lines = done.stdout.splitlines()
    assert "ok      database" in lines
    assert any(line.startswith("ok      directory ldap://127.0.0.1") for line in lines)
    assert any(line.startswith("FAILED  hub: ") for line in lines)
    assert any(line.startswith("FAILED  pages: ") for line in lines)
    assert "Traceback" not in done.stderr
    for failed, suggestion in pairwise(lines):
        if failed.startswith("FAILED"):
            assert suggestion.startswith("        → ")
            assert len(suggestion) > 15


def test_serve_answers_logs_json_and_ends_on_sigterm(config: Path, tmp_path: Path) -> None:
    port = next(
        line.partition("= ")[2] for line in config.read_text().splitlines() if "listen_port" in line
    )
    argv, options = command("serve", config=config)
    log = tmp_path / "portal.log"
    with log.open("w") as out, subprocess.Popen(argv, stderr=out, **options) as process:
        try:
            wait_until_healthy(f"http://127.0.0.1:{port}/healthz", process, log)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=PATIENCE_S)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert lines
    assert all({"event", "level", "timestamp"} <= set(line) for line in lines)
    assert not any("healthz" in line["event"] for line in lines)


def wait_until_healthy(url: str, process: subprocess.Popen[str], log: Path) -> None:
    def is_healthy() -> bool:
        assert process.poll() is None, log.read_text()
        with (
            suppress(OSError),
            urllib.request.urlopen(url, timeout=PATIENCE_S) as answer,  # noqa: S310 - our own
        ):
            return bool(answer.status == 200)
        return False

    wait_until(is_healthy, url)
