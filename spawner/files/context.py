"""The state that operations on files share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from spawner.launcher.program import User


@dataclass
class FilesContext:
    """The user, and the umask for new files and folders.

    `opened` is the descriptor of the file that `open_file_to_send` inspected, so that exactly this
    file is sent. An
    operation sets `stream` to content that is sent after its response; then the program ends.
    """

    user: User
    umask: int
    opened: int | None = None
    stream: Iterator[bytes] | None = None
