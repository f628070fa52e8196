"""Messages of Slurm's commands when its daemons do not answer. Pure.

Use only the standard library: `deploy.launcher` appends this file to spawner/launcher/program.py.
"""

from __future__ import annotations

import re

UNREACHABLE = re.compile(
    r"Unable to contact slurm|Unable to establish|slurm_load_\w+ error|Connection refused"
    r"|timed out|reset by peer|Broken pipe|No route to host|Network is unreachable"
    r"|Unexpected message received|Header lengths|Insane message length|Incomplete message"
    r"|Zero Bytes were transmitted|Protocol authentication error|[Mm]unge"
    r"|Problem talking to the database|slurm_persist_conn|Unable to process configuration"
    r"|is already the primary|standby mode|Transport endpoint"
    r"|Incompatible versions of client and server"
)


def is_unreachable(stderr: str) -> bool:
    """Return whether an error message means that Slurm was unreachable, not that it refused.

    For an unknown job squeue reports a load error, which is a refusal.
    """
    return "Invalid job id" not in stderr and UNREACHABLE.search(stderr) is not None
