"""Names of files on the cluster, in both directions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.errors import UsageProblem
from client.files.remote import is_remote, join, to_full_path, to_local_name, to_remote_name
from client.models import RemotePlace
from spawner.launcher.file_names import from_text, to_text


@pytest.mark.parametrize(
    ("text", "path"),
    [(":", "~"), (":data/x", "~/data/x"), (":/scratch/x", "/scratch/x"), (":~/x", "~/x")],
)
def test_to_full_path_is_below_the_home_by_default(text: str, path: str) -> None:
    assert is_remote(text)
    assert to_full_path(text) == path


def test_join_leaves_out_empty_names() -> None:
    assert join(RemotePlace("home", ""), "a", "", "b") == RemotePlace("home", "a/b")


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../../.ssh/authorized_keys", "a\0b"])
def test_to_local_name_refuses_what_leads_elsewhere(name: str) -> None:
    with pytest.raises(UsageProblem):
        to_local_name(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "a\\b",
            "C:evil.exe",
            "notes.txt:stream",
            'a"b',
            "a<b",
            "a>b",
            "a|b",
            "a?",
            "a*",
            "a\x1fb",
        ),
        *("a.", "a ", "CON", "nul", "Aux.txt", "com1.tar.gz", "LPT9", "COM\u00b9", "NUL .txt"),
    ],
)
def test_to_local_name_refuses_what_is_special_on_windows(name: str) -> None:
    with pytest.raises(UsageProblem):
        to_local_name(name, "nt")
    assert to_local_name(name, "posix") == name


@pytest.mark.parametrize("name", ["console.log", ".profile", "com", "com10", "a b.txt", "Größe"])
def test_to_local_name_keeps_usual_names_on_windows(name: str) -> None:
    assert to_local_name(name, "nt") == name


@given(st.binary(min_size=1, max_size=20))
def test_names_of_any_bytes_agree_with_the_portals(raw: bytes) -> None:
    name = raw.replace(b"/", b"_").replace(b"\0", b"_").decode(errors="surrogateescape")
    shown = to_remote_name(name)
    if "\uef80" <= max(name) <= "\uefff":
        return
    assert from_text(shown) == name
    if name not in {".", ".."}:
        assert to_local_name(to_text(name)) == name
