"""A cluster without the portal, for all tests of an installation: they build on each other."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.cluster.one_machine import RAISE, ROOT, one_machine
from tests.install.site import Site

WHEELS = ROOT / "wheel"


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    (wheel,) = WHEELS.glob("data_scientist_portal-*.whl")
    assert (WHEELS / "requirements.lock").is_file()
    with one_machine("t-inst") as cluster:
        cluster.run(*RAISE)
        facts = json.loads((cluster.state / "addresses.json").read_text())
        facts["head"] = cluster.status()["head"]
        facts["gpus_confined"] = cluster.status()["confinement"]["GPUs"]["confined"]
        known = cluster.status()["ldap"]
        values = {
            "RELEASE": str(wheel.parent),
            "APP": "/opt/portal-app-1",
            "SHARED": "/opt/portal",
            "PORTAL_NAME": "portal.example.org",
            "LDAP_URL": known["ldaps_url"],
            "LDAP_CA": known["ca_file"],
            "LDAP_BIND_DN": f"cn=portal,ou=services,{known['suffix']}",
            "ME": "alice",
        }
        found = Site(cluster.state, values, facts)
        found.make_fresh([node["name"] for node in cluster.status()["nodes"]])
        found.put_systemctl()
        try:
            yield found
        finally:
            found.shell("systemctl stop portal.target")
