"""Event files as TensorBoard's writers make them."""

from __future__ import annotations

import struct


def _varint(number: int) -> bytes:
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def scalar_event(step: int, tag: str, value: float, wall: float = 0.0) -> bytes:
    """Return the record of one scalar, in the usual layout."""
    body = _field(1, tag.encode()) + _varint(2 << 3 | 5) + struct.pack("<f", value)
    data = b"\x09" + struct.pack("<d", wall) + _varint(2 << 3) + _varint(step % (1 << 64))
    data += _field(5, _field(1, body))
    return struct.pack("<Q", len(data)) + b"crc!" + data + b"crc!"
