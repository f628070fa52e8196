"""Errors about a user's files, as problem documents.

PortalError
  FileDenied               403 file-denied
  FileNotThere             404 file-not-there
  Conflict
    FileExists             409 file-exists
    FileChanged            409 file-changed, with its current version
    FileBusy               409 file-busy
    FileLink               409 file-link: the path to be changed is a symbolic link
    NoTrash                409 no-trash: it can only be deleted permanently
    OtherFilesystem        409 other-filesystem
    WrongOffset            409 wrong-offset, with the expected one
    ChecksumDiffers        409 checksum-differs
    FileFailed             409 file-failed
  NotAFile                 422 not-a-file
  NotAFolder               422 not-a-folder
  BadName                  422 bad-name
  TooManyStreams           429 too-many-streams
  Unavailable
    FilesAway              503 files-away: the file system does not answer
  NoSpace                  507 no-space
    QuotaExceeded          507 quota-exceeded
"""

from portal.errors.base import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    PortalError,
    Unavailable,
)


class FileDenied(Forbidden):
    slug = "file-denied"
    title = "Permission denied"


class FileNotThere(NotFound):
    slug = "file-not-there"
    title = "File not found"


class FileExists(Conflict):
    slug = "file-exists"
    title = "Name already exists"


class FileChanged(Conflict):
    slug = "file-changed"
    title = "The file has changed"


class FileBusy(Conflict):
    slug = "file-busy"
    title = "The file is being written"


class FileLink(Conflict):
    slug = "file-link"
    title = "The path is a symbolic link"


class NoTrash(Conflict):
    slug = "no-trash"
    title = "This can only be deleted permanently"


class OtherFilesystem(Conflict):
    slug = "other-filesystem"
    title = "Different file systems"


class WrongOffset(Conflict):
    slug = "wrong-offset"
    title = "Unexpected upload offset"


class ChecksumDiffers(Conflict):
    slug = "checksum-differs"
    title = "Checksum mismatch"


class FileFailed(Conflict):
    slug = "file-failed"
    title = "File operation failed"


class NotAFile(InvalidInput):
    slug = "not-a-file"
    title = "Not a file"


class NotAFolder(InvalidInput):
    slug = "not-a-folder"
    title = "Not a folder"


class BadName(InvalidInput):
    slug = "bad-name"
    title = "Invalid name"


class TooManyStreams(PortalError):
    status = 429
    slug = "too-many-streams"
    title = "Too many downloads at once"


class FilesAway(Unavailable):
    slug = "files-away"
    title = "The file system doesn't answer"


class NoSpace(PortalError):
    status = 507
    slug = "no-space"
    title = "No space left"


class QuotaExceeded(NoSpace):
    slug = "quota-exceeded"
    title = "Quota exceeded"
