"""An append-only, searchable audit log, and counters of refused logins.

Revision: 0010, after 0009
"""

# ruff: noqa: S608 - all parts of the statements are constants of this file

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

TIME = sa.DateTime(timezone=True)
TABLE = "audit_events"
ACTOR = "fk_audit_events_actor_id_users"
WHOLE = "actor, action, target, ip, token"

# Retention may delete rows before this mark; no other deletion is permitted.
LET_GO = "SELECT 1 FROM marks WHERE name = 'audit.retention' AND at > {row}.at"

# The searchable text. Of the detail: every key and every value, with JSON escapes decoded.
SQLITE_WORDS = f"""
CREATE VIEW audit_words AS SELECT id, {WHOLE},
 (SELECT group_concat(iif(typeof(key) = 'text', key, '') || ' ' || coalesce(atom, ''), ' ')
  FROM json_tree(detail)) AS words
FROM audit_events
"""
SQLITE_SEARCH = f"""
CREATE VIRTUAL TABLE audit_search USING fts5(
 {WHOLE}, words, content='audit_words', content_rowid='id', columnsize=0, prefix='2 3 4')
"""
SQLITE_TRIGGERS = (
    f"""
CREATE TRIGGER audit_events_added AFTER INSERT ON audit_events BEGIN
 INSERT INTO audit_search(rowid, {WHOLE}, words)
  SELECT id, {WHOLE}, words FROM audit_words WHERE id = new.id;
END
""",
    # REPLACE would delete without firing the DELETE trigger below
    """
CREATE TRIGGER audit_events_not_replaced BEFORE INSERT ON audit_events
WHEN EXISTS (SELECT 1 FROM audit_events WHERE id = new.id) BEGIN
 SELECT RAISE(ABORT, 'an event of the audit is never replaced');
END
""",
    """
CREATE TRIGGER audit_events_not_changed BEFORE UPDATE ON audit_events BEGIN
 SELECT RAISE(ABORT, 'an event of the audit is never changed');
END
""",
    f"""
CREATE TRIGGER audit_events_kept BEFORE DELETE ON audit_events BEGIN
 SELECT RAISE(ABORT, 'events of the audit are deleted by retention alone')
  WHERE NOT EXISTS ({LET_GO.format(row="old")});
 INSERT INTO audit_search(audit_search, rowid, {WHOLE}, words)
  SELECT 'delete', id, {WHOLE}, words FROM audit_words WHERE id = old.id;
END
""",
)

POSTGRESQL = (
    r"""
CREATE FUNCTION audit_words(text, text, text, text, text, json) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
 SELECT to_tsvector('simple', regexp_replace(
  concat_ws(' ', $1, $2, $3, $4, $5, $6::jsonb::text), '(\W|_)+', ' ', 'g'))
$$
""",
    # stored in the row: computing it for each candidate row would take seconds
    f"""
ALTER TABLE audit_events ADD COLUMN words tsvector
GENERATED ALWAYS AS (audit_words({WHOLE}, detail)) STORED
""",
    "CREATE INDEX ix_audit_events_words ON audit_events USING gin (words)",
    f"""
CREATE FUNCTION audit_events_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
 IF TG_OP = 'DELETE' AND EXISTS ({LET_GO.format(row="old")}) THEN
  RETURN old;
 END IF;
 RAISE EXCEPTION 'events of the audit are never changed, and deleted by retention alone';
END $$
""",
    """
CREATE TRIGGER audit_events_kept BEFORE UPDATE OR DELETE ON audit_events
FOR EACH ROW EXECUTE FUNCTION audit_events_kept()
""",
    """
CREATE TRIGGER audit_events_not_emptied BEFORE TRUNCATE ON audit_events
FOR EACH STATEMENT EXECUTE FUNCTION audit_events_kept()
""",
)


def upgrade() -> None:
    with op.batch_alter_table(TABLE) as table:
        table.drop_constraint(ACTOR, type_="foreignkey")
        table.drop_index("ix_audit_events_action")
        for name, length in (("token", 100), ("request_id", 32)):
            column = sa.Column(name, sa.String(length=length), nullable=False, server_default="")
            table.add_column(column)
    op.create_index("ix_audit_events_target_id", TABLE, ["target", "id"])
    op.create_table(
        "refusals",
        sa.Column("action", sa.String(length=64), nullable=False),
        sa.Column("actor", sa.String(length=100), nullable=False),
        sa.Column("ip", sa.String(length=45), nullable=False),
        sa.Column("since", TIME, nullable=False),
        sa.Column("last_at", TIME, nullable=False),
        sa.Column("own_events", sa.Integer(), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("action", "actor", "ip", name="pk_refusals"),
    )
    op.create_index("ix_refusals_since", "refusals", ["since"])
    if op.get_context().dialect.name == "sqlite":
        _sqlite()
    else:
        _tokens("detail ->> 'token'")
        _all(POSTGRESQL)


def _sqlite() -> None:
    _tokens("json_extract(detail, '$.token')")
    _all((SQLITE_WORDS, SQLITE_SEARCH))
    columns = f"{WHOLE}, words"
    op.execute(f"INSERT INTO audit_search(rowid, {columns}) SELECT id, {columns} FROM audit_words")
    _all(SQLITE_TRIGGERS)


def _tokens(found: str) -> None:
    """Move the token's name from the detail into its own column."""
    op.execute(f"UPDATE audit_events SET token = {found} WHERE {found} IS NOT NULL")


def _all(statements: tuple[str, ...]) -> None:
    for statement in statements:
        op.execute(statement)


def downgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        for name in ("added", "not_replaced", "not_changed", "kept"):
            op.execute(f"DROP TRIGGER audit_events_{name}")
        op.execute("DROP TABLE audit_search")
        op.execute("DROP VIEW audit_words")
    else:
        for name in ("kept", "not_emptied"):
            op.execute(f"DROP TRIGGER audit_events_{name} ON audit_events")
        op.execute("DROP FUNCTION audit_events_kept()")
        op.drop_column(TABLE, "words")
        op.execute("DROP FUNCTION audit_words(text, text, text, text, text, json)")
    op.drop_table("refusals")
    op.drop_index("ix_audit_events_target_id", TABLE)
    op.execute(
        "UPDATE audit_events SET actor_id = NULL"
        " WHERE NOT EXISTS (SELECT 1 FROM users WHERE users.id = audit_events.actor_id)"
    )
    with op.batch_alter_table(TABLE) as table:
        for name in ("token", "request_id"):
            table.drop_column(name)
        table.create_index("ix_audit_events_action", ["action"])
        table.create_foreign_key(ACTOR, "users", ["actor_id"], ["id"], ondelete="SET NULL")
