"""Checks of certificates as browsers see them, for `portal check`: names, issuers and files."""

import socket
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from portal.config.origins import ContentHosts
from portal.context import AppContext
from portal.health import nginx_probe
from portal.health.checks.nginx import PROBE_USER, judge_expiry
from portal.health.result import CheckResult, failing


def check_hosts(context: AppContext) -> list[CheckResult]:
    """Check that browsers accept public_url's certificate, and each host of user content."""
    url = context.settings.public_url
    distrust = nginx_probe.find_distrust(url)
    main = failing(distrust, advise(distrust)) if distrust else CheckResult()
    return [main, *(check_content_host(*each) for each in context.settings.content_hosts)]


def check_content_host(setting: str, hosts: ContentHosts, cafile: str | None = None) -> CheckResult:
    """Check that a host of user content leads to a server with a matching certificate.

    Where every user has a host, a made-up user's host is tested.
    """
    url = hosts.origin_of(PROBE_USER)
    name = urlsplit(url).hostname or ""
    all_of_them = f"*{hosts.suffix}" if hosts.per_user else name
    result_name = f"for {setting}"
    try:
        socket.getaddrinfo(name, None)
    except OSError as error:
        problem = f"the name {name} of {setting} does not resolve: {error.strerror or error}"
        return failing(problem, f"Point {all_of_them} to this nginx in DNS.", name=result_name)
    answer = nginx_probe.ask(url)
    if answer.status is None:
        suggestion = f"Point {all_of_them} to this nginx in DNS, and check that it is running."
        return failing(f"no answer from {url}: {answer.problem}", suggestion, name=result_name)
    distrust = nginx_probe.find_distrust(url, cafile)
    if distrust is None:
        return CheckResult(result_name)
    suggestion = advise(distrust)
    if _is_name_mismatch(distrust):
        suggestion = f"The certificate must also cover {all_of_them}; or set another one with"
        suggestion += " content_certificate_file."
    return failing(distrust, suggestion, name=result_name)


def check_files(context: AppContext) -> list[CheckResult]:
    """Check nginx's certificate files: a new one may exist that nginx has not loaded yet."""
    settings = context.settings
    files = {
        "certificate_file": settings.certificate_file,
        "content_certificate_file": settings.content_certificate_file,
    }
    return [check_file(name, file) for name, file in files.items() if file]


def check_file(setting: str, file: Path) -> CheckResult:
    """Check one file. One that this account cannot read is not a problem."""
    name = f"({setting})"
    suggestion = "Check certificate_file and certificate_key_file."
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except FileNotFoundError:
        return failing(f"{file} does not exist", suggestion, name=name)
    except PermissionError:
        return CheckResult(name)
    except (OSError, ValueError) as error:
        return failing(f"{file} can't be read: {error}", suggestion, name=name)
    expired = judge_expiry(certificate.not_valid_after_utc, f"{setting} {file}")
    return replace(expired or CheckResult(), name=name)


def advise(problem: str) -> str:
    """Return the remedy for a certificate that browsers refuse."""
    if _is_name_mismatch(problem):
        return "The certificate must be for public_url's name."
    if "self" in problem or "issuer" in problem:
        return (
            "Browsers show a warning unless they trust its issuer. Make sure certificate_file "
            "contains the whole chain."
        )
    return "Check certificate_file and certificate_key_file."


def _is_name_mismatch(problem: str) -> bool:
    return "ostname mismatch" in problem or "not valid for" in problem
