"""Which environments' images a run of the tests is to have."""

from __future__ import annotations

import os

import pytest

WANTED = os.environ.get("PORTAL_IMAGES")
"""Names of images with blanks between them; without it all that can be built are wanted."""


def needs(*images: str) -> pytest.MarkDecorator:
    """Skips a test of an image that PORTAL_IMAGES leaves out; one that is wanted must be there."""
    left_out = WANTED is not None and not set(images) <= set(WANTED.split())
    return pytest.mark.skipif(left_out, reason="PORTAL_IMAGES leaves its image out")
