"""One request of a form with a test's response: refused, held back, or none at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from playwright.sync_api import Page, Request, Route

SENTENCE = "Played by a test: <b>no</b>, for reasons."
PROXY_PAGE = "<html><title>502 Bad Gateway</title><h1>nginx</h1></html>"
PROBLEM = "application/problem+json"


@dataclass(frozen=True)
class Refusal:
    """A response, and its visible text on the page. `status` 0: no network."""

    status: int
    text: str
    slug: str = "played"
    field: str | None = None
    retry_after_s: int | None = None
    page: bool = False  # not the portal's text, but a proxy's

    def answer(self, route: Route) -> None:
        if self.status == 0:
            route.abort("connectionfailed")
        elif self.page:
            route.fulfill(status=self.status, content_type="text/html", body=PROXY_PAGE)
        else:
            after = {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}
            route.fulfill(
                status=self.status,
                headers={"Content-Type": PROBLEM, **after},
                body=json.dumps(self._problem()),
            )

    def _problem(self) -> dict[str, object]:
        problem: dict[str, object] = {
            "type": f"urn:portal:{self.slug}", "title": "Played", "status": self.status,
            "detail": SENTENCE,
        }  # fmt: skip
        if self.field is not None:
            problem["errors"] = [{"field": self.field, "message": self.text}]
        return problem


LOGIN_ENDED = Refusal(401, "Please log in again", slug="login-required")
REFUSALS = (
    Refusal(403, SENTENCE, slug="forbidden"),
    Refusal(409, SENTENCE, slug="conflict"),
    Refusal(422, SENTENCE, slug="invalid-input"),
    Refusal(429, SENTENCE, slug="limit-reached", retry_after_s=1),
    Refusal(500, SENTENCE, slug="internal"),
    Refusal(502, "The portal is temporarily unavailable.", page=True),
    Refusal(503, SENTENCE, slug="unavailable"),
    Refusal(0, "The portal doesn't answer."),
)


def at_field(field: str) -> Refusal:
    return Refusal(422, "This field is what is wrong.", slug="invalid-input", field=field)


class RefusingPortal:
    """A replacement of the portal at one address. All other requests go to the portal itself."""

    def __init__(self, page: Page, address: str, method: str = "POST") -> None:
        self.asked: list[Request] = []
        self.answer: Refusal | None = None  # None: the portal's own
        self.holding = False
        self._held: list[Route] = []
        self._page, self._address, self._method = page, address, method
        page.route(self._is_there, self._handle)

    def _is_there(self, url: str) -> bool:
        return url.partition("?")[0].endswith(self._address)

    def _is_mine(self, request: Request) -> bool:
        return request.method == self._method and self._is_there(request.url)

    def _handle(self, route: Route) -> None:
        if not self._is_mine(route.request):
            route.fallback()
            return
        self.asked.append(route.request)
        if self.holding:
            self._held.append(route)
        else:
            self._let(route)

    def _let(self, route: Route) -> None:
        if self.answer is None:
            route.continue_()
        else:
            self.answer.answer(route)

    def while_held(self, act: Callable[[], None]) -> None:
        """Run an action that sends the request, and respond only after the action is complete."""
        self.holding = True
        self.asked.clear()
        with self._page.expect_request(self._is_mine):
            act()
        self.holding = False
        held, self._held = self._held, []
        for route in held:
            self._let(route)
