"""The key of a session's sshd, which the portal and the node program derive alike."""

from cryptography.hazmat.primitives.serialization import (
    Encoding,
    PublicFormat,
    load_ssh_private_key,
)

from spawner.ssh.grant import parse_public_key
from spawner.ssh.host_key import render_private_key, render_public_key


def test_host_key_both_halves_belong_together() -> None:
    private = load_ssh_private_key(render_private_key("secret").encode(), None)
    public = private.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    assert render_public_key("secret") == public == parse_public_key(public)


def test_host_key_is_the_sessions_own() -> None:
    assert render_public_key("secret") == render_public_key("secret")
    assert render_public_key("secret") != render_public_key("another")
