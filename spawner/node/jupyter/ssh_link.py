"""SSH at the session's server: `…/ssh`, and a report for the portal.

`…/portal/ssh` reports what the owner needs to know beforehand.
"""

from __future__ import annotations

import os
import pwd

from spawner.node.jupyter.signed import SignedHandler
from spawner.node.ssh.connections import SshConnections
from spawner.node.ssh.link import SSH_SETTING, SshLink

CONNECT = r"/ssh"
STATUS = r"/portal/ssh"


class SshReport(SignedHandler):
    """GET: whether SSH is available, and the home directory, for the portal."""

    def get(self) -> None:
        """Send both."""
        connections: SshConnections = self.settings[SSH_SETTING]
        home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
        self.send_json({"sshd": connections.sshd.is_installed, "home": home})


HANDLERS = [(CONNECT, SshLink), (STATUS, SshReport)]
