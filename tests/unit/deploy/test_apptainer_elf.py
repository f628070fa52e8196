"""Redirecting programs to an older C library, tested on a small ELF file created here."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from itertools import groupby

import pytest

from deploy.apptainer_elf import RefusedError, elf_hash, lower_glibc

TARGET = (2, 36)
PLAIN = ("libc.so.6", "GLIBC_2.2.5")
NEWER = ("libc.so.6", "GLIBC_2.38")


@dataclass
class Program:
    """Undefined symbols, each with its required (library, version), and other version needs."""

    symbols: dict[str, tuple[str, str] | None] = field(default_factory=dict)
    needs: list[tuple[str, str]] = field(default_factory=lambda: [PLAIN])
    machine: int = 62
    section: int = 0

    def build(self) -> bytes:
        needs = sorted({*self.needs, *(need for need in self.symbols.values() if need)})
        names = [*self.symbols, *(word for need in needs for word in need)]
        strings = b"\0" + b"".join(name.encode() + b"\0" for name in dict.fromkeys(names))

        def at(name: str) -> int:
            return strings.index(b"\0" + name.encode() + b"\0") + 1

        index = {need: number for number, need in enumerate(needs, start=2)}
        symbols = bytes(24) + b"".join(
            struct.pack("<IBBHQQ", at(name), 0x12, 0, self.section, 0, 0) for name in self.symbols
        )
        versions = struct.pack("<H", 0) + b"".join(
            struct.pack("<H", index[need] if need else 1) for need in self.symbols.values()
        )
        tables = [
            (3, strings, 0),
            (11, symbols, 1),
            (0x6FFFFFFF, versions, 2),
            (0x6FFFFFFE, self._verneed(needs, index, at), 1),
        ]
        return self._file(tables if needs else tables[:1])

    def _verneed(self, needs: list[tuple[str, str]], index: dict, at: object) -> bytes:  # type: ignore[type-arg]
        assert callable(at)
        libraries = [(name, list(group)) for name, group in groupby(needs, key=lambda n: n[0])]
        table = b""
        for number, (library, wanted) in enumerate(libraries):
            last = number == len(libraries) - 1
            size = 16 + 16 * len(wanted)
            table += struct.pack("<HHIII", 1, len(wanted), at(library), 16, 0 if last else size)
            for place, need in enumerate(wanted):
                step = 0 if place == len(wanted) - 1 else 16
                name = at(need[1])
                table += struct.pack("<IHHII", elf_hash(need[1]), 0, index[need], name, step)
        return table

    def _file(self, tables: list[tuple[int, bytes, int]]) -> bytes:
        body, sections = b"", [bytes(64)]
        for kind, content, link in tables:
            row = (0, kind, 0, 0, 64 + len(body), len(content), link, 0, 1, 0)
            sections.append(struct.pack("<IIQQQQIIQQ", *row))
            body += content
        header = bytearray(64)
        header[:7] = b"\x7fELF\x02\x01\x01"
        struct.pack_into("<H", header, 0x12, self.machine)
        struct.pack_into("<Q", header, 0x28, 64 + len(body))
        struct.pack_into("<HHH", header, 0x3A, 64, len(sections), 0)
        return bytes(header) + body + b"".join(sections)


def test_the_hash_is_the_one_of_the_abi() -> None:
    """The values are those in any program that `readelf -V` shows."""
    assert elf_hash("GLIBC_2.2.5") == 0x09691A75
    assert elf_hash("GLIBC_2.38") == 0x069691B8


def test_symbols_move_to_the_plain_functions() -> None:
    before = Program(
        {"puts": PLAIN, "__isoc23_strtol": NEWER, "__isoc23_strtoul": NEWER, "odd": None},
        needs=[("libz.so.1", "ZLIB_1.2")],
    ).build()
    after, names = lower_glibc(before, TARGET)
    assert names == ("__isoc23_strtol", "__isoc23_strtoul")
    assert len(after) == len(before)
    same = Program(
        {"puts": PLAIN, "strtol": PLAIN, "strtoul": PLAIN, "odd": None},
        needs=[("libz.so.1", "ZLIB_1.2")],
    ).build()
    assert read_symbols(after) == {
        name: (version and version.replace("2.38", "2.2.5"))
        for name, version in read_symbols(same).items()
    }
    assert b"GLIBC_2.38" in after  # the string stays, unused
    assert lower_glibc(after, TARGET) == (after, ())


def read_symbols(image: bytes) -> dict[str, str | None]:
    """Map each symbol to its required version, found as the loader does: by hash and by name."""
    (table,) = struct.unpack_from("<Q", image, 0x28)
    rows = [struct.unpack_from("<IIQQQQIIQQ", image, table + 64 * n) for n in range(1, 5)]
    (strings, _), (symbols, size), (versions, _), (needs, _) = ((r[4], r[5]) for r in rows)

    def text(offset: int) -> str:
        return image[strings + offset : image.index(0, strings + offset)].decode()

    found: dict[int, str] = {}
    step = -1
    while step:
        _, count, _, first, step = struct.unpack_from("<HHIII", image, needs)
        for number in range(count):
            at = needs + first + 16 * number
            value, _, index, name, _ = struct.unpack_from("<IHHII", image, at)
            assert value == elf_hash(text(name))
            found[index] = text(name)
        needs += step
    seen = {}
    for number in range(1, size // 24):
        (name,) = struct.unpack_from("<I", image, symbols + 24 * number)
        (index,) = struct.unpack_from("<H", image, versions + 2 * number)
        seen[text(name)] = found.get(index)
    return seen


def test_a_program_that_needs_nothing_newer_is_left_alone() -> None:
    image = Program({"puts": PLAIN}).build()
    assert lower_glibc(image, TARGET) == (image, ())


def test_a_machine_with_a_new_library_needs_no_patch() -> None:
    image = Program({"__isoc23_strtol": NEWER}).build()
    assert lower_glibc(image, (2, 41)) == (image, ())


def test_a_static_program_is_left_alone() -> None:
    image = Program({}, needs=[]).build()
    assert lower_glibc(image, TARGET) == (image, ())


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (Program({"strlcpy": NEWER}), "strlcpy"),
        (Program({"__isoc23_scanf": NEWER}), "__isoc23_scanf"),
        (Program({"strtol": NEWER}), "strtol"),
        (Program({"__isoc23_strtol": NEWER}, section=5), "__isoc23_strtol"),
        (Program({"f": ("libc.so.6", "GLIBC_2.39")}), "GLIBC_2.39"),
        (Program({"f": ("libm.so.6", "GLIBC_2.38")}), "libm.so.6"),
        (Program({"f": ("libc.so.6", "GLIBC_ABI_DT_X")}), "GLIBC_ABI_DT_X"),
        (Program({"__isoc23_strtol": NEWER}, needs=[]), "GLIBC_2.2.5"),
        (Program({"puts": PLAIN}, machine=183), "x86-64"),
    ],
)
def test_anything_unexpected_is_refused(program: Program, why: str) -> None:
    with pytest.raises(RefusedError, match=why):
        lower_glibc(program.build(), TARGET)


@pytest.mark.parametrize("image", [b"", b"#!/bin/sh\n", b"\x7fELF\x01\x01" + bytes(60)])
def test_what_is_no_program_is_refused(image: bytes) -> None:
    with pytest.raises(RefusedError, match="not a 64-bit"):
        lower_glibc(image, TARGET)
