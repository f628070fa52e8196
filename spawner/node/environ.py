"""The environment variables that a node program passes on to the user's own programs.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

DROPPED_PREFIXES = ("JUPYTERHUB_", "JPY_", "JUPYTER_", "PYTHON", "PYXTERM_")
DROPPED = frozenset({"SLURM_JWT", "VIRTUAL_ENV", "MPLBACKEND"})


def terminal_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the server's environment variables without those that are only for the server.

    These are tokens, and settings with which the user's own Jupyter and Python would use the
    portal's.
    """
    return {
        name: value
        for name, value in environ.items()
        if name not in DROPPED and not name.startswith(DROPPED_PREFIXES)
    }
