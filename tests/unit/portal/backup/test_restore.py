"""The refusal to replace a database with content."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.backup import restore
from portal.backup.archive import BackupError, Manifest
from portal.config.settings import Settings

CONNECTIONS, TABLES = "0", "1"


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings of a PostgreSQL database with one table, as a fake psql reports it."""
    file = tmp_path / "psql"
    file.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *pg_stat_activity*) echo {CONNECTIONS};; *pg_tables*) echo {TABLES};; esac\n'
    )
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Settings.model_construct(database_url="postgresql+psycopg://db.example/portal")


def manifest() -> Manifest:
    return Manifest(
        portal="1",
        revision="1",
        database="postgresql",
        made_at=datetime.now(UTC),
        members=[],
        left_out=[],
    )


def test_a_refusal_says_that_a_postgresql_database_would_lose_its_content(
    filled: Settings,
) -> None:
    with pytest.raises(BackupError) as refused:
        restore._check_database(filled, manifest(), replace=False)
    assert str(refused.value) == (
        "The database portal at db.example:5432 is not empty: use --replace to delete its content "
        "and restore the backup."
    )


def test_a_database_with_content_may_be_replaced(filled: Settings) -> None:
    restore._check_database(filled, manifest(), replace=True)
