"""Every migration with rows in every table on PostgreSQL; `make test` does the same on SQLite."""

from __future__ import annotations

from tests.portal.migrations.test_rows import check_each_step


def test_rows_of_every_table_survive_each_step_up_and_down(postgresql_url: str) -> None:
    check_each_step(postgresql_url)
