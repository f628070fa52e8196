"""The Status page's checks of additional certificates.

These are the certificates of user content and of the address for nodes, each a real one.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from portal.health.checks import nginx
from portal.health.registry import Component
from portal.health.result import ComponentState
from portal.health.status import ComponentStatus
from tests.portal.conftest import RunPortal
from tests.servers.tls import DAY, NOW, Make, Serve, make, serve

__all__ = ["make", "serve"]  # fixtures

pytestmark = pytest.mark.anyio

RESPONDING = "Responding, and it reaches the portal."


async def found(run_portal: RunPortal, **settings: str) -> ComponentStatus:
    async with run_portal(**settings) as portal:
        status = portal.app.state.status
        await status.check_now(Component.NGINX)
        items: list[ComponentStatus] = status.items
        (item,) = [item for item in items if item.part is Component.NGINX]
        return item


def well(make: Make, serve: Serve) -> str:
    """The portal's own server, under another name of this machine than the other servers."""
    return serve(make()).replace("localhost", "127.0.0.1")


@pytest.mark.parametrize("which", ["content_url", "node_url"])
@pytest.mark.parametrize(("left", "verb"), [(3 * DAY, "expires"), (-DAY, "expired")])
async def test_a_certificate_beside_the_portals_own_ends(
    which: str, left: timedelta, verb: str, run_portal: RunPortal, make: Make, serve: Serve
) -> None:
    own, other = well(make, serve), serve(make(until=NOW + left))
    check = await found(run_portal, **{"public_url": own, which: other})
    assert check.state is ComponentState.FAILING
    assert check.message == (
        f"The certificate of {which} localhost {verb} on {NOW + left:%Y-%m-%d}."
    )
    assert check.suggestion == nginx.CERTIFICATE_SUGGESTION


async def test_valid_certificate_is_not_reported(
    run_portal: RunPortal, make: Make, serve: Serve
) -> None:
    own, other = well(make, serve), serve(make())
    check = await found(run_portal, public_url=own, content_url=other)
    assert (check.state, check.message) == (ComponentState.OK, RESPONDING)


async def test_a_name_that_is_not_known_here_is_passed_by(
    run_portal: RunPortal, make: Make, serve: Serve
) -> None:
    """Users' browsers may resolve it; `portal check` reports that this machine cannot."""
    content = "https://{user}.no-such-name.invalid"
    check = await found(run_portal, public_url=well(make, serve), content_url=content)
    assert (check.state, check.message) == (ComponentState.OK, RESPONDING)


async def test_expiry_of_the_portals_own_certificate_comes_first(
    run_portal: RunPortal, make: Make, serve: Serve
) -> None:
    both = [serve(make(until=NOW - DAY)) for _ in range(2)]
    own = both[0].replace("localhost", "127.0.0.1")
    check = await found(run_portal, public_url=own, content_url=both[1])
    assert check.message == (
        f"The certificate of public_url 127.0.0.1 expired on {NOW - DAY:%Y-%m-%d}."
    )
