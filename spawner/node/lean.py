"""Import JupyterHub's single-user extension without the hub's own database layer.

Importing `jupyterhub.singleuser` draws in SQLAlchemy, Alembic and the hub's request handlers,
which a single-user server never uses: a third of a second of every start. While that import runs,
placeholders stand for them. This leans on JupyterHub's internals, so it is undone at once and the
plain import takes over when anything is not as expected; a test says so when that happens.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

log = logging.getLogger(__name__)

SINGLEUSER = "jupyterhub.singleuser.extension"


class _Unused(Exception):
    """Named in an `except` clause of jupyterhub.utils."""


PLACEHOLDERS: Mapping[str, Mapping[str, Any]] = {
    "jupyterhub.orm": {},
    "jupyterhub.roles": {},
    "jupyterhub.handlers": {},
    "jupyterhub.handlers.pages": {"HealthCheckHandler": type("HealthCheckHandler", (), {})},
    "sqlalchemy": {},
    "sqlalchemy.exc": {"SQLAlchemyError": _Unused},
}


def import_singleuser() -> ModuleType:
    """The module `jupyterhub.singleuser.extension`, imported the quick way or the plain one."""
    try:
        with placeholders(PLACEHOLDERS):
            return importlib.import_module(SINGLEUSER)
    except (ImportError, AttributeError, TypeError) as error:
        log.warning("the quick import of %s failed (%r); taking the plain one", SINGLEUSER, error)
    for name in [name for name in sys.modules if name.split(".")[0] == "jupyterhub"]:
        del sys.modules[name]
    return importlib.import_module(SINGLEUSER)


@contextmanager
def placeholders(contents: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Let modules of these names, with these contents, stand in while the body runs. What is
    already imported stays as it is; afterwards the real ones can be imported."""
    added = {}
    for name, attributes in contents.items():
        if name not in sys.modules:
            module = ModuleType(name)
            module.__path__ = []
            vars(module).update(attributes)
            added[name] = sys.modules[name] = module
    try:
        yield
    finally:
        for name, module in added.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
            parent, _, child = name.rpartition(".")
            if getattr(sys.modules.get(parent), child, None) is module:
                delattr(sys.modules[parent], child)
