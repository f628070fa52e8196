"""An ordinary user's operations with an environment, for test_images_train.py.

`python train_user.py enter SETUP.json ACT NAME`, started as root in a new mount namespace, adds the
user there, switches to it and runs itself again with the nodes' virtualenv as `act SETUP.json ACT
NAME`. That starts the environment's kernel as a session would, runs the cells of its starter
notebook (or another), or interrupts an endless one, and prints its observations as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

DEADLINE_S = 300
SETUP: dict[str, Any] = {}


def enter() -> None:
    for file in ("passwd", "group"):
        subprocess.run(["mount", "--bind", SETUP[file], f"/etc/{file}"], check=True)
    os.setgroups([])
    os.setresgid(SETUP["uid"], SETUP["uid"], SETUP["uid"])
    os.setresuid(SETUP["uid"], SETUP["uid"], SETUP["uid"])
    os.chdir(SETUP["home"])
    python = f"{SETUP['runtime_dir']}/bin/python"
    command = [python, "-I", __file__, "act", *sys.argv[2:]]
    os.execve(python, command, SETUP["environ"])  # noqa: S606 - an argument list, no shell


@contextmanager
def _kernel(name: str) -> Iterator[tuple[Any, Any]]:
    """Run the environment's kernel and its client, as jupyter_server would create them."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    specs = KernelSpecManager(ensure_native_kernel=False)
    specs.kernel_dirs = [f"{SETUP['node_dir']}/kernels"]
    manager = KernelManager(
        kernel_name=name,
        kernel_spec_manager=specs,
        transport="ipc",
        connection_file=f"{SETUP['node_dir']}/kernel-{name}.json",
    )
    manager.start_kernel(env=dict(os.environ))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=DEADLINE_S)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=False)
        manager.cleanup_resources()
        _end_what_is_left()


def train(name: str) -> dict[str, Any]:
    with _kernel(name) as (_, client):
        cells = [_run(client, code) for code in _code(SETUP["starters"][name])]
    logdir = Path(SETUP["logdirs"][name])
    return {
        "text": "".join(cell["text"] for cell in cells),
        "errors": [cell["error"] for cell in cells if cell["error"]],
        "shown": [kind for cell in cells for kind in cell["shown"]],
        "scalars": _scalars(logdir) if logdir.is_dir() else {},
    }


def interrupt(name: str) -> dict[str, Any]:
    """Interrupt a cell that would never end, then calculate a sum in the same kernel."""
    endless, total = SETUP["endless"][name], SETUP["sum"][name]
    with _kernel(name) as (manager, client):
        request = client.execute(endless)
        _wait_for(client.get_iopub_msg, request, "stream")  # it prints from within its loop
        manager.interrupt_kernel()
        content = _wait_for(client.get_shell_msg, request, "execute_reply")["content"]
        return {"error": content.get("ename"), "after": _printed(client, total)}


def _printed(client: Any, code: str) -> str:
    """Return a cell's output; repeat it if the kernel refuses it shortly after an interrupt."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        request = client.execute(code)
        content = _wait_for(client.get_shell_msg, request, "execute_reply")["content"]
        if content["status"] == "ok":
            printed = _wait_for(client.get_iopub_msg, request, "stream")["content"]["text"]
            return str(printed).strip()
        assert time.monotonic() < deadline, content


def cell(name: str) -> dict[str, Any]:
    """Run the cell that the test provides."""
    with _kernel(name) as (_, client):
        return _run(client, SETUP["cells"][name])


def _wait_for(read: Callable[..., Any], request: str, kind: str) -> Any:
    while True:
        message = read(timeout=DEADLINE_S)
        if message["parent_header"].get("msg_id") == request and message["msg_type"] == kind:
            return message


def _code(notebook: str) -> list[str]:
    cells = json.loads(Path(notebook).read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def _run(client: Any, code: str) -> dict[str, Any]:
    seen: dict[str, Any] = {"text": "", "shown": []}

    def output(message: Any) -> None:
        content = message["content"]
        if message["msg_type"] == "stream" and content["name"] == "stdout":
            seen["text"] += content["text"]
        elif message["msg_type"] in {"display_data", "execute_result"}:
            seen["shown"] += content["data"]

    reply = client.execute_interactive(code, timeout=DEADLINE_S, output_hook=output)
    content = reply["content"]
    failed = content["status"] != "ok"
    error = f"{content.get('ename')}: {content.get('evalue')}" if failed else None
    return {**seen, "error": error}


def _end_what_is_left() -> None:
    """End all remaining processes of the test's user, which Slurm would otherwise do."""
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        try:
            if folder.stat().st_uid == os.getuid() and pid != os.getpid():
                os.kill(pid, signal.SIGKILL)
        except OSError:
            continue


def _scalars(logdir: Path) -> dict[str, list[float]]:
    """Return the content of the event files below the folder, as TensorBoard reads them."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util import tensor_util

    found: dict[str, list[float]] = {}
    for folder in sorted({path.parent for path in logdir.rglob("*tfevents*")}):
        events = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            found.setdefault(tag, []).extend(event.value for event in events.Scalars(tag))
        for tag in events.Tags()["tensors"]:
            values = [tensor_util.make_ndarray(e.tensor_proto) for e in events.Tensors(tag)]
            found.setdefault(tag, []).extend(
                float(v) for v in values if v.ndim == 0 and v.dtype.kind == "f"
            )
    return found


if __name__ == "__main__":
    step, setup_file, act, environment = sys.argv[1:5]
    SETUP.update(json.loads(Path(setup_file).read_text()))
    if step == "enter":
        enter()
    print(json.dumps({"train": train, "interrupt": interrupt, "cell": cell}[act](environment)))
