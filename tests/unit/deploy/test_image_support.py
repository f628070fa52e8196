"""Cards of environments say whether the image's base still gets security updates."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
import yaml

from tests.paths import CHECKOUT

CATALOG = CHECKOUT / "spawner/catalog"
# releases of Debian whose long-term support has ended, with what a card says then
ENDED = {"bullseye": "Debian 11, has had no security updates since August 2026."}
SUPPORTED = {"bookworm"}  # until June 2028


def suites_of(image: str) -> list[str]:
    found: list[str] = tomllib.loads((CATALOG / f"images/{image}.toml").read_text())["suites"]
    return found


ENVIRONMENTS = [
    path
    for path in sorted((CATALOG / "environments").glob("*.yaml"))
    if (CATALOG / f"images/{Path(yaml.safe_load(path.read_text())['image']).stem}.toml").exists()
]


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.stem)
def test_a_card_says_that_its_base_gets_no_security_updates(path: Path) -> None:
    card = yaml.safe_load(path.read_text())
    suites = suites_of(Path(card["image"]).stem)
    assert any(suite.endswith("-security") for suite in suites)
    release = suites[0]
    assert release in ENDED.keys() | SUPPORTED
    assert (ENDED.get(release, "no security updates") in card["description"]) is (release in ENDED)


def test_all_images_of_the_portal_are_checked() -> None:
    images = {path.stem for path in (CATALOG / "images").glob("*.toml")}
    cards = {Path(yaml.safe_load(path.read_text())["image"]).stem for path in ENVIRONMENTS}
    assert cards == images
