"""A hostile TensorBoard in its owner's browser.

In that of a user with shared access: tests/browser/test_hostile_pages.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.hostile_scene import HostileScene, attack_from_tensorboard, hostile_scene
from tests.live import Live


@pytest.fixture(scope="module")
def scene(portal: Live, chromium: Browser) -> Iterator[HostileScene]:
    with hostile_scene(portal, chromium) as scene:
        yield scene


def test_a_hostile_tensorboard_reads_and_changes_nothing(scene: HostileScene) -> None:
    attack_from_tensorboard(scene, scene.alice)
