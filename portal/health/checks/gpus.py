"""Check of Slurm's confinement of jobs to the GPUs that it allocated to them.

slurmctld reports its own cgroup.conf (`scontrol show config`); the nodes' files may differ unless
Slurm distributes them.
"""

import re

from portal.context import AppContext
from portal.health.result import CheckResult, failing, unknown
from spawner.errors import SlurmError

NO_PLUGIN = (
    "TaskPlugin in slurm.conf lacks task/cgroup. A job can use every GPU of its nodes, including "
    "those of other jobs."
)
NO_DEVICES = (
    "slurmctld's cgroup.conf doesn't set ConstrainDevices=yes. A job can use every GPU of its "
    "nodes, including those of other jobs."
)
SUGGESTION = (
    "Add task/cgroup to TaskPlugin in slurm.conf, and set ConstrainDevices=yes in cgroup.conf, on "
    "slurmctld's machine and on all nodes. Then restart slurmctld and the slurmd daemons."
)


async def check_gpus(context: AppContext) -> CheckResult:
    """Check that Slurm's configuration confines jobs to their GPUs."""
    try:
        config = await context.slurm.config()
    except SlurmError:
        return unknown("Slurm doesn't answer: its configuration is unknown.")
    return judge_config(config)


def judge_config(config: str) -> CheckResult:
    """Interpret the output of `scontrol show config`. Pure."""
    values = dict(re.findall(r"^(\w+)[ \t]*=[ \t]*(.*?)[ \t]*$", config, re.MULTILINE))
    if "gpu" not in values.get("GresTypes", "").split(","):
        return CheckResult(text="Slurm allocates no GPUs.")
    plugins = {name.removeprefix("task/") for name in values.get("TaskPlugin", "").split(",")}
    if "cgroup" not in plugins:
        return failing(NO_PLUGIN, SUGGESTION)
    if values.get("ConstrainDevices", "").lower() != "yes":
        return failing(NO_DEVICES, SUGGESTION)
    return CheckResult(text="Slurm confines jobs to their GPUs.")
