"""The language of the few pages that the portal writes itself; all others choose in the browser."""

from fastapi import Request

from portal.db import Database
from portal.said import TAGS, Language
from portal.services.people import preferences

_KNOWN: dict[str, Language] = {name: name for name in TAGS}
_MAX_NAMED = 20


async def language_of(request: Request, database: Database, user_id: str | None) -> Language:
    """What somebody has chosen, else the first of their browser's languages that there is."""
    chosen = (await preferences.of(database, user_id)).language if user_id else None
    return chosen or preferred(request.headers.get("accept-language", ""))


def preferred(header: str) -> Language:
    """By `Accept-Language` (RFC 9110, 12.5.4); English where it names none that there is."""
    named = [_weighed(part) for part in header.split(",")[:_MAX_NAMED]]
    for weight, language in sorted(named, key=lambda one: -one[0]):
        if weight > 0 and language in _KNOWN:
            return _KNOWN[language]
    return "en"


def _weighed(part: str) -> tuple[float, str]:
    """`zh-CN;q=0.8` → 0.8, "zh"; what can't be understood has no weight."""
    tag, _, rest = part.partition(";")
    name, _, value = rest.strip().partition("=")
    try:
        weight = float(value) if name.strip() == "q" else 1.0
    except ValueError:
        weight = 0.0
    return weight, tag.strip().lower().partition("-")[0]
