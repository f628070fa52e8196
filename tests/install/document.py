"""The commands of docs/install.md, in their order.

A block is the text between ```sh and ```. A comment `<!-- test: NAME -->` before it names it, where
a test has a step of its own. Blocks are assigned to their headings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs/install.md"
BLOCK = re.compile(
    r"^## (?P<heading>[^\n]+)$|^(?:<!-- test: (?P<name>\w+) -->\n)?```sh\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    heading: str
    name: str
    text: str


def blocks(text: str) -> list[Block]:
    heading, found = "", []
    for match in BLOCK.finditer(text):
        if match["heading"]:
            heading = match["heading"]
        else:
            found.append(Block(heading, match["name"] or "", match["text"]))
    return found
