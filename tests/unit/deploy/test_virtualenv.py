"""A virtualenv with pinned packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy import virtualenv
from deploy.version_folder import InstallRefused


def test_a_virtualenv_that_can_not_be_completed_is_removed(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nfor folder; do :; done\nmkdir "$folder"\nexit 1\n')
    python.chmod(0o755)
    target = tmp_path / "venv"
    with pytest.raises(InstallRefused, match=r"venv` failed: see the output above"):
        virtualenv.create(target, str(python), [virtualenv.WITHOUT_DEPENDENCIES])
    assert not target.exists()
