"""What this machine's apt and pip are configured with, so that a build uses the same sources.

The settings may hold passwords: they are passed on, never stored in an image. Standard library
only.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from deploy.images.definition import pip_environment


def host_pip_settings() -> dict[str, str]:
    """Return the pip settings of this machine, as variables."""
    home = Path.home()
    paths = [Path("/etc/pip.conf"), home / ".pip/pip.conf", home / ".config/pip/pip.conf"]
    if named := os.environ.get("PIP_CONFIG_FILE"):
        paths.append(Path(named))
    texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
    return pip_environment(texts, os.environ)


def apt_settings() -> str:
    """Return the proxies, certificates and retries that this machine's apt is configured with."""
    dump = subprocess.run(
        ["apt-config", "dump", "Acquire"], capture_output=True, text=True, timeout=30, check=True
    )
    pattern = r"(?m)^Acquire::(?:http|https|Retries|ForceIPv[46]|Check-Valid-Until)\b.*;$"
    return "\n".join(re.findall(pattern, dump.stdout)) + "\n"
