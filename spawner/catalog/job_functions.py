"""Shell functions for templates' scripts; each is inserted into scripts that use it.

Pure text.

In addition, every script has `in_env COMMAND…`. docs/templates.md documents all of these for
template authors, except `exec_in_env COMMAND…`: the functions here use it to replace their shell.
"""

from __future__ import annotations

import re

EXIT_AGAIN = 85
"""Exit status with which a program reports: state saved, run me again (ERESTART)."""

MPI_VARIABLE = "PORTAL_MPI"
"""Method by which srun starts MPI (`srun --mpi=list`) in on_ranks."""

NOTEBOOK = "run_notebook"

_ON_EACH_NODE = """\
# on_each_node COMMAND… runs it in the environment, once on each node.
on_each_node() { on_ranks 1 "$@"; }"""

_ON_RANKS = """\
# on_ranks N COMMAND… runs it in the environment, N times on each node.
on_ranks() {
  local each=$1 cpus=$(( ${SLURM_CPUS_PER_TASK:-1} / $1 )); shift
  export PORTAL_NODES=$SLURM_JOB_NUM_NODES PORTAL_RANKS_PER_NODE=$each
  # each container has a user namespace of its own: Open MPI can't copy straight between them
  export OMPI_MCA_btl_vader_single_copy_mechanism=none
  srun --nodes="$PORTAL_NODES" --ntasks="$(( PORTAL_NODES * each ))" --ntasks-per-node="$each" \\
    --cpus-per-task="$(( cpus > 0 ? cpus : 1 ))" --mpi="${PORTAL_MPI:-none}" --input=none \\
    --kill-on-bad-exit=1 --label --unbuffered --export=ALL bash -c 'exec_in_env "$@"' in_env "$@"
}"""

_RENDEZVOUS = """\
# rendezvous sets the address where the ranks meet: the first node, and a free port there.
rendezvous() {
  MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
  MASTER_PORT=$(( 20000 + SLURM_JOB_ID % 10000 ))
  while (exec 3<>"/dev/tcp/$MASTER_ADDR/$MASTER_PORT") 2>/dev/null; do
    MASTER_PORT=$(( MASTER_PORT + 1 ))
  done
  export MASTER_ADDR MASTER_PORT
  echo "The ranks meet at $MASTER_ADDR, port $MASTER_PORT."
}"""

_CONTINUING = f"""\
# continuing N COMMAND… runs it in the environment. When it gets USR1 it saves its state and ends
# with {EXIT_AGAIN}: the job goes back to the queue to continue, N times at most.
continuing() {{
  local most=$1 child status; shift
  exec_in_env "$@" & child=$!
  trap 'echo "The time limit is near: asking to save."; kill -USR1 "$child"' USR1
  wait "$child"; status=$?
  while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
  trap - USR1
  [ "$status" -eq {EXIT_AGAIN} ] || return "$status"
  if [ "${{SLURM_RESTART_COUNT:-0}}" -ge "$most" ]; then
    echo "Saved, but this was continued $most times already. Submit it again to go on." >&2
    return "$status"
  fi
  echo "Saved; back to the queue."
  scontrol requeue "$SLURM_JOB_ID" || return "$status"
  sleep 60 & wait $!  # Slurm ends this script
  exit "$status"
}}"""

_RUN_NOTEBOOK = """\
# run_notebook [--output=FILE] -- NOTEBOOK [NAME=VALUE…] runs it with a kernel in the environment.
run_notebook() {
  local child status
  mkdir -m 700 -- "$PORTAL_NODE_DIR" || return
  "$PORTAL_PYTHON" -I "$PORTAL_JOB_DIR/run_notebook.py" --node-dir="$PORTAL_NODE_DIR" "$@" &
  child=$!
  trap 'kill "$child"' TERM
  wait "$child"; status=$?
  while kill -0 "$child" 2>/dev/null; do wait "$child"; status=$?; done
  rm -rf -- "$PORTAL_NODE_DIR"
  return "$status"
}"""

_FUNCTIONS = {
    "on_ranks": (_ON_RANKS, ()),
    "on_each_node": (_ON_EACH_NODE, ("on_ranks",)),
    "rendezvous": (_RENDEZVOUS, ()),
    "continuing": (_CONTINUING, ()),
    NOTEBOOK: (_RUN_NOTEBOOK, ()),
}


def list_functions(body: str) -> list[str]:
    """Return the functions that a script calls, and those that these call, once each."""
    named = {name for name in _FUNCTIONS if re.search(rf"\b{name}\b", body)}
    for name in tuple(named):
        named.update(_FUNCTIONS[name][1])
    return [text for name, (text, _) in _FUNCTIONS.items() if name in named]
