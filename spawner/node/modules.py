"""Load environment modules into a set of variables: Lmod's, or Environment Modules'.

`module` is a function of the shell, so bash loads them and says which variables there are then.
The names are arguments of a fixed script; nothing of them is read as shell. Standard library only.
"""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping, Sequence

NO_COMMAND = 90
NOT_LOADED = 91
MAX_SAID = 600
OF_BASH = frozenset({"_", "SHLVL", "PWD", "OLDPWD"})
# Whatever the modules print goes to stderr; stdout is for the answer. Environment Modules before 4
# report success for what they could not load, so what is loaded is looked at, too.
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
    """Modules that can't be loaded, in a sentence for the user."""


def load(init: str, names: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """The variables after loading these modules, in their order, on top of `environ`.

    Raises ModuleProblem, which names the module and the node.
    """
    bash = ["/bin/bash", "--noprofile", "--norc", "-c", _SCRIPT, "modules", init, *names]
    done = subprocess.run(bash, env=dict(environ), capture_output=True, check=False)
    answer = done.stdout.decode(errors="surrogateescape")
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace")
        raise ModuleProblem(_sentence(done.returncode, init, answer, said))
    pairs = (entry.partition("=") for entry in answer.split("\0") if "=" in entry)
    loaded = {name: value for name, _, value in pairs}
    # what is bash's own says nothing of the modules
    return {name: value for name, value in loaded.items() if name not in OF_BASH - environ.keys()}


def node_name() -> str:
    """The node as Slurm calls it."""
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0]


def _sentence(code: int, init: str, name: str, said: str) -> str:
    """What happened, in one line, with what the module system itself says of it."""
    # the first paragraph; Lmod has general advice after it
    why = " ".join(said.strip().partition("\n\n")[0].split())[:MAX_SAID]
    if code == NOT_LOADED:
        return f"the module {name} can't be loaded on {node_name()}: {why or 'no reason was told'}"
    if code == NO_COMMAND:
        return f"there is no command `module` on {node_name()} after reading {init}: {why}"
    return f"modules can't be loaded on {node_name()} ({init} ended with status {code}): {why}"
