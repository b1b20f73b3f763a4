# SPDX-License-Identifier: Apache-2.0
"""Each method of Reader yields the bytes of a program that was written by hand."""

from __future__ import annotations

import hashlib
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper import Ragged, Reader
from number_files import write_numbers

PEEK = [sys.executable, "-c", "from millhopper.command.native import peek; peek()"]

Method = Callable[[Reader, Reader], Reader]
# For each operator create_<name>_reader: what a program says of it, and the method that makes it of
# a reader of lines, and of another one.
METHODS: dict[str, tuple[str, Method]] = {
    "take": ("count i: 7", lambda r, _: r.take(7)),
    "skip": ("count i: 7", lambda r, _: r.skip(7)),
    "fake": ("count i: 7", lambda r, _: r.fake(7)),
    "multi_pass": ("pass_num i: 3", lambda r, _: r.repeat(3)),
    "shuffle": ("buffer_size i: 9; seed i: 4", lambda r, _: r.shuffle(9, seed=4, name="out")),
    "shard": (
        'num_shards i: 3; index i: 1; even s: "pad"',
        lambda r, _: r.shard(3, 1, even="pad"),
    ),
    "batch": ("batch_size i: 4", lambda r, _: r.batch(4)),
    "unbatch": ("", lambda r, _: r.unbatch()),
    "double_buffer": ("depth i: 3", lambda r, _: r.double_buffer(3)),
    "cache": ("memory_bytes i: 5000", lambda r, _: r.cache(5000)),
    "dedupe": ("entries i: 5; slots ints: 0", lambda r, _: r.dedupe([0], entries=5)),
    "padded_batch": (
        "batch_size i: 4; pad_multiple i: 8; pad_values float64s: 46; lengths b: true",
        lambda r, _: r.padded_batch(4, pad_multiple=8, pad_values=46, lengths=True),
    ),
    "bucket": (
        "boundaries ints: 5 ints: 9; batch_sizes ints: 4 ints: 3 ints: 2; pad b: true",
        lambda r, _: r.bucket([5, 9], [4, 3, 2], pad=True),
    ),
    "token_batch": (
        'max_tokens i: 30; count s: "padded"; overlong s: "alone"',
        lambda r, _: r.token_batch(30, count="padded", overlong="alone"),
    ),
    "pack": (
        'length i: 16; method s: "best_fit"; bins i: 3; overlong s: "split"',
        lambda r, _: r.pack(16, method="best_fit", bins=3, overlong="split"),
    ),
    "window": (
        "size i: 4; shift i: 3; stride i: 2; discard_leftover b: true",
        lambda r, _: r.window(4, shift=3, stride=2, drop_last=True),
    ),
    "partners": (
        "count i: 2; window i: 5; seed i: 3",
        lambda r, _: r.partners(2, window=5, seed=3, name="out"),
    ),
    "resample": (
        'slot i: 0; classes strings: "7"; weights float64s: 3; others float64: 0.5; seed i: 2',
        lambda r, _: r.resample({"7": 3}, key=0, others=0.5, seed=2, name="out"),
    ),
    "concat": ("", lambda r, more: r.concat(more)),
    "zip": ("check_alignment b: true", lambda r, more: r.zip(more, names=["text", "more"])),
    "mix": (
        'weights float64s: [3, 1, 1, 2]; steps longs: [0, 20]; by s: "slot"; seed i: 5; '
        'when_exhausted s: "repeat"',
        lambda r, more: r.mix(
            more,
            weights={0: [3, 1], 20: [1, 2]},
            by=0,
            when_exhausted="repeat",
            seed=5,
            name="out",
        ),
    ),
}
# For each operator on text, sequences or numbers: its attributes in a block that is run for every
# element, and the method.
STEPS: dict[str, tuple[str, Callable[[Reader, Path], Reader]]] = {
    "tokenize": (
        'mode s: "bpe"; merges s: "{merges}"',
        lambda r, folder: r.tokenize(folder / "merges"),
    ),
    "lookup": (
        'vocab s: "{vocab}"; default l: -1',
        lambda r, folder: r.lookup(folder / "vocab", default=-1),
    ),
    "hash_bucket": ("buckets l: 10", lambda r, _: r.hash_bucket(10)),
    "truncate": ('length l: 3; keep s: "last"', lambda r, _: r.truncate(3, keep="last")),
    "pad_sequence": ("length l: 14; value float64: 46", lambda r, _: r.pad_sequence(14, value=46)),
    "sequence_mask": (
        "maxlen l: 14; out_dtype i: 2",
        lambda r, _: r.sequence_mask(14, dtype="int32"),
    ),
    "bucketize": ("boundaries float64s: 9 float64s: 50", lambda r, _: r.bucketize([9, 50])),
    "one_hot": (
        "depth i: 99; allow_out_of_range b: true",
        lambda r, _: r.one_hot(99, allow_out_of_range=True),
    ),
}
NUMBERS = ("bucketize", "one_hot")  # the steps that take numbers


def stream_digest(reader: Reader) -> str:
    """What ``peek --digest`` prints of one pass: see tools/commands/shared/digest.h."""
    stream = hashlib.sha256()
    count = 0
    for element in reader:
        count += 1
        digest = hashlib.sha256()
        for slot in element.values():
            values = slot.values if isinstance(slot, Ragged) else slot
            levels = slot.offsets if isinstance(slot, Ragged) else ()
            dtype = millhopper.framework.convert_dtype(values.dtype)
            digest.update(struct.pack(f"<II{values.ndim}q", dtype, values.ndim, *values.shape))
            digest.update(struct.pack("<I", len(levels)))
            for level in levels:
                digest.update(struct.pack("<Q", len(level)) + level.astype("<u8").tobytes())
            digest.update(np.ascontiguousarray(values).tobytes())
        stream.update(digest.digest())
    return f"stream {stream.hexdigest()} {count}"


def attributes_of(text: str) -> str:
    """``"count i: 7; ..."`` as a program says it."""
    return " ".join(
        re.sub(r"(\w+) (.*)", r'attrs { name: "\1" \2 }', part) for part in text.split("; ") if part
    )


def open_files(name: str, attributes: str, slot: str = "") -> str:
    declared = f"reader {{ lod_tensor {{ tensor {{ {slot} }} }} }}" if slot else ""
    return f"""
    vars {{ name: "{name}" persistable: true type {{ type: READER {declared} }} }}
    ops {{
      type: "open_files"
      outputs {{ parameter: "Out" arguments: "{name}" }}
      {attributes_of(attributes)}
    }}
    """


def decorate(kind: str, below: list[str], attributes: str) -> str:
    parameter = "UnderlyingReaders" if kind in ("concat", "zip", "mix") else "UnderlyingReader"
    arguments = " ".join(f'arguments: "{name}"' for name in below)
    return f"""
    vars {{ name: "out" persistable: true type {{ type: READER }} }}
    ops {{
      type: "create_{kind}_reader"
      inputs {{ parameter: "{parameter}" {arguments} }}
      outputs {{ parameter: "Out" arguments: "out" }}
      {attributes_of(attributes)}
    }}
    """


def block_of(*ops: tuple[str, str]) -> str:
    """The block of a custom reader or a filter: operators one after another, from x0 to x1 ..."""
    outputs = {"sequence_mask": "Y"}
    parts = [
        f"""
        vars {{ name: "x{i + 1}" type {{ type: LOD_TENSOR }} }}
        ops {{
          type: "{type}"
          inputs {{ parameter: "X" arguments: "x{i}" }}
          outputs {{ parameter: "{outputs.get(type, "Out")}" arguments: "x{i + 1}" }}
          {attributes_of(attributes)}
        }}
        """
        for i, (type, attributes) in enumerate(ops)
    ]
    x0 = 'vars { name: "x0" type { type: LOD_TENSOR } }'
    return "} blocks { idx: 1 parent_idx: 0 " + x0 + "".join(parts)


def decorate_by_block(kind: str, *ops: tuple[str, str]) -> str:
    names = f'source_var_names strings: "x0"; sink_var_names strings: "x{len(ops)}"'
    return decorate(kind, ["files"], f"sub_block block_idx: 1; {names}") + block_of(*ops)


def write_lines(path: Path, seed: int) -> Path:
    lengths = np.random.default_rng(seed).integers(0, 12, 60)
    path.write_text("".join("x" * length + f"{length % 9}\n" for length in lengths.tolist()))
    return path


def expect_the_same(program: str, reader: Reader, path: Path) -> None:
    startup = path / "startup.pbtxt"
    startup.write_text("blocks { idx: 0 parent_idx: -1\n" + program + "}\n")
    digest = stream_digest(reader)
    for threads in ("0", "7"):
        peek = [*PEEK, f"--startup={startup}", "--reader=out", "--digest", f"--threads={threads}"]
        ended = subprocess.run(peek, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.splitlines()[-1] == digest
    assert digest.split()[-1] != "0"


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.usefixtures("threads")
def test_a_method_yields_what_the_program_yields(kind: str, tmp_path: Path) -> None:
    names = ["files", "more"] if kind in ("concat", "zip", "mix") else ["files"]
    attributes, method = METHODS[kind]
    program = ""
    readers = []
    for seed, name in enumerate(["files", "more"]):
        path = write_lines(tmp_path / name, seed)
        if name in names:
            program += open_files(name, f'file_names strings: "text:{path}"')
        readers.append(Reader.open_files(f"text:{path}", names=["text"], name=name))
    program += decorate(kind, names, attributes)
    expect_the_same(program, method(*readers), tmp_path)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.usefixtures("threads")
def test_a_step_yields_what_the_program_yields(step: str, tmp_path: Path) -> None:
    attributes, method = STEPS[step]
    if step in NUMBERS:
        path = f"fixed:{write_numbers(tmp_path / 'numbers', 50)}"
        program = open_files(
            "files", f'file_names strings: "{path}"', "data_type: INT64 dims: 1 dims: 1"
        )
        reader = Reader.open_files(path, slots={"x": ("int64", [1, 1])})
    else:
        path = f"text:{write_lines(tmp_path / 'lines', 0)}"
        program = open_files("files", f'file_names strings: "{path}"')
        reader = Reader.open_files(path, names=["x"])
    (tmp_path / "vocab").write_text("x1\n0\nxx2\n")
    (tmp_path / "merges").write_text("#version: 0.2\nx x\nxx xx\n")
    told = attributes.format(vocab=tmp_path / "vocab", merges=tmp_path / "merges")
    program += decorate_by_block("custom", (step, told))
    expect_the_same(program, method(reader, tmp_path), tmp_path)


@pytest.mark.usefixtures("threads")
def test_a_filter_yields_what_the_program_yields(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "lines", 0)
    (tmp_path / "vocab").write_text("x1\n0\nxx2\n")
    program = open_files("files", f'file_names strings: "text:{path}"')
    program += decorate_by_block(
        "filter",
        ("lookup", f'vocab s: "{tmp_path}/vocab"; default l: 0'),
        ("cast", "in_dtype i: 3; out_dtype i: 0"),
    )
    words = Reader.open_files(f"text:{path}", names=["text"])
    kept = words.filter(lambda e: bytes(e["text"][0]) in (b"0", b"xx2"))
    expect_the_same(program, kept, tmp_path)


@pytest.mark.parametrize("shuffle", ["shuffle_records", "shuffle_chunks"])
@pytest.mark.usefixtures("threads")
def test_a_shuffled_source_yields_what_the_program_yields(shuffle: str, tmp_path: Path) -> None:
    path = f"fixed:{write_numbers(tmp_path / 'numbers', 50_000)}"
    program = open_files(
        "out",
        f'file_names strings: "{path}"; {shuffle} b: true',
        "data_type: INT64 dims: 1 dims: 4",
    )
    options = {shuffle: True}
    slots = {"row": ("int64", [1, 4])}
    reader = Reader.open_files(path, slots=slots, name="out", **options)
    expect_the_same(program, reader, tmp_path)
