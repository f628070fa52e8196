"""Fixtures of the tests of the directory client."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from portal.directory import open_directory
from portal.directory.service import LdapDirectory
from tests.portal.conftest import MakeSettings
from tests.servers.directory import WRITER_DN, WRITER_PASSWORD, OpenHere, content
from tests.servers.slapd import Slapd, running


@pytest.fixture(scope="session")
def directory_slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slapd]:
    with running(tmp_path_factory.mktemp("directory"), content()) as slapd:
        yield slapd


@pytest.fixture
def open_here(
    directory_slapd: Slapd, make_settings: MakeSettings, tmp_path: Path
) -> Iterator[OpenHere]:
    """Return a function that opens a writable directory; keywords replace settings.

    Each call opens a separate client, as another portal would.
    """
    password = tmp_path / "writer.secret"
    password.touch(mode=0o600)
    password.write_text(WRITER_PASSWORD)
    with ExitStack() as stack:

        def make(**changes: Any) -> LdapDirectory:
            usual: dict[str, Any] = {
                "ldap_urls": [directory_slapd.ldap_url],
                "ldap_ca_file": directory_slapd.ca,
                "ldap_write_dn": WRITER_DN,
                "ldap_write_password_file": password,
                "ldap_timeout_s": 30,
            }
            made = open_directory(make_settings(**{**usual, **changes}))
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def directory(open_here: OpenHere) -> LdapDirectory:
    return open_here()
