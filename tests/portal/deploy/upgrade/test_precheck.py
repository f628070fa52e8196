"""Checks before an upgrade: each failure has its reason, and nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from deploy.upgrade import UpgradeRefused, precheck
from portal.health.result import CheckResult
from tests.portal.deploy.upgrade.machine import Machine, played_machine, run_old_version
from tests.portal.migrations.rows import connected
from tests.servers import databases


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    with played_machine(tmp_path, monkeypatch) as found:
        databases.copy_empty(found.settings.database)
        yield found


def find_failures(machine: Machine) -> dict[str, CheckResult]:
    """Run all checks, which change nothing; the database creates its own files for the log."""
    before = machine.files()
    results = [*precheck.run_prechecks(machine.plan())]
    assert machine.files() == before
    assert machine.store.read() is None
    return {result.name: result for result in results if result.problem}


@pytest.fixture(autouse=True)
def old_version_is_this_process(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precheck, "run_portal", run_old_version)


def test_a_sound_installation_passes(machine: Machine) -> None:
    assert find_failures(machine) == {}


def test_a_newer_database_is_refused(machine: Machine) -> None:
    with connected(machine.settings.database) as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    failures = find_failures(machine)
    assert failures.keys() == {"database"}
    assert "at revision 9999, newer than this portal's" in str(failures["database"].problem)


def test_settings_that_the_old_version_refuses_are_refused(machine: Machine) -> None:
    """Otherwise a rollback could not start it."""
    with machine.config.open("a") as settings:
        settings.write("\nof_the_new_version = 1\n")
    failure = find_failures(machine)["settings for the old version"]
    assert "of_the_new_version" in str(failure.problem)
    assert "--settings" in failure.suggestion


def test_services_that_do_not_answer_are_refused(machine: Machine) -> None:
    machine.broken.add(machine.old.name)
    failure = find_failures(machine)["answers through nginx"]
    assert "the portal behind it doesn't" in str(failure.problem)


def test_units_that_do_not_run_are_named(machine: Machine) -> None:
    program = machine.root / "systemctl/systemctl"
    program.write_text(program.read_text().replace("do echo active", "do echo failed"))
    failure = find_failures(machine)["services"]
    assert "portal.service is failed" in str(failure.problem)


def test_a_disk_without_space_is_named(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precheck, "SPARE_BYTES", 2**60)
    failure = find_failures(machine)["disk"]
    assert str(machine.root) in str(failure.problem)


def test_space_is_added_up_for_each_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precheck, "SPARE_BYTES", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 100}))
    assert precheck.explain_missing_space([(tmp_path, 60)]) == ""
    assert str(tmp_path) in precheck.explain_missing_space([(tmp_path, 60), (tmp_path, 60)])


def test_several_portals_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = ["127.0.0.1:8001", "127.0.0.1:8003"]
    with played_machine(
        tmp_path / "two",
        monkeypatch,
        portals=both,
        own_address=both[0],
        database_url="postgresql+psycopg://u:hidden@127.0.0.1:1/x",
    ) as machine:
        problem = precheck.check_database(machine.plan())
    assert "upgraded by hand" in problem


def test_a_folder_in_the_links_place_is_refused(machine: Machine) -> None:
    (machine.root / "opt/portal-app").mkdir()
    with pytest.raises(UpgradeRefused, match="has to be a link"):
        machine.plan()
