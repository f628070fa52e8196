"""The site's templates as they are now: read again when a file has changed, without a restart."""

import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock

import structlog

from spawner.catalog import SHIPPED
from spawner.templates import Template, TemplateError, load_templates

log = structlog.get_logger(__name__)

LOOK_EVERY_S = 3.0
KINDS = ("templates", "jobs", "starters")


class Templates:
    """The site's templates, read again when a file has changed. What is wrong with a changed file
    is logged, and the last good templates stay."""

    def __init__(self, site: Path | None = None) -> None:
        self._site = site
        self._lock = Lock()
        self._seen = self._stamp()
        self._looked_s = time.monotonic()
        self._found = load_templates(SHIPPED, site)

    def current(self) -> Mapping[str, Template]:
        """All templates by name."""
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._looked_s > LOOK_EVERY_S:
                self._looked_s = now_s
                self._reload()
            return self._found

    def _reload(self) -> None:
        seen = self._stamp()
        if seen == self._seen:
            return
        self._seen = seen
        try:
            self._found = load_templates(SHIPPED, self._site)
        except TemplateError as error:
            log.warning("templates have changed and can't be used", problems=error.problems[:20])

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Every file that templates are made of, with its time and size."""
        files = [
            path
            for folder in filter(None, (SHIPPED, self._site))
            for kind in KINDS
            for path in sorted((folder / kind).glob("*"))
        ]
        states = ((path, path.stat()) for path in files if path.is_file())
        return tuple((str(path), state.st_mtime_ns, state.st_size) for path, state in states)
