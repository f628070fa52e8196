"""Conversion of a notebook to data: text of its cells, and plain text and PNG or JPEG images of
their outputs. HTML, SVG, JavaScript and widgets are left out. Pure; bounded for any input.

Runs as a program for notebook_process.py: a notebook on stdin, its cells on stdout.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
import resource
import sys
from typing import Any

from portal.services.files.previews import image_type

MAX_CELLS = 500
MAX_SOURCE = 64 << 10
MAX_OUTPUT = 16 << 10
MAX_OUTPUTS = 20
MAX_IMAGES_BYTES = 4 << 20
MAX_CPU_S = 5
MAX_MEMORY = 256 << 20
KINDS = {"markdown": "markdown", "code": "code", "raw": "raw"}
IMAGES = ("image/png", "image/jpeg")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def cells(data: bytes) -> dict[str, Any] | None:
    """Return `{language, cells: [{kind, source, execution_count, outputs: [{kind, text, image_type,
    data_b64}]}], truncated}`; None if the data is not a notebook.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or not isinstance(document.get("cells"), list):
        return None
    budget = ImageBudget()
    every = document["cells"]
    shown = [_convert_cell(cell, budget) for cell in every[:MAX_CELLS] if isinstance(cell, dict)]
    return {
        "language": _find_language(document.get("metadata")),
        "cells": shown,
        "truncated": len(every) > MAX_CELLS or budget.cut,
    }


class ImageBudget:
    """The remaining size for images, and whether anything was left out."""

    def __init__(self) -> None:
        self.images, self.cut = MAX_IMAGES_BYTES, False

    def text(self, value: object, most: int) -> str:
        """Convert nbformat's text, which is a string or a list of strings, truncated to `most`
        characters.
        """
        if isinstance(value, list):
            value = "".join(part for part in value if isinstance(part, str))
        text = value if isinstance(value, str) else ""
        if len(text) > most:
            self.cut = True
        return text[:most].encode("utf-8", "replace").decode()


def _find_language(metadata: object) -> str | None:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        inner = metadata.get(key) if isinstance(metadata, dict) else None
        language = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(language, str):
            return language[:50]
    return None


def _convert_cell(cell: dict[str, Any], budget: ImageBudget) -> dict[str, Any]:
    count, outputs = cell.get("execution_count"), cell.get("outputs")
    every = outputs if isinstance(outputs, list) else []
    if len(every) > MAX_OUTPUTS:
        budget.cut = True
    shown = [_convert_output(raw, budget) for raw in every[:MAX_OUTPUTS] if isinstance(raw, dict)]
    return {
        "kind": KINDS.get(str(cell.get("cell_type")), "raw"),
        "source": budget.text(cell.get("source"), MAX_SOURCE),
        "execution_count": count if type(count) is int and abs(count) < 1 << 31 else None,
        "outputs": [output for output in shown if output],
    }


def _convert_output(output: dict[str, Any], budget: ImageBudget) -> dict[str, Any] | None:
    match output.get("output_type"):
        case "stream":
            name = "error" if output.get("name") == "stderr" else "text"
            return _text_output(budget.text(output.get("text"), MAX_OUTPUT), name)
        case "error":
            return _text_output(
                budget.text(_join_lines(output.get("traceback")), MAX_OUTPUT), "error"
            )
    data = output.get("data")
    if not isinstance(data, dict):
        return None
    for kind in IMAGES:
        if image := _image_output(data.get(kind), budget):
            return image
    return _text_output(budget.text(data.get("text/plain"), MAX_OUTPUT), "text")


def _join_lines(value: object) -> str:
    every = value if isinstance(value, list) else []
    return "\n".join(line for line in every if isinstance(line, str))


def _text_output(text: str, kind: str) -> dict[str, Any] | None:
    plain = _ANSI.sub("", text)
    return {"kind": kind, "text": plain, "image_type": None, "data_b64": None} if plain else None


def _image_output(value: object, budget: ImageBudget) -> dict[str, Any] | None:
    """Return an image by the type of its bytes, regardless of the type given in the notebook."""
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    if not isinstance(value, str):
        return None
    if len(value) > budget.images:
        budget.cut = True
        return None
    try:
        data = base64.b64decode(value)
    except (binascii.Error, ValueError):
        return None
    kind = image_type(data)
    if kind not in IMAGES:
        return None
    budget.images -= len(value)
    text = base64.b64encode(data).decode()
    return {"kind": "image", "text": None, "image_type": kind, "data_b64": text}


def main() -> None:
    """Read a notebook from stdin and print it as data, with limits on CPU time and memory."""
    os.nice(10)
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    text = json.dumps(cells(sys.stdin.buffer.read()), ensure_ascii=False)
    sys.stdout.buffer.write(text.encode())


if __name__ == "__main__":
    main()
