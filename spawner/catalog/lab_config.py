"""JupyterLab configuration of a session: the server's configuration and the page's defaults.

Pure.

`spawner.node.session` writes and applies them. Everything that users may change in JupyterLab is a
default: their own settings take precedence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spawner.catalog.environment import Environment
from spawner.node.node_setup import TERMINAL_PREFIX

APP_SETTINGS_FOLDER = "lab"


@dataclass(frozen=True)
class LabTexts:
    """Texts of the portal in JupyterLab's configuration; its other texts are in frontend/lab."""

    terminal: str
    open_shell: str
    terminals: str


ENGLISH = LabTexts("Terminal in {title}", "Open a shell inside {title}", "Terminal in Environment")
TEXTS = {"zh": LabTexts("{title} 终端", "在 {title} 中打开命令行", "环境中的终端")}
LOCALES = {"zh": "zh_CN"}
"""JupyterLab's locale (as in its language packs) by language in the user's preferences."""


def server_config(environments: Sequence[str], node_dir: str) -> dict[str, dict[str, Any]]:
    """Return the configuration of jupyter_server for the named kernels, the default one first."""
    return {
        # IPC sockets in a folder that only the user can enter, so other users on the node can't
        # listen.
        "KernelManager": {"transport": "ipc"},
        "MultiKernelManager": {"default_kernel_name": environments[0]},
        "KernelSpecManager": {
            "allowed_kernelspecs": list(environments),
            "ensure_native_kernel": False,
        },
        "TerminalsExtensionApp": {
            "terminal_manager_class": "spawner.node.terminals.SessionTerminals",
        },
        "LabApp": {"app_settings_dir": f"{node_dir}/{APP_SETTINGS_FOLDER}"},
    }


def lab_files(
    environments: Sequence[Environment], language: str | None = None
) -> dict[str, dict[str, Any]]:
    """Return `overrides` and `page_config`.

    They are to be written as {node_dir}/lab/overrides.json and page_config.json. The first
    environment is the session's own; `language` is the user's in the portal, with which JupyterLab
    starts if it supports it.
    """
    overrides = _overrides(environments, TEXTS.get(language or "", ENGLISH))
    if locale := LOCALES.get(language or ""):
        overrides["@jupyterlab/translation-extension:plugin"] = {"locale": locale}
    return {"overrides": overrides, "page_config": _page_config()}


def terminal_name(environment: Environment) -> str:
    """Return the terminal name that makes the server open a terminal inside the environment."""
    return f"{TERMINAL_PREFIX}{environment.name}"


def _overrides(environments: Sequence[Environment], texts: LabTexts) -> dict[str, Any]:
    return {
        "@jupyterlab/apputils-extension:notification": {
            "checkForUpdates": False,
            "fetchNews": "false",
        },
        "@jupyterlab/application-extension:top-bar": {"toolbar": [_button(environments[0], texts)]},
        "@jupyterlab/mainmenu-extension:plugin": {"menus": [_file_menu(environments, texts)]},
    }


def _button(environment: Environment, texts: LabTexts) -> Mapping[str, Any]:
    """Return a button for the top bar, which every view shows."""
    return {
        "name": "environment-terminal",
        "command": "terminal:create-new",
        "args": {"name": terminal_name(environment)},
        "icon": "ui-components:terminal",
        "label": texts.terminal.format(title=environment.title),
        "caption": texts.open_shell.format(title=environment.title),
        "rank": 60,
    }


def _file_menu(environments: Sequence[Environment], texts: LabTexts) -> Mapping[str, Any]:
    """Return File → Terminal in Environment, with an entry for each.

    JupyterLab's own command would have the same label in each entry, so the entries use a command
    of frontend/lab, which takes the label from its arguments.
    """
    entries = [
        {
            "command": "portal:terminal",
            "args": {"name": terminal_name(environment), "title": environment.title},
        }
        for environment in environments
    ]
    submenu = {"id": "portal-terminals", "label": texts.terminals, "items": entries}
    return {
        "id": "jp-mainmenu-file",
        "items": [{"type": "submenu", "rank": 0.5, "submenu": submenu}],
    }


def _page_config() -> dict[str, Any]:
    return {
        "disabledExtensions": {
            # These contact the internet, or offer functions that a shared installation cannot have.
            "@jupyterlab/apputils-extension:announcements": True,
            "@jupyterlab/extensionmanager-extension": True,
            "@jupyterlab/lsp-extension": True,
            # The hub has no pages and restarts nothing: its entries in the File menu lead nowhere,
            # and the portal's own extension explains a lost connection.
            "@jupyterlab/hub-extension": True,
            # These depend on the one above, and cause errors in the browser's console without it.
            "@jupyterlab/fileeditor-extension:language-server": True,
            "@jupyterlab/notebook-extension:language-server": True,
            # debugpy listens on the node's loopback address without authentication, so any other
            # user on the node could run code as this user.
            "@jupyterlab/debugger-extension": True,
        }
    }
