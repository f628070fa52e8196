"""`make dev` notices what is saved in the checkout."""

import os
from pathlib import Path

import pytest

from cluster.dev import changes


def save(file: Path, text: str, at_ns: int) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, ns=(at_ns, at_ns))


def test_changed_new_and_removed_files_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path / "portal/app.py", "1", 1)
    save(tmp_path / "portal/old.py", "1", 1)
    found = changes(tmp_path, poll_s=0)
    save(tmp_path / "portal/__pycache__/app.cpython-311.py", "1", 1)
    save(tmp_path / "docs/page.md", "1", 1)

    def act() -> None:
        save(tmp_path / "portal/app.py", "2", 2)
        save(tmp_path / "spawner/new.py", "1", 1)
        (tmp_path / "portal/old.py").unlink()

    steps = iter([lambda: None, act])
    monkeypatch.setattr("cluster.dev.time.sleep", lambda _: next(steps)())
    assert next(found) == ["portal/app.py", "portal/old.py", "spawner/new.py"]
