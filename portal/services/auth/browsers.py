"""Short names of browsers and operating systems, parsed from the User-Agent header. Pure."""

# The first match counts: most browsers name others as well.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR", "Opera"),
    ("SamsungBrowser", "Samsung Internet"),
    ("Firefox", "Firefox"),
    ("FxiOS", "Firefox"),
    ("CriOS", "Chrome"),
    ("Chromium", "Chromium"),
    ("Chrome", "Chrome"),
    ("Safari", "Safari"),
    ("curl", "curl"),
    ("python", "Python"),
)
_SYSTEMS = (
    ("Android", "Android"),
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Windows", "Windows"),
    ("Macintosh", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


def name_browser(user_agent: str) -> str:
    """Return a name such as "Firefox", or "" for an unknown browser."""
    return next((name for text, name in _BROWSERS if text.lower() in user_agent.lower()), "")


def name_system(user_agent: str) -> str:
    """Return a name such as "Linux", or "" for an unknown operating system."""
    return next((name for text, name in _SYSTEMS if text in user_agent), "")
