"""Output of quota, of lfs, and of a site's own command."""

import pytest

from portal.services.files.quota import Quota, parse_json, parse_text


def test_what_quota_prints() -> None:
    text = (
        "Disk quotas for user alice (uid 20001): \n"
        "     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace\n"
        "      /dev/sda1   2048*   1024    4096  1700000   12       0       0       0\n"
    )
    assert parse_text(text) == Quota(2 << 20, 1 << 20, 12, None)
    unlimited = text.replace("1024 ", "0 ").replace("4096", "0")
    assert parse_text(unlimited) == Quota(2 << 20, None, 12, None)
    assert parse_text("Disk quotas for user alice (uid 20001): none\n") is None


def test_what_lustre_prints() -> None:
    text = (
        "   /mnt/a long name of a file system\n"
        "                  30719*      0   30920 6d23h56m44s   10101*  10240   10250       -\n"
        "uid 20001 is using default block quota setting\n"
    )
    assert parse_text(text) == Quota(30719 << 10, 30920 << 10, 10101, 10240)
    # in brackets: not all servers answered
    assert parse_text(text.replace("30719*", "[30719]")) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"used_bytes": "1"}', '{"used_bytes": 1.5}'])
def test_what_a_command_must_say(text: str) -> None:
    assert parse_json(text) is None
    assert parse_json('{"used_bytes": 1}') == Quota(1, None)
