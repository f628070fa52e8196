"""Grants of SSH connections, and the public keys that clients send."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner import signing
from spawner.ssh.grant import (
    BadGrant,
    BadKey,
    SshGrant,
    parse_grant,
    parse_public_key,
    render_grant,
)
from spawner.ssh.host_key import render_public_key

SECRET, NOW_S, PATH = "s" * 64, 1_700_000_000.0, "/user/alice/s1/ssh"
KEY = render_public_key("another secret")
GRANT = SshGrant("00000000-0000-4000-8000-000000000000", KEY)


def blob(key_type: str, data: bytes = b"\0" * 40) -> str:
    name = key_type.encode()
    return base64.b64encode(len(name).to_bytes(4) + name + data).decode()


def test_grant_is_for_one_path_secret_token_and_key() -> None:
    text = render_grant(SECRET, PATH, GRANT, NOW_S)
    assert parse_grant(SECRET, PATH, text, NOW_S) == GRANT
    other_key = render_public_key("a third secret")
    signature = text.split(" ")[0]
    for secret, path, changed, now_s in (
        ("another", PATH, text, NOW_S),
        (SECRET, "/user/alice/s2/ssh", text, NOW_S),
        (SECRET, PATH, text.replace(KEY, other_key), NOW_S),
        (SECRET, PATH, text.replace("0000-4000", "0000-4001"), NOW_S),
        (SECRET, PATH, text, NOW_S + signing.LIFETIME_S + 2),
        (SECRET, PATH, signature, NOW_S),
        (SECRET, PATH, "", NOW_S),
    ):
        with pytest.raises(BadGrant):
            parse_grant(secret, path, changed, now_s)
    assert SECRET not in text


def test_signature_of_an_http_request_is_no_grant() -> None:
    """The node program proves with the same key that it has its port."""
    text = f"{PATH}\n{GRANT.token_id}\n{GRANT.public_key}"
    for method in ("GET", "POST"):
        signature = signing.sign(SECRET, method, text, NOW_S)
        with pytest.raises(BadGrant):
            parse_grant(SECRET, PATH, f"{signature} {GRANT.token_id} {KEY}", NOW_S)


@given(st.text())
def test_grant_no_text_is_one_by_chance(text: str) -> None:
    with pytest.raises(BadGrant):
        parse_grant(SECRET, PATH, text, NOW_S)


@pytest.mark.parametrize("comment", ["", " alice@laptop", ' command="x" \x00'])
def test_public_key_loses_its_comment(comment: str) -> None:
    assert parse_public_key(f"{KEY}{comment}") == KEY
    rsa = f"ssh-rsa {blob('ssh-rsa')}"
    assert parse_public_key(f"  {rsa}{comment}\n") == rsa


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not a public key"),
        (f'command="evil" {KEY}', "not a public key"),
        (f"{KEY}\n{KEY}", "not a public key"),
        (KEY.replace(" ", "\t"), "not a public key"),
        (f"ssh-ed25519 {'A' * 2000}", "not a public key"),
        (f"ssh-dss {blob('ssh-dss')}", "type are not accepted"),
        (f"cert-authority {blob('cert-authority')}", "type are not accepted"),
        (f"ssh-rsa {blob('ssh-ed25519')}", "is not the one in its data"),
        (f"ssh-ed25519 {blob('ssh-ed25519').rstrip('=')}A", "damaged"),
    ],
)
def test_public_key_anything_else_is_refused(text: str, reason: str) -> None:
    with pytest.raises(BadKey, match=reason):
        parse_public_key(text)
