"""Jupyter Server's files, extended to keep notebooks and kept outputs consistent."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
from tornado.web import HTTPError

from spawner.node.jupyter.outputs.headroom import OPEN_FACTOR, explain_missing_memory
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
            model["hash"] = self.outputs.executions.reported_hashes.hash_for_pages(model["hash"])
        return model

    def _check_memory(self, path: str) -> None:
        """Refuse a notebook for which the session has too little memory."""
        try:
            size = Path(self._get_os_path(path)).stat().st_size
        except OSError:
            return  # it is reported by the attempt to open it
        problem = explain_missing_memory(size, OPEN_FACTOR, memory_of_job())
        if problem is not None:
            raise HTTPError(400, f"{problem} {MORE_MEMORY}")

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
        """Rename a file or folder, after any write of outputs that is in progress."""
        async with self._no_write():
            await super().rename_file(old_path, new_path)
            if self.outputs is not None:
                await self.outputs.note_renamed(old_path.strip("/"), new_path.strip("/"))

    async def delete_file(self, path: str) -> None:
        """Delete a file or folder, after any write of outputs that is in progress."""
        async with self._no_write():
            await super().delete_file(path)

    async def restore_checkpoint(self, checkpoint_id: str, path: str) -> None:
        """Restore a file, after any write of outputs that is in progress."""
        async with self._no_write():
            await super().restore_checkpoint(checkpoint_id, path)

    def _no_write(self) -> AbstractAsyncContextManager[Any]:
        """Return a context that waits for the writer's lock: no outputs are written in it."""
        return nullcontext() if self.outputs is None else self.outputs.lock


def is_notebook(path: str) -> bool:
    """Return whether the path is that of a notebook."""
    return path.endswith(".ipynb")
