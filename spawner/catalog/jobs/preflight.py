"""Check before a job on several nodes starts: all ranks reach each other, and add up correctly.

Every rank connects to rank 0 (MASTER_ADDR, MASTER_PORT), receives the others' addresses, connects
to each of them, and takes part in an all-reduce with a known result. Exits with 1 and a line for
each rank and port that is unreachable. Standard library only; rank and size are Slurm's.
"""

import argparse
import json
import os
import socket
import sys
import time
from dataclasses import dataclass

LENGTH = 1000


@dataclass(frozen=True)
class RankGroup:
    rank: int
    size: int
    master: tuple
    timeout_s: float


class PeerUnreachable(Exception):
    pass


def values(rank):
    """Return a rank's values: integers, so that their sum is exact in any order."""
    return [(rank + 1) * (index + 1) for index in range(LENGTH)]


def expected(size):
    return [size * (size + 1) // 2 * (index + 1) for index in range(LENGTH)]


def send(connection, message):
    connection.sendall(json.dumps(message).encode() + b"\n")


def receive(reader):
    line = reader.readline()
    if not line:
        raise ConnectionError("the other side has left")
    return json.loads(line)


def listen(port=0):
    return socket.create_server(("", port), backlog=1024)


def connect(address, timeout_s):
    """Connect to (host, port), retrying refused connections until the time is up.

    The other side may only be late. Raises PeerUnreachable.
    """
    end = time.monotonic() + timeout_s
    while True:
        seconds_left = end - time.monotonic()
        try:
            return socket.create_connection(address, timeout=max(seconds_left, 0.1))
        except ConnectionRefusedError as error:
            if seconds_left <= 0:
                raise PeerUnreachable("no process is listening there") from error
            time.sleep(0.05)
        except OSError as error:
            raise PeerUnreachable(str(error)) from error


def say(line, stream=sys.stdout):
    """Print with a single write, so that lines of several ranks do not mix."""
    stream.write(line + "\n")
    stream.flush()


def describe_peer(rank, host, address):
    return f"rank {rank} on {host}, address {address[0]}, port {address[1]}"


def unreachable(own_rank, peers, timeout_s):
    """Return a line for each peer (rank, host, [address, port]) that cannot be reached."""
    lines = []
    for rank, host, address in peers:
        try:
            connect(tuple(address), timeout_s).close()
        except PeerUnreachable as error:
            lines.append(f"{own_rank} can't reach {describe_peer(rank, host, address)}: {error}")
    return lines


def lead(group, listener):
    """Run rank 0: collect all ranks' addresses, send them to every rank, and add up."""
    end = time.monotonic() + group.timeout_s
    callers = {}
    while len(callers) < group.size - 1:
        listener.settimeout(max(end - time.monotonic(), 0.01))
        try:
            connection, address = listener.accept()
        except socket.timeout:  # TimeoutError only since Python 3.10
            break
        connection.settimeout(group.timeout_s)
        reader = connection.makefile("r")
        hello = receive(reader)
        peer = [hello["rank"], hello["host"], [address[0], hello["port"]]]
        callers[hello["rank"]] = (connection, reader, peer, hello["values"])
    lines = [
        f"rank {rank} has not reached rank 0 at {group.master[0]}, port {group.master[1]},"
        f" within {group.timeout_s:g} s"
        for rank in range(1, group.size)
        if rank not in callers
    ]
    peers = [peer for _, _, peer, _ in callers.values()]
    for connection, _, peer, _ in callers.values():
        say(f"preflight: {describe_peer(*peer)}, has reached {connection.getsockname()[0]}")
        # A rank waits for each other rank that it cannot reach.
        connection.settimeout(group.timeout_s * group.size)
        send(connection, peers)
    lines += unreachable("rank 0", peers, group.timeout_s)
    for _, reader, _, _ in callers.values():
        lines += receive(reader)
    total = values(0)
    for _, _, _, brought in callers.values():
        total = [value + other for value, other in zip(total, brought)]
    for connection, _, _, _ in callers.values():
        send(connection, {"total": total, "lines": lines})
    return total, lines


def follow(group):
    """Run any other rank."""
    own_rank = f"rank {group.rank} on {socket.gethostname()}"
    with listen() as listener:
        try:
            connection = connect(group.master, group.timeout_s)
        except PeerUnreachable as error:
            leader = f"rank 0 at {group.master[0]}, port {group.master[1]}"
            return [], [f"{own_rank} can't reach {leader}: {error}"]
        with connection:
            # Rank 0 may wait for the last rank, and then for each that cannot be reached.
            connection.settimeout(group.timeout_s * (group.size + 1))
            port = listener.getsockname()[1]
            hello = {"rank": group.rank, "host": socket.gethostname(), "port": port}
            send(connection, {**hello, "values": values(group.rank)})
            reader = connection.makefile("r")
            peers = [peer for peer in receive(reader) if peer[0] != group.rank]
            send(connection, unreachable(own_rank, peers, group.timeout_s))
            result = receive(reader)
    return result["total"], result["lines"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--timeout-s", type=float, default=20)
    timeout_s = parser.parse_args().timeout_s
    rank, size = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
    master = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
    group = RankGroup(rank, size, master, timeout_s)
    if rank == 0:
        with listen(master[1]) as listener:
            total, lines = lead(group, listener)
    else:
        total, lines = follow(group)
    if not lines and total != expected(size):
        lines = [f"rank {rank}: the all-reduce gave a wrong sum"]
    if rank == 0 or not total:
        for line in lines:
            say(f"preflight: {line}", sys.stderr)
    if lines:
        sys.exit(1)
    if rank == 0:
        say(f"preflight: {size} ranks reach each other, and their all-reduce is right")


if __name__ == "__main__":
    main()
