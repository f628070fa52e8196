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
    title = "The file's permissions don't allow this"


class FileNotThere(NotFound):
    slug = "file-not-there"
    title = "There is no such file"


class FileExists(Conflict):
    slug = "file-exists"
    title = "There is something of this name already"


class FileChanged(Conflict):
    slug = "file-changed"
    title = "The file was changed elsewhere"


class FileBusy(Conflict):
    slug = "file-busy"
    title = "The file is being written at this moment"


class FileLink(Conflict):
    slug = "file-link"
    title = "A link stands in the way"


class NoTrash(Conflict):
    slug = "no-trash"
    title = "This can only be deleted for good"


class OtherFilesystem(Conflict):
    slug = "other-filesystem"
    title = "This lies on another file system"


class WrongOffset(Conflict):
    slug = "wrong-offset"
    title = "Another piece of the file comes next"


class ChecksumDiffers(Conflict):
    slug = "checksum-differs"
    title = "The file didn't arrive as it was sent"


class FileFailed(Conflict):
    slug = "file-failed"
    title = "This can't be done with this file"


class NotAFile(InvalidInput):
    slug = "not-a-file"
    title = "This is no file"


class NotAFolder(InvalidInput):
    slug = "not-a-folder"
    title = "This is no folder"


class BadName(InvalidInput):
    slug = "bad-name"
    title = "This name can't be used"


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
    title = "There is no space left"


class QuotaExceeded(NoSpace):
    slug = "quota-exceeded"
    title = "Your quota is used up"
