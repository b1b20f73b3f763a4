# SPDX-License-Identifier: Apache-2.0
"""Files of records in several formats, of more than a MiB each, which servers give in parts."""

from __future__ import annotations

import io
import random
import struct
import subprocess
import tarfile
from pathlib import Path

import millhopper

BIN = Path(millhopper.__file__).parent / "bin"

CRC_TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
    CRC_TABLE.append(byte)


def masked_crc(data: bytes) -> bytes:
    """The CRC-32C of TFRecord files."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def write_record_files(folder: Path) -> None:
    """Writes one file of each format, all records of it different."""
    dice = random.Random(1)
    payloads = [dice.getrandbits(8 * 20_000).to_bytes(20_000, "little") for _ in range(100)]
    lines = folder / "lines.txt"
    lines.write_text("".join(f"{payload.hex()}\n" for payload in payloads[:60]))
    written = [BIN / "recordio", "write", f"--output={folder / 'lines.recordio'}", lines]
    subprocess.run(written, check=True, capture_output=True)
    rows = "".join(f"{i},{payloads[i % 100][:20].hex()}\n" for i in range(40_000))
    (folder / "rows.csv").write_text(f"number,text\n{rows}")
    with open(folder / "records.tfrecord", "wb") as records:
        for payload in payloads[:80]:
            length = struct.pack("<Q", len(payload))
            records.write(length + masked_crc(length) + payload + masked_crc(payload))
    with tarfile.open(folder / "samples.tar", "w") as samples:
        for i, payload in enumerate(payloads):
            for extension, content in (("bin", payload), ("cls", b"%d" % i)):
                member = tarfile.TarInfo(f"{i:04}.{extension}")
                member.size = len(content)
                samples.addfile(member, io.BytesIO(content))
