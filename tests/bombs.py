"""Archives that are small on the way and large to read."""

from __future__ import annotations

import struct
import zlib

MIB = 1024 * 1024


def zip_of_zeros(name: str, mib: int, files: dict[str, bytes]) -> bytes:
    """A zip with these files and this many MiB of zeros, whose checksum at the end is wrong."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = deflate.compress(bytes(MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)  # stands by itself, so it can be repeated
    members = [(name, block * mib + deflate.flush(), mib * MIB, 0xBAD, 8)]
    members += [(name, data, len(data), zlib.crc32(data), 0) for name, data in files.items()]
    body, directory = b"", b""
    for member, data, size, crc, method in members:
        fields = struct.pack("<HHHHIIIHH", 0, method, 0, 0x21, crc, len(data), size, len(member), 0)
        directory += b"PK\1\2" + struct.pack("<HH", 20, 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        directory += member.encode()
        body += b"PK\3\4" + struct.pack("<H", 20) + fields + member.encode() + data
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(directory), len(body), 0)
    return body + directory + b"PK\5\6" + end
