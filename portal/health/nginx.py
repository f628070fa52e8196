"""Checks of nginx through its public address, for `portal check`."""

import asyncio
import socket
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from portal.config.origin_check import check_content_origins
from portal.config.origins import ContentHosts
from portal.config.settings import Settings
from portal.db import utcnow
from portal.health import nginx_probe
from portal.health.finding import CheckResult

RENEW = "Renew it, then run: systemctl reload portal-nginx"


async def front_door(settings: Settings) -> list[CheckResult]:
    url = settings.public_url
    answer = await asyncio.to_thread(nginx_probe.ask, url)
    found = [_check_answer(url, answer)]
    if url.startswith("https://"):
        problem = answer.certificate
        if problem is None and settings.certificate_file is not None:
            problem = await asyncio.to_thread(file_problem, settings.certificate_file)
        advice = _certificate_advice(problem) if problem else ""
        found.append(CheckResult("certificate", problem, advice))
    found.append(_check_origins(settings))
    for setting, hosts in settings.content_hosts:
        found.append(await asyncio.to_thread(content, setting, hosts))
    other = settings.content_certificate_file
    if other is not None:
        problem = await asyncio.to_thread(file_problem, other)
        advice = _certificate_advice(problem) if problem else ""
        found.append(CheckResult("certificate for content", problem, advice))
    return found


def _check_origins(settings: Settings) -> CheckResult:
    problem = check_content_origins(settings)
    return (
        CheckResult("origins", problem.text, problem.advice) if problem else CheckResult("origins")
    )


def content(setting: str, hosts: ContentHosts, cafile: str | None = None) -> CheckResult:
    """Check that this setting leads to a server with a matching certificate.

    Where every user has a host, a made-up user's host is tested. Blocks.
    """
    url = hosts.origin_of(nginx_probe.PROBE_USER)
    name = urlsplit(url).hostname or ""
    all_of_them = f"*{hosts.suffix}" if hosts.by_person else name
    try:
        socket.getaddrinfo(name, None)
    except OSError as error:
        problem = f"the name {name} of {setting} does not resolve: {error.strerror or error}"
        return CheckResult(setting, problem, f"Point {all_of_them} to this nginx in DNS.")
    answer = nginx_probe.ask(url, cafile)
    if answer.status is None:
        advice = f"Point {all_of_them} to this nginx in DNS, and check that it is running."
        return CheckResult(setting, f"no response from {url}: {answer.problem}", advice)
    if answer.certificate is None:
        return CheckResult(setting)
    advice = _certificate_advice(answer.certificate)
    if _is_name_mismatch(answer.certificate):
        advice = f"The certificate must also cover {all_of_them}; or set another one with"
        advice += " content_certificate_file."
    return CheckResult(setting, answer.certificate, advice)


def _check_answer(url: str, answer: nginx_probe.NginxAnswer) -> CheckResult:
    if answer.is_portal:
        return CheckResult("nginx")
    if answer.status is None:
        problem = f"no response from {url}: {answer.problem}"
        advice = (
            "Check that nginx is running, that public_url is correct, and that its name "
            "resolves to this machine."
        )
    elif answer.status == nginx_probe.AWAY:
        problem = f"nginx responds at {url}, but the portal behind it does not"
        advice = "Start the portal: systemctl start portal"
    else:
        problem = (
            f"the server at {url} is not the portal's nginx: it returned status {answer.status}"
        )
        advice = "Check public_url, and look for another server on its port."
    return CheckResult("nginx", problem, advice)


def file_problem(file: Path) -> str | None:
    """Return the problem of nginx's certificate file, None if it is fine.

    A new file may exist that nginx has not loaded yet. A file that this account cannot read is not
    a problem.
    """
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except FileNotFoundError:
        return f"certificate_file {file} does not exist"
    except PermissionError:
        return None
    except (OSError, ValueError) as error:
        return f"certificate_file {file} can't be read: {error}"
    why = nginx_probe.expiry(certificate.not_valid_after_utc, utcnow())
    return f"{why} ({file})" if why else None


def _is_name_mismatch(problem: str) -> bool:
    return "ostname mismatch" in problem or "not valid for" in problem


def _certificate_advice(problem: str) -> str:
    if "expire" in problem:
        return RENEW
    if _is_name_mismatch(problem):
        return "The certificate must be for public_url's name."
    if "self" in problem or "issuer" in problem:
        return (
            "Browsers show a warning unless they trust its issuer. Make sure certificate_file "
            "contains the whole chain."
        )
    return "Check certificate_file and certificate_key_file."
