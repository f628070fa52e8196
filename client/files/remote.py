"""Files on the cluster: names as the user types them, entries, folders."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from .. import operations
from ..connection import PortalConnection
from ..errors import NothingFound, UsageProblem
from ..models import RemoteEntry, RemotePlace

MARK = ":"
PAGE = 500
BYTES_FROM = 0xEF80
"""The portal shows a byte b that is not UTF-8 as the character U+EF00 + b; the first is 0x80."""
WINDOWS_SPECIAL = frozenset('\\:<>"|?*')
WINDOWS_DEVICES = frozenset(
    ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"]
    + [
        f"{device}{number}"
        for device in ("COM", "LPT")
        for number in "0123456789\u00b9\u00b2\u00b3"
    ]
)
"""Names of devices in every folder of Windows; superscript digits count as digits."""


def is_remote(text: str) -> bool:
    """Return whether an argument of `cp` names a file on the cluster. Pure."""
    return text.startswith(MARK)


def to_full_path(text: str) -> str:
    """Return the path of an argument: below the home unless it begins with `/` or `~`. Pure."""
    path = text.removeprefix(MARK)
    if path.startswith(("/", "~/")) or path == "~":
        return path
    return f"~/{path}" if path else "~"


def join(place: RemotePlace, *names: str) -> RemotePlace:
    """Return a place below another one. Pure."""
    return RemotePlace(place.root, "/".join([part for part in (place.path, *names) if part]))


def to_remote_name(name: str) -> str:
    """Return a local name as the portal takes it: other bytes than UTF-8 as its own characters.

    Pure.
    """
    return "".join(
        chr(BYTES_FROM - 0x80 + byte)
        if (byte := ord(letter) - 0xDC00) in range(0x80, 0x100)
        else letter
        for letter in name
    )


def to_local_name(name: str, system: str = os.name) -> str:
    """Return a name of the portal as the local system has it, and refuse one that is no name.

    Pure. The portal is not trusted with local paths: no name of its leads out of the target folder.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name or _is_special(name, system):
        raise UsageProblem(f"The portal sent a name that can't be used here: {name!r}.")
    return "".join(
        chr(ord(letter) - BYTES_FROM + 0x80 + 0xDC00)
        if BYTES_FROM <= ord(letter) < BYTES_FROM + 0x80
        else letter
        for letter in name
    )


def _is_special(name: str, system: str) -> bool:
    """Return whether Windows would not create a plain file or folder of this name. Pure.

    A colon begins a stream of another file, a device's name opens the device, with any ending, and
    a dot or space at the end is dropped, so that another file is meant.
    """
    if system != "nt":
        return False
    stem = name.partition(".")[0].rstrip(" ").upper()
    return (
        stem in WINDOWS_DEVICES
        or name.endswith((".", " "))
        or any(letter in WINDOWS_SPECIAL or ord(letter) < ord(" ") for letter in name)
    )


@dataclass(frozen=True)
class RemoteFiles:
    """The user's files on the cluster."""

    connection: PortalConnection

    def find_place(self, argument: str) -> RemotePlace:
        """Return the root and path of an argument of `cp`."""
        path = to_remote_name(to_full_path(argument))
        return self.connection.call(operations.FIND_PLACE, query={"path": path})

    def find_entry(self, place: RemotePlace) -> RemoteEntry | None:
        """Return the file or folder at a place; None if there is none."""
        query = {"root": place.root, "path": place.path}
        try:
            return self.connection.call(operations.GET_ENTRY, query=query)
        except NothingFound:
            return None

    def is_folder(self, place: RemotePlace) -> bool:
        """Return whether a folder is at this place."""
        if not place.path:
            return True
        entry = self.find_entry(place)
        return entry is not None and is_folder(entry)

    def list_folder(self, place: RemotePlace) -> Iterator[RemoteEntry]:
        """Yield all entries of a folder, hidden ones too."""
        query = {"root": place.root, "path": place.path, "hidden": True, "limit": PAGE}
        cursor: str | None = None
        while True:
            page = self.connection.call(operations.LIST_FOLDER, query={**query, "cursor": cursor})
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    def create_folder(self, place: RemotePlace) -> None:
        """Create a folder with its parents; leave one that exists."""
        body = {"root": place.root, "path": place.path, "parents": True}

        def once() -> None:
            if not self.is_folder(place):
                self.connection.call(operations.CREATE_FOLDER, body=body)

        self.connection.repeat(once)

    def home_path(self) -> str:
        """Return the home's full path on the cluster. Raises NothingFound."""
        for root in self.connection.call(operations.LIST_ROOTS).items:
            if root.name == self.find_place("~").root:
                return root.path
        raise NothingFound("The portal offers no home directory.")


def is_folder(entry: RemoteEntry) -> bool:
    """Return whether an entry is a folder, or a link to one. Pure."""
    return "folder" in {entry.kind, entry.target_kind}
