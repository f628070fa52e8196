"""References to images, and file names for them: the accepted ones, and messages for the rest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spawner.containers.references import (
    Reference,
    ReferenceProblem,
    check_file_name,
    parse_reference,
    parse_registry,
)

DIGEST = "sha256:" + "0a" * 32


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("docker://debian", "docker://docker.io/library/debian:latest"),
        ("docker://debian:12", "docker://docker.io/library/debian:12"),
        (" docker://nvidia/digits:6.0 ", "docker://docker.io/nvidia/digits:6.0"),
        ("docker://kaixhin/torch", "docker://docker.io/kaixhin/torch:latest"),
        ("docker://NVCR.io/nvidia/pytorch:24.05-py3", "docker://nvcr.io/nvidia/pytorch:24.05-py3"),
        ("docker://localhost/a/b/c", "docker://localhost/a/b/c:latest"),
        ("docker://127.0.0.1:5000/a__b/c.d-e:V_1", "docker://127.0.0.1:5000/a__b/c.d-e:V_1"),
        ("docker://[::1]:5000/a", "docker://[::1]:5000/a:latest"),
        (f"docker://debian@{DIGEST}", f"docker://docker.io/library/debian@{DIGEST}"),
        (f"oras://ghcr.io/team/tool@{DIGEST}", f"oras://ghcr.io/team/tool@{DIGEST}"),
    ],
)
def test_references_say_all_of_it(text: str, whole: str) -> None:
    found = parse_reference(text)
    assert found.text == whole
    assert parse_reference(whole) == found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "docker://host/name:tag"),
        ("debian:12", "docker://host/name:tag"),
        ("library://user/collection/x", "Libraries need"),
        ("shub://x/y", "no longer accepts images"),
        ("https://example.org/x.sif", "plain download"),
        ("docker-daemon://x", "docker://host/name:tag"),
        ("docker://", "The image name is invalid"),
        ("docker://Debian", "The image name is invalid"),
        ("docker://host.example//x", "The image name is invalid"),
        ("docker://a/../b", "The image name is invalid"),
        ("docker://debian:", "The tag"),
        ("docker://debian:-x", "The tag"),
        ("docker://debian 12", "The image name is invalid"),
        ("docker://debian\n", "docker://docker.io"),
        ("docker://x$(id)", "The image name is invalid"),
        ("docker://ho_st.example/x", "isn't a registry's host"),
        ("docker://host:99999/x", "isn't a registry's host"),
        ("docker://-host.example/x", "isn't a registry's host"),
        ("oras://team/x", "Specify the registry"),
        ("docker://debian@sha256:12", "The digest"),
        (f"docker://debian:12@{DIGEST}", "not both"),
        ("docker://me:word@example.org/x", "image_import_auth_file"),
        ("docker://me@example.org/x", "image_import_auth_file"),
        (f"docker://me:word@example.org/x@{DIGEST}", "image_import_auth_file"),
        ("docker://" + "a" * 500, "at most 500"),
    ],
)
def test_unusable_reference_is_explained(text: str, words: str) -> None:
    if text.endswith("\n"):  # surrounding white space is not intended
        assert words in parse_reference(text).text
        return
    with pytest.raises(ReferenceProblem, match=words.replace("(", r"\(")) as refused:
        parse_reference(text)
    assert "word@" not in str(refused.value)


@given(st.text(max_size=80), st.sampled_from(["docker://", "oras://", ""]))
def test_whatever_is_typed_becomes_one_plain_word_or_is_refused(rest: str, scheme: str) -> None:
    try:
        found = parse_reference(scheme + rest)
    except ReferenceProblem as problem:
        assert str(problem)
        return
    assert isinstance(found, Reference)
    assert found.text.isascii()
    assert found.text.isprintable()
    assert not set(found.text) & set(" '\"\\$`;&|<>(){}*?#!~")


@pytest.mark.parametrize("name", ["a.sif", "pytorch-2.4_cpu.sif", "9.sif"])
def test_file_names(name: str) -> None:
    assert check_file_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", ".sif", "a", "a.img", ".a.sif", "-a.sif", "a/b.sif", "../a.sif", "ä.sif", "a b.sif"),
        *("a.sif\n", "a" * 97 + ".sif"),
    ],
)
def test_other_file_names_are_refused(name: str) -> None:
    with pytest.raises(ReferenceProblem):
        check_file_name(name)


def test_registries_are_hosts() -> None:
    assert parse_registry(" Registry.example:5000 ") == "registry.example:5000"
    for text in ("", "https://x", "x/y", "x:0", "x:y", "me@x"):
        with pytest.raises(ReferenceProblem, match="isn't a registry's host"):
            parse_registry(text)
