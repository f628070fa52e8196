"""Jupyter Server's kernel manager and websockets, extended to keep outputs of running cells.

The server follows each kernel itself, so nothing depends on a connected page. A page that loses its
connection gets the outputs from here; Jupyter's own buffer for it, with the other messages, is
bounded.
"""

from __future__ import annotations

import json
from typing import Any

from jupyter_client.session import Session
from jupyter_server.services.kernels.connection.base import deserialize_msg_from_ws_v1
from jupyter_server.services.kernels.connection.channels import ZMQChannelsWebsocketConnection
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager

from spawner.node.jupyter.outputs.executions import Executions, cell_of_request

BUFFER_BYTES = 16_000_000
"""Size of the messages that Jupyter keeps for a page without connection."""
KEPT_KINDS = frozenset(
    {
        "clear_output",
        "display_data",
        "error",
        "execute_input",
        "execute_result",
        "status",
        "stream",
        "update_display_data",
    }
)
WEBSOCKET_V1 = "v1.kernel.websocket.jupyter.org"
EXECUTE = "execute_request"
PARTS = ("header", "metadata", "content")


class BoundedBuffer(list[Any]):
    """Buffered messages of a kernel; `overflow` is called once they are too many."""

    def __init__(self, overflow: Any, limit: int = BUFFER_BYTES) -> None:
        super().__init__()
        self._overflow = overflow
        self._free = limit

    def append(self, item: Any) -> None:
        """Add a message: its channel and parts."""
        super().append(item)
        self._free -= sum(len(part) for part in item[1])
        if self._free < 0:
            self._overflow()


class NodeKernels(AsyncMappingKernelManager):  # type: ignore[misc]
    """The session's kernels. The executions of their cells are in `executions`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.executions = Executions()
        self._output_streams: dict[str, Any] = {}

    def start_watching_activity(self, kernel_id: str) -> None:
        """Follow the kernel's outputs too; called when a kernel has started."""
        super().start_watching_activity(kernel_id)
        kernel = self.get_kernel(kernel_id)
        session = Session(config=kernel.session.config, key=kernel.session.key)
        stream = self._output_streams[kernel_id] = kernel.connect_iopub()
        stream.on_recv(lambda parts: self._receive(kernel_id, session, parts))
        kernel.add_restart_callback(lambda: self.executions.end(kernel_id), "restart")

    def stop_watching_activity(self, kernel_id: str) -> None:
        """Stop following the kernel, which ends."""
        super().stop_watching_activity(kernel_id)
        stream = self._output_streams.pop(kernel_id, None)
        if stream is not None and not stream.socket.closed:
            stream.close()

    async def shutdown_kernel(self, kernel_id: str, *args: Any, **kwargs: Any) -> Any:
        """End the executions with the kernel; an open page has seen them."""
        self.executions.end(kernel_id, page_open=True)
        return await super().shutdown_kernel(kernel_id, *args, **kwargs)

    async def restart_kernel(self, kernel_id: str, *args: Any, **kwargs: Any) -> Any:
        """End the executions with the kernel."""
        self.executions.end(kernel_id)
        return await super().restart_kernel(kernel_id, *args, **kwargs)

    def _handle_kernel_died(self, kernel_id: str) -> None:
        self.executions.end(kernel_id, page_open=True)
        super()._handle_kernel_died(kernel_id)

    def _receive(self, kernel_id: str, session: Session, parts: list[Any]) -> None:
        _, parts = session.feed_identities(parts)
        message = session.deserialize(parts, content=False)
        kind, parent = message["msg_type"], message.get("parent_header") or {}
        if kind in KEPT_KINDS:
            content = session.unpack(message["content"])
            self.executions.add_message(kernel_id, str(parent.get("msg_id")), kind, content)

    def start_buffering(self, kernel_id: str, session_key: str, channels: dict[str, Any]) -> None:
        """Keep messages for a page without connection, up to a size."""
        super().start_buffering(kernel_id, session_key, channels)
        buffer = self._kernel_buffers.get(kernel_id)
        if buffer is not None:
            buffer["buffer"] = BoundedBuffer(lambda: self.stop_buffering(kernel_id))


class NodeConnection(ZMQChannelsWebsocketConnection):  # type: ignore[misc]
    """Websocket of a page, which requests executions."""

    _page: str | None = None

    def connect(self) -> Any:
        """Note the page."""
        self._page = self.session.session
        self.multi_kernel_manager.executions.connect(self.kernel_id, self._page)
        return super().connect()

    def disconnect(self) -> None:
        """Note that the page has gone."""
        page, self._page = self._page, None
        if page is not None:
            self.multi_kernel_manager.executions.disconnect(self.kernel_id, page)
        super().disconnect()

    def handle_incoming_message(self, incoming_msg: Any) -> None:
        """Note the request if it executes a cell, and pass it on."""
        request = parse_request(incoming_msg, self.subprotocol)
        if request is not None:
            self.multi_kernel_manager.executions.request(self.kernel_id, *request)
        super().handle_incoming_message(incoming_msg)


def parse_request(message: Any, protocol: str | None) -> tuple[dict[str, Any], str, str] | None:
    """Return header, cell id and code of a request to execute a notebook's cell; else None."""
    if protocol == WEBSOCKET_V1:
        _, (header_part, _, metadata_part, content_part, *_) = deserialize_msg_from_ws_v1(message)
        header = json.loads(header_part)
        if header.get("msg_type") != EXECUTE:
            return None
        metadata, content = json.loads(metadata_part), json.loads(content_part)
    else:
        if not isinstance(message, str):
            return None
        whole = json.loads(message)
        header, metadata, content = (whole.get(name) or {} for name in PARTS)
    cell = cell_of_request(metadata)
    if header.get("msg_type") != EXECUTE or cell is None:
        return None
    return header, cell, str(content.get("code", ""))
