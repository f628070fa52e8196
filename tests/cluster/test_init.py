"""`portal init` on a real cluster: it proposes the values that the cluster was created with."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest

from tests.live import Live, command


@pytest.fixture(scope="module")
def proposed(portal: Live) -> dict[str, Any]:
    made = tomllib.loads((portal.state / "etc" / "portal.toml").read_text())
    asked = [
        *("--host", "head.example.org", "--slurm-conf", made["slurm_conf"]),
        *("--ldap-url", made["ldap_urls"][0], "--ldap-ca-file", made["ldap_ca_file"]),
        *("--ldap-bind-dn", made["ldap_bind_dn"]),
        *("--ldap-bind-password-file", made["ldap_bind_password_file"]),
        *("--images", made["image_dir"]),
    ]
    text = command(portal.state, "portal", "init", *asked).stdout
    found: dict[str, Any] = tomllib.loads(text)
    return {"made": made, "found": found, "text": text}


@pytest.mark.parametrize(
    "name",
    [
        *("cluster_name", "default_partition", "default_gpu_partition", "service_partition"),
        *("ldap_user_base", "ldap_group_base", "ldap_ca_file", "image_dir", "modules_init"),
    ],
)
def test_it_finds_what_the_cluster_was_made_with(name: str, proposed: dict[str, Any]) -> None:
    assert proposed["found"][name] == proposed["made"][name]


def test_proposal_names_gpus_accounts_and_administrators(proposed: dict[str, Any]) -> None:
    assert [preset["name"] for preset in proposed["found"]["presets"]] == ["one-v100"]
    for expected in ("# Account teaching: gres/gpu 2", "portal-admins", "# Image python3.sif"):
        assert expected in proposed["text"]
    assert proposed["found"]["ldap_admin_groups"] == []
    assert "NOT FOUND" not in proposed["text"]
