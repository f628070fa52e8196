"""The fixtures of tests/portal, for tests that take too long to run with them each time."""

from tests.portal.conftest import make_settings, migrated_url, postgres, postgresql_url, slapd

__all__ = ["make_settings", "migrated_url", "postgres", "postgresql_url", "slapd"]
