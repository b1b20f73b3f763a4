# SPDX-License-Identifier: Apache-2.0
"""Readers of photographs: JPEG files in TFRecords, in a tar and in folders of classes.

Each makes shuffled batches of 64 images, float32 [64, 3, 224, 224]: a random part of a photograph
(8 to 100 % of it), resized bilinearly, mirrored or not, normalised. Resizing without antialiasing
is not the same work as with it, so that there is a row for each: `jpeg` without, `smooth` with.
"""

from __future__ import annotations

import functools
import io
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import millhopper
import numpy as np

from peers.kinds import WORKERS, Readers, Titles, Writers

BATCH = 64
SIDE = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
RATIO = (3 / 4, 4 / 3)
WINDOW = 1024  # elements of a shuffle
CLASSES = 4
THREADS = os.cpu_count() or 1


# ---- The photographs ----


def photo(number: int) -> bytes:
    """A JPEG file of 500x375 pixels, 4:2:0, quality 93, about 100 KB, of noise at every scale."""
    import PIL.Image

    random = np.random.default_rng(number)
    pixels = np.full((375, 500, 3), 128.0)
    for step, contrast in ((1, 14), (2, 18), (4, 24), (8, 32), (16, 40), (32, 52), (64, 64)):
        grid = random.uniform(-contrast, contrast, (375 // step + 2, 500 // step + 2))
        layer = PIL.Image.fromarray(grid.astype(np.float32))
        layer = layer.resize((grid.shape[1] * step, grid.shape[0] * step), PIL.Image.BILINEAR)
        pixels += np.asarray(layer)[:375, :500, None] * random.uniform(0.7, 1, 3)
    file = io.BytesIO()
    image = PIL.Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
    image.save(file, "JPEG", quality=93, subsampling="4:2:0")
    return file.getvalue()


def photos(rows: int) -> Iterator[tuple[int, bytes]]:
    """Labels and files."""
    return ((number % CLASSES, photo(number)) for number in range(rows))


def images(rows: int) -> int:
    """How many photographs take about as long to read as so many rows of the other kinds.

    They fill whole batches, for DALI makes no other ones.
    """
    return max(rows // 500 // BATCH, 1) * BATCH


def write_tfrecord(path: Path, rows: int) -> int:
    rows = images(rows)
    import tensorflow

    train = tensorflow.train
    with tensorflow.io.TFRecordWriter(str(path)) as writer:
        for label, jpeg in photos(rows):
            features = {
                "jpeg": train.Feature(bytes_list=train.BytesList(value=[jpeg])),
                "label": train.Feature(int64_list=train.Int64List(value=[label])),
            }
            example = train.Example(features=train.Features(feature=features))
            writer.write(example.SerializeToString(deterministic=True))
    return rows


def write_tar(path: Path, rows: int) -> int:
    rows = images(rows)
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for number, (label, jpeg) in enumerate(photos(rows)):
            for name, content in ((f"{number:08}.jpg", jpeg), (f"{number:08}.cls", b"%d" % label)):
                member = tarfile.TarInfo(name)
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return rows


def write_folder(path: Path, rows: int) -> int:
    rows = images(rows)
    for number, (label, jpeg) in enumerate(photos(rows)):
        folder = path / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number:08}.jpg").write_bytes(jpeg)
    return rows


# ---- Their readers ----


def count(batches: Any) -> int:
    """How many images there are in batches of arrays or tensors, each of which is looked at."""
    total = 0
    for batch in batches:
        array = np.asarray(batch)
        if array.shape[1:] != (3, SIDE, SIDE) or array.dtype != np.float32:
            raise ValueError(f"a batch is {array.dtype} {array.shape}")
        total += len(array)
    return total


def augmented(reader: millhopper.Reader, smooth: bool) -> int:
    batches = (
        reader.shuffle(WINDOW, seed=7)
        .decode_image("jpeg", channels=3)
        .random_resized_crop(SIDE, antialias=smooth)
        .random_horizontal_flip()
        .normalize(MEAN, STD)
        .to_chw()
        .batch(BATCH)
        .double_buffer()
    )
    return count(batch["jpeg"] for batch in batches)


def millhopper_tfrecord(path: Path, smooth: bool) -> int:
    fields = {"jpeg": "bytes", "label": "int64[]"}
    return augmented(millhopper.Reader.open_files(f"tfrecord:{path}", fields=fields), smooth)


def millhopper_tar(path: Path, smooth: bool) -> int:
    fields = {"jpeg": "jpg bytes", "label": "cls int64[] decode=text"}
    return augmented(millhopper.Reader.open_files(f"tar:{path}", fields=fields), smooth)


def millhopper_folder(path: Path, smooth: bool) -> int:
    reader = millhopper.Reader.open_files(f"image_folder:{path}", names=["jpeg", "label"])
    return augmented(reader, smooth)


def dali_batches(make_input: Callable[[Any], Any], rows: int, smooth: bool) -> int:
    """Runs DALI's CPU pipeline; `make_input` makes the node of encoded images."""
    from nvidia.dali import fn, pipeline_def

    @pipeline_def(batch_size=BATCH, num_threads=THREADS, device_id=None)
    def augment() -> Any:
        part = fn.decoders.image_random_crop(
            make_input(fn), device="cpu", random_area=[0.08, 1], random_aspect_ratio=list(RATIO)
        )
        resized = fn.resize(part, size=[SIDE, SIDE], antialias=smooth)
        return fn.crop_mirror_normalize(
            resized,
            mirror=fn.random.coin_flip(),
            output_layout="CHW",
            mean=[255 * value for value in MEAN],
            std=[255 * value for value in STD],
        )

    pipeline = augment()
    pipeline.build()
    made = 0
    while made < rows:  # the last batch has more than are left, which count as made
        (batch,) = pipeline.run()
        made += count([batch.as_array()])
    return made


def dali_tfrecord(path: Path, smooth: bool) -> int:
    import nvidia.dali.tfrecord as tfrecord

    index = path.with_suffix(".index")
    rows = 0
    with path.open("rb") as file, index.open("w") as out:  # as DALI's tfrecord2idx writes it
        while length := file.read(8):
            size = int.from_bytes(length, "little") + 16
            out.write(f"{file.tell() - 8} {size}\n")
            file.seek(size - 8, os.SEEK_CUR)
            rows += 1

    def make_input(fn: Any) -> Any:
        features = {"jpeg": tfrecord.FixedLenFeature((), tfrecord.string, "")}
        read = fn.readers.tfrecord(
            path=str(path),
            index_path=str(index),
            features=features,
            random_shuffle=True,
            initial_fill=min(WINDOW, rows),
        )
        return read["jpeg"]

    return dali_batches(make_input, rows, smooth)


def dali_tar(path: Path, smooth: bool) -> int:
    with tarfile.open(path) as tar:
        rows = sum(member.name.endswith(".jpg") for member in tar)

    def make_input(fn: Any) -> Any:
        return fn.readers.webdataset(
            paths=str(path),
            ext=["jpg"],
            random_shuffle=True,
            initial_fill=min(WINDOW, rows),
        )

    return dali_batches(make_input, rows, smooth)


def dali_folder(path: Path, smooth: bool) -> int:
    rows = len(list(path.glob("*/*.jpg")))

    def make_input(fn: Any) -> Any:
        read = fn.readers.file(
            file_root=str(path), random_shuffle=True, initial_fill=min(WINDOW, rows)
        )
        return read[0]

    return dali_batches(make_input, rows, smooth)


def tensorflow_augmented(files: Any, smooth: bool) -> int:
    """`files` yields the bytes of files."""
    import tensorflow as tf

    def augment(jpeg: Any) -> Any:
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(jpeg),
            tf.zeros([1, 0, 4]),
            area_range=(0.08, 1),
            aspect_ratio_range=RATIO,
            use_image_if_no_bounding_boxes=True,
        )
        part = tf.stack([begin[0], begin[1], size[0], size[1]])
        pixels = tf.io.decode_and_crop_jpeg(jpeg, part, channels=3)
        resized = tf.image.resize(pixels, (SIDE, SIDE), antialias=smooth)
        mirrored = tf.image.random_flip_left_right(resized)
        normal = (mirrored / 255 - tf.constant(MEAN)) / tf.constant(STD)
        return tf.transpose(normal, (2, 0, 1))

    data = files.shuffle(WINDOW, seed=7).map(augment, num_parallel_calls=THREADS)
    options = tf.data.Options()
    options.threading.private_threadpool_size = THREADS
    options.deterministic = False
    return count(data.batch(BATCH).prefetch(2).with_options(options).as_numpy_iterator())


def tensorflow_tfrecord(path: Path, smooth: bool) -> int:
    import tensorflow as tf

    features = {"jpeg": tf.io.FixedLenFeature([], tf.string)}
    records = tf.data.TFRecordDataset(str(path))
    files = records.map(lambda record: tf.io.parse_single_example(record, features)["jpeg"])
    return tensorflow_augmented(files, smooth)


def tensorflow_folder(path: Path, smooth: bool) -> int:
    import tensorflow as tf

    names = tf.data.Dataset.list_files(str(path / "*/*.jpg"), seed=7)
    return tensorflow_augmented(names.map(tf.io.read_file, num_parallel_calls=THREADS), smooth)


def torchvision_transform() -> Any:
    from torchvision import transforms

    return transforms.Compose(
        [
            transforms.RandomResizedCrop(SIDE),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


def torchvision_folder(path: Path, smooth: bool) -> int:
    """Pillow's filters always antialias."""
    import torch
    from torchvision import datasets

    data = datasets.ImageFolder(str(path), torchvision_transform())
    loader = torch.utils.data.DataLoader(
        data, BATCH, shuffle=True, num_workers=THREADS, multiprocessing_context=WORKERS
    )
    return count(images.numpy() for images, _ in loader)


def turboloader_tar(path: Path, smooth: bool) -> int:
    """It crops nothing: it resizes the whole photograph."""
    import turboloader

    transform = turboloader.Compose(
        [
            turboloader.Resize(SIDE, SIDE),
            turboloader.RandomHorizontalFlip(0.5),
            turboloader.Normalize(list(MEAN), list(STD)),
        ]
    )
    loader = turboloader.FastDataLoader(
        str(path),
        BATCH,
        num_workers=THREADS,
        output_format="numpy_chw",
        transform=transform,
        shuffle=True,
    )
    return count(images for images, _ in loader)


def webdataset_tar(path: Path, smooth: bool) -> int:
    """Pillow's filters always antialias."""
    import torch
    import webdataset

    # One file cannot be shared out among workers, so that one worker reads it.
    data = (
        webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False)
        .shuffle(WINDOW)
        .decode("pil")
        .to_tuple("jpg")
        .map_tuple(torchvision_transform())
        .batched(BATCH, partial=True)
    )
    loader = torch.utils.data.DataLoader(
        data, batch_size=None, num_workers=1, multiprocessing_context=WORKERS
    )
    return count(images[0].numpy() for images in loader)


TFRECORD = {
    "millhopper": millhopper_tfrecord,
    "nvidia.dali": dali_tfrecord,
    "tensorflow": tensorflow_tfrecord,
}
TAR = {
    "millhopper": millhopper_tar,
    "nvidia.dali": dali_tar,
    "turboloader": turboloader_tar,
    "webdataset": webdataset_tar,
}
FOLDER = {
    "millhopper": millhopper_folder,
    "nvidia.dali": dali_folder,
    "tensorflow": tensorflow_folder,
    "torchvision": torchvision_folder,
}
ALWAYS_SMOOTH = {"torchvision", "webdataset"}
NEVER_SMOOTH = {"turboloader"}


def either(
    readers: dict[str, Callable[[Path, bool], int]], smooth: bool
) -> dict[str, Callable[[Path], int]]:
    left_out = NEVER_SMOOTH if smooth else ALWAYS_SMOOTH
    return {
        package: functools.partial(reader, smooth=smooth)
        for package, reader in readers.items()
        if package not in left_out
    }


TITLES: Titles = {
    "jpeg.tfrecord": "photographs, TFRecord",
    "jpeg.tar": "photographs, tar",
    "jpeg.folder": "photographs, folders",
    "smooth.tfrecord": "photographs, TFRecord, antialiased",
    "smooth.tar": "photographs, tar, antialiased",
    "smooth.folder": "photographs, folders, antialiased",
}

WRITERS: Writers = {
    "jpeg.tfrecord": write_tfrecord,
    "jpeg.tar": write_tar,
    "jpeg.folder": write_folder,
    "smooth.tfrecord": write_tfrecord,
    "smooth.tar": write_tar,
    "smooth.folder": write_folder,
}

READERS: Readers = {
    "jpeg.tfrecord": either(TFRECORD, False),
    "jpeg.tar": either(TAR, False),
    "jpeg.folder": either(FOLDER, False),
    "smooth.tfrecord": either(TFRECORD, True),
    "smooth.tar": either(TAR, True),
    "smooth.folder": either(FOLDER, True),
}
