"""Trash operations: delete with the option to restore.

A deleted entry moves to `.portal-trash/ID/item` in its root, on the same file system; `about.json`
beside it records its original path.
"""

from __future__ import annotations

import contextlib
import errno
import heapq
import json
import os
import stat
import time
from collections.abc import Iterator

from spawner.files.context import FilesContext
from spawner.files.operations import Removal
from spawner.files.paths import (
    RootedPath,
    entry_of,
    kind_of,
    open_for_changes,
    open_root,
    problem,
    rename_new,
    required_path,
    required_path_below_root,
    shown_name,
    text_of,
    translating_errors,
)
from spawner.launcher.program import (
    UUID,
    Refused,
    Request,
    Result,
    User,
    enter,
    opened,
    required_field,
    timeout_of,
    write_file,
)

TRASH = ".portal-trash"
ITEM = "item"
ABOUT = "about.json"
MAX_ABOUT = 64 << 10
MAX_SHOWN = 500
MAX_SHOWN_BYTES = 512 << 10
MAX_SCANNED = 20_000
NO_TRASH_ERRORS = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
}


def trash_name(root: int, user: User) -> str:
    """Return the trash folder's name; in a root owned by another account, each user has a separate
    one.
    """
    return TRASH if os.fstat(root).st_uid == user.uid else f"{TRASH}-{user.uid}"


def open_trash(path: RootedPath, user: User, make: bool) -> int:
    with opened(open_root(path.root)) as root:
        return enter(root, trash_name(root, user), user, make)


def in_trash(path: RootedPath) -> bool:
    return path.parts[0] == TRASH or path.parts[0].startswith(f"{TRASH}-")


def delete(context: FilesContext, request: Request) -> Result:
    """Move an entry to the trash, under `trash_id`, or delete it for good.

    Deleting for good may take several requests: `done` is true when it is complete.
    """
    path, permanent = required_path_below_root(request), required_field(request, "permanent", bool)
    deadline = time.monotonic() + timeout_of(request)
    with opened(open_for_changes(path.parent)) as folder, translating_errors(path.name):
        state = os.lstat(path.name, dir_fd=folder)
        if permanent:
            removal = Removal(deadline)
            done = removal.remove(folder, path.name)
            return {"done": done, "id": None, "removed": removal.count}
        if in_trash(path):
            raise problem("no-trash", "This is already in the trash: empty the trash instead.")
        trash_id = required_field(request, "trash_id", str, UUID)
        to_trash(context.user, path, folder, trash_id, state)
        return {"done": True, "id": trash_id, "removed": 0}


def to_trash(
    user: User, original: RootedPath, folder: int, trash_id: str, state: os.stat_result
) -> None:
    with reporting_no_trash(), opened(open_trash(original, user, make=True)) as trash:
        if os.fstat(trash).st_dev != state.st_dev:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        os.mkdir(trash_id, 0o700, dir_fd=trash)
        try:
            with opened(enter(trash, trash_id, user, make=False)) as item_folder:
                path = "/".join(text_of(part) for part in original.parts)
                about = {"path": path, "deleted_at": time.time()}
                write_file(item_folder, ABOUT, json.dumps(about).encode())
                with moving(original.name):
                    rename_new(folder, original.name, item_folder, ITEM)
        except BaseException:
            with contextlib.suppress(OSError):
                forget_item(trash, trash_id)
            raise


@contextlib.contextmanager
def reporting_no_trash() -> Iterator[None]:
    """Report that no trash is available, so that the user can choose to delete for good."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EXDEV:
            text = (
                "This is on a different file system than the trash, so it can only be "
                "deleted permanently."
            )
        elif error.errno in NO_TRASH_ERRORS:
            text = (
                f"The trash can't be used ({error.strerror}), so this can only be deleted "
                "permanently."
            )
        else:
            raise
        raise problem("no-trash", text) from error


@contextlib.contextmanager
def moving(name: str) -> Iterator[None]:
    """Report that the entry itself may not be moved, as opposed to the trash being unusable."""
    try:
        yield
    except PermissionError as error:
        text = (
            f"You are not allowed to delete “{shown_name(name)}”: its folder's permissions "
            "don't allow it."
        )
        raise problem("denied", text) from error


def forget_item(trash: int, trash_id: str) -> None:
    """Remove an item's folder, from which the item was moved, or to which it could not be moved."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened(os.open(trash_id, flags, dir_fd=trash)) as item_folder:
        for name in (ABOUT, f".{ABOUT}.new"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=item_folder)
    os.rmdir(trash_id, dir_fd=trash)


def list_trash(context: FilesContext, request: Request) -> Result:
    """Return the deleted entries of a root, latest first, and whether the list is complete.

    `of` restricts the list to entries that had this path.
    """
    path = required_path(request)
    original_path = None if request.get("of") is None else required_field(request, "of", str)
    deadline = time.monotonic() + timeout_of(request)
    items: list[Result] = []
    size = 0
    try:
        trash = open_trash(path, context.user, make=False)
    except FileNotFoundError:
        return {"items": [], "complete": True}
    with opened(trash), translating_errors(TRASH):
        newest = heapq.nlargest(MAX_SCANNED + 1, items_of(trash))
        for deleted_at, trash_id in newest[:MAX_SCANNED]:
            item = item_of(trash, trash_id, context.user)
            if item is None or original_path not in (None, item["path"]):
                if time.monotonic() > deadline:
                    return {"items": items, "complete": False}
                continue
            size += len(json.dumps(item))
            if len(items) == MAX_SHOWN or size > MAX_SHOWN_BYTES:
                return {"items": items, "complete": False}
            items.append({**item, "deleted_at": deleted_at})
    return {"items": items, "complete": len(newest) <= MAX_SCANNED}


def items_of(trash: int) -> Iterator[tuple[float, str]]:
    """Yield the time of deletion and the id of each item in the trash."""
    with os.scandir(trash) as entries:
        for entry in entries:
            if UUID.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_mtime, entry.name


def item_of(trash: int, trash_id: str, user: User) -> Result | None:
    """Return an item of the trash; None if it was restored, or is not a valid item."""
    try:
        with opened(enter(trash, trash_id, user, make=False)) as item_folder:
            state = os.lstat(ITEM, dir_fd=item_folder)
            path = original_path_of(item_folder)
    except (OSError, Refused):
        return None
    size = state.st_size if stat.S_ISREG(state.st_mode) else None
    return {"id": trash_id, "path": path, "kind": kind_of(state.st_mode), "size_bytes": size}


def original_path_of(item_folder: int) -> str:
    """Return the original path of an item; raises Refused if it is unknown."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with opened(os.open(ABOUT, flags, dir_fd=item_folder)) as fd:
        try:
            about = json.loads(os.read(fd, MAX_ABOUT))
            return required_field(about, "path", str)  # type: ignore[no-any-return]  # checked already
        except (ValueError, AttributeError) as error:
            raise problem("not-there", "The original location is no longer known.") from error


def restore(context: FilesContext, request: Request) -> Result:
    """Move an item back to its original path, or to `to_path`, without replacing anything."""
    root, trash_id = required_path(request), required_field(request, "trash_id", str, UUID)
    with translating_errors("this"), opened(open_trash(root, context.user, make=False)) as trash:
        with opened(enter(trash, trash_id, context.user, make=False)) as item_folder:
            path = request.get("to_path")
            to = required_path_below_root(
                {"root": root.root, "path": original_path_of(item_folder) if path is None else path}
            )
            with opened(open_for_changes(to.parent)) as folder, translating_errors(to.name):
                rename_new(item_folder, ITEM, folder, to.name)
                entry = entry_of(folder, to.name)
        forget_item(trash, trash_id)
    return {"entry": entry, "path": "/".join(text_of(part) for part in to.parts)}


def empty_trash(context: FilesContext, request: Request) -> Result:
    """Delete trash items for good: those listed in `ids` (null for all) that are older than
    `older_s`.

    This may take several requests: `done` is true when it is complete. An item that can't be
    deleted, such as a folder with another account's files, does not prevent the others' deletion:
    its error is raised at the end.
    """
    path, older_s = required_path(request), required_field(request, "older_s", int)
    ids = request.get("ids")
    if ids is not None and not (
        type(ids) is list
        and all(type(item_id) is str and UUID.fullmatch(item_id) for item_id in ids)
    ):
        raise Refused("BadRequest", "ids is malformed")
    removal = Removal(time.monotonic() + timeout_of(request))
    try:
        trash = open_trash(path, context.user, make=False)
    except FileNotFoundError:
        return {"done": True, "removed": 0}
    with opened(trash), translating_errors(TRASH):
        before = time.time() - older_s
        old = (trash_id for deleted_at, trash_id in list(items_of(trash)) if deleted_at <= before)
        failure: OSError | Refused | None = None
        for trash_id in old:
            if ids is not None and trash_id not in ids:
                continue
            try:
                if not removal.remove(trash, trash_id):
                    return {"done": False, "removed": removal.count}
            except (OSError, Refused) as error:
                failure = failure or error
        if failure is not None:
            raise failure
    return {"done": True, "removed": removal.count}
