"""A counter of a user's clicks."""

from playwright.sync_api import Locator


class Counted:
    def __init__(self) -> None:
        self.clicks = 0

    def click(self, what: Locator) -> None:
        self.clicks += 1
        what.click()
