"""Checks of nginx: whether the portal's public address leads to it, and when certificates expire.

A running portal contacts only addresses of this machine.
"""

from collections.abc import Iterator
from datetime import datetime
from urllib.parse import urlsplit

from portal.config.origin_check import check_content_origins
from portal.config.settings import Settings
from portal.context import AppContext
from portal.db import utcnow
from portal.health import nginx_probe
from portal.health.result import CheckResult, failing, sentence, unknown
from portal.node_ca import NodeCaError, expiry, is_soon

PROBE_USER = "portal-check"
"""A name that no user has, where each user has a host."""
SUGGESTION = (
    "Check that nginx is running, that public_url is correct and its name resolves to this "
    "machine, and check nginx's error log. Without it, users can't reach the portal."
)
CERTIFICATE_SUGGESTION = "Renew the certificate, then run `systemctl reload portal-nginx`."
NODE_CA_SUGGESTION = "Run `portal node-ca --renew`, reload nginx, then restart the portal."


def check_nginx(context: AppContext) -> CheckResult:
    """Check nginx by requesting the portal at its public address."""
    url = context.settings.public_url
    host = urlsplit(url).hostname or ""
    try:
        if context.is_serving and not nginx_probe.resolves_here(host):
            text = f"{url} points to another machine, which the portal does not check."
            return unknown(text, "Open it in a browser outside the cluster.")
    except OSError as error:
        return unknown(f"The name {host} does not resolve on this machine: {error.strerror}.")
    return judge_answer(url, nginx_probe.ask(url))


def judge_answer(url: str, answer: nginx_probe.NginxAnswer) -> CheckResult:
    if answer.is_portal:
        return CheckResult(text="Responding, and it reaches the portal.")
    if answer.status is None:
        return failing(f"No answer from {url}: {sentence(answer.problem)}", SUGGESTION)
    if answer.status == nginx_probe.UNAVAILABLE:
        text = f"nginx answers at {url}, but the portal behind it doesn't."
        return failing(text, "Start the portal: `systemctl start portal`.")
    text = f"Requests to {url} do not reach the portal: status {answer.status}."
    return failing(text, "Check public_url, and look for another server on its port.")


def check_certificates(context: AppContext) -> list[CheckResult]:
    """Report the certificates that expire soon, of every host that nginx serves.

    The main site's comes first: it affects all users.
    """
    results = []
    for setting, url in _iter_hosts(context.settings):
        host = urlsplit(url).hostname or ""
        try:
            if context.is_serving and not nginx_probe.resolves_here(host):
                continue
        except OSError:  # an unresolvable name: other checks report it
            continue
        until = nginx_probe.fetch_expiry(url)
        if until is not None and (expired := judge_expiry(until, f"{setting} {host}")):
            results.append(expired)
    return results or [CheckResult(timed=False)]


def judge_expiry(until: datetime, whose: str) -> CheckResult | None:
    """Return the failure of a certificate that has expired, or soon will."""
    now = utcnow()
    if until - now >= nginx_probe.EXPIRES_SOON:
        return None
    text = (
        f"The certificate of {whose} {'expires' if until > now else 'expired'} on {until:%Y-%m-%d}."
    )
    return failing(text, CERTIFICATE_SUGGESTION)


def _iter_hosts(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield the setting's name and the URL of each host that nginx serves."""
    yield "public_url", settings.public_url
    for name, hosts in settings.content_hosts:
        yield name, hosts.origin_of(PROBE_USER)
    yield "node_url", settings.node_url


def check_node_ca(context: AppContext) -> CheckResult:
    """Check the age of the authority for nodes; one that is missing is created at the start.

    A renewed one takes effect with the portal's next start.
    """
    try:
        if not context.is_serving:
            end = expiry(context.settings)
        else:
            end = context.node_ca.expires_at if context.node_ca else None
    except (NodeCaError, OSError) as error:
        return failing(sentence(str(error)), "Check node_ca_key_file.")
    if end is None or not is_soon(end, utcnow()):
        return CheckResult(timed=False)
    text = f"The portal's certificate authority for nodes expires on {end:%Y-%m-%d}."
    return failing(text, NODE_CA_SUGGESTION)


def check_origins(context: AppContext) -> CheckResult:
    """Check in the settings whether user content is on origins separate from the portal's."""
    problem = check_content_origins(context.settings)
    if problem is not None:
        return failing(problem.text, problem.suggestion)
    return CheckResult(text="Notebooks and TensorBoards use separate origins.", timed=False)
