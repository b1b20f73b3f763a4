# SPDX-License-Identifier: Apache-2.0
"""Readers of lines that become int64 tokens by a byte pair encoding; a batch is 4096 lines."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import millhopper
import numpy as np

from peers.kinds import Readers, Titles, Writers

BATCH = 4096


def write_lines(path: Path, rows: int) -> int:
    """Lines of made-up words, few frequent ones and many rare ones; tokens of them beside it."""
    random = np.random.default_rng(7)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
    words = list(
        dict.fromkeys(
            bytes(random.choice(letters, 2 + random.integers(3) + i // 6000)) for i in range(50000)
        )
    )
    count = rows // 10
    with path.open("wb") as file:
        for _ in range(count):
            places = len(words) ** random.random(random.integers(20, 201)) - 1
            file.write(b" ".join(words[int(place)] for place in places) + b"\n")
    tokens = dict.fromkeys(bytes([byte]) for byte in range(256))
    for word in words[:8000]:
        tokens.update(dict.fromkeys((b" " + word)[:size] for size in range(2, len(word) + 2)))
    lines = (base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    tokens_of(path).write_bytes(b"".join(lines))
    return count


def tokens_of(path: Path) -> Path:
    return path.with_name("words.tiktoken")


# ---- Readers ----


def millhopper_tokenize(path: Path) -> int:
    lines = millhopper.Reader.open_files(f"text:{path}", names=["text"])
    batches = lines.tokenize(tokens_of(path)).batch(BATCH).double_buffer()
    return sum(len(batch["text"]) for batch in batches)


def tiktoken_tokenize(path: Path) -> int:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext.openai_public import r50k_pat_str

    encoding = tiktoken.Encoding(
        "words",
        pat_str=r50k_pat_str,
        mergeable_ranks=load_tiktoken_bpe(str(tokens_of(path))),
        special_tokens={},
    )
    lines = path.read_text().split("\n")[:-1]
    total = 0
    for begin in range(0, len(lines), BATCH):
        part = lines[begin : begin + BATCH]
        rows = encoding.encode_ordinary_batch(part, num_threads=os.cpu_count() or 1)
        np.concatenate([np.array(row, np.int64) for row in rows])
        total += len(rows)
    return total


TITLES: Titles = {"tokenize": "lines to tokens (BPE)"}

WRITERS: Writers = {"tokenize": write_lines}

READERS: Readers = {"tokenize": {"millhopper": millhopper_tokenize, "tiktoken": tiktoken_tokenize}}
