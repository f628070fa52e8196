"""A new database for each test of migrations: SQLite, and PostgreSQL."""

from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database without tables."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'portal.db'}"
    found: str = request.getfixturevalue("postgresql_url")
    return found
