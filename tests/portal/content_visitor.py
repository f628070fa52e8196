"""A browser with a cookie jar per host that follows redirects between hosts."""

from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from tests.servers.gate_portal import Real
from tests.servers.nginx import HOME, PAGE, Answer, NginxServer

PORTAL = "portal.test"
ONE = "http://jupyter.test"
ALICES = "http://alice.jupyter.test"
BOBS = "http://bob.jupyter.test"
LAB = f"{HOME}lab?reset=1"
ENTERING = "/content/enter?"


@dataclass
class Visitor:
    """A client of the real portal, or of an nginx in front of it.

    Its cookie jars are separate per host: cookies set by one host are not sent to another.
    """

    real: Real
    jars: dict[str, dict[str, str]] = field(default_factory=dict)
    nginx: NginxServer | None = None

    def log_in(self, name: str) -> None:
        self.jars.setdefault(PORTAL, {})[self.real.settings.cookie_name] = f"token-of-{name}"

    def ask(self, url: str, *, headers: dict[str, str] | None = None, **kwargs: Any) -> Answer:
        parts = urlsplit(url)
        jar = self.jars.setdefault(parts.netloc, {})
        lines = {"Host": parts.netloc, **(PAGE if headers is None else headers)}
        if jar:
            lines["Cookie"] = "; ".join(f"{name}={value}" for name, value in jar.items())
        path = parts.path + (f"?{parts.query}" if parts.query else "")
        answer = (self.nginx or self.real).ask(path, headers=lines, **kwargs)
        for line in answer.all("set-cookie"):
            for name, morsel in SimpleCookie(line).items():
                assert (morsel["domain"], morsel["path"]) == ("", "/")
                assert morsel["httponly"]
                jar[name] = morsel.value
        return answer

    def follow(self, url: str, *, until: str = "") -> tuple[str, Answer]:
        """Follow redirects, up to the first address that begins with `until`, which is not
        requested."""
        for _ in range(8):
            answer = self.ask(url)
            if answer.status not in {302, 303, 308}:
                return url, answer
            there = answer.one("location")
            parts = urlsplit(url)
            url = there if "://" in there else f"{parts.scheme}://{parts.netloc}{there}"
            if until and url.startswith(until):
                return url, answer
        raise AssertionError(f"goes round in circles at {url}")


def home_of(real: Real, name: str = "alice") -> str:
    assert real.settings.content
    return real.settings.content.notebooks.origin_of(name)


def entered(real: Real, name: str = "alice") -> Visitor:
    """Return a visitor with access to the content host, at a session that is not running."""
    visitor = Visitor(real)
    visitor.log_in(name)
    url, answer = visitor.follow(f"{home_of(real, name)}/user/{name}/s1/lab")
    assert (url, answer.status) == (f"{home_of(real, name)}/user/{name}/s1/lab", 424)
    return visitor


def inside(real: Real) -> Visitor:
    """Return a visitor that has a cookie for the content host, and has received no content yet."""
    visitor = Visitor(real)
    visitor.log_in("alice")
    visitor.ask(code_for(visitor, home_of(real)))
    return visitor


def cookie_of(visitor: Visitor, name: str = "alice") -> str:
    """Return the content cookie's token."""
    netloc = urlsplit(home_of(visitor.real, name)).netloc
    return visitor.jars[netloc]["portal_content"]


def gate(real: Real, token: str, host: str, owner: str = "alice", **cookies: str) -> Answer:
    """Return the gate's response to a request with this content cookie at that host."""
    shown = {"portal_content": token, **cookies}
    cookie = "; ".join(f"{name}={value}" for name, value in shown.items())
    headers = {"Cookie": cookie, "X-Content-Host": urlsplit(host).netloc}
    return real.gate(owner, headers=headers)


def code_for(visitor: Visitor, at: str, path: str = LAB) -> str:
    """Return the address at which the browser would enter, without requesting it."""
    url, _ = visitor.follow(f"{at}{path}", until=f"{at}{ENTERING}")
    assert url.startswith(f"{at}{ENTERING}")
    return url
