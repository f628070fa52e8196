"""The results of `portal check` for lockouts and for logins to the host."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portal.directory.contract import Lockout
from portal.health.checks import logins
from portal.health.checks.logins import check_host_logins, lockout_problem
from tests.unit.deploy.test_nginx import settings


@pytest.mark.parametrize(
    ("changes", "policies", "words"),
    [
        ({}, [], None),
        ({}, [Lockout("p", 5, 60)], None),
        ({}, [Lockout("p", 4, 600)], None),
        ({}, [Lockout("p", 3, 60)], "after 3"),
        ({}, [Lockout("p", 10, 600), Lockout("q", 2, 600)], "q"),
        ({}, [Lockout("p", 6, 1200)], "allows 6"),
        ({}, [Lockout("p", 7, 1200)], None),
        ({}, [Lockout("p", 100, 0)], "never resets"),
        ({"login_attempts": 5}, [Lockout("p", 5, 60)], "after 5"),
        ({"login_attempts": 2}, [Lockout("p", 3, 60)], None),
    ],
)
def test_the_portals_limit_comes_before_the_directorys(
    changes: dict[str, Any], policies: list[Lockout], words: str | None
) -> None:
    found = lockout_problem(settings(**changes), policies)
    assert (found is None) == (words is None)
    assert found is None or (words is not None and words in found[0])


def test_a_host_that_lets_users_in_is_reported(tmp_path: Path) -> None:
    def problem(**changes: str) -> str | None:
        health: Any = SimpleNamespace(settings=settings(**changes))
        return check_host_logins(health, tmp_path).problem

    public = {"public_url": "http://portal.test"}

    def write(name: str, text: str) -> None:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    assert problem(**public) is None, "no ssh"
    write("etc/ssh/sshd_config", "# AllowUsers root\nPermitRootLogin no\n")
    assert "bypass nginx" in str(problem(**public))
    assert problem() is None, "a demo"
    write("etc/ssh/sshd_config.d/site.conf", "AllowGroups admins\n")
    assert problem(**public) is None
    (tmp_path / "etc/ssh/sshd_config.d/site.conf").unlink()
    write("etc/pam.d/sshd", "# account required pam_access.so\n")
    write("etc/security/access.conf", "# - : ALL : ALL\n")
    assert problem(**public) is not None
    write("etc/pam.d/sshd", "account  required  pam_access.so\n")
    assert problem(**public) is not None
    write("etc/security/access.conf", "+ : (admins) : ALL\n-:ALL:ALL\n")
    assert problem(**public) is None


def test_loopback_differs_from_other_addresses() -> None:
    for url in ("http://127.0.0.1:8000", "http://[::1]:1", "http://x.localhost"):
        assert logins._is_loopback(url)
    assert not logins._is_loopback("https://portal.example.org")
