"""Log configuration: one event per line, as JSON or readable text, with bounded values.

It configures structlog and the standard library (uvicorn, the spawner) to the same format.
"""

import logging
import logging.config
from collections.abc import MutableMapping
from typing import Any

import structlog

from portal.config.settings import Settings
from spawner import request_id

MAX_VALUE_CHARS = 1000
_SECRET_WORDS = ("password", "secret", "token", "cookie", "authorization")
SHARED: list[structlog.types.Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(("user", "operation", "seconds", "outcome", "request")),
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def bound(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Truncate values from outside, keep them on one line, and mask the values of secret-like
    keys.
    """
    for key, value in event.items():
        if any(word in key.lower() for word in _SECRET_WORDS):
            event[key] = "…"
        elif isinstance(value, str) and key not in {"exception", "stack"}:
            event[key] = _escape_unprintable(value[:MAX_VALUE_CHARS])
    return event


def _escape_unprintable(text: str) -> str:
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def begin_request(given: str = "") -> str:
    """Attribute this task's log lines to one request or piece of work; return its id.

    The id is the one that nginx assigned, or a new one.
    """
    name = request_id.set_request_id(given)
    structlog.contextvars.bind_contextvars(request=name)
    return name


def configure(settings: Settings) -> None:
    """Configure logging for the whole process; called once, by the command line."""
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if settings.log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=False)
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.format_exc_info,
            bound,
            renderer,
        ],
        "foreign_pre_chain": SHARED,
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"portal": formatter},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "portal"}},
            "root": {"handlers": ["stderr"], "level": settings.log_level.upper()},
            "loggers": {
                "uvicorn.access": {"level": "WARNING"},
                "alembic": {"level": "WARNING"},
                "aiosqlite": {"level": "WARNING"},
            },
        }
    )
    structlog.configure(
        processors=[*SHARED, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
