"""Deleting with a way back: what is deleted moves to a folder of the user's own in its root, on the
same file system, `.portal-trash/ID/item`, and `about.json` beside it says where it came from."""

from __future__ import annotations

import contextlib
import errno
import heapq
import json
import os
import stat
import time
from collections.abc import Iterator

from spawner.filer.changing import Removal
from spawner.filer.places import (
    Place,
    entry_of,
    kind_of,
    open_root,
    operation,
    problem,
    rename_new,
    shown_name,
    telling,
    text_of,
    want_below,
    want_place,
    working_folder,
)
from spawner.launcher import (
    UUID,
    Launcher,
    Refused,
    Request,
    Result,
    User,
    enter,
    opened,
    want,
    want_timeout,
    write_file,
)

TRASH = ".portal-trash"
ITEM = "item"
ABOUT = "about.json"
MAX_ABOUT = 64 << 10
MOST_SHOWN = 500
MOST_SHOWN_BYTES = 512 << 10
MOST_TRASH_LOOKED_AT = 20_000
NO_TRASH = {errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR}


def trash_name(root: int, user: User) -> str:
    """In a folder that several people share, each has a trash of their own."""
    return TRASH if os.fstat(root).st_uid == user.uid else f"{TRASH}-{user.uid}"


def open_trash(place: Place, user: User, make: bool) -> int:
    with opened(open_root(place.root)) as root:
        return enter(root, trash_name(root, user), user, make)


def in_trash(place: Place) -> bool:
    return place.steps[0] == TRASH or place.steps[0].startswith(f"{TRASH}-")


@operation
def delete(launcher: Launcher, request: Request) -> Result:
    """Move something to the trash, as `id`, or delete it for good. For good may take several
    requests: `done` says whether it is over."""
    place, permanent = want_below(request), want(request, "permanent", bool)
    deadline = time.monotonic() + want_timeout(request)
    with opened(working_folder(place.parent)) as folder, telling(place.name):
        state = os.lstat(place.name, dir_fd=folder)
        if permanent:
            removal = Removal(deadline)
            done = removal.remove(folder, place.name)
            return {"done": done, "id": None, "removed": removal.count}
        if in_trash(place):
            raise problem("no-trash", "This is in the trash already: empty it instead.")
        number = want(request, "number", str, UUID)
        to_trash(launcher.user, place, folder, number, state)
        return {"done": True, "id": number, "removed": 0}


def to_trash(user: User, place: Place, folder: int, number: str, state: os.stat_result) -> None:
    with no_trash_told(), opened(open_trash(place, user, make=True)) as trash:
        if os.fstat(trash).st_dev != state.st_dev:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        os.mkdir(number, 0o700, dir_fd=trash)
        try:
            with opened(enter(trash, number, user, make=False)) as own:
                path = "/".join(text_of(step) for step in place.steps)
                about = {"path": path, "deleted_at": time.time()}
                write_file(own, ABOUT, json.dumps(about).encode())
                with moving(place.name):
                    rename_new(folder, place.name, own, ITEM)
        except BaseException:
            with contextlib.suppress(OSError):
                forget_item(trash, number)
            raise


@contextlib.contextmanager
def no_trash_told() -> Iterator[None]:
    """Where there can be no trash, deleting has no way back: that is for the user to choose."""
    try:
        yield
    except OSError as error:
        if error.errno == errno.EXDEV:
            text = (
                "This lies on another file system than the trash; it can only be deleted for good."
            )
        elif error.errno in NO_TRASH:
            text = f"The trash can't be used ({error.strerror}); this can only be deleted for good."
        else:
            raise
        raise problem("no-trash", text) from error


@contextlib.contextmanager
def moving(name: str) -> Iterator[None]:
    """A file that may not be moved isn't the trash's fault."""
    try:
        yield
    except PermissionError as error:
        text = f"You may not delete “{shown_name(name)}”: its folder's permissions don't allow it."
        raise problem("denied", text) from error


def forget_item(trash: int, number: str) -> None:
    """Remove the folder of an item that isn't in it any more."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    with opened(os.open(number, flags, dir_fd=trash)) as own:
        for name in (ABOUT, f".{ABOUT}.new"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=own)
    os.rmdir(number, dir_fd=trash)


@operation
def list_trash(launcher: Launcher, request: Request) -> Result:
    """What was deleted from below a root, the last one first, and whether that is all of it. `of`
    asks only for what had that path."""
    place = want_place(request)
    of = None if request.get("of") is None else want(request, "of", str)
    deadline = time.monotonic() + want_timeout(request)
    items: list[Result] = []
    size = 0
    try:
        trash = open_trash(place, launcher.user, make=False)
    except FileNotFoundError:
        return {"items": [], "complete": True}
    with opened(trash), telling(TRASH):
        newest = heapq.nlargest(MOST_TRASH_LOOKED_AT + 1, numbers_of(trash))
        for deleted_at, number in newest[:MOST_TRASH_LOOKED_AT]:
            item = item_of(trash, number, launcher.user)
            if item is None or of not in (None, item["path"]):
                if time.monotonic() > deadline:
                    return {"items": items, "complete": False}
                continue
            size += len(json.dumps(item))
            if len(items) == MOST_SHOWN or size > MOST_SHOWN_BYTES:
                return {"items": items, "complete": False}
            items.append({**item, "deleted_at": deleted_at})
    return {"items": items, "complete": len(newest) <= MOST_TRASH_LOOKED_AT}


def numbers_of(trash: int) -> Iterator[tuple[float, str]]:
    """When it was deleted, and its id, of everything in the trash."""
    with os.scandir(trash) as entries:
        for entry in entries:
            if UUID.fullmatch(entry.name):
                with contextlib.suppress(OSError):
                    yield entry.stat(follow_symlinks=False).st_mtime, entry.name


def item_of(trash: int, number: str, user: User) -> Result | None:
    """None for one that was restored, or isn't ours."""
    try:
        with opened(enter(trash, number, user, make=False)) as own:
            state = os.lstat(ITEM, dir_fd=own)
            path = came_from(own)
    except (OSError, Refused):
        return None
    size = state.st_size if stat.S_ISREG(state.st_mode) else None
    return {"id": number, "path": path, "kind": kind_of(state.st_mode), "size_bytes": size}


def came_from(own: int) -> str:
    """The path that an item had; Refused if nobody knows any more."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with opened(os.open(ABOUT, flags, dir_fd=own)) as fd:
        try:
            about = json.loads(os.read(fd, MAX_ABOUT))
            return want(about, "path", str)  # type: ignore[no-any-return]  # it is a str
        except (ValueError, AttributeError) as error:
            raise problem("not-there", "Nobody knows any more where this came from.") from error


@operation
def restore(launcher: Launcher, request: Request) -> Result:
    """Bring something back to where it was, or to `to_path`; never over what is there now."""
    place, number = want_place(request), want(request, "number", str, UUID)
    with telling("this"), opened(open_trash(place, launcher.user, make=False)) as trash:
        with opened(enter(trash, number, launcher.user, make=False)) as own:
            path = request.get("to_path")
            to = want_below({"root": place.root, "path": came_from(own) if path is None else path})
            with opened(working_folder(to.parent)) as folder, telling(to.name):
                rename_new(own, ITEM, folder, to.name)
                entry = entry_of(folder, to.name)
        forget_item(trash, number)
    return {"entry": entry, "path": "/".join(text_of(step) for step in to.steps)}


@operation
def empty_trash(launcher: Launcher, request: Request) -> Result:
    """Delete for good: what `ids` names, or null for all; of those what is older than `older_s`. It
    may take several requests: `done` says whether it is over."""
    place, older_s = want_place(request), want(request, "older_s", int)
    ids = request.get("ids")
    if ids is not None and not (
        type(ids) is list and all(type(one) is str and UUID.fullmatch(one) for one in ids)
    ):
        raise Refused("BadRequest", "ids is malformed")
    removal = Removal(time.monotonic() + want_timeout(request))
    try:
        trash = open_trash(place, launcher.user, make=False)
    except FileNotFoundError:
        return {"done": True, "removed": 0}
    with opened(trash), telling(TRASH):
        before = time.time() - older_s
        old = (number for deleted_at, number in list(numbers_of(trash)) if deleted_at <= before)
        for number in old:
            if (ids is None or number in ids) and not removal.remove(trash, number):
                return {"done": False, "removed": removal.count}
    return {"done": True, "removed": removal.count}
