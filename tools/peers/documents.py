# SPDX-License-Identifier: Apache-2.0
"""Readers that pack lines of text into rows of 2048 bytes with their documents.

First fit into 64 rows; a batch is 16 rows.
"""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np

from peers.kinds import Readers, Writers

PACKED = 2048  # bytes of a packed row
BINS = 64
PACKED_AT_ONCE = 16


def write_documents(path: Path, rows: int) -> int:
    generator = np.random.default_rng(7)
    lengths = generator.integers(16, 1024, rows)
    text = generator.integers(ord("a"), ord("z") + 1, int(lengths.sum() + rows), np.uint8)
    text[np.cumsum(lengths + 1) - 1] = ord("\n")
    text.tofile(path)
    return rows


# ---- Readers ----


def millhopper_pack(path: Path) -> int:
    reader = millhopper.Reader.open_files(f"text:{path}", names=["text"])
    batches = reader.pack(PACKED, bins=BINS).batch(PACKED_AT_ONCE).double_buffer()
    return sum(int(batch["document_ids"].max(axis=1).sum()) for batch in batches)


def grain_pack(path: Path) -> int:
    import grain

    lines = path.read_bytes().split(b"\n")[:-1]
    documents = grain.MapDataset.source(lines).map(
        lambda line: {"text": np.frombuffer(line, np.uint8)}
    )
    packed = grain.experimental.FirstFitPackIterDataset(
        documents.to_iter_dataset(),
        length_struct={"text": PACKED},
        num_packing_bins=BINS,
        shuffle_bins=False,
    )
    batches = packed.batch(PACKED_AT_ONCE)
    return sum(int(batch["text_segment_ids"].max(axis=1).sum()) for batch in batches)


WRITERS: Writers = {
    "pack": write_documents,
}

READERS: Readers = {
    "pack": {
        "millhopper": millhopper_pack,
        "grain": grain_pack,
    },
}
