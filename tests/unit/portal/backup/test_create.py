"""The content of a backup, and the arguments of PostgreSQL's programs."""

from pathlib import Path

import pytest

from portal.backup import postgresql, sqlite
from portal.backup.archive import BackupError
from portal.backup.create import SECRET_FILES
from portal.config.settings import Settings

# files named by settings that can be obtained again
NO_SECRETS = {
    "ldap_ca_file",
    "site_logo_file",
    "smtp_ca_file",
    "node_table_file",
    "node_ca_certificate_file",
    "node_url_ca_file",
    "certificate_file",
    "certificate_key_file",
    "content_certificate_file",
    "content_certificate_key_file",
}


def test_every_file_of_the_settings_is_taken_along_or_known_to_be_no_secret() -> None:
    named = {name for name in Settings.model_fields if name.endswith("_file")}
    taken = {name if name.endswith("_file") else f"{name}_file" for name in SECRET_FILES}
    assert taken | NO_SECRETS == named
    assert not taken & NO_SECRETS


def test_a_database_that_is_put_aside_keeps_its_log(tmp_path: Path) -> None:
    for side in ("", "-wal", "-shm"):
        (tmp_path / f"portal.db{side}").write_text(side)
    aside = sqlite.put_aside(tmp_path / "portal.db")
    found = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert found == {f"{aside.name}{side}": side for side in ("", "-wal", "-shm")}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake psql that prints its arguments and its password file."""
    file = tmp_path / "psql"
    file.write_text(
        "#!/bin/sh\n"
        'echo "$@" >&2\n'
        "env | grep ^PG | sort >&2\n"
        '[ -z "$PGPASSFILE" ] || { stat -c %a "$PGPASSFILE"; cat "$PGPASSFILE"; } >&2\n'
        "exit 1\n"
    )
    file.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("PGPASSFILE", raising=False)
    return file


@pytest.mark.usefixtures("program")
def test_the_password_is_in_a_file_and_never_an_argument() -> None:
    url = "postgresql+psycopg://portal:s3cr%3At@db.example:5433/portal?sslmode=require"
    with pytest.raises(BackupError) as refused:
        postgresql.PostgresServer(url).is_empty()
    message = str(refused.value)
    arguments, _, rest = message.partition(" PGDATABASE=")
    assert "s3cr" not in arguments
    for part in ("PGHOST=db.example", "PGPORT=5433", "PGUSER=portal", "PGSSLMODE=require"):
        assert part in rest
    assert r"600 *:*:*:*:s3cr\:t" in rest
    assert message.startswith("psql on portal at db.example:5433 failed: ")


@pytest.mark.usefixtures("program")
def test_unsupported_database_option_is_refused() -> None:
    with pytest.raises(BackupError, match="database_url has the option keepalives"):
        postgresql.PostgresServer("postgresql+psycopg://db/portal?keepalives=1").is_empty()


def test_missing_programs_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BackupError, match="psql can't be run: install PostgreSQL's client"):
        postgresql.PostgresServer("postgresql+psycopg://db/portal").is_empty()
