"""Running operations as a user: a new launcher per request, compared with one that is kept open."""

from __future__ import annotations

import json

from bench.cluster_access import BenchCluster
from bench.figure import Figure, Result, median

ONE_SHOT, KEPT_OPEN = 30, 1000
# Runs as the portal's account on the head, where sudo permits the launcher. Standard library only.
INSIDE = """
import json, subprocess, sys, time
launcher, one_shot, kept_open = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
argv = ["/usr/bin/sudo", "-n", "-u", "alice", "--", launcher]

def start():
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={}, cwd="/")
    process.stdout.readline()
    return process

def ping(process, number):
    process.stdin.write(b'{"id": %d, "op": "ping"}\\n' % number)
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["ok"]

def end(process):
    process.stdin.close()
    process.stdout.read()
    process.wait()

def timed(act):
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000

def once():
    process = start()
    ping(process, 1)
    end(process)

shots = [timed(once) for _ in range(one_shot)]
process = start()
kept = [timed(lambda: ping(process, n)) for n in range(1, kept_open)]
end(process)
print(json.dumps({"one_shot_ms": shots, "kept_open_ms": kept}))
"""


async def measure(cluster: BenchCluster) -> Result:
    argv = ["/usr/bin/python3", "-", str(cluster.paths.launcher), str(ONE_SHOT), str(KEPT_OPEN)]
    timings = json.loads(cluster.exec_as("portal", argv, stdin=INSIDE))
    one_shot, kept_open = median(timings["one_shot_ms"]), median(timings["kept_open_ms"])
    label = "one request to a launcher that is kept open"
    figure = Figure(label, kept_open, "ms", one_shot, "a launcher for each request")
    return Result((figure,), {"one_shot_ms": one_shot, "kept_open_ms": kept_open})
