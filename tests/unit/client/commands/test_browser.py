"""Addresses that the portal sends, before a browser gets them."""

import pytest

from client.commands.browser import open_page
from client.errors import PortalUnreachable


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that the browser got."""
    urls: list[str] = []
    monkeypatch.setattr("webbrowser.open", urls.append)
    return urls


@pytest.mark.parametrize(
    "url",
    [
        "https://alice.jupyter.example:8443/user/alice/s1/lab",
        "http://127.0.0.1:8000/device",
        "http://localhost/device",
        "http://[::1]:8000/device",
    ],
)
def test_open_page_opens_pages(opened: list[str], url: str) -> None:
    open_page(url)
    assert opened == [url]


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://portal.example/device",
            "file:///etc/passwd",
            "vscode://x/y",
            "javascript:alert(1)",
        ),
        *(
            "//portal.example/",
            "--help",
            "",
            "https://",
            "https://[",
            "https://a b/",
            " https://a/",
        ),
        *("java\nscript:alert(1)", "https://a/\x1b[2J", "http://127.0.0.1.example/"),
    ],
)
def test_open_page_refuses_other_addresses(opened: list[str], url: str) -> None:
    with pytest.raises(PortalUnreachable, match="not opened"):
        open_page(url)
    assert opened == []
