# SPDX-License-Identifier: Apache-2.0
"""Readers that pack lines of text into rows, and that batch them by length.

Packed rows have 2048 bytes and their documents; each document goes into one of 64 open rows, the
first (``pack``) or, by Millhopper alone, the best (``pack_best_fit``) that has room for it; a batch
is 16 rows. Batches by length (``bucket``) are 32 padded lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import millhopper
import numpy as np

from peers.kinds import Readers, Reports, Titles, Writers

PACKED = 2048  # bytes of a packed row
BINS = 64
PACKED_AT_ONCE = 16
BOUNDARIES = [128, 256, 512]  # lengths of lines, between buckets
BUCKETED_AT_ONCE = 32


def write_documents(path: Path, rows: int) -> int:
    generator = np.random.default_rng(7)
    lengths = generator.integers(16, 1024, rows)
    text = generator.integers(ord("a"), ord("z") + 1, int(lengths.sum() + rows), np.uint8)
    text[np.cumsum(lengths + 1) - 1] = ord("\n")
    text.tofile(path)
    return rows


# ---- Readers ----


def millhopper_packed(path: Path, method: str) -> Iterator[np.ndarray]:
    """The documents of the rows: a number for each byte, 0 for padding."""
    reader = millhopper.Reader.open_files(f"text:{path}", names=["text"])
    packed = reader.pack(PACKED, method=method, bins=BINS)
    for batch in packed.batch(PACKED_AT_ONCE).double_buffer():
        yield batch["document_ids"]


def grain_packed(path: Path) -> Iterator[np.ndarray]:
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
    for batch in packed.batch(PACKED_AT_ONCE):
        yield batch["text_segment_ids"]


def documents_in(batches: Iterator[np.ndarray]) -> int:
    return sum(int(ids.max(axis=1).sum()) for ids in batches)


def millhopper_pack(path: Path) -> int:
    return documents_in(millhopper_packed(path, "first_fit"))


def millhopper_pack_best_fit(path: Path) -> int:
    return documents_in(millhopper_packed(path, "best_fit"))


def grain_pack(path: Path) -> int:
    return documents_in(grain_packed(path))


def fill(name: str, batches: Iterator[np.ndarray]) -> str:
    filled = steps = 0
    for ids in batches:
        filled += int((ids > 0).sum())
        steps += ids.size
    padding = 100 - 100 * filled / steps
    return f"{name:12} {padding:.3f} % padding"


def fills(path: Path) -> list[str]:
    return [
        fill("first fit", millhopper_packed(path, "first_fit")),
        fill("best fit", millhopper_packed(path, "best_fit")),
        fill("grain", grain_packed(path)),
    ]


def millhopper_bucket(path: Path) -> int:
    reader = millhopper.Reader.open_files(f"text:{path}", names=["text"])
    batches = reader.bucket(BOUNDARIES, BUCKETED_AT_ONCE, pad=True).double_buffer()
    return sum(len(batch["text"]) for batch in batches)


def tensorflow_bucket(path: Path) -> int:
    import tensorflow

    lines = tensorflow.data.TextLineDataset(str(path)).map(
        lambda line: tensorflow.io.decode_raw(line, tensorflow.uint8),
        num_parallel_calls=tensorflow.data.AUTOTUNE,
    )
    sizes = [BUCKETED_AT_ONCE] * (len(BOUNDARIES) + 1)
    batches = lines.bucket_by_sequence_length(tensorflow.size, BOUNDARIES, sizes)
    return sum(len(batch) for batch in batches.prefetch(2).as_numpy_iterator())


TITLES: Titles = {
    "pack": "lines packed, first fit",
    "pack_best_fit": "lines packed, best fit (theirs first)",
    "bucket": "lines batched by length",
}

WRITERS: Writers = {
    "pack": write_documents,
    "pack_best_fit": write_documents,
    "bucket": write_documents,
}

READERS: Readers = {
    "pack": {
        "millhopper": millhopper_pack,
        "grain": grain_pack,
    },
    "pack_best_fit": {
        "millhopper": millhopper_pack_best_fit,
        "grain": grain_pack,
    },
    "bucket": {
        "millhopper": millhopper_bucket,
        "tensorflow": tensorflow_bucket,
    },
}

REPORTS: Reports = {"pack": fills}
