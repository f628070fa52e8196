"""What a session's JupyterLab is told: the server's configuration and the page's defaults.

Pure. `spawner.node.session` writes and applies them. Everything that JupyterLab may change is a
default: a user's own settings go before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spawner.catalog import Environment

TERMINAL_PREFIX = "env_"
APP_SETTINGS_FOLDER = "lab"


@dataclass(frozen=True)
class Words:
    """What the page shows of ours from its first moment on; the rest is in frontend/lab."""

    terminal: str
    open_shell: str


ENGLISH = Words("Terminal in {title}", "Open a shell inside {title}")
WORDS = {"zh": Words("{title} 终端", "在 {title} 中打开命令行")}
LOCALES = {"zh": "zh_CN"}
"""By the languages of people's preferences: JupyterLab's name of it, as its language packs have."""


def server_config(environments: Sequence[str], node_dir: str) -> dict[str, dict[str, Any]]:
    """Configuration of jupyter_server for the named kernels, the default one first."""
    return {
        # Sockets in a folder that only the user can enter: no neighbour on the node can listen in.
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
    """`overrides` and `page_config`, to be written as {node_dir}/lab/overrides.json and
    page_config.json. The first environment is the session's own; `language` is the user's in the
    portal, in which JupyterLab begins if it knows it."""
    overrides = _overrides(environments, WORDS.get(language or "", ENGLISH))
    if locale := LOCALES.get(language or ""):
        overrides["@jupyterlab/translation-extension:plugin"] = {"locale": locale}
    return {"overrides": overrides, "page_config": _page_config()}


def terminal_name(environment: Environment) -> str:
    """The name that tells the server to open a terminal inside the environment."""
    return f"{TERMINAL_PREFIX}{environment.name}"


def _overrides(environments: Sequence[Environment], words: Words) -> dict[str, Any]:
    return {
        "@jupyterlab/apputils-extension:notification": {
            "checkForUpdates": False,
            "fetchNews": "false",
        },
        "@jupyterlab/application-extension:top-bar": {"toolbar": [_button(environments[0], words)]},
        "@jupyterlab/mainmenu-extension:plugin": {"menus": [_file_menu(environments, words)]},
    }


def _button(environment: Environment, words: Words) -> Mapping[str, Any]:
    """A button at the top of the window: in every view, one click."""
    return {
        "name": "environment-terminal",
        "command": "terminal:create-new",
        "args": {"name": terminal_name(environment)},
        "icon": "ui-components:terminal",
        "label": words.terminal.format(title=environment.title),
        "caption": words.open_shell.format(title=environment.title),
        "rank": 60,
    }


def _file_menu(environments: Sequence[Environment], words: Words) -> Mapping[str, Any]:
    """File → New → Terminal in … : a submenu each, for a menu can't rename a command."""
    return {
        "id": "jp-mainmenu-file",
        "items": [
            {
                "type": "submenu",
                "rank": 0.5,
                "submenu": {
                    "id": f"portal-terminal-{environment.name}",
                    "label": words.terminal.format(title=environment.title),
                    "items": [
                        {
                            "command": "terminal:create-new",
                            "args": {"name": terminal_name(environment)},
                        }
                    ],
                },
            }
            for environment in environments
        ],
    }


def _page_config() -> dict[str, Any]:
    return {
        "disabledExtensions": {
            # they ask the internet, or offer what a shared installation can't do
            "@jupyterlab/apputils-extension:announcements": True,
            "@jupyterlab/extensionmanager-extension": True,
            "@jupyterlab/lsp-extension": True,
            # they want the one above, and fail in the browser's console without it
            "@jupyterlab/fileeditor-extension:language-server": True,
            "@jupyterlab/notebook-extension:language-server": True,
            # debugpy listens on the node's loopback address and asks nobody who they are, so every
            # neighbour on the node could run code as the user
            "@jupyterlab/debugger-extension": True,
        }
    }
