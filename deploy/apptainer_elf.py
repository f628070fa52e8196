"""Patching of programs built against glibc 2.38 so that they start on an older glibc.

The headers of glibc 2.38 and later turn `strtol` into `__isoc23_strtol`, which differs in one
respect: it also accepts binary literals ("0b1"). A program that needs nothing else of 2.38 runs on
an older glibc once those names refer to the plain functions. `lower_glibc` does this in place:

  * The symbol's name (an offset into the string table) moves past the prefix `__isoc23_`.
  * The version that the symbol requires, GLIBC_2.38, becomes GLIBC_2.2.5, which has the plain one.

It refuses a file that needs anything else newer than the target, or that has an unexpected
structure. Pure: bytes in, bytes out. The layout is that of the System V ABI (elf(5)) and of the
LSB's chapter on symbol versioning.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass

PREFIX = "__isoc23_"
STAND_INS = frozenset({"strtol", "strtoul", "strtoll", "strtoull"})
NEWER = "GLIBC_2.38"
OLDER = "GLIBC_2.2.5"  # glibc's baseline on x86-64; all C99 functions have it
LIBC = "libc.so.6"

_SHT_DYNSYM = 11
_SHT_GNU_VERNEED = 0x6FFFFFFE
_SHT_GNU_VERSYM = 0x6FFFFFFF
_EM_X86_64 = 62
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_VERNEED = struct.Struct("<HHIII")
_VERNAUX = struct.Struct("<IHHII")


class RefusedError(Exception):
    """The patch does not apply to this file; the message names the requirement."""


@dataclass(frozen=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True)
class _Need:
    """One version that a program requires of a library; `offset` is that of its record."""

    library: str
    version: str
    version_name: int
    index: int
    offset: int


@dataclass(frozen=True)
class _Dynamic:
    """The three tables that define which symbols of which versions a program needs."""

    image: bytes
    symbols: _Section
    strings: _Section
    versions: _Section
    needs: tuple[_Need, ...]

    def text(self, offset: int) -> str:
        start = self.strings.offset + offset
        return self.image[start : self.image.index(0, start)].decode()


def elf_hash(name: str) -> int:
    """Return the hash used to look a version up (System V ABI, "Hash Table")."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        high = value & 0xF0000000
        value = (value ^ (high >> 24)) & ~high & 0xFFFFFFFF
    return value


def lower_glibc(image: bytes, target: tuple[int, int]) -> tuple[bytes, tuple[str, ...]]:
    """Return `image` made to start on glibc `target`, and the names that were redirected.

    A static program, and one that needs nothing newer, is returned unchanged, with no names. Raises
    RefusedError.
    """
    dynamic = _read_dynamic(image)
    newer = (
        [] if dynamic is None else [n for n in dynamic.needs if _parse_glibc(n.version) > target]
    )
    if dynamic is None or not newer:
        return image, ()
    odd = [f"{n.version} of {n.library}" for n in newer if (n.library, n.version) != (LIBC, NEWER)]
    if odd or len(newer) != 1:
        raise RefusedError(f"it needs {', '.join(odd) or 'one version twice'}")
    base = next((n for n in dynamic.needs if (n.library, n.version) == (LIBC, OLDER)), None)
    if base is None:
        raise RefusedError(f"it names no {OLDER} to fall back on")
    patched = bytearray(image)
    names = tuple(_redirect(patched, dynamic, newer[0].index))
    record = list(_VERNAUX.unpack_from(image, newer[0].offset))
    record[0], record[3] = elf_hash(OLDER), base.version_name
    _VERNAUX.pack_into(patched, newer[0].offset, *record)
    return bytes(patched), names


def _redirect(patched: bytearray, dynamic: _Dynamic, index: int) -> Iterator[str]:
    """Move the name of every symbol of version `index` past its prefix, and yield these names."""
    for number in range(dynamic.symbols.size // _SYMBOL.size):
        (version,) = struct.unpack_from("<H", dynamic.image, dynamic.versions.offset + 2 * number)
        if version & 0x7FFF != index:
            continue
        offset = dynamic.symbols.offset + number * _SYMBOL.size
        name_offset, _, _, section, _, _ = _SYMBOL.unpack_from(dynamic.image, offset)
        name = dynamic.text(name_offset)
        if section != 0 or name.removeprefix(PREFIX) not in STAND_INS or name in STAND_INS:
            raise RefusedError(f"it needs {name} of {NEWER}, for which there is no replacement")
        struct.pack_into("<I", patched, offset, name_offset + len(PREFIX))
        yield name


def _read_dynamic(image: bytes) -> _Dynamic | None:
    """Return the dynamic tables, or None for a program without versioned needs (a static one)."""
    if image[:6] != b"\x7fELF\x02\x01":
        raise RefusedError("it is not a 64-bit little-endian ELF file")
    (machine,) = struct.unpack_from("<H", image, 0x12)
    if machine != _EM_X86_64:
        raise RefusedError("it is not for x86-64")
    sections = _read_sections(image)
    by_kind = {s.kind: s for s in sections}
    if _SHT_GNU_VERNEED not in by_kind:
        return None
    missing = {_SHT_DYNSYM, _SHT_GNU_VERSYM} - by_kind.keys()
    if missing:
        raise RefusedError("it has version needs but no table of symbols")
    symbols, needs = by_kind[_SHT_DYNSYM], by_kind[_SHT_GNU_VERNEED]
    dynamic = _Dynamic(image, symbols, sections[symbols.link], by_kind[_SHT_GNU_VERSYM], ())
    return _Dynamic(
        image, symbols, dynamic.strings, dynamic.versions, tuple(_read_needs(dynamic, needs.offset))
    )


def _read_sections(image: bytes) -> list[_Section]:
    (table,) = struct.unpack_from("<Q", image, 0x28)
    entry_size, count, _ = struct.unpack_from("<HHH", image, 0x3A)
    rows = (_SECTION.unpack_from(image, table + n * entry_size) for n in range(count))
    return [_Section(row[1], row[4], row[5], row[6]) for row in rows]


def _read_needs(dynamic: _Dynamic, offset: int) -> Iterator[_Need]:
    """Walk the two-level list: libraries, and the versions required of each."""
    step = -1
    while step:
        _, count, library, first, step = _VERNEED.unpack_from(dynamic.image, offset)
        aux = offset + first
        for _ in range(count):
            _, _, index, name, following = _VERNAUX.unpack_from(dynamic.image, aux)
            yield _Need(dynamic.text(library), dynamic.text(name), name, index, aux)
            aux += following
        offset += step


def _parse_glibc(version: str) -> tuple[int, int]:
    """Return the number of a version as a tuple: GLIBC_2.38 → (2, 38).

    Versions of other libraries (OPENSSL_3.0.0) count as oldest. glibc's unnumbered markers
    (GLIBC_ABI_DT_RELR) count as newest, so that they are refused.
    """
    numbered = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?", version)
    if numbered:
        return int(numbered[1]), int(numbered[2])
    return (9999, 0) if version.startswith("GLIBC_") else (0, 0)
