"""What a user can do about a job's reason gets its name, also in the stored tasks of arrays.

Revision: 0025, after 0024
"""

# ruff: noqa: S608 - all parts of the statements are constants of this file

from alembic import op

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _rename("advice", "suggestion")


def downgrade() -> None:
    _rename("suggestion", "advice")


def _rename(old: str, new: str) -> None:
    op.execute(f"ALTER TABLE jobs RENAME COLUMN {old} TO {new}")
    # A quote in a JSON text is escaped, so that `"name":` is always a key.
    key, replacement = f'"{old}":', f'"{new}":'
    if op.get_context().dialect.name == "postgresql":
        tasks = f"replace(tasks::text, '{key}', '{replacement}')::json"
        stored = "tasks::text"
    else:
        tasks = f"replace(tasks, '{key}', '{replacement}')"
        stored = "tasks"
    op.execute(f"UPDATE batch_jobs SET tasks = {tasks} WHERE {stored} LIKE '%{key}%'")
