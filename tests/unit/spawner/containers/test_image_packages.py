"""The packages of an image: the output of the listing, and its interpretation."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from spawner.containers.image_packages import (
    LISTING,
    is_cpu_build,
    normalize_name,
    package_list_path,
    parse_listing,
    versions_of,
)

LISTED = """\
/usr/local/lib/python3.11/dist-packages/torch-2.13.0+cpu.dist-info
/usr/local/lib/python3.11/dist-packages/scikit_learn-1.9.1.dist-info
/usr/lib/python3/dist-packages/protobuf-3.12.4.egg-info
/usr/lib/python2.7/dist-packages/six-1.16.0-py2.7.egg-info
/usr/lib/python3/dist-packages/six-1.16.0.egg-info
/usr/lib/python3/dist-packages/setuptools/_vendor/wheel-0.43.0.dist-info
/opt/lasagne/Theano-0.8.2.dist-info
/usr/local/lib/python3.9/dist-packages/Theano-1.0.5.dist-info
R-package data.table
R-version 1.14.8
"""


def test_listing_is_read_by_normal_names() -> None:
    assert parse_listing(LISTED) == {
        "data-table": "1.14.8",
        "protobuf": "3.12.4",
        "scikit-learn": "1.9.1",
        "six": "1.16.0",
        "torch": "2.13.0+cpu",
    }
    assert normalize_name("data.table") == "data-table"


def test_listing_runs_in_any_shell(tmp_path: Path) -> None:
    (tmp_path / "lib/six-1.16.0.dist-info/licenses").mkdir(parents=True)
    (tmp_path / "lib/wheel-0.43.0.egg-info").touch()
    listing = LISTING.replace("find /usr /opt ", f"find {tmp_path} ")
    done = subprocess.run(["/bin/sh", "-c", listing], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    found = parse_listing(done.stdout)
    assert (found["six"], found["wheel"]) == ("1.16.0", "0.43.0")


def test_versions_lie_beside_what_the_link_leads_to(tmp_path: Path) -> None:
    image, link = tmp_path / "mine-123.sif", tmp_path / "mine.sif"
    link.symlink_to(image.name)
    assert versions_of(link) == {}
    image.touch()
    package_list_path(image).write_text(json.dumps({"torch": "2.13.0+cpu"}))
    assert versions_of(link) == {"torch": "2.13.0+cpu"}
    package_list_path(image).write_text("no JSON at all")
    assert versions_of(link) == {}


def test_cpu_build_is_recognized_by_its_version() -> None:
    assert is_cpu_build({"torch": "2.13.0+cpu"})
    assert not is_cpu_build({"torch": "2.13.0"})
    assert not is_cpu_build({})
