# SPDX-License-Identifier: Apache-2.0
"""Text and sequences: the methods of Reader."""

from __future__ import annotations

import base64
from pathlib import Path

import millhopper
import numpy as np
import pytest

Reader = millhopper.Reader


@pytest.fixture
def lines(tmp_path: Path) -> Reader:
    (tmp_path / "lines.txt").write_text("the cat\n\nthe\ncats\n")
    return Reader.open_files(f"text:{tmp_path / 'lines.txt'}", names=["text"])


@pytest.fixture
def merges(tmp_path: Path) -> Path:
    tokens = [bytes([byte]) for byte in range(256)] + [b"th", b"the", b" c", b"at"]
    path = tmp_path / "tokens.tiktoken"
    path.write_bytes(
        b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    )
    return path


@pytest.mark.usefixtures("threads")
def test_text_becomes_tokens(lines: Reader, merges: Path) -> None:
    (batch,) = lines.tokenize(merges, dtype="int32", output="tokens").batch(4)
    assert [row.tolist() for row in batch["tokens"]] == [[257, 258, 259], [], [257], [99, 259, 115]]
    assert batch["tokens"].values.dtype == np.int32
    assert bytes(batch["text"][3]) == b"cats"


@pytest.mark.usefixtures("threads")
def test_a_token_ends_each_text(lines: Reader, merges: Path) -> None:
    tokens = lines.tokenize(merges, eos=50256)
    (batch,) = tokens.batch(4)
    assert [row.tolist() for row in batch["text"]] == [
        [257, 258, 259, 50256],
        [50256],
        [257, 50256],
        [99, 259, 115, 50256],
    ]
    (row,) = tokens.pack(12, method="concat_then_split")
    assert row["document_ids"].tolist() == [[1, 1, 1, 1, 2, 3, 3, 4, 4, 4, 4, 0]]


def test_a_tokenizer_of_hugging_face_is_explained(lines: Reader, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text('{"version": "1.0"}')
    with pytest.raises(millhopper.Error, match="writes merges.txt and vocab.json"):
        next(iter(lines.tokenize(tmp_path / "tokenizer.json")))


@pytest.mark.usefixtures("threads")
def test_sequences_are_cut_padded_and_masked(lines: Reader, merges: Path) -> None:
    tokens = lines.tokenize(merges, pattern="cl100k").truncate(2, keep="last")
    (batch,) = tokens.batch(4).sequence_mask(3, output="mask").pad_sequence(slot="text", value=-1)
    assert batch["text"].tolist() == [[258, 259], [-1, -1], [257, -1], [259, 115]]
    assert batch["mask"].tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 0], [1, 1, 0]]
    with pytest.raises(millhopper.Error, match="sequence 0 has 2 rows"):
        next(iter(tokens.batch(4).pad_sequence(1)))
    (cut,) = tokens.batch(4).pad_sequence(1, truncate=True)
    assert cut["text"].tolist() == [[258], [0], [257], [259]]


def test_words_become_numbers(lines: Reader, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("cats\nthe\n")
    numbers = lines.lookup(words, default=-1, output="number")
    (batch,) = numbers.hash_bucket(10, slot="text", output="bucket").batch(4)
    assert batch["number"].tolist() == [-1, -1, 1, 0]
    assert all(0 <= bucket < 10 for bucket in batch["bucket"])
    with pytest.raises(millhopper.Error, match="'the cat' is no word of the vocabulary"):
        next(iter(lines.lookup(words)))
    with pytest.raises(millhopper.Error, match=r"missing\.txt"):
        next(iter(lines.lookup(tmp_path / "missing.txt")))


def test_numbers_become_intervals_and_rows(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age\n5\n18\n70\n")
    table = Reader.open_files(tmp_path / "table.csv", fields={"age": "float32[]"})
    bounds = [18.0, 65.0]
    (batch,) = table.bucketize(bounds, output="group").one_hot(3, output="row").batch(3)
    assert batch["group"].tolist() == np.digitize(batch["age"], bounds).tolist() == [0, 1, 2]
    assert batch["row"].tolist() == np.eye(3, dtype=np.float32).tolist()


def test_what_cannot_be_is_refused(lines: Reader, merges: Path) -> None:
    with pytest.raises(millhopper.Error, match="attribute 'dtype' is float32"):
        lines.tokenize(merges, dtype="float32").slots()
    with pytest.raises(millhopper.Error, match="pattern"):
        lines.tokenize(merges, pattern="gpt9").slots()
    merges.write_text("YQ== x\n")
    with pytest.raises(millhopper.Error, match=r"tokens\.tiktoken: line 1: 'x' is no rank"):
        next(iter(lines.tokenize(merges)))
