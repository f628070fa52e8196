"""Settings: where this portal listens, and which portals there are."""

from pydantic import BaseModel, Field

from portal.settings_types import HostAndPort


class ListenSettings(BaseModel):
    """Part of `Settings`."""

    listen_host: str = "127.0.0.1"
    listen_port: int = Field(default=8001, ge=1, le=65535)
    portals: list[HostAndPort] = []
    own_address: HostAndPort | None = None

    @property
    def address(self) -> str:
        """Where nginx and other portals on the same database reach this one."""
        if self.own_address is not None:
            return self.own_address
        anywhere = self.listen_host in {"0.0.0.0", "::"}  # noqa: S104 - compared, not bound
        host = "127.0.0.1" if anywhere else self.listen_host
        return f"[{host}]:{self.listen_port}" if ":" in host else f"{host}:{self.listen_port}"
