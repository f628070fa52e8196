"""A notebook as data: its cells' text, and of their outputs plain text and PNG or JPEG images.
HTML, SVG, JavaScript and widgets stay out. Pure; bounded whatever the file says."""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any

from portal.services.files.previews import image_type

MAX_CELLS = 500
MAX_SOURCE = 64 << 10
MAX_OUTPUT = 16 << 10
MAX_OUTPUTS = 20
MAX_IMAGES_BYTES = 4 << 20
KINDS = {"markdown": "markdown", "code": "code", "raw": "raw"}
IMAGES = ("image/png", "image/jpeg")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


def cells(data: bytes) -> dict[str, Any] | None:
    """`{language, cells: [{kind, source, execution_count, outputs: [{kind, text, image_type,
    data_b64}]}], truncated}`; None for what is no notebook."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("cells"), list):
        return None
    budget = Budget()
    every = found["cells"]
    shown = [_cell(cell, budget) for cell in every[:MAX_CELLS] if isinstance(cell, dict)]
    return {
        "language": _language(found.get("metadata")),
        "cells": shown,
        "truncated": len(every) > MAX_CELLS or budget.cut,
    }


class Budget:
    """What is left for images, and whether anything was left out."""

    def __init__(self) -> None:
        self.images, self.cut = MAX_IMAGES_BYTES, False

    def text(self, value: object, most: int) -> str:
        """nbformat's text: a string, or a list of them."""
        if isinstance(value, list):
            value = "".join(part for part in value if isinstance(part, str))
        text = value if isinstance(value, str) else ""
        if len(text) > most:
            self.cut = True
        return text[:most].encode("utf-8", "replace").decode()


def _language(metadata: object) -> str | None:
    for key, name in (("language_info", "name"), ("kernelspec", "language")):
        inner = metadata.get(key) if isinstance(metadata, dict) else None
        found = inner.get(name) if isinstance(inner, dict) else None
        if isinstance(found, str):
            return found[:50]
    return None


def _cell(cell: dict[str, Any], budget: Budget) -> dict[str, Any]:
    count, outputs = cell.get("execution_count"), cell.get("outputs")
    every = outputs if isinstance(outputs, list) else []
    if len(every) > MAX_OUTPUTS:
        budget.cut = True
    shown = [_output(one, budget) for one in every[:MAX_OUTPUTS] if isinstance(one, dict)]
    return {
        "kind": KINDS.get(str(cell.get("cell_type")), "raw"),
        "source": budget.text(cell.get("source"), MAX_SOURCE),
        "execution_count": count if type(count) is int and abs(count) < 1 << 31 else None,
        "outputs": [output for output in shown if output],
    }


def _output(output: dict[str, Any], budget: Budget) -> dict[str, Any] | None:
    match output.get("output_type"):
        case "stream":
            name = "error" if output.get("name") == "stderr" else "text"
            return _text(budget.text(output.get("text"), MAX_OUTPUT), name)
        case "error":
            return _text(budget.text(_lines(output.get("traceback")), MAX_OUTPUT), "error")
    data = output.get("data")
    if not isinstance(data, dict):
        return None
    for kind in IMAGES:
        if found := _image(data.get(kind), budget):
            return found
    return _text(budget.text(data.get("text/plain"), MAX_OUTPUT), "text")


def _lines(value: object) -> str:
    every = value if isinstance(value, list) else []
    return "\n".join(line for line in every if isinstance(line, str))


def _text(text: str, kind: str) -> dict[str, Any] | None:
    plain = _ANSI.sub("", text)
    return {"kind": kind, "text": plain, "image_type": None, "data_b64": None} if plain else None


def _image(value: object, budget: Budget) -> dict[str, Any] | None:
    """An image by what its bytes are, whatever the notebook calls it."""
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
    found = image_type(data)
    if found not in IMAGES:
        return None
    budget.images -= len(value)
    text = base64.b64encode(data).decode()
    return {"kind": "image", "text": None, "image_type": found, "data_b64": text}
