"""A page for forms that are submitted unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import BrowserContext, Page

from tests.browser.scenes import Api
from tests.browser.untouched import WHO, clear
from tests.live import Live

LogIn = Callable[[Page, str], None]


@pytest.fixture
def form_page(portal: Live, context: BrowserContext, log_in: LogIn) -> Iterator[Page]:
    """A page of a user whose sessions and jobs end with the test."""
    page = context.new_page()
    log_in(page, WHO)
    yield page
    clear(Api(context.request, portal.base_url), portal)


@pytest.fixture
def form_api(portal: Live, form_page: Page) -> Api:
    """The portal's API as the user of `form_page`."""
    return Api(form_page.context.request, portal.base_url)
