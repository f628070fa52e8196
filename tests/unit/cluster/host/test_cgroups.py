"""Detection of the machine's cgroup version, and the files that a cluster creates in version 2."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.host import cgroups
from cluster.host.cgroups import V2_REQUIRED, CgroupV1, CgroupV2

OLDER = """\
30 20 0:26 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory
32 30 0:28 / /sys/fs/cgroup/cpuset rw shared:11 - cgroup cgroup rw,cpuset
33 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:12 - cgroup cgroup rw,cpu,cpuacct
34 30 0:30 / /sys/fs/cgroup/devices rw shared:13 - cgroup cgroup rw,devices
35 30 0:31 / /sys/fs/cgroup/freezer rw shared:14 - cgroup cgroup rw,freezer
36 30 0:32 / /sys/fs/cgroup/systemd rw shared:15 - cgroup cgroup rw,xattr,name=systemd
"""
NEWER = "25 20 0:22 / {top} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A root of version 2 as plain files: writes to it have no other effect."""
    controllers = tmp_path / "cgroup.controllers"
    controllers.write_text("cpuset cpu io memory hugetlb pids rdma misc\n")
    return tmp_path


def test_version_1_is_found_with_shared_hierarchies() -> None:
    tree = cgroups.find(OLDER)
    assert isinstance(tree, CgroupV1)
    assert tree.controllers["cpuacct"] == ("cpu,cpuacct", Path("/sys/fs/cgroup/cpu,cpuacct"))
    assert len(tree.mounts) == 5


def test_version_2_is_found_where_it_has_the_controllers(top: Path) -> None:
    assert cgroups.find(NEWER.format(top=top)) == CgroupV2(top)


@pytest.mark.parametrize("missing", V2_REQUIRED)
def test_version_2_without_a_controller_is_none(top: Path, missing: str) -> None:
    names = (top / "cgroup.controllers").read_text().split()
    (top / "cgroup.controllers").write_text(" ".join(name for name in names if name != missing))
    assert cgroups.find(NEWER.format(top=top)) is None


def test_version_1_comes_first_where_both_are_mounted(top: Path) -> None:
    tree = cgroups.find(NEWER.format(top=top) + OLDER)
    assert tree is not None
    assert tree.version == 1


def test_version_1_without_devices_leaves_version_2(top: Path) -> None:
    partial = "".join(line for line in OLDER.splitlines(True) if "devices" not in line)
    assert cgroups.find(partial) is None
    assert cgroups.find(partial + NEWER.format(top=top)) == CgroupV2(top)


def test_a_machine_without_cgroups_has_none() -> None:
    assert cgroups.find("20 1 0:5 / / rw - ext4 /dev/vda rw\n") is None


def test_version_2_enables_its_controllers_above_the_nodes(top: Path) -> None:
    CgroupV2(top).make("dsp1", ["node01", "node02"])
    assert {path.name for path in (top / "dsp1").iterdir() if path.is_dir()} == {
        "node01", "node02", "outside.scope"
    }  # fmt: skip
    for folder in (top, top / "dsp1"):
        enabled = (folder / "cgroup.subtree_control").read_text().split()
        assert enabled == ["+cpuset", "+cpu", "+memory", "+pids"]
    # a node's own folder must be free of processes first: its pid 1 enables them
    assert not (top / "dsp1/node01/cgroup.subtree_control").exists()
