"""Log format of the hub: one JSON object per line, with the same keys as the portal's log."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from spawner.jupyterhub.internal_client import REQUEST

MAX_CHARS = 2000


class JsonLines(logging.Formatter):
    """Formatter that ignores JupyterHub's format options."""

    def __init__(self, *_format: object, **_options: object) -> None:
        super().__init__()

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "event": record.getMessage()[:MAX_CHARS],
            "level": record.levelname.lower(),
            "logger": record.name,
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
        }
        if REQUEST.get():
            line["request"] = REQUEST.get()
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)
