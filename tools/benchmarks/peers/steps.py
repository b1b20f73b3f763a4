# SPDX-License-Identifier: Apache-2.0
"""Readers of rows of eight integers that mix three files by weight, or keep every second row."""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np

from peers.kinds import Readers, Titles, Writers

BATCH = 4096
WEIGHTS = [7, 2, 1]  # of the files of a mix

# ---- Mixed rows ----


def write_parts(path: Path, rows: int) -> int:
    """Files of rows, in proportion to their weights, so that all end at about the same time."""
    path.mkdir()
    for i, weight in enumerate(WEIGHTS):
        count = rows * weight // sum(WEIGHTS)
        np.save(path / f"{i}.npy", np.arange(8 * count).reshape(count, 8))
    return sum(rows * weight // sum(WEIGHTS) for weight in WEIGHTS)


def millhopper_mix(path: Path) -> int:
    first, *others = (
        millhopper.Reader.open_files(path / f"{i}.npy", names=["row"], name=f"part{i}")
        for i in range(len(WEIGHTS))
    )
    mixed = first.mix(*others, weights=WEIGHTS, when_exhausted="continue")
    return sum(len(batch["row"]) for batch in mixed.batch(BATCH).double_buffer())


def tensorflow_mix(path: Path) -> int:
    import tensorflow

    parts = [
        tensorflow.data.Dataset.from_tensor_slices(np.load(path / f"{i}.npy"))
        for i in range(len(WEIGHTS))
    ]
    weights = [weight / sum(WEIGHTS) for weight in WEIGHTS]
    mixed = tensorflow.data.Dataset.sample_from_datasets(
        parts, weights, seed=1, stop_on_empty_dataset=False
    )
    return sum(len(batch) for batch in mixed.batch(BATCH).prefetch(2).as_numpy_iterator())


def grain_mix(path: Path) -> int:
    import grain

    parts = [
        grain.MapDataset.source(np.load(path / f"{i}.npy", mmap_mode="r"))
        for i in range(len(WEIGHTS))
    ]
    mixed = grain.MapDataset.mix(parts, WEIGHTS).batch(BATCH)
    return sum(len(batch) for batch in mixed.to_iter_dataset())


# ---- Filtered rows ----


def write_flagged(path: Path, rows: int) -> int:
    """Rows, and whether each is to be kept: every second one."""
    with path.open("wb") as file:
        np.savez(file, row=np.arange(8 * rows).reshape(rows, 8), keep=np.arange(rows) % 2 == 0)
    return (rows + 1) // 2


def millhopper_filter(path: Path) -> int:
    reader = millhopper.Reader.open_files(
        f"npz:{path}", fields={"row": "int64[8]", "keep": "bool[]"}
    )
    batches = reader.filter("keep").batch(BATCH).double_buffer()
    return sum(len(batch["row"]) for batch in batches)


def tensorflow_filter(path: Path) -> int:
    import tensorflow

    arrays = np.load(path)
    rows = tensorflow.data.Dataset.from_tensor_slices((arrays["row"], arrays["keep"]))
    kept = rows.filter(lambda _, keep: keep).batch(BATCH).prefetch(2)
    return sum(len(batch) for batch, _ in kept.as_numpy_iterator())


def grain_filter(path: Path) -> int:
    import grain

    arrays = np.load(path)
    rows, keep = arrays["row"], arrays["keep"]
    kept = grain.MapDataset.range(len(rows)).filter(lambda i: keep[i]).to_iter_dataset()
    return sum(len(batch) for batch in kept.map(lambda i: rows[i]).batch(BATCH))


TITLES: Titles = {"mix": "three arrays mixed by weight", "filter": "rows filtered by a column"}

WRITERS: Writers = {
    "mix": write_parts,
    "filter": write_flagged,
}

READERS: Readers = {
    "mix": {
        "millhopper": millhopper_mix,
        "tensorflow": tensorflow_mix,
        "grain": grain_mix,
    },
    "filter": {
        "millhopper": millhopper_filter,
        "tensorflow": tensorflow_filter,
        "grain": grain_filter,
    },
}
