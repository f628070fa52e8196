"""Loader for environment modules (Lmod or Environment Modules), applied to a set of variables.

`module` is a shell function, so bash loads the modules and prints the resulting variables. The
names are arguments of a fixed script and never evaluated by the shell. Standard library only.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping, Sequence

NO_COMMAND = 90
NOT_LOADED = 91
MAX_OUTPUT = 600
OF_BASH = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
# Output of the modules goes to stderr; stdout is for the answer. Environment Modules before 4
# report success for modules that failed to load, so check the loaded ones too.
_SCRIPT = f"""\
exec 3>&1 1>&2
init=$1; shift
names=("$@"); set --
. "$init"
type module >/dev/null 2>&1 || exit {NO_COMMAND}
for name in "${{names[@]}}"; do
  before=$LOADEDMODULES
  if module load "$name"; then
    [ -n "$LMOD_CMD$MODULES_CMD" ] && continue
    case ":$LOADEDMODULES:" in
      *":$name:"* | *":$name/"*) continue ;;
    esac
    [ "$before" != "$LOADEDMODULES" ] && continue
  fi
  printf %s "$name" >&3
  exit {NOT_LOADED}
done
exec /usr/bin/env -0 >&3
"""


class ModuleProblem(Exception):
    """Modules cannot be loaded; the message is a sentence for the user."""


def load(init: str, names: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables after loading these modules in order, on top of `environ`.

    Raises ModuleProblem, whose message names the module and the node.
    """
    bash = ["/bin/bash", "--noprofile", "--norc", "-c", _SCRIPT, "modules", init, *names]
    done = subprocess.run(bash, env=dict(environ), capture_output=True, check=False)
    result = done.stdout.decode(errors="surrogateescape")
    if done.returncode != 0:
        stderr = done.stderr.decode(errors="replace")
        raise ModuleProblem(_format_problem(done.returncode, init, result, stderr))
    pairs = (entry.partition("=") for entry in result.split("\0") if "=" in entry)
    loaded = {name: value for name, _, value in pairs}
    # omit variables that bash itself sets
    return {name: value for name, value in loaded.items() if name not in OF_BASH - environ.keys()}


def node_name() -> str:
    """Return the node's name in Slurm."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def _format_problem(code: int, init: str, name: str, stderr: str) -> str:
    """Return the problem in one line, with the module system's own message."""
    # the first paragraph; Lmod prints general advice after it
    why = " ".join(stderr.strip().partition("\n\n")[0].split())[:MAX_OUTPUT]
    if code == NOT_LOADED:
        return f"the module {name} can't be loaded on {node_name()}: {why or 'no reason reported'}"
    if code == NO_COMMAND:
        return f"the command `module` is not available on {node_name()} after loading {init}: {why}"
    return f"modules can't be loaded on {node_name()} ({init} ended with status {code}): {why}"
