# SPDX-License-Identifier: Apache-2.0
"""The digits as RecordIO files, and the programs of tools/programs on them, in Python."""

from __future__ import annotations

import gzip
import struct
import zlib
from pathlib import Path

import millhopper as fluid
import numpy as np
from millhopper import layers

ROOT = Path(__file__).resolve().parents[2]
PIXELS, SHARDS, DECAY, SCALE = 64, 4, 0.9, 0.0625


def _tensor(array: np.ndarray) -> bytes:
    """The array as a tensor stream: no levels, a TensorDesc, the values (lineage.md 3.4)."""
    number = {"uint8": 20, "int64": 3}[array.dtype.name]
    desc = bytes([8, number]) + b"".join(bytes([16, dim]) for dim in array.shape)
    return struct.pack("<IQIi", 0, 0, 0, len(desc)) + desc + array.tobytes()


def _recordio(records: list[bytes]) -> bytes:
    """One chunk without compression (lineage.md 3.1)."""
    payload = b"".join(struct.pack("<I", len(record)) + record for record in records)
    header = (0x01020304, len(records), zlib.crc32(payload), 0, len(payload))
    return struct.pack("<5I", *header) + payload


def write_digits(folder: Path) -> int:
    """Four fifths of the digits as train-*.recordio, the others as test-0.recordio.

    Returns:
        How many records there are to train on.
    """
    with gzip.open(ROOT / "tools/digits/digits.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",")
    records = [
        struct.pack("<I", 2)
        + _tensor(row[None, :-1].astype(np.uint8))
        + _tensor(row[None, -1:].astype(np.int64))
        for row in rows
    ]
    test = records[::5]
    train = [record for i, record in enumerate(records) if i % 5]
    for shard in range(SHARDS):
        (folder / f"train-{shard}.recordio").write_bytes(_recordio(train[shard::SHARDS]))
    (folder / "test-0.recordio").write_bytes(_recordio(test))
    return len(train)


def _weights(name: str) -> fluid.ParamAttr:
    return fluid.ParamAttr(name, fluid.initializer.Normal(0.0, 0.1))


def _open(folder: Path, kind: str) -> fluid.Variable:
    return layers.open_files(
        f"{folder}/{kind}-*.recordio",
        shapes=[[1, PIXELS], [1, 1]],
        lod_levels=[0, 0],
        dtypes=["uint8", "int64"],
        name=f"{kind}_files",
    )


class _Training:
    """One step and its counts."""

    def __init__(self) -> None:
        self.passes = layers.fill_constant([1], "int64", 0)
        self.correct = layers.fill_constant([1], "int32", 0)
        self.total = layers.fill_constant([1], "int32", 0)
        self.loss_sum = layers.fill_constant([1], "float32", 0)
        self.batches = layers.fill_constant([1], "float32", 0)
        self.rate = layers.create_global_var([1], 0.05, "float32", True, name="learning_rate")

    def step(self, reader: fluid.Variable) -> None:
        pixels, label = layers.read_file(reader)
        image = layers.scale(layers.cast(pixels, "float32"), scale=SCALE)
        hidden = layers.fc(
            image, 128, param_attr=_weights("weight1"), bias_attr="bias1", act="relu"
        )
        logits = layers.fc(hidden, 10, param_attr=_weights("weight2"), bias_attr="bias2")
        losses, probabilities = layers.softmax_with_cross_entropy(
            logits, label, return_softmax=True
        )
        loss = layers.mean(losses)
        correct, total = layers.create_tensor("int32"), layers.create_tensor("int32")
        layers.accuracy(probabilities, label, correct=correct, total=total)
        layers.sums([self.correct, correct], out=self.correct)
        layers.sums([self.total, total], out=self.total)
        layers.sums([self.loss_sum, loss], out=self.loss_sum)
        layers.increment(self.batches)
        fluid.optimizer.Momentum(self.rate, 0.9).minimize(loss)

    def end_of_pass(self) -> None:
        layers.increment(self.passes)
        share = layers.cast(self.correct, "float32") / layers.cast(self.total, "float32")
        for message, value in (
            ("pass", self.passes),
            ("loss", self.loss_sum / self.batches),
            ("accuracy", share),
        ):
            layers.Print(
                value,
                message=message,
                print_tensor_name=False,
                print_tensor_type=False,
                print_tensor_shape=False,
            )
        layers.fill_constant([1], "int32", 0, out=self.correct)
        layers.fill_constant([1], "int32", 0, out=self.total)
        layers.fill_constant([1], "float32", 0, out=self.loss_sum)
        layers.fill_constant([1], "float32", 0, out=self.batches)
        layers.scale(self.rate, scale=DECAY, out=self.rate)


def loop_programs(folder: Path, pass_num: int) -> tuple[fluid.Program, fluid.Program]:
    """Startup and main program of seed 000, with the loop over passes written out."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        reader = _open(folder, "train")
        reader = layers.shuffle(reader, 4096, name="train_shuffled")
        reader = layers.batch(reader, 32, name="train_batches")
        reader = layers.double_buffer(reader, name="train")
        layers.batch(_open(folder, "test"), 100, name="test")
        training = _Training()
        required = layers.fill_constant([1], "int64", pass_num)
        not_completed = layers.less_than(training.passes, required)
        loop = layers.While(cond=not_completed)
        with loop.block():
            branch = layers.IfElse(layers.has_next(reader))
            with branch.true_block():
                training.step(reader)
            with branch.false_block():
                training.end_of_pass()
                reader.reset()
                layers.less_than(training.passes, required, cond=not_completed)
    return startup, main


def multi_pass_programs(
    folder: Path, pass_num: int, batches: int
) -> tuple[fluid.Program, fluid.Program]:
    """Startup and main program of seed 000, on a reader that goes through all passes by itself."""
    main, startup = fluid.Program(), fluid.Program()
    with fluid.program_guard(main, startup), fluid.unique_name.guard():
        reader = _open(folder, "train")
        reader = layers.shuffle(reader, 4096, name="train_shuffled")
        reader = layers.batch(reader, 32, name="train_batches")
        reader = layers.multi_pass(reader, pass_num, name="train_passes")
        reader = layers.double_buffer(reader, name="train")
        layers.batch(_open(folder, "test"), 100, name="test")
        training = _Training()
        of_pass = layers.fill_constant([1], "float32", batches)
        not_completed = layers.has_next(reader)
        loop = layers.While(cond=not_completed)
        with loop.block():
            training.step(reader)
            is_over = layers.equal(training.batches, of_pass)
            with layers.ConditionalBlock([is_over], is_scalar_condition=True).block():
                training.end_of_pass()
            layers.has_next(reader, out=not_completed)
    return startup, main
