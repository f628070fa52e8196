"""Disk usage and quota of a user, from an operator's command or from `quota` or Lustre's `lfs`.

The operator's command prints JSON and is run here; the output is parsed by pure functions.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from spawner import subprocesses

log = logging.getLogger(__name__)

MAX_OUTPUT = 64 << 10
KEYS = ("used_bytes", "limit_bytes", "used_files", "limit_files")
BLOCK_BYTES = 1024  # quota(1): in kilobytes
_LINE = re.compile(r"(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+\s+(\d+)\*?\s+(\d+)\s+(\d+)\s+\S+\s*$")


@dataclass(frozen=True)
class Quota:
    """Usage and limits, in bytes and in files.

    A limit of None means no limit; `used_files` is None if files are not counted.
    """

    used_bytes: int
    limit_bytes: int | None
    used_files: int | None = None
    limit_files: int | None = None


async def run_quota_command(command: Sequence[str], timeout_s: float) -> Quota | None:
    """Return the result of an operator's command; None if it fails, which is logged."""
    try:
        process = await subprocesses.start(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError as error:
        log.warning("the quota command can't be run: %s", error)
        return None
    try:
        async with asyncio.timeout(timeout_s):
            out, _ = await process.communicate()
    except TimeoutError:
        log.warning("the quota command timed out")
        return None
    finally:
        await subprocesses.end(process)
    quota = parse_json(out[:MAX_OUTPUT].decode(errors="replace"))
    if process.returncode != 0 or quota is None:
        log.warning("the quota command exited with %s", process.returncode)
        return None
    return quota


def parse_json(text: str) -> Quota | None:
    """Parse `{"used_bytes": …, "limit_bytes": …, "used_files": …, "limit_files": …}`.

    All but the first may be absent or null. None for anything else.
    """
    try:
        fields: Any = json.loads(text)
    except ValueError:
        return None
    if not isinstance(fields, dict):
        return None
    used, *counts = (fields.get(key) for key in KEYS)
    if type(used) is not int or not all(n is None or type(n) is int for n in counts):
        return None
    return Quota(used, *counts)


def parse_text(text: str) -> Quota | None:
    """Parse the last line of figures that `quota` prints for one file system.

    The command is `quota --user --no-wrap --raw-grace`; its columns are blocks, quota, limit,
    grace, files, quota, limit, grace (quota(1) of quota-tools). `lfs quota -u` prints the same
    columns (lfs-quota(1) of Lustre). The soft limit counts, because it becomes the limit after the
    grace period; zero means no limit. None if there are no such figures, such as when a server did
    not answer.
    """
    for line in reversed(text.splitlines()):
        if match := _LINE.search(line):
            blocks, soft, hard, files, soft_files, hard_files = map(int, match.groups())
            limit = soft or hard
            return Quota(
                blocks * BLOCK_BYTES,
                limit * BLOCK_BYTES if limit else None,
                files,
                soft_files or hard_files or None,
            )
    return None
