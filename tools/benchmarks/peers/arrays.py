# SPDX-License-Identifier: Apache-2.0
"""Readers of images that are plain values: in a tar, with labels, and in npy and RecordIO files.

Each makes numpy arrays of batches of 256 images of 32x32 pixels; or of 128 digits, of floats,
on one thread, pass after pass from a file that stays mapped. Numpy reads the digits and their
labels from an array beside the RecordIO file.
"""

from __future__ import annotations

import functools
import io
import os
import tarfile
import time
from pathlib import Path

import millhopper
import numpy as np
from millhopper.core import RecordIOWriter
from millhopper.recordio_writer import create_recordio_writer

from peers.kinds import WORKERS, Readers, Titles, Writers

IMAGES = 256  # in a batch
IMAGE = (32, 32, 3)
DIGITS = 128  # in a batch
DIGIT = 784  # floats, before a label of as many bytes as two


def images(count: int) -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (count, *IMAGE), dtype=np.uint8)


def write_tar(path: Path, rows: int) -> int:
    """Images and their labels, two files each."""
    count = rows // 10
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for i, image in enumerate(images(count)):
            for name, content in ((f"{i:08}.cls", b"%d" % (i % 10)), (f"{i:08}.img", image)):
                member = tarfile.TarInfo(name)
                member.size = len(bytes(content))
                tar.addfile(member, io.BytesIO(bytes(content)))
    return count


def write_npy(path: Path, rows: int) -> int:
    count = rows // 4
    np.save(path, images(count))
    return count


def write_digits(path: Path, rows: int) -> int:
    """Digits with labels, and beside them an array with the same bytes a row."""
    count = rows // 6
    digits = np.random.default_rng(7).random((count, DIGIT), dtype=np.float32)
    with create_recordio_writer(path, RecordIOWriter.Compressor.NoCompress, 10**6) as writer:
        for label, digit in enumerate(digits):
            writer.append_tensor(digit[np.newaxis])
            writer.append_tensor(np.array([[label % 10]]))
            writer.complete_append_tensor()
    np.save(path.with_suffix(".npy"), np.pad(digits, ((0, 0), (0, 2))))
    time.sleep(3)  # the mapping of a file that has just changed is not kept
    return count


# ---- Readers ----


def millhopper_tar(path: Path) -> int:
    fields = {"cls": "int64[] decode=text", "img": "bytes"}
    reader = millhopper.Reader.open_files(path, fields=fields).batch(IMAGES).double_buffer()
    total = 0
    for batch in reader:
        np.asarray(batch["img"]).reshape(-1, *IMAGE)
        total += len(batch["cls"])
    return total


def webdataset_tar(path: Path) -> int:
    import webdataset

    total = 0
    samples = webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False)
    for labels, contents in samples.to_tuple("cls", "img").batched(IMAGES, partial=True):
        np.array([int(label) for label in labels])
        np.stack([np.frombuffer(content, np.uint8).reshape(IMAGE) for content in contents])
        total += len(labels)
    return total


def mapped_images(path: Path) -> millhopper.Reader:
    return millhopper.Reader.open_files(path, names=["image"], buffer_type="mmap")


def millhopper_npy(path: Path) -> int:
    reader = mapped_images(path).batch(IMAGES).double_buffer()
    return sum(len(batch["image"]) for batch in reader)


def millhopper_shuffled(path: Path) -> int:
    reader = mapped_images(path).shuffle(8192, seed=7).batch(IMAGES).double_buffer()
    return sum(len(batch["image"]) for batch in reader)


def numpy_npy(path: Path) -> int:
    array = np.load(path, mmap_mode="r")
    return sum(
        len(np.array(array[begin : begin + IMAGES])) for begin in range(0, len(array), IMAGES)
    )


def numpy_shuffled(path: Path) -> int:
    array = np.load(path, mmap_mode="r")
    order = np.random.default_rng(7).permutation(len(array))
    return sum(len(array[order[begin : begin + IMAGES]]) for begin in range(0, len(array), IMAGES))


@functools.cache
def mapped_digits(path: Path) -> millhopper.Reader:
    millhopper.set_threads(0)
    slots = {"digit": ("float32", [1, DIGIT]), "label": ("int64", [1, 1])}
    reader = millhopper.Reader.open_files(path, slots=slots, buffer_type="mmap")
    return reader.shuffle(8192, seed=7).batch(DIGITS)


def millhopper_digits(path: Path) -> int:
    return sum(len(batch["label"]) for batch in mapped_digits(path))


@functools.cache
def numpy_mapping(path: Path) -> np.ndarray:
    return np.load(path.with_suffix(".npy"), mmap_mode="r")


def numpy_digits(path: Path) -> int:
    array = numpy_mapping(path)
    order = np.random.default_rng(7).permutation(len(array))
    return sum(len(array[order[begin : begin + DIGITS]]) for begin in range(0, len(array), DIGITS))


def torch_loader(path: Path, shuffle: bool) -> int:
    import torch

    array = torch.from_numpy(np.load(path, mmap_mode="c"))
    kind = torch.utils.data.RandomSampler if shuffle else torch.utils.data.SequentialSampler
    batches = torch.utils.data.BatchSampler(kind(array), IMAGES, drop_last=False)
    loader = torch.utils.data.DataLoader(
        array,
        sampler=batches,
        batch_size=None,
        num_workers=os.cpu_count() or 1,
        multiprocessing_context=WORKERS,
    )
    return sum(len(batch.numpy()) for batch in loader)


def torch_npy(path: Path) -> int:
    return torch_loader(path, shuffle=False)


def torch_shuffled(path: Path) -> int:
    return torch_loader(path, shuffle=True)


TITLES: Titles = {
    "tar": "tar of small images and labels",
    "npy": "npy of small images, in order",
    "shuffled.npy": "npy of small images, shuffled",
    "mapped.recordio": "mapped RecordIO, shuffled, one thread",
}

WRITERS: Writers = {
    "tar": write_tar,
    "npy": write_npy,
    "shuffled.npy": write_npy,
    "mapped.recordio": write_digits,
}

READERS: Readers = {
    "tar": {
        "millhopper": millhopper_tar,
        "webdataset": webdataset_tar,
    },
    "npy": {
        "millhopper": millhopper_npy,
        "numpy": numpy_npy,
        "torch": torch_npy,
    },
    "shuffled.npy": {
        "millhopper": millhopper_shuffled,
        "numpy": numpy_shuffled,
        "torch": torch_shuffled,
    },
    "mapped.recordio": {
        "millhopper": millhopper_digits,
        "numpy": numpy_digits,
    },
}
