"""The check before a multi-node job, run in local processes.

It verifies sums, and reports the hosts and ports that cannot be reached.
"""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from types import ModuleType

import pytest

from spawner.catalog.environment import SHIPPED
from tests.polling import PATIENCE_S

PROGRAM = SHIPPED / "jobs" / "preflight.py"
SLOW_RANK_1 = """\
import time
import preflight

def unreachable(own_rank, peers, timeout_s):
    if not own_rank.startswith("rank 1 "):
        return []
    time.sleep(1.5 * timeout_s)
    return ["rank 1 can't reach rank 2"]

preflight.unreachable = unreachable
preflight.main()
"""
"""The program, with a rank 1 that waits in vain for more than one other rank."""


@pytest.fixture(scope="module")
def preflight() -> ModuleType:
    spec = importlib.util.spec_from_file_location("preflight", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["preflight"] = module
    spec.loader.exec_module(module)
    return module


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def start(
    rank: int, size: int, port: int, timeout_s: float, program: tuple[str, ...] = (str(PROGRAM),)
) -> subprocess.Popen[str]:
    variables = {"SLURM_PROCID": str(rank), "SLURM_NTASKS": str(size), "MASTER_ADDR": "127.0.0.1"}
    return subprocess.Popen(
        [sys.executable, *program, f"--timeout-s={timeout_s}"],
        env={**os.environ, **variables, "MASTER_PORT": str(port)},
        cwd=PROGRAM.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def results(ranks: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    heard = [rank.communicate(timeout=2 * PATIENCE_S) for rank in ranks]
    return [(rank.returncode, out + err) for rank, (out, err) in zip(ranks, heard, strict=True)]


@pytest.mark.parametrize("size", [1, 2, 4])
def test_all_reach_each_other(size: int) -> None:
    port = free_port()
    found = results([start(rank, size, port, PATIENCE_S) for rank in range(size)])
    assert [code for code, _ in found] == [0] * size
    assert f"{size} ranks reach each other" in found[0][1]
    for rank in range(1, size):
        assert f"rank {rank} on {socket.gethostname()}, address 127.0.0.1, port " in found[0][1]
    assert found[0][1].count(", has reached 127.0.0.1") == size - 1


def test_a_rank_that_does_not_come_is_named() -> None:
    port = free_port()
    found = results([start(rank, 3, port, 10) for rank in (0, 1)])
    assert [code for code, _ in found] == [1, 1]
    assert f"rank 2 has not reached rank 0 at 127.0.0.1, port {port}, within 10 s" in found[0][1]


def test_a_rank_0_that_can_not_be_reached_is_named() -> None:
    port = free_port()
    ((code, output),) = results([start(1, 2, port, 0.5)])
    assert code == 1
    assert f"can't reach rank 0 at 127.0.0.1, port {port}: no process is listening there" in output


def test_a_peers_port_that_can_not_be_reached_is_named(preflight: ModuleType) -> None:
    port = free_port()
    lines = preflight.unreachable("rank 1 on node02", [[3, "node04", ["127.0.0.1", port]]], 0.3)
    assert lines == [
        f"rank 1 on node02 can't reach rank 3 on node04, address 127.0.0.1, port {port}:"
        " no process is listening there"
    ]


def test_rank_0_waits_for_a_rank_that_tries_several_others() -> None:
    port = free_port()
    ranks = [start(rank, 3, port, 2, ("-c", SLOW_RANK_1)) for rank in range(3)]
    found = results(ranks)
    assert [code for code, _ in found] == [1, 1, 1]
    assert found[0][1].endswith("preflight: rank 1 can't reach rank 2\n")


def test_a_wrong_sum_is_found(preflight: ModuleType) -> None:
    total = [sum(column) for column in zip(*(preflight.values(n) for n in range(5)), strict=True)]
    assert total == preflight.expected(5)
    assert total != preflight.expected(4)
