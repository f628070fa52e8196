"""Settings of how what runs on the nodes proves itself to the portal, and the portal to it."""

from functools import cached_property
from pathlib import Path

from pydantic import BaseModel

from portal.settings_types import AbsolutePath


class NodeTlsSettings(BaseModel):
    """`state_dir` is the portal's own setting; the files lie there unless they are named."""

    state_dir: AbsolutePath
    node_tls: bool = False
    node_ca_key_file: AbsolutePath | None = None
    node_ca_certificate_file: AbsolutePath | None = None
    node_url_ca_file: AbsolutePath | None = None

    @property
    def node_ca_key(self) -> Path:
        """The file with the key of the authority for nodes, and its certificate."""
        return self.node_ca_key_file or self.state_dir / "node-ca.key"

    @property
    def node_ca_certificate(self) -> Path:
        """The file with its certificates, for nginx."""
        return self.node_ca_certificate_file or self.state_dir / "node-ca.crt"

    @cached_property
    def node_url_ca(self) -> str | None:
        """Who signs node_url's certificate, as PEM, for the programs on the nodes."""
        file = self.node_url_ca_file
        try:
            return file.read_text("ascii") if file else None
        except OSError as error:
            raise ValueError(f"{file} can't be read: {error.strerror}") from error
