"""The list of pages for tests and screenshots is complete."""

import re

from tests.browser.places import ELSEWHERE, PLACES
from tests.paths import CHECKOUT

ROUTES = CHECKOUT / "frontend/src/app/routes"


def test_every_route_is_gone_to_or_left_out_for_a_reason() -> None:
    pages = "".join(file.read_text() for file in ROUTES.glob("*.ts"))
    routes = set(re.findall(r"^  path: '([^']+)',$", pages, re.MULTILINE))
    assert len(routes) > 20
    gone_to = {place.path for place in PLACES if place.name != "not-found"}
    assert gone_to | set(ELSEWHERE) == routes
    assert len({place.name for place in PLACES}) == len(PLACES)


def test_an_address_is_filled_in() -> None:
    by_name = {place.name: place for place in PLACES}
    things = {"session": "an id", "group": "a/b"}
    assert by_name["session-log"].address(things) == "/sessions/an%20id/log"
    assert by_name["admin-group"].address(things) == "/admin/groups/a%2Fb"
    assert by_name["account-tokens"].address({}) == "/account/tokens"
    assert by_name["jobs-compared"].needs == {"job", "failed"}
    assert by_name["jobs-compared"].address({"job": "1", "failed": "2"}) == "/jobs/compare?ids=1,2"
    assert by_name["job-template"].address({}) == "/jobs/new?template=python-training"
