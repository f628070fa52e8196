"""Run a notebook from top to bottom as a batch job, with papermill, and keep the executed copy.

Papermill runs on the node; the kernel runs in its container, as defined in kernel.json beside this
file. The copy is saved every few seconds and after each cell, and once more when the job is asked
to end.
"""

import argparse
import json
import os
import shutil
import signal
import sys
from pathlib import Path

import papermill
from papermill.exceptions import PapermillExecutionError
from traitlets.config import Config

KERNEL = "portal"


def parameter(text):
    """Parse name=value; the value is JSON if possible (5, true, [1, 2], "text"), else text."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not name=value")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def install_kernel(node_dir):
    """Install kernel.json where Jupyter finds it, and return the kernel's language."""
    folder = node_dir / "kernels" / KERNEL
    folder.mkdir(parents=True)
    spec = Path(os.environ["PORTAL_JOB_DIR"], "kernel.json")
    shutil.copy(spec, folder / "kernel.json")
    os.environ["JUPYTER_PATH"] = str(node_dir)
    os.environ["JUPYTER_RUNTIME_DIR"] = str(node_dir)
    return json.loads(spec.read_text(encoding="utf-8"))["language"]


def exit_on_term(*_):
    """Exit with the status of a process that SIGTERM ended."""
    sys.exit(143)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--node-dir", type=Path, required=True)
    parser.add_argument("--output", type=Path)
    parser.add_argument("notebook", type=Path)
    parser.add_argument("parameters", type=parameter, nargs="*", metavar="NAME=VALUE")
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, exit_on_term)
    output = args.output or Path(os.environ["PORTAL_LOGDIR"], args.notebook.name)
    if output.is_dir():
        output /= args.notebook.name
    if output.exists() and output.samefile(args.notebook):
        sys.exit(f"{output} is the notebook itself: name another file for the executed copy")
    output.parent.mkdir(parents=True, exist_ok=True)
    language = install_kernel(args.node_dir)
    print(f"The executed copy: {output}", flush=True)
    # IPC sockets in a folder that only the user can enter, so other users on the node can't listen.
    connection = {"transport": "ipc", "connection_file": str(args.node_dir / "connection.json")}
    try:
        papermill.execute_notebook(
            str(args.notebook),
            str(output),
            parameters=dict(args.parameters),
            kernel_name=KERNEL,
            language=language,
            cwd=str(args.notebook.parent),
            log_output=True,
            stdout_file=sys.stdout,
            stderr_file=sys.stderr,
            progress_bar=False,
            autosave_cell_every=5,
            request_save_on_cell_execute=True,
            config=Config({"KernelManager": connection}),
        )
    except PapermillExecutionError as error:
        print(error, file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
