#!/usr/bin/env python3
"""Prints gzip_fixtures.h: small gzip files by zlib, one for each thing that a deflate stream can do.

    python3 make_gzip_fixtures.py > gzip_fixtures.h

gzip_test.cpp makes the same contents again and compares. Another zlib may pack differently; that is no error.
"""

import struct
import zlib


def text(length):
    return bytes(b"weft and warp; "[i % 15] + (i // 97) % 3 for i in range(length))


def noise(length):
    state, out = 1, bytearray()
    for _ in range(length):
        state = (state * 1103515245 + 12345) % 2**32
        out.append(state >> 24)
    return bytes(out)


def skewed():
    """Symbol s is there fibonacci(s) times, so that the rarest have codes of 15 bits."""
    out, a, b = bytearray(), 1, 1
    for symbol in range(16):
        out += bytes([symbol]) * a
        a, b = b, a + b
    return bytes(out)


def far_apart():
    return noise(40) + bytes(32400) + noise(40)


def member(content, level=6, strategy=zlib.Z_DEFAULT_STRATEGY, flags=0, fields=b"", tiny_blocks=False):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    if tiny_blocks:
        pieces = [content[i : i + 50] for i in range(0, len(content), 50)]
        body = b"".join(packer.compress(piece) + packer.flush(zlib.Z_FULL_FLUSH) for piece in pieces)
    else:
        body = packer.compress(content)
    body += packer.flush()
    header = struct.pack("<BBBBIBB", 0x1F, 0x8B, 8, flags, 0, 0, 255) + fields
    if flags & 2:
        header += struct.pack("<H", zlib.crc32(header) & 0xFFFF)
    return header + body + struct.pack("<II", zlib.crc32(content), len(content))


FIXTURES = {
    "empty": member(b""),
    "stored": member(noise(100), level=0),
    "fixed": member(text(200), strategy=zlib.Z_FIXED),
    "dynamic_1": member(text(600), level=1),
    "dynamic_6": member(text(600), level=6),
    "dynamic_9": member(text(600), level=9),
    "literals_only": member(text(600), strategy=zlib.Z_HUFFMAN_ONLY),
    "long_codes": member(skewed(), strategy=zlib.Z_HUFFMAN_ONLY),
    "runs": member(bytes(5000), level=9),
    "far_apart": member(far_apart(), level=9),
    "many_blocks": member(text(200), tiny_blocks=True),
    "all_fields": member(text(20), flags=2 | 4 | 8 | 16, fields=b"\x03\x00abc" + b"name\x00" + b"comment\x00"),
    "first_of_two": member(text(30)),
    "two_members": member(text(30)) + member(noise(30)),
}


def main():
    print("// gzip_fixtures.h: made by make_gzip_fixtures.py, which says what each file holds.")
    print("#pragma once\n\n#include <cstdint>\n#include <vector>\n\nnamespace fixtures {\n\n// clang-format off")
    for name, packed in FIXTURES.items():
        print(f"inline const std::vector<std::uint8_t> {name} = {{")
        for start in range(0, len(packed), 28):
            print("    " + ",".join(str(b) for b in packed[start : start + 28]) + ",")
        print("};")
    print("// clang-format on\n\n}  // namespace fixtures")


main()
