"""Apptainer's recorded output of a pull, as phases and sentences."""

import re

import pytest

from spawner.containers.pull_output import PullNames, PullPhase, percent_of, phase_of, why_failed
from tests.paths import TESTS

RECORDED = TESTS / "data" / "apptainer" / "1.4.5"
PLACE = PullNames("127.0.0.1:5000", "team/small", has_credentials=False, architecture="amd64")


def recorded(name: str) -> str:
    """Return the recorded output with its carriage returns."""
    return (RECORDED / f"{name}.txt").read_bytes().decode()


def phases(text: str) -> list[PullPhase]:
    return [phase for line in text.splitlines() if (phase := phase_of(line))]


def test_phases_follow_each_other() -> None:
    assert phases(recorded("done")) == [PullPhase.FETCHING, PullPhase.UNPACKING, PullPhase.PACKING]
    assert phases(recorded("oras")) == [PullPhase.FETCHING]
    assert phases(recorded("no-tag")) == []


def test_the_bar_of_mksquashfs_is_a_percentage() -> None:
    found = [percent_of(line) for line in recorded("done").splitlines()]
    assert [percent for percent in found if percent is not None] == [100]
    assert percent_of("[====-          ]  19/78  24%") == 24
    assert percent_of("52.05% of uncompressed filesystem size (1953.57 Kbytes)") is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no-host", "The host 127.0.0.1:5000"),
        ("no-tag", "no such image or tag"),
        ("oras-missing", "no such image or tag"),
        ("no-password", "Put credentials for 127.0.0.1:5000 into the file"),
        ("oras-no-password", "Put credentials for 127.0.0.1:5000 into the file"),
        ("wrong-password", "denied access, or has no such image"),
        ("bad-authfile", "must be JSON"),
        ("multi", r"This image has no version for these machines \(amd64\)"),
        ("chart", "no container image"),
        ("oras-not-sif", "no container image"),
        ("oras-no-sif-inside", "no container image"),
        ("plain-http", "image_import_plain_registries"),
        ("refused", "doesn't answer"),
        ("disk-full-fetching", "The disk is full"),
        ("disk-full-unpacking", "The disk is full"),
        ("disk-full-moving", "The disk is full"),
    ],
)
def test_failures_are_explained_in_plain_words(name: str, words: str) -> None:
    assert re.search(words, why_failed(recorded(name), PLACE))


def test_credentials_that_are_there_are_the_wrong_ones() -> None:
    place = PullNames("127.0.0.1:5000", "team/small", has_credentials=True, architecture="amd64")
    assert "are wrong, or lack permission for this image" in why_failed(
        recorded("wrong-password"), place
    )


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("x509: certificate signed by unknown authority", "not trust the certificate"),
        ("toomanyrequests: You have reached your pull rate limit", "there were too many"),
        ("requested access to the resource is denied", "denied access"),
        ("dial tcp 192.0.2.1:443: i/o timeout", "doesn't answer"),
        (
            "dial tcp: lookup h.example on 192.0.2.53:53: read udp: i/o timeout",
            "doesn't exist, or the name service",
        ),
        ("something unknown", "Apptainer could not import it: something unknown"),
    ],
)
def test_causes_that_were_not_recorded(output: str, words: str) -> None:
    assert words in why_failed(f"INFO:    Starting build...\nFATAL:   {output}\n", PLACE)


def test_an_image_s_name_is_no_cause() -> None:
    place = PullNames("host", "team/x509-denied", has_credentials=False, architecture="amd64")
    output = "FATAL:   reading manifest v1 in host/team/x509-denied: manifest unknown"
    assert "no such image or tag" in why_failed(output, place)


def test_long_message_is_shortened_and_empty_one_reported() -> None:
    assert len(why_failed("FATAL:   " + "x" * 10_000, PLACE)) < 400
    assert why_failed("", PLACE).startswith("Apptainer failed without a message")
