"""Import of JupyterHub's single-user extension without the hub's database layer.

Importing `jupyterhub.singleuser` also imports SQLAlchemy, Alembic and the hub's request handlers,
which a single-user server never uses: a third of a second of every start. During that import,
placeholders replace them. This depends on JupyterHub's internals, so if anything differs from
expectation it is undone and the plain import is used; a test detects that case.
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
    """Placeholder for an exception in an `except` clause of jupyterhub.utils."""


PLACEHOLDERS: Mapping[str, Mapping[str, Any]] = {
    "jupyterhub.orm": {},
    "jupyterhub.roles": {},
    "jupyterhub.handlers": {},
    "jupyterhub.handlers.pages": {"HealthCheckHandler": type("HealthCheckHandler", (), {})},
    "sqlalchemy": {},
    "sqlalchemy.exc": {"SQLAlchemyError": _Unused},
}


def import_singleuser() -> ModuleType:
    """Return `jupyterhub.singleuser.extension`, imported with placeholders if possible."""
    try:
        with placeholders(PLACEHOLDERS):
            return importlib.import_module(SINGLEUSER)
    except (ImportError, AttributeError, TypeError) as error:
        log.warning("fast import of %s failed (%r); using the regular import", SINGLEUSER, error)
    for name in [name for name in sys.modules if name.split(".")[0] == "jupyterhub"]:
        del sys.modules[name]
    return importlib.import_module(SINGLEUSER)


@contextmanager
def placeholders(contents: Mapping[str, Mapping[str, Any]]) -> Iterator[None]:
    """Provide placeholder modules with these names and contents while the body runs.

    Modules already imported are not replaced; afterwards the real ones can be imported.
    """
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
