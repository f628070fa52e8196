"""Apptainer's arguments, its installation, and apt sources redirected to another suite."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from deploy.apptainer import drop_default_capabilities, parse_os_release, relax, replace_sum
from deploy.apptainer_elf import RefusedError
from deploy.apptainer_sources import (
    AptSource,
    for_suites,
    parse_deb822,
    parse_one_line,
    read_sources,
)
from spawner.containers.apptainer import exec_argv, outermost

DEB822 = """\
# the release itself
Types: deb deb-src
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.test/debian-security
Suites: bookworm-security
Components: main
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 mQINBA==
 -----END PGP PUBLIC KEY BLOCK-----

Enabled: no
Types: deb
URIs: http://off.test/debian
Suites: bookworm
Components: main

Types: deb
URIs: http://other.test/tool
Suites: stable
Components: main
"""


def test_exec_puts_options_before_the_image() -> None:
    argv = exec_argv("/usr/bin/apptainer", "/i/a.sif", ["python3", "-V"], binds=["/home/a", "/d"])
    assert argv[:3] == ["/usr/bin/apptainer", "-q", "exec"]
    assert argv[3:] == ["--bind", "/home/a", "--bind", "/d", "/i/a.sif", "python3", "-V"]


def test_gpus_are_asked_for_only_when_there_are_some() -> None:
    assert "--nv" in exec_argv("apptainer", "a.sif", ["true"], gpus=True)
    assert "--nv" not in exec_argv("apptainer", "a.sif", ["true"])


def test_folders_inside_others_need_no_bind() -> None:
    given = ["/home/a", "/home/a/runs", "/tmp/p", "/home/ab", "/home/a/"]
    assert outermost(given) == ["/home/a", "/tmp/p", "/home/ab"]


@pytest.mark.parametrize("path", ["/a,/etc", "/a:/etc", "/a\n", "relative", "/a\0"])
def test_a_path_that_would_bind_something_else_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="can't be brought"):
        exec_argv("apptainer", "a.sif", ["true"], binds=[path])


def test_sources_are_read_in_both_formats(tmp_path: Path) -> None:
    parts = tmp_path / "sources.list.d"
    parts.mkdir()
    (tmp_path / "sources.list").write_text(
        "# deb http://no.test/debian bookworm main\n"
        "deb-src http://no.test/debian bookworm main\n"
        "deb [arch=amd64 signed-by=/k.gpg] http://one.test/debian bookworm main # x\n"
    )
    (parts / "debian.sources").write_text(DEB822)
    (parts / "ignored.save").write_text("deb http://no.test/debian bookworm main\n")
    sources = read_sources(tmp_path)
    assert [s.uris for s in sources] == [
        ("http://one.test/debian",),
        ("http://mirror.test/debian",),
        ("http://mirror.test/debian-security",),
        ("http://other.test/tool",),
    ]
    assert sources[0].options == (("Signed-By", "/k.gpg"),)
    assert sources[0].components == ("main",)


def test_an_embedded_key_is_kept_as_it_is() -> None:
    security = parse_deb822(DEB822)[1]
    again = parse_deb822(security.deb822())
    assert again == [security]
    assert " mQINBA==\n" in security.deb822()


def test_another_suite_comes_from_where_the_own_one_does() -> None:
    sources = for_suites(parse_deb822(DEB822), "bookworm", ["sid"])
    assert len(sources) == 1
    assert sources[0].uris == ("http://mirror.test/debian",)
    assert (sources[0].suites, sources[0].components) == (("sid",), ("main",))
    assert sources[0].options == (("Signed-By", "/usr/share/keyrings/debian-archive-keyring.gpg"),)


def test_security_updates_come_from_their_own_archive() -> None:
    wanted = ["trixie", "trixie-updates", "trixie-security"]
    sources = for_suites(parse_deb822(DEB822), "bookworm", wanted)
    assert [(s.uris[0].rpartition("/")[2], s.suites[0]) for s in sources] == [
        ("debian", "trixie"),
        ("debian", "trixie-updates"),
        ("debian-security", "trixie-security"),
    ]


def test_missing_apt_source_is_reported() -> None:
    only = parse_one_line("deb http://other.test/tool stable main")
    assert for_suites(only, "stable", ["sid-security"]) == []
    with pytest.raises(ValueError, match="no apt source"):
        for_suites(only, "bookworm", ["sid"])
    assert for_suites([AptSource(("u",), ("bookworm",), ("contrib",))], "x", []) == []


def test_os_release_is_read_with_and_without_quotes() -> None:
    facts = parse_os_release('ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n')
    assert facts == {"ID": "debian", "VERSION_ID": "12", "VERSION_CODENAME": "bookworm"}


CONTROL = (
    "Package: apptainer\nVersion: 1.4.5-2\n"
    "Depends: ca-certificates, libc6 (>= 2.38), libseccomp2 (>= 2.5.0)\n"
)


def test_relaxed_package_has_its_own_version() -> None:
    relaxed = relax(CONTROL, "2.36")
    assert "libc6 (>= 2.36), libseccomp2 (>= 2.5.0)" in relaxed
    assert "Version: 1.4.5-2+glibc2.36\n" in relaxed


def test_an_unexpected_control_file_is_refused() -> None:
    with pytest.raises(RefusedError):
        relax(CONTROL.replace("libc6 (>= 2.38)", "libc6"), "2.36")


def test_one_sum_is_replaced() -> None:
    digest = hashlib.md5(b"new", usedforsecurity=False)
    sums = f"{'0' * 32}  usr/bin/a\n{'1' * 32}  usr/bin/a.b\n"
    expected = f"{digest.hexdigest()}  usr/bin/a\n{'1' * 32}  usr/bin/a.b\n"
    assert replace_sum(sums, "usr/bin/a", digest) == expected
    with pytest.raises(RefusedError, match="usr/bin/z"):
        replace_sum(sums, "usr/bin/z", digest)


@pytest.mark.parametrize(
    "before", ["a = 1\nroot default capabilities = full\nb = 2\n", "a = 1\n", ""]
)
def test_default_capabilities_are_dropped_once(tmp_path: Path, before: str) -> None:
    config = tmp_path / "apptainer.conf"
    config.write_text(before)
    drop_default_capabilities(config)
    once = config.read_text()
    drop_default_capabilities(config)
    assert config.read_text() == once
    assert once.count("root default capabilities = no\n") == 1
    assert "full" not in once
    assert [line for line in before.splitlines() if "root" not in line] == [
        line for line in once.splitlines() if line and "root" not in line
    ]
