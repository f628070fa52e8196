"""The environments' images that a test run expects."""

from __future__ import annotations

import os

import pytest

WANTED = os.environ.get("PORTAL_IMAGES")
"""Names of images, separated by spaces; if unset, all images that can be built are expected."""


def needs(*images: str) -> pytest.MarkDecorator:
    """Skip a test of an image that PORTAL_IMAGES omits; an expected image must exist."""
    left_out = WANTED is not None and not set(images) <= set(WANTED.split())
    return pytest.mark.skipif(left_out, reason="PORTAL_IMAGES leaves its image out")
