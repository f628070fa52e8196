"""Batch jobs remember the Slurm jobs that were lost, and the numbers of their tasks by state.

Revision: 0034, after 0032
"""

from collections import Counter

import sqlalchemy as sa
from alembic import context, op

revision = "0034"
down_revision = "0032"
branch_labels = None
depends_on = None

AT_ONCE = 500
TASKS = sa.table(
    "batch_jobs",
    sa.column("id", sa.String()),
    sa.column("tasks", sa.JSON(none_as_null=True)),
    sa.column("task_counts", sa.JSON(none_as_null=True)),
)


def upgrade() -> None:
    op.add_column("batch_jobs", sa.Column("lost_jobs", sa.JSON(), nullable=True))
    claim_check_since = sa.Column("claim_check_since", sa.DateTime(timezone=True), nullable=True)
    op.add_column("batch_jobs", claim_check_since)
    op.add_column("batch_jobs", sa.Column("task_counts", sa.JSON(), nullable=True))
    if not context.is_offline_mode():  # as SQL, the migration is for an empty database
        _count_tasks()


def _count_tasks() -> None:
    connection = op.get_bind()
    arrays = sa.select(TASKS.c.id, TASKS.c.tasks).where(TASKS.c.tasks.is_not(None))
    query, last = arrays.order_by(TASKS.c.id).limit(AT_ONCE), ""
    while rows := connection.execute(query.where(TASKS.c.id > last)).all():
        for batch_job_id, tasks in rows:
            counts = Counter(task.get("outcome") or task.get("state") for task in tasks)
            counts.pop(None, None)
            update = TASKS.update().where(TASKS.c.id == batch_job_id)
            connection.execute(update.values(task_counts=dict(counts)))
        last = rows[-1].id


def downgrade() -> None:
    op.drop_column("batch_jobs", "task_counts")
    op.drop_column("batch_jobs", "claim_check_since")
    op.drop_column("batch_jobs", "lost_jobs")
