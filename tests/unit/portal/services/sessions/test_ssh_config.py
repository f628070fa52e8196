"""The configuration that a user copies into ~/.ssh/config."""

import pytest

from portal.services.sessions.ssh_config import editor_link, host_name, render_block


@pytest.mark.parametrize(
    ("public_url", "host"),
    [
        ("https://portal.example.org", "train.portal.example.org"),
        ("https://portal.example.org:8443", "train.portal.example.org"),
        ("http://127.0.0.1:8000", "train.portal"),
        ("http://[::1]:8000", "train.portal"),
        ("http://localhost:8000", "train.portal"),
    ],
)
def test_host_name_begins_with_the_session(public_url: str, host: str) -> None:
    assert host_name(public_url, "train") == host


def test_block_applies_to_all_sessions_of_the_user() -> None:
    block = render_block("https://portal.example.org", "https://jupyter.example.org:8443", "alice")
    first, *lines = block.splitlines()
    assert first == "Host *.portal.example.org"
    assert lines[:2] == [
        "    User alice",
        "    ProxyCommand python3 -I ~/.ssh/portal/portal_ssh.py "
        "https://jupyter.example.org:8443/user/alice/ '%h'",
    ]
    assert "    ForwardAgent no" in lines
    assert "    StrictHostKeyChecking yes" in lines


def test_editor_link_quotes_the_folder() -> None:
    assert editor_link("s1.portal", "/home/a b#c") == (
        "vscode://vscode-remote/ssh-remote+s1.portal/home/a%20b%23c"
    )
