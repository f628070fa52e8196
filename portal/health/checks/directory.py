"""Checks of each server of the directory, by its address."""

from portal.context import AppContext
from portal.health.result import CheckResult, failing, sentence

SUGGESTION = "Check ldap_urls and ldap_start_tls, and that the server is running."


async def check_directory(context: AppContext) -> list[CheckResult]:
    """Check the connection, the certificate and the portal's accounts at each server."""
    return [
        CheckResult(server.url, text="Responding.", latency_ms=server.took_ms, timed=False)
        if server.cause is None
        else failing(sentence(server.cause), advise(server.cause), name=server.url)
        for server in await context.directory.health()
    ]


def advise(cause: str) -> str:
    """Return the remedy for a directory server's error."""
    if "certificate" in cause:
        return (
            "Set ldap_ca_file to the CA, and use the name in the server's certificate in ldap_urls."
        )
    if "portal's account" in cause:
        return "Check ldap_bind_dn and ldap_bind_password_file."
    return SUGGESTION
