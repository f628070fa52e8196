"""An ordinary user's operations with a kernel, for test_image.py; each is one function.

`python image_user.py enter SETUP.json ACT`, started as root in a new mount namespace, adds the user
there, switches to it and runs itself again with the nodes' virtualenv as `act SETUP.json ACT`,
which prints its observations as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

DEADLINE_S = 120
SETUP: dict[str, Any] = {}


def enter(act: str) -> None:
    for name in ("passwd", "group"):
        subprocess.run(["mount", "--bind", SETUP[name], f"/etc/{name}"], check=True)
    os.setgroups([])
    os.setresgid(SETUP["uid"], SETUP["uid"], SETUP["uid"])
    os.setresuid(SETUP["uid"], SETUP["uid"], SETUP["uid"])
    os.chdir(SETUP["home"])
    python = f"{SETUP['runtime_dir']}/bin/python"
    command = [python, "-I", __file__, "act", sys.argv[2], act]
    os.execve(python, command, SETUP["environ"])  # noqa: S606 - an argument list, no shell


@contextmanager
def kernel() -> Iterator[tuple[Any, Any]]:
    """Run a kernel manager over ipc with its client, as jupyter_server would create them."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_client.manager import KernelManager

    specs = KernelSpecManager(ensure_native_kernel=False)
    specs.kernel_dirs = [f"{SETUP['node_dir']}/kernels"]
    connection_file = f"{SETUP['node_dir']}/kernel-{os.getpid()}.json"
    manager = KernelManager(
        kernel_name="python3",
        kernel_spec_manager=specs,
        transport="ipc",
        connection_file=connection_file,
    )
    manager.start_kernel(env={**os.environ, "JPY_SESSION_NAME": SETUP["session_name"]})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=DEADLINE_S)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=False)
        manager.cleanup_resources()
        # normally Slurm ends what a killed kernel leaves behind; here the test does
        for pid in own_processes():
            os.kill(pid, signal.SIGKILL)


def run(client: Any, code: str) -> dict[str, Any]:
    """Run a cell; return its printed text, the types of its displayed data, and its error's
    name."""
    seen: dict[str, Any] = {"text": "", "shown": []}

    def output(message: Any) -> None:
        content = message["content"]
        if message["msg_type"] == "stream":
            seen["text"] += content["text"]
        elif message["msg_type"] in {"display_data", "execute_result"}:
            seen["shown"] += content["data"]

    reply = client.execute_interactive(code, timeout=DEADLINE_S, output_hook=output)
    return {**seen, "error": reply["content"].get("ename")}


def answer_to(request: str, read: Callable[..., Any], kind: str) -> Any:
    while True:
        message = read(timeout=DEADLINE_S)
        if message["parent_header"].get("msg_id") == request and message["msg_type"] == kind:
            return message


def value(client: Any, expression: str) -> Any:
    answer = run(client, f"import json, os, sys\nprint(json.dumps({expression}))")
    assert answer["error"] is None, answer
    return json.loads(answer["text"])


def until(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def own_processes() -> dict[int, str]:
    """Return the user's other processes with their command lines."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid == os.getuid() and int(folder.name) != os.getpid():
                found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return {pid: command for pid, command in found.items() if command}


def listening() -> list[str]:
    """Return the user's listening TCP sockets (proc_net_tcp in Linux' documentation)."""
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return [row[1] for row in rows if row[3] == "0A" and row[7] == str(os.getuid())]


def cell() -> dict[str, Any]:
    with kernel() as (_, client):
        return {
            "in_container": value(client, "os.path.exists('/.singularity.d/runscript')"),
            "environ": value(client, "dict(os.environ)"),
            "uid": value(client, "os.getuid()"),
            "cwd": value(client, "os.getcwd()"),
            "home": value(client, "os.path.expanduser('~')"),
            "sockets": sorted(p.name for p in Path(SETUP["node_dir"]).glob("*ipc*")),
            "listening": listening(),
            "surprises": [p.name for p in Path(SETUP["home"]).glob("pwned*")],
        }


def interrupt() -> dict[str, Any]:
    errors = []
    with kernel() as (manager, client):
        for number in range(3):
            # a file instead of output: an interrupt while print waits is a RuntimeError in Python
            mark = Path(SETUP["home"], f"in-the-loop-{number}")
            # otherwise the kernel drops requests that arrive shortly after the error
            request = client.execute(
                f"open({str(mark)!r}, 'w').close()\nwhile True: pass", stop_on_error=False
            )
            assert until(mark.exists)
            manager.interrupt_kernel()
            reply = answer_to(request, client.get_shell_msg, "execute_reply")
            errors.append(reply["content"].get("ename"))
        return {"errors": errors, "after": value(client, "40 + 2")}


def restart() -> dict[str, Any]:
    with kernel() as (manager, client):
        run(client, "kept = 1")
        before = value(client, "os.getpid()")
        manager.restart_kernel(now=False)
        client.wait_for_ready(timeout=DEADLINE_S)
        return {
            "before": before,
            "after": value(client, "os.getpid()"),
            "kept": run(client, "kept"),
        }


def shutdown() -> dict[str, Any]:
    with kernel() as (manager, client):
        running = list(own_processes().values())
        client.shutdown()
        manager.finish_shutdown()
        gone = until(lambda: not own_processes())
    return {"running": running, "gone": gone, "left": own_processes()}


def killed_starter() -> dict[str, Any]:
    """Kill the process that Jupyter started: the kernel inside the container must end too."""
    with kernel() as (manager, client):
        inside = value(client, "os.getpid()")
        manager.signal_kernel(signal.SIGKILL)
        return {"gone": until(lambda: inside not in own_processes())}


def install() -> dict[str, Any]:
    with kernel() as (manager, client):
        pip = run(client, f"%pip install --no-index {SETUP['wheel']}")
        assert "Successfully installed" in pip["text"], pip
        at_once = value(client, "__import__('keepsake').WORD")
        manager.restart_kernel(now=False)
        client.wait_for_ready(timeout=DEADLINE_S)
        later = value(client, "__import__('keepsake').WORD")
        where = value(client, "__import__('keepsake').__file__")
        program = run(client, "!keepsake")["text"].strip()
    return {"at_once": at_once, "later": later, "where": where, "program": program}


def libraries() -> dict[str, Any]:
    plot = "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()"
    write = (
        "import os\nfrom tensorboardX import SummaryWriter\n"
        "with SummaryWriter(os.environ['PORTAL_LOGDIR']) as writer:\n"
        "    writer.add_scalar('loss', 0.5, 1)"
    )
    frame = "import pandas, numpy, ipywidgets\npandas.DataFrame({'a': numpy.arange(3)})"
    with kernel() as (_, client):
        plotted, wrote, framed = (run(client, code) for code in (plot, write, frame))
        widget = run(client, "ipywidgets.IntSlider()")
    events = [p.name for p in Path(SETUP["logdir"]).glob("events.out.tfevents.*")]
    return {"plot": plotted, "write": wrote, "frame": framed, "widget": widget, "events": events}


def byte_code() -> dict[str, Any]:
    """Return sources without bytecode, or with bytecode that Python would check against them."""
    code = """
import pathlib, sys
missing, checked, good = [], [], 0
for folder in (p for p in sys.path if p.startswith("/usr")):
    for source in pathlib.Path(folder).rglob("*.py"):
        cached = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
        if not cached.exists():
            missing.append(str(source))
        elif cached.read_bytes()[4:8] != bytes([1, 0, 0, 0]):
            checked.append(str(source))
        else:
            good += 1
"""
    with kernel() as (_, client):
        run(client, code)
        return {name: value(client, name) for name in ("missing", "checked", "good")}


def terminal() -> dict[str, Any]:
    seen = asyncio.run(_terminals())
    seen["gone"] = until(lambda: not own_processes())
    seen["surprises"] = [p.name for p in Path(SETUP["home"]).glob("pwned*")]
    return seen


async def _terminals() -> dict[str, Any]:
    from jupyter_client.kernelspec import KernelSpecManager
    from tornado.web import HTTPError
    from traitlets.config import Configurable

    from spawner.node.terminals import SessionTerminals

    class Server(Configurable):
        kernel_spec_manager = SimpleNamespace()

    specs = KernelSpecManager(ensure_native_kernel=False)
    specs.kernel_dirs = [f"{SETUP['node_dir']}/kernels"]
    Server.kernel_spec_manager = specs
    manager = SessionTerminals(shell_command=["false"], parent=Server())
    seen: dict[str, Any] = {}
    for name in ("1", "env_python3"):
        manager.create(name=name, shell_command=["touch", "pwned-by-request"])
        seen[name] = await _environ(manager.terminals[name])
    try:
        manager.create(name="env_nothing")
    except HTTPError as error:
        seen["refused"] = error.status_code
    await manager.terminate_all()
    return seen


async def _environ(term: Any) -> dict[str, Any]:
    """Return a terminal shell's variables, and whether it is in the container with a tty.

    The shell runs a program that writes a file, because a terminal's text contains prompts and
    echoes.
    """
    out = Path(SETUP["node_dir"]) / f"seen-{term.term_name}"
    term.ptyproc.write(f"python3 -I {SETUP['home']}/look.py {out}\n")
    assert await asyncio.to_thread(until, out.exists)
    seen: dict[str, Any] = json.loads(out.read_text())
    return seen


if __name__ == "__main__":
    step, setup_file, wanted = sys.argv[1:4]
    SETUP.update(json.loads(Path(setup_file).read_text()))
    if step == "enter":
        enter(wanted)
    print(json.dumps(globals()[wanted]()))
