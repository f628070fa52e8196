"""The commands of docs/install.md, in their order.

A block of them is what stands between ```sh and ```; a comment `<!-- test: NAME -->` before it
names it, where a test does something of its own there. Blocks have the heading that they are under.
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
