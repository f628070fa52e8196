"""When an app needs slirp4netns to find hosts by name."""

from __future__ import annotations

import pytest

from spawner.node.network.outward import needs_forwarding


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nameserver 127.0.0.53\noptions edns0\n", True),
        ("# comment\nnameserver 127.0.0.1\nnameserver ::1\n", True),
        ("nameserver 10.0.0.2\n", False),
        ("nameserver 127.0.0.53\nnameserver 10.0.0.2\n", False),
        ("search example.org\nnameserver\nnameserver nonsense\n", False),
        ("", False),
    ],
)
def test_a_resolver_on_the_loopback_interface_is_forwarded(text: str, expected: bool) -> None:
    assert needs_forwarding(text) is expected
