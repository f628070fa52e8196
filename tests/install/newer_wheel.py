"""A newer version of the portal, made of a wheel: one more migration, and named faults.

Only the files that differ are written again; pip doesn't compare the others with the wheel's list.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

from portal import __version__
from portal.backup import revisions

REVISION = "9001"
TABLE = "instruments"
MIGRATION = f"""
import sqlalchemy as sa
from alembic import op

revision = "{REVISION}"
down_revision = "{revisions.head()}"

def upgrade() -> None:
    op.create_table("{TABLE}", sa.Column("name", sa.String(), primary_key=True))

def downgrade() -> None:
    op.drop_table("{TABLE}")
"""
# file → text → replacement
Fault = Mapping[str, tuple[str, str]]
FAILING_MIGRATION: Fault = {
    f"migrations/versions/{REVISION}_{TABLE}.py": (
        "def downgrade",
        '    op.add_column("no_such_table", sa.Column("x", sa.String()))\n\ndef downgrade',
    )
}
FAILING_START: Fault = {
    "portal/cli/main.py": ("server.run(sockets=[listener])", "raise SystemExit(1)")
}


def make_newer(wheel: Path, folder: Path, version: str, fault: Fault | None = None) -> Path:
    """Write the newer version with its lock to a new folder, and return the wheel."""
    folder.mkdir(parents=True)
    (folder / "requirements.lock").write_bytes(wheel.with_name("requirements.lock").read_bytes())
    target = folder / wheel.name.replace(f"-{__version__}-", f"-{version}-")
    changed = 0
    with zipfile.ZipFile(wheel) as before, zipfile.ZipFile(target, "w") as after:
        names = {name: before.read(name) for name in before.namelist()}
        names[f"migrations/versions/{REVISION}_{TABLE}.py"] = MIGRATION.encode()
        for name, data in names.items():
            text, replacement = (fault or {}).get(name, ("", ""))
            changed += bool(text) and text.encode() in data
            found = data.replace(text.encode(), replacement.encode()) if text else data
            if name == "portal/__init__.py" or name.endswith(".dist-info/METADATA"):
                found = found.replace(__version__.encode(), version.encode(), 1)
            after.writestr(
                name.replace(f"-{__version__}.dist-info", f"-{version}.dist-info"), found
            )
    assert changed == len(fault or {})
    return target
