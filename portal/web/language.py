"""The language of the few pages that the portal renders itself; the others choose in the
browser.
"""

from fastapi import Request

from portal.db import Database
from portal.i18n.translation import TAGS, Language
from portal.services.identity import preferences

_SUPPORTED: dict[str, Language] = {name: name for name in TAGS}
_MAX_ENTRIES = 20


async def language_of(request: Request, database: Database, user_id: str | None) -> Language:
    """Return the user's chosen language, else the browser's first supported language."""
    chosen = (await preferences.load_preferences(database, user_id)).language if user_id else None
    return chosen or preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> Language:
    """Parse `Accept-Language` (RFC 9110, 12.5.4); English if it names no supported language."""
    entries = [_parse_entry(part) for part in header.split(",")[:_MAX_ENTRIES]]
    for weight, language in sorted(entries, key=lambda entry: -entry[0]):
        if weight > 0 and language in _SUPPORTED:
            return _SUPPORTED[language]
    return "en"


def _parse_entry(part: str) -> tuple[float, str]:
    """Parse one entry: `zh-CN;q=0.8` → 0.8, "zh"; an invalid weight counts as 0."""
    tag, _, rest = part.partition(";")
    name, _, value = rest.strip().partition("=")
    try:
        weight = float(value) if name.strip() == "q" else 1.0
    except ValueError:
        weight = 0.0
    return weight, tag.strip().lower().partition("-")[0]
