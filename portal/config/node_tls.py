"""Settings of TLS between the portal and the servers on the nodes."""

from functools import cached_property
from pathlib import Path

from pydantic import BaseModel

from portal.config.types import AbsolutePath


class NodeTlsSettings(BaseModel):
    """The settings of TLS on the nodes.

    `state_dir` is the portal's own setting; the files are there by default.
    """

    state_dir: AbsolutePath
    node_tls: bool = False
    node_ca_key_file: AbsolutePath | None = None
    node_ca_certificate_file: AbsolutePath | None = None
    node_url_ca_file: AbsolutePath | None = None

    @property
    def node_ca_key(self) -> Path:
        """Return the file with the key and the certificate of the authority for nodes."""
        return self.node_ca_key_file or self.state_dir / "node-ca.key"

    @property
    def node_ca_certificate(self) -> Path:
        """Return the file with its certificates, for nginx."""
        return self.node_ca_certificate_file or self.state_dir / "node-ca.crt"

    @cached_property
    def node_url_ca(self) -> str | None:
        """Return the CA certificate of node_url, as PEM, for the programs on the nodes."""
        file = self.node_url_ca_file
        try:
            return file.read_text("ascii") if file else None
        except OSError as error:
            raise ValueError(f"{file} can't be read: {error.strerror}") from error
