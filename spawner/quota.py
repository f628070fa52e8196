"""How much of a disk somebody may use: by an operator's command that prints JSON, or as the
system's own `quota` or Lustre's `lfs` prints it. Runs that command; what it means is read by pure
functions.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

log = logging.getLogger(__name__)

MAX_OUTPUT = 64 << 10
KEYS = ("used_bytes", "limit_bytes", "used_files", "limit_files")
BLOCK_BYTES = 1024  # quota(1): in kilobytes
_LINE = re.compile(r"(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+\s+(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+\s*$")


@dataclass(frozen=True)
class Quota:
    """Used and allowed, in bytes and in files. A limit is None where nothing limits it, and
    `used_files` where nobody counts them."""

    used_bytes: int
    limit_bytes: int | None
    used_files: int | None = None
    limit_files: int | None = None


async def ask(command: Sequence[str], timeout_s: float) -> Quota | None:
    """What an operator's command says; None when it fails, which is logged."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        log.warning("the command that knows quotas can't be run: %s", error)
        return None
    try:
        async with asyncio.timeout(timeout_s):
            out, _ = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        log.warning("the command that knows quotas takes too long")
        return None
    found = parse_json(out[:MAX_OUTPUT].decode(errors="replace"))
    if process.returncode != 0 or found is None:
        log.warning("the command that knows quotas ended with %s", process.returncode)
        return None
    return found


def parse_json(text: str) -> Quota | None:
    """`{"used_bytes": …, "limit_bytes": …, "used_files": …, "limit_files": …}`; all but the first
    may be absent or null. None for anything else."""
    try:
        fields: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(fields, dict):
        return None
    used, *others = (fields.get(key) for key in KEYS)
    if type(used) is not int or not all(n is None or type(n) is int for n in others):
        return None
    return Quota(used, *others)


def parse_text(text: str) -> Quota | None:
    """The last line of figures of `quota --user --no-wrap --raw-grace` for one file system: blocks,
    quota, limit, grace, files, quota, limit, grace (quota(1) of quota-tools); `lfs quota -u` prints
    the same columns (lfs-quota(1) of Lustre). The soft limit counts, for after its grace it is the
    limit; nought is none. None if there are no such figures, as where no answer came of a server.
    """
    for line in reversed(text.splitlines()):
        if found := _LINE.search(line):
            blocks, soft, hard, files, soft_files, hard_files = map(int, found.groups())
            limit = soft or hard
            return Quota(
                blocks * BLOCK_BYTES,
                limit * BLOCK_BYTES if limit else None,
                files,
                soft_files or hard_files or None,
            )
    return None
