"""How the hub writes its log: a JSON object a line, with the names that the portal's lines have."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime

from spawner.hub import REQUEST

MAX_CHARS = 2000


class JsonLines(logging.Formatter):
    """What JupyterHub would have a line look like doesn't matter to it."""

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
