"""What `portal check` says of nginx, by way of its public address."""

import asyncio
import socket
from pathlib import Path
from urllib.parse import urlsplit

from cryptography import x509

from portal import front
from portal.content import ContentHosts
from portal.db import utcnow
from portal.finding import Finding
from portal.settings import Settings

RENEW = "Renew it, then: systemctl reload portal-nginx"


async def front_door(settings: Settings) -> list[Finding]:
    url = settings.public_url
    answer = await asyncio.to_thread(front.ask, url)
    found = [_answers(url, answer)]
    if url.startswith("https://"):
        problem = answer.certificate
        if problem is None and settings.certificate_file is not None:
            problem = await asyncio.to_thread(file_problem, settings.certificate_file)
        advice = _certificate_advice(problem) if problem else ""
        found.append(Finding("certificate", problem, advice))
    if settings.content is not None:
        found.append(await asyncio.to_thread(content, settings.content))
    other = settings.content_certificate_file
    if other is not None:
        problem = await asyncio.to_thread(file_problem, other)
        advice = _certificate_advice(problem) if problem else ""
        found.append(Finding("certificate for content", problem, advice))
    return found


def content(hosts: ContentHosts, cafile: str | None = None) -> Finding:
    """Whether content_url leads to something whose certificate is for it; where everyone has a host
    of their own, that of somebody whom nobody has ever heard of. Blocks."""
    url = hosts.origin_of(front.ANYBODY)
    name = urlsplit(url).hostname or ""
    all_of_them = f"*{hosts.suffix}" if hosts.by_person else name
    try:
        socket.getaddrinfo(name, None)
    except OSError as error:
        problem = f"the name {name} of content_url isn't known: {error.strerror or error}"
        return Finding("content_url", problem, f"Let DNS lead {all_of_them} to this nginx.")
    answer = front.ask(url, cafile)
    if answer.status is None:
        advice = f"Let DNS lead {all_of_them} to this nginx, and look whether it runs."
        return Finding("content_url", f"nothing answers at {url}: {answer.problem}", advice)
    if answer.certificate is None:
        return Finding("content_url")
    advice = _certificate_advice(answer.certificate)
    if _is_anothers(answer.certificate):
        advice = f"The certificate must be for {all_of_them}, too; or name another one by"
        advice += " content_certificate_file."
    return Finding("content_url", answer.certificate, advice)


def _answers(url: str, answer: front.Answer) -> Finding:
    if answer.is_portal:
        return Finding("nginx")
    if answer.status is None:
        problem = f"nothing answers at {url}: {answer.problem}"
        advice = "Look whether nginx runs, at public_url, and whether its name leads here."
    elif answer.status == front.AWAY:
        problem = f"nginx answers at {url}, and the portal behind it doesn't"
        advice = "Start the portal: systemctl start portal"
    else:
        problem = f"what answers at {url} isn't the portal's nginx: it says {answer.status}"
        advice = "Look at public_url, and for another server on its port."
    return Finding("nginx", problem, advice)


def file_problem(file: Path) -> str | None:
    """Of nginx's own file: a new one may be there, and not yet shown. One that can't be read from
    here is none of ours."""
    try:
        certificate = x509.load_pem_x509_certificate(file.read_bytes())
    except FileNotFoundError:
        return f"certificate_file {file} isn't there"
    except PermissionError:
        return None
    except (OSError, ValueError) as error:
        return f"certificate_file {file} can't be read: {error}"
    why = front.expiry(certificate.not_valid_after_utc, utcnow())
    return f"{why} ({file})" if why else None


def _is_anothers(problem: str) -> bool:
    return "ostname mismatch" in problem or "not valid for" in problem


def _certificate_advice(problem: str) -> str:
    if "expire" in problem:
        return RENEW
    if _is_anothers(problem):
        return "The certificate must be for public_url's name."
    if "self" in problem or "issuer" in problem:
        return (
            "Browsers will warn, unless they know who signed it; let certificate_file hold the"
            " whole chain."
        )
    return "Look at certificate_file and certificate_key_file."
