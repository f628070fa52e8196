"""Sessions with a malicious notebook server and TensorBoard, and the attacks of their pages.

The program is tests/cluster/hostile_server.py, the page's script hostile_page.js.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urljoin, urlsplit

from playwright.sync_api import Page

from tests.browser.scenes import Api
from tests.live import Live
from tests.polling import wait_until

TESTS = Path(__file__).resolve().parent.parent
PROGRAM = (TESTS / "cluster/hostile_server.py").read_text("utf-8")
SCRIPT = (TESTS / "browser/hostile_page.js").read_text("utf-8")
PYTHON = "/usr/bin/python3"
LIFE_S = 1200
WAIT_MS = 8_000
SMALL = {"cpus": 1, "memory_gb": 1, "time_limit_minutes": 20}
IMAGE_WIDTH = 733
CONFIGS = """
import glob, json, os
paths = glob.glob(os.path.expanduser("~/.local/share/portal/jobs/*/config.json"))
print(json.dumps([json.load(open(path)) for path in paths]))
"""


@dataclass(frozen=True)
class Target:
    """The target of a hostile page; the fields are those used by hostile_page.js."""

    secret: str
    page: str
    script: str
    module: str
    style: str
    image: str
    events: str
    socket: str
    send: str
    greeting: str = "hostile greeting"

    def for_script(self) -> dict[str, object]:
        return {
            "secret": self.secret,
            "page": self.page,
            "script": self.script,
            "module": self.module,
            "style": self.style,
            "image": self.image,
            "imageWidth": IMAGE_WIDTH,
            "events": self.events,
            "socket": self.socket,
            "send": self.send,
        }


def say(base: str, body: str, kind: str = "text/html") -> str:
    """Return the address below `base` at which the program responds with this."""
    return f"{base}?say={quote(json.dumps({'body': body, 'kind': kind}), safe='')}"


def blank(base: str) -> str:
    """Return the address of a page in which a script can run; it requests no icon."""
    return say(base, "<!doctype html><link rel=icon href='data:,'><p>page</p>")


def site_target(base: str, secret: str, word: str) -> Target:
    """Return one of the program's servers as a target, which responds to everything with its
    secret.

    `word` distinguishes the requests of one test from those of other tests.
    """
    scheme, _, rest = base.partition("://")
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="{IMAGE_WIDTH}" height="1"/>'
    return Target(
        secret=secret,
        page=say(base, f"<!doctype html><link rel=icon href='data:,'><p>{secret}</p>"),
        script=say(base, f"window.stolen = '{secret}'", "text/javascript"),
        module=say(base, f"export const stolen = '{secret}'", "text/javascript"),
        style=say(base, f":root {{ --stolen: {secret}; }}", "text/css"),
        image=say(base, svg, "image/svg+xml"),
        events=say(base, f"data: {secret}\n\n", "text/event-stream"),
        socket=f"{'wss' if scheme == 'https' else 'ws'}://{rest}",
        send=f"{say(base, 'sent')}&word={word}&trick={{trick}}",
    )


def portal_target(base_url: str, username: str, word: str) -> Target:
    """Return the portal as a target: its secret is the name of the logged-in user."""
    me = f"{base_url}/api/v1/me"
    scheme, _, rest = base_url.partition("://")
    return Target(
        secret=f'"username":"{username}"',
        page=me,
        script=me,
        module=me,
        style=me,
        image=f"{base_url}/favicon.svg",
        events=f"{base_url}/api/v1/events",
        socket=f"{'wss' if scheme == 'https' else 'ws'}://{rest}/api/v1/events",
        send=f"{base_url}/api/v1/{word}/{{trick}}",
    )


@dataclass(frozen=True)
class Attack:
    """The results of all attacks on one target."""

    target: Target
    read: dict[str, str]
    sent: list[str]

    @property
    def learned(self) -> dict[str, str]:
        """Return the attacks that read the secret, or received the greeting on a websocket."""
        wanted = (self.target.secret, self.target.greeting)
        return {
            trick: text for trick, text in self.read.items() if any(word in text for word in wanted)
        }


def attack(page: Page, own: str, target: Target) -> Attack:
    """Try all attacks on the target, from the page that the program serves at `own`."""
    page.goto(blank(own))
    page.locator("p", has_text="page").wait_for()
    options = {"own": own, "target": target.for_script(), "waitMs": WAIT_MS}
    found = page.evaluate(SCRIPT, options)
    return Attack(target, found["read"], found["sent"])


@dataclass(frozen=True)
class Server:
    """The program on a node, as its owner accesses it there."""

    portal: Live
    owner: str
    node: str
    port: int

    def ask(self, *requests: dict[str, Any]) -> list[dict[str, Any]]:
        argv = [PYTHON, "-c", PROGRAM, "ask", json.dumps(requests)]
        answers: list[dict[str, Any]] = json.loads(self.portal.exec_as(self.owner, argv, self.node))
        return answers

    def requests(self, word: str) -> list[tuple[str, str]]:
        """Return method and attack of the requests with this word."""
        (answer,) = self.ask({"url": f"http://127.0.0.1:{self.port}/seen"})
        found = []
        for seen in json.loads(answer["body"]):
            query = parse_qs(urlsplit(seen["path"]).query)
            if query.get("word") == [word]:
                found.append((seen["method"], query["trick"][0]))
        return found

    def quit(self) -> None:
        self.ask({"url": f"http://127.0.0.1:{self.port}/quit"})


@dataclass(frozen=True)
class Site:
    """A session in which the program of its owner serves both notebooks and TensorBoard."""

    owner: str
    session: dict[str, Any]
    tensorboard_id: str
    notebook: Server
    tensorboard: Server

    @property
    def url(self) -> str:
        return urljoin(self.notebook.portal.base_url, str(self.session["url"]))


def raise_site(portal: Live, api: Api, owner: str, name: str) -> Site:
    """Start a session with a TensorBoard, and replace both by the program."""
    made = api.ask(
        "POST", "/sessions", {"environment": "python3", "name": name, "resources": SMALL}
    )
    session = api.until(f"/sessions/{made['id']}", "running")
    board = f"/sessions/{made['id']}/tensorboard"
    api.ask("PUT", board)
    tensorboard = api.until(board, "running")
    configs = json.loads(portal.exec_as(owner, [PYTHON, "-c", CONFIGS], session["node"]))
    (own,) = [config for config in configs if config.get("uuid") == made["id"]]
    boards = [one for one in configs if one.get("tensorboard_id") == tensorboard["id"]]
    home = f"{own['portal_url']}/node"
    notebook = _serve(portal, owner, session["node"])
    _hello(notebook, f"{home}/sessions/{made['id']}/hello", own["secret"])
    guarded = _serve(portal, owner, session["node"], boards[0]["guard_key"])
    _hello(guarded, f"{home}/tensorboards/{tensorboard['id']}/hello", boards[0]["secret"])
    return Site(owner, session, tensorboard["id"], notebook, guarded)


def _serve(portal: Live, owner: str, node: str, *key: str) -> Server:
    argv = [PYTHON, "-c", PROGRAM, str(LIFE_S), *key]
    return Server(portal, owner, node, int(portal.exec_as(owner, argv, node)))


def _hello(server: Server, url: str, secret: str) -> None:
    headers = {"Authorization": f"Bearer {secret}"}
    request = {"url": url, "method": "POST", "headers": headers, "body": {"port": server.port}}
    (answer,) = server.ask(request)
    assert answer["status"] == 200, answer


def open_tensorboard(api: Api, site: Site) -> str:
    """Return the address at which this browser views the site's TensorBoard."""
    return str(api.ask("POST", f"/tensorboards/{site.tensorboard_id}/open")["url"])


def arrive(page: Page, url: str) -> None:
    """Open a notebook server's page, once the gate no longer caches the target before the
    program."""

    def arrived() -> bool:
        return page.goto(blank(url)) is not None and page.locator("p", has_text="page").count() > 0

    wait_until(arrived, f"the page of {url}")


def wait_for_log(portal: Live, page: Page, word: str) -> list[dict[str, str]]:
    """Return nginx's log entries with this word in the path.

    nginx buffers its log, so a last request is sent and waited for.
    """
    page.request.get(f"{portal.base_url}/{word}-end")
    log = portal.state / "nginx/logs/access.log"
    text = wait_until(
        lambda: log.read_text("utf-8"),
        f"{word}-end in nginx's log",
        done=lambda text: f"{word}-end" in text,
        pause_s=0.2,
    )
    lines = [json.loads(line) for line in text.splitlines() if word in line]
    return [line for line in lines if not line["path"].endswith(f"{word}-end")]
