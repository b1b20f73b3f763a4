# SPDX-License-Identifier: Apache-2.0
"""Reader's methods that look at elements in order: pack, bucket, window and others."""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict

WORDS = ["to", "be", "or", "not", "to", "be", "that", "is", "the", "question"]


@pytest.fixture
def words(tmp_path: Path) -> millhopper.Reader:
    """One word an element: uint8 [letters]."""
    path = tmp_path / "words.txt"
    path.write_text("\n".join(WORDS) + "\n")
    return millhopper.Reader.open_files(f"text:{path}", names=["word"])


def texts(batch: object) -> list[str]:
    return [bytes(row).decode() for row in batch]  # type: ignore[attr-defined]


def test_packed_rows_say_which_document_each_token_is_of(words: millhopper.Reader) -> None:
    for method in ("first_fit", "best_fit"):
        packed = list(words.pack(10, method=method, pad_values=ord(".")).batch(8))
        assert len(packed) == 1
        batch = packed[0]
        assert batch["word"].shape == batch["document_ids"].shape == batch["positions"].shape
        assert batch["document_ids"].dtype == batch["positions"].dtype == np.int32
        read = []
        for row, ids, positions in zip_strict(
            batch["word"], batch["document_ids"], batch["positions"]
        ):
            for document in range(1, ids.max() + 1):
                read.append(bytes(row[ids == document]).decode())
                np.testing.assert_array_equal(
                    positions[ids == document], np.arange((ids == document).sum())
                )
            assert set(row[ids == 0]) <= {ord(".")}
        assert sorted(read) == sorted(WORDS)


def test_pack_treats_long_documents_as_told(words: millhopper.Reader) -> None:
    with pytest.raises(millhopper.Error, match="longer than a row of 4"):
        list(words.pack(4))
    cut = [texts(row["word"])[0] for row in words.pack(4, overlong="truncate", bins=1)]
    assert cut == ["tobe", "or\0\0", "not\0", "tobe", "that", "is\0\0", "ques", "the\0"]
    stream = [texts(row["word"])[0] for row in words.pack(8, method="concat_then_split")]
    assert "".join(stream).rstrip("\0") == "".join(WORDS)


def test_bucket_batches_words_of_similar_length(words: millhopper.Reader) -> None:
    ragged = [texts(batch["word"]) for batch in words.bucket([3, 4], [3, 2, 1])]
    assert ragged == [
        ["to", "be", "or"],
        ["that"],
        ["to", "be", "is"],
        ["not", "the"],
        ["question"],
    ]
    padded = list(words.bucket([4], 3, slot="word", pad=True, pad_multiple=4, drop_last=True))
    assert [batch["word"].shape for batch in padded] == [(3, 4), (3, 4)]
    with pytest.raises(ValueError, match="no slot is called 'text'"):
        words.bucket([4], 3, slot="text")


def test_padded_batch_pads_to_the_longest(words: millhopper.Reader) -> None:
    batches = [texts(batch["word"]) for batch in words.padded_batch(4, pad_values=ord("."))]
    assert batches == [
        ["to.", "be.", "or.", "not"],
        ["to..", "be..", "that", "is.."],
        ["the.....", "question"],
    ]


def test_padding_may_have_a_length_for_each_slot(words: millhopper.Reader, tmp_path: Path) -> None:
    again = millhopper.Reader.open_files(f"text:{tmp_path / 'words.txt'}", name="more")
    both = words.zip(again, names=["word", "again"])
    (batch,) = both.padded_batch(10, pad_length=[16, 0])
    assert batch["word"].shape == (10, 16) and batch["again"].shape == (10, 8)
    (batch,) = both.padded_batch(10, pad_length=16)
    assert batch["word"].shape == batch["again"].shape == (10, 16)
    with pytest.raises(millhopper.Error, match="3 padding lengths for 2 slots"):
        list(both.padded_batch(10, pad_length=[16, 0, 0]))


def test_lengths_come_as_slots(words: millhopper.Reader) -> None:
    padded = words.padded_batch(4, lengths=True)
    bucketed = words.bucket([4], 3, pad=True, lengths=True)
    of_tokens = words.token_batch(8, pad=True, lengths=True)
    for reader in padded, bucketed, of_tokens:
        read = []
        for batch in reader:
            assert batch["word_length"].shape == (len(batch["word"]), 1)
            rows = zip(batch["word"], batch["word_length"][:, 0])
            read += [bytes(row[:length]).decode() for row, length in rows]
        assert sorted(read) == sorted(WORDS)
    late = words.map(lambda e: e)
    with pytest.raises(ValueError, match="^padded_batch adds slots"):
        late.padded_batch(4, lengths=True)


def test_token_batch_counts_letters(words: millhopper.Reader) -> None:
    batches = [texts(batch["word"]) for batch in words.token_batch(8)]
    assert batches == [
        ["to", "be", "or"],
        ["not", "to", "be"],
        ["that", "is"],
        ["the"],
        ["question"],
    ]
    padded = list(words.token_batch(8, count="padded", pad=True))
    assert all(batch["word"].size <= 8 for batch in padded)


def test_window_slides(words: millhopper.Reader) -> None:
    windows = [texts(batch["word"]) for batch in words.window(3, shift=2, drop_last=True)]
    assert windows == [WORDS[i : i + 3] for i in (0, 2, 4, 6)]


def test_dedupe_yields_each_word_once(words: millhopper.Reader) -> None:
    assert [texts(e["word"])[0] for e in words.dedupe(["word"])] == list(dict.fromkeys(WORDS))


def test_cache_reads_files_once(words: millhopper.Reader, tmp_path: Path) -> None:
    cached = words.cache(1 << 20).batch(100)
    first = [texts(batch["word"]) for batch in cached]
    (tmp_path / "words.txt").unlink()
    for _ in range(2):
        assert [texts(batch["word"]) for batch in cached] == first == [WORDS]


def test_cached_arrays_cannot_be_written_to(words: millhopper.Reader) -> None:
    element = next(iter(words.padded_batch(10).cache(1 << 20)))["word"]
    assert not element.flags.writeable
