"""The framing of a TensorBoard file: a TFRecord is a length, its checksum, the data, and its checksum.

TensorBoard's own writer does the same, and imports all of its plugins, numpy and an AWS client for it: that takes a
processor for a while, beside the worker that is starting.
"""

from __future__ import annotations

import struct
from functools import cache

_POLYNOMIAL = 0x82F63B78  # of CRC-32C (Castagnoli), reflected


def record(data: bytes) -> bytes:
    """One record, little-endian: `uint64` length, its masked checksum, the data, its masked checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc32c(length)) + data + struct.pack("<I", masked_crc32c(data))


def masked_crc32c(data: bytes) -> int:
    """CRC-32C (RFC 3720), turned and shifted as TFRecords want it, so that data may hold checksums itself."""
    table, crc = _table(), 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


@cache
def _table() -> tuple[int, ...]:
    """The checksum of every byte."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return tuple(table)
