# SPDX-License-Identifier: Apache-2.0
"""Text and sequences: the methods of Reader."""

from __future__ import annotations

import base64
import json
import pickle
from pathlib import Path

import millhopper
import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("own_cache")

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


WORDS = {
    "version": "1.0",
    "added_tokens": [
        {
            "id": 3,
            "content": "<s>",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
    ],
    "pre_tokenizer": {"type": "WhitespaceSplit"},
    "model": {
        "type": "WordLevel",
        "unk_token": "?",
        "vocab": {"?": 0, "the": 1, "cat": 2},
    },
}


class Tokenizer:
    """As that of tokenizers, or transformers."""

    def __init__(self, words: object) -> None:
        self._words = words

    def to_str(self) -> str:
        return json.dumps(self._words)

    @property
    def backend_tokenizer(self) -> Tokenizer:
        return self


@pytest.mark.usefixtures("threads")
def test_a_tokenizer_of_hugging_face_is_a_file_or_an_object(lines: Reader, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(WORDS))
    spaced = tmp_path / "spaced.json"
    spaced.write_text("\n " + json.dumps(WORDS))
    for tokenizer in (path, str(path), spaced, Tokenizer(WORDS)):
        tokens = lines.tokenize(tokenizer, bos="<s>", eos=7)
        assert [one["text"].values.tolist() for one in tokens] == [
            [3, 1, 2, 7],
            [3, 7],
            [3, 1, 7],
            [3, 0, 7],
        ]
    again = pickle.loads(pickle.dumps(lines.tokenize(Tokenizer(WORDS))))
    assert next(iter(again))["text"].values.tolist() == [1, 2]


def test_special_tokens_are_allowed_refused_or_text(tmp_path: Path) -> None:
    lines = Reader.from_iterable([{"text": "the<s>"}])
    found = {
        special: [
            one["text"].values.tolist() for one in lines.tokenize(Tokenizer(WORDS), special=special)
        ]
        for special in (None, "allow", "text")
    }
    assert found == {None: [[1, 3]], "allow": [[1, 3]], "text": [[0]]}
    with pytest.raises(millhopper.Error, match="the special token '<s>' at byte 3"):
        list(lines.tokenize(Tokenizer(WORDS), special="refuse"))
    with pytest.raises(millhopper.Error, match="special"):
        lines.tokenize(Tokenizer(WORDS), special="perhaps").slots()
    with pytest.raises(millhopper.Error, match="there is no token '</s>'"):
        list(lines.tokenize(Tokenizer(WORDS), eos="</s>"))


def test_parts_of_tokenizers_that_are_not_known_are_named(lines: Reader, tmp_path: Path) -> None:
    words = {**WORDS, "normalizer": {"type": "Sequence", "normalizers": [{"type": "Spell"}]}}
    with pytest.raises(
        millhopper.Error, match=r"normalizer\.normalizers\[0\]: the normalizer 'Spell' is not"
    ):
        next(iter(lines.tokenize(Tokenizer(words))))


@pytest.mark.usefixtures("threads")
def test_rows_have_labels(lines: Reader) -> None:
    (row,) = lines.tokenize().pack(16, labels=-100)
    assert list(row) == ["text", "labels", "document_ids", "positions"]
    text = b"the cat" + b"the" + b"cats"
    masked = [6, 9, 13, 14, 15]
    wanted = [-100 if i in masked else text[i + 1] for i in range(16)]
    assert row["labels"].tolist() == [wanted]


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
    with pytest.raises(millhopper.Error, match="'the cat' is none of the . words of the vocab"):
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
