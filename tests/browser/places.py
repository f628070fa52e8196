"""Every page of the portal with its address and the content that it requires.

A test compares this list with the application's routes, so that no page is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from urllib.parse import quote

from playwright.sync_api import Page, expect

READY_MS = 60_000


@dataclass(frozen=True)
class Place:
    """One page. `path` is as in the router.

    For its parameter, `fill` names an object of the scene, or `given` is the value; `search` has
    names of objects in braces.
    """

    name: str
    path: str
    fill: str | None = None
    given: str | None = None
    search: str = ""

    @property
    def needs(self) -> set[str]:
        """The objects without which the page is empty."""
        named = {field for _, field, _, _ in Formatter().parse(self.search) if field}
        return named | ({self.fill} if self.fill else set())

    def address(self, things: Mapping[str, str]) -> str:
        """Return the path and query below the portal's address. Raises KeyError for a missing
        object."""
        value = things[self.fill] if self.fill else self.given
        path = self.path
        if value is not None:
            head, _, tail = path.partition("$")
            rest = tail.partition("/")[2]
            path = head + quote(value, safe="") + (f"/{rest}" if rest else "")
        return path + self.search.format_map(things)


PLACES = (
    Place("home", "/"),
    Place("start", "/start"),
    Place("session", "/sessions/$id", "session"),
    Place("session-ended", "/sessions/$id", "ended"),
    Place("session-log", "/sessions/$id/log", "session"),
    Place("start-again", "/start-again/$name", "ended-name"),
    Place("jobs", "/jobs"),
    Place("job-new", "/jobs/new"),
    Place("job-template", "/jobs/new", search="?template=python-training"),
    Place("job-script", "/jobs/new", search="?own=true"),
    Place("job", "/jobs/$id", "job"),
    Place("job-failed", "/jobs/$id", "failed"),
    Place("job-array", "/jobs/$id", "array"),
    Place("job-log", "/jobs/$id/log", "job"),
    Place("jobs-compared", "/jobs/compare", search="?ids={job},{failed}"),
    Place("benchmarks", "/benchmarks"),
    Place("cluster", "/cluster"),
    Place("shared", "/shared"),
    Place("files", "/files"),
    Place("glossary", "/glossary"),
    Place("account", "/account"),
    Place("device", "/device"),
    *(
        Place(f"account-{section}", "/account/$section", given=section)
        for section in (
            "limits",
            "notifications",
            "password",
            "second-factor",
            "tokens",
            "appearance",
        )
    ),
    Place("second-factor-due", "/second-factor"),
    Place("led-group", "/groups/$group", "group"),
    Place("admin-sessions", "/admin"),
    Place("admin-images", "/admin/images"),
    Place("admin-catalog", "/admin/catalog"),
    Place("admin-users", "/admin/users"),
    Place("admin-user", "/admin/users/$username", "user"),
    Place("admin-new-user", "/admin/new/user"),
    Place("admin-new-users", "/admin/new/users"),
    Place("admin-groups", "/admin/groups"),
    Place("admin-group", "/admin/groups/$group", "group"),
    Place("admin-limits", "/admin/limits"),
    Place("admin-usage", "/admin/usage"),
    Place("admin-audit", "/admin/audit"),
    Place("admin-announcements", "/admin/announcements"),
    Place("admin-status", "/admin/status"),
    Place("not-found", "/no/such/page"),
)

# routes without a page of their own, with the reason
ELSEWHERE = {
    "/login": "before the login; looked at by itself",
    **dict.fromkeys(
        ("/admin/people", "/admin/people/$username", "/admin/new/person", "/admin/new/people"),
        "a former address, which redirects",
    ),
    "/sessions/$id/tensorboard": "leads to TensorBoard",
    "/tensorboards/$id": "leads to TensorBoard",
    "/jobs/$id/tensorboard": "leads to TensorBoard",
}


def settle(page: Page, timeout_ms: float = READY_MS) -> None:
    """Wait until a page has loaded: it has a heading, and no loading placeholders."""
    expect(page.locator("h1").first).to_be_visible(timeout=timeout_ms)
    for waiting in (".mantine-Skeleton-root", "[aria-label=Loading]", "[aria-label=正在加载]"):
        expect(page.locator(waiting)).to_have_count(0, timeout=timeout_ms)
