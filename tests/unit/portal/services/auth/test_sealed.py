"""The text of access tokens, and secrets that are encrypted in the database."""

import base64
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from portal.services.auth import tokens
from portal.services.auth.sealed import KEY_BYTES, SealBroken, key_of, seal, unseal

KEY = b"k" * KEY_BYTES


class TestTokens:
    def test_a_scanner_can_know_one(self) -> None:
        text = tokens.new_text()
        assert re.fullmatch(r"dsp_[0-9A-Za-z]{49}", text)
        assert tokens.is_well_formed(text)
        assert tokens.new_text() != text

    @pytest.mark.parametrize("place", [0, 4, 30, 46, 47, 52])
    def test_a_wrong_letter_is_noticed(self, place: int) -> None:
        text = tokens.new_text()
        other = "B" if text[place] == "A" else "A"
        assert not tokens.is_well_formed(text[:place] + other + text[place + 1 :])

    @pytest.mark.parametrize("text", ["", "dsp_", "x" * 53, "dsp_" + "é" * 49, "dsp_" + "0" * 5000])
    def test_other_texts_are_none(self, text: str) -> None:
        assert not tokens.is_well_formed(text)

    def test_a_line_break_at_the_end_is_noticed(self) -> None:
        assert not tokens.is_well_formed(tokens.new_text() + "\n")


class TestSeal:
    def test_what_is_sealed_opens_for_its_owner_only(self) -> None:
        text = seal(KEY, b"secret", owner="alice")
        assert unseal(KEY, text, owner="alice") == b"secret"
        with pytest.raises(SealBroken):
            unseal(KEY, text, owner="bob")
        with pytest.raises(SealBroken):
            unseal(b"l" * KEY_BYTES, text, owner="alice")

    def test_a_changed_letter_is_noticed(self) -> None:
        raw = bytearray(base64.b64decode(seal(KEY, b"secret", owner="alice")))
        raw[-1] ^= 1
        with pytest.raises(SealBroken):
            unseal(KEY, base64.b64encode(raw).decode(), owner="alice")

    def test_the_same_secret_looks_different_each_time(self) -> None:
        assert seal(KEY, b"secret", owner="a") != seal(KEY, b"secret", owner="a")


class TestKeyFile:
    def test_it_is_made_once_for_its_owner_only(self, tmp_path: Path) -> None:
        file = tmp_path / "key"
        key = key_of(file)
        assert len(key) == KEY_BYTES
        assert file.stat().st_mode & 0o777 == 0o600
        assert key_of(file) == key
        assert list(tmp_path.iterdir()) == [file]

    def test_of_many_at_once_all_get_the_same(self, tmp_path: Path) -> None:
        with ThreadPoolExecutor(8) as pool:
            keys = set(pool.map(lambda _: key_of(tmp_path / "key"), range(32)))
        assert len(keys) == 1

    def test_one_that_others_can_read_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "key"
        key_of(file)
        file.chmod(0o644)
        with pytest.raises(ValueError, match="open to others"):
            key_of(file)

    @pytest.mark.parametrize("content", ["x" * 44, base64.b64encode(b"y" * 31).decode()])
    def test_one_with_something_else_is_refused(self, tmp_path: Path, content: str) -> None:
        file = tmp_path / "key"
        file.touch(mode=0o600)
        file.write_text(content)
        with pytest.raises(ValueError, match=r"base64|padding|key of"):
            key_of(file)
