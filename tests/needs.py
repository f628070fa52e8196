"""Marks for tests that need root, or a program of a Debian package.

A user other than root may skip these tests; a run as root fails (tests/skips.py).
"""

from __future__ import annotations

import os
import shutil

import pytest


def needs_root(why: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test for users other than root, for the reason `why`."""
    return pytest.mark.skipif(os.geteuid() != 0, reason=f"needs root: {why}")


def needs_program(name: str) -> pytest.MarkDecorator:
    """Return a mark that skips a test where the program isn't on the PATH."""
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"needs the program {name}")
