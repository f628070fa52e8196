"""Search for files by name below a folder, by the user's files program."""

from portal.services.files.roots import FileAccess, FileLocation, check_path, converting_errors
from spawner.launcher.file_answers import FileMatches
from spawner.launcher.file_names import from_text

WITHIN_S = 2.0


async def search(
    files: FileAccess, username: str, location: FileLocation, text: str
) -> FileMatches:
    """Return entries whose names contain all words of `text`.

    Raises FileNotThere, FileDenied, NotAFolder, InvalidInput and TooManyRequests.
    """
    # the rules for a path's characters and length hold for words in names too
    words = from_text(check_path(text, "q"))
    async with files.searches.wait_turn(username, location.root):
        with converting_errors():
            return await files.pool(location.root).search(
                username, location.parameters, words, WITHIN_S
            )
