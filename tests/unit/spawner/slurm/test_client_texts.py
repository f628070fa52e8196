"""Messages when Slurm's daemons reject this machine.

Recorded with Slurm 22.05.8, with a munged whose clock was 15 minutes off (libfaketime), and without
munged.
"""

from __future__ import annotations

import pytest

from spawner.launcher.program import is_unreachable
from spawner.slurm.client import unreachable

CLOCK = "slurm_load_jobs error: Zero Bytes were transmitted or received"
CLOCK_AT_SLURMDBD = """\
sacctmgr: error: slurm_persist_conn_open: Something happened with the receiving/processing of the \
persistent connection init message to 10.77.3.1:6819: Failed to unpack SLURM_PERSIST_INIT message
sacctmgr: error: Sending PersistInit msg: No error
sacctmgr: error: pack_msg: Invalid message version=6500, type:6500
sacctmgr: error: DBD_GET_CLUSTERS failure: Protocol authentication error
 Problem with query."""
NO_MUNGE = """\
squeue: error: If munged is up, restart with --num-threads=10
squeue: error: Munge encode failed: Failed to access "/run/munge/munge.sock": No such file or \
directory (Did you start munged?)
squeue: error: slurm_send_node_msg: auth_g_create: REQUEST_JOB_INFO has authentication error
slurm_load_jobs error: Protocol authentication error"""


@pytest.mark.parametrize(
    ("stderr", "words"),
    [
        (
            CLOCK,
            "their clocks, munge keys or versions may differ",
        ),
        (CLOCK_AT_SLURMDBD, "or their clocks or munge keys differ"),
        (NO_MUNGE, "munge is not running on the portal's host"),
        ("slurm_load_jobs error: Protocol authentication error", "their clocks, munge keys"),
        ("error: Munge decode failed: Rewound credential", "their clocks, munge keys"),
        ("slurm_load_jobs error: Unable to contact slurm controller", "doesn't answer"),
        # slurmctld was killed while it read the script
        (
            "sbatch: error: Batch job submission failed: Unexpected missing socket error",
            "doesn't answer",
        ),
    ],
)
def test_each_has_its_sentence(stderr: str, words: str) -> None:
    assert is_unreachable(stderr)
    assert words in unreachable(stderr).message
    assert unreachable(stderr).stderr == stderr
