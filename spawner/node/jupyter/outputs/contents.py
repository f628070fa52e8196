"""Jupyter Server's files, extended to keep notebooks and kept outputs consistent."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from spawner.node.jupyter.outputs.headroom import OPEN_FACTOR, describe_lack
from spawner.node.jupyter.outputs.notebook_file import add_ids
from spawner.node.jupyter.outputs.writer import OutputWriter
from spawner.node.usage.meter import memory_of_job

MORE_MEMORY = "Start a session with more memory, or restart kernels that you don't need."


class NodeContents(AsyncLargeFileManager):  # type: ignore[misc]
    """The session's files. `outputs` is set once the server has been initialized."""

    outputs: OutputWriter | None = None

    async def get(
        self,
        path: str,
        content: bool = True,
        type: str | None = None,  # noqa: A002 - the name in Jupyter Server
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Return a file; a notebook gets the outputs that it lacks first, and ids of its cells.

        Its hash, which JupyterLab compares before it saves, doesn't show the server's own writes.
        """
        if self.outputs is None or not is_notebook(path):
            return await super().get(path, content, type, *args, **kwargs)
        if content:
            await self.outputs.prepare_to_open(path.strip("/"))
            if type in {None, "notebook"}:
                self._check_memory(path)
        model = await super().get(path, content, type, *args, **kwargs)
        if content and model["type"] == "notebook":
            add_ids(model["content"])
        if model.get("hash"):
            model["hash"] = self.outputs.executions.writes.hash_for_pages(model["hash"])
        return model

    def _check_memory(self, path: str) -> None:
        """Refuse a notebook for which the session has too little memory."""
        try:
            size = Path(self._get_os_path(path)).stat().st_size
        except OSError:
            return  # it is reported by the attempt to open it
        lack = describe_lack(size, OPEN_FACTOR, memory_of_job())
        if lack is not None:
            raise HTTPError(400, f"{lack} {MORE_MEMORY}")

    async def save(self, model: Any, path: str = "") -> Any:
        """Save a file, and compare a notebook with the kept outputs."""
        if self.outputs is None or not is_notebook(path):
            return await super().save(model, path)
        async with self.outputs.lock:
            saved = await super().save(model, path)
            content = model.get("content")
            cells = content.get("cells") if isinstance(content, dict) else None
            if isinstance(cells, list):
                await self.outputs.note_saved(path.strip("/"), cells)
        return saved

    async def rename_file(self, old_path: str, new_path: str) -> None:
        """Rename a file or folder, but none whose notebook is being written."""
        async with self._unwritten():
            await super().rename_file(old_path, new_path)
            if self.outputs is not None:
                await self.outputs.note_renamed(old_path.strip("/"), new_path.strip("/"))

    async def delete_file(self, path: str) -> None:
        """Delete a file or folder, but none whose notebook is being written."""
        async with self._unwritten():
            await super().delete_file(path)

    async def restore_checkpoint(self, checkpoint_id: str, path: str) -> None:
        """Restore a file, but not while it is being written."""
        async with self._unwritten():
            await super().restore_checkpoint(checkpoint_id, path)

    def _unwritten(self) -> AbstractAsyncContextManager[Any]:
        """Return a context in which no notebook is written."""
        return nullcontext() if self.outputs is None else self.outputs.lock


def is_notebook(path: str) -> bool:
    """Return whether the path is that of a notebook."""
    return path.endswith(".ipynb")
