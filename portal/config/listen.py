"""Settings of this portal's address, and of the other portals."""

from typing import Annotated

from pydantic import BaseModel, Field

from portal.config.types import HostAndPort, Network

CONNECTIONS_PER_ADDRESS = 2000
# PostgreSQL cuts the name of a connection, which contains the leader's address (leader/lock.py),
# to 63 bytes.
MAX_OWN_ADDRESS = 47


class ListenSettings(BaseModel):
    """The portal's listening settings, a part of `Settings`."""

    listen_host: str = "127.0.0.1"
    listen_port: int = Field(default=8001, ge=1, le=65535)
    portals: list[HostAndPort] = []
    own_address: Annotated[HostAndPort, Field(max_length=MAX_OWN_ADDRESS)] | None = None
    trusted_proxies: list[Network] = []
    connections_per_address: int = Field(default=CONNECTIONS_PER_ADDRESS, ge=0)

    @property
    def address(self) -> str:
        """Return the address at which nginx and other portals on the same database reach this
        one.
        """
        if self.own_address is not None:
            return self.own_address
        anywhere = self.listen_host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
        host = "127.0.0.1" if anywhere else self.listen_host
        return f"[{host}]:{self.listen_port}" if ":" in host else f"{host}:{self.listen_port}"
