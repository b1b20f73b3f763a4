# SPDX-License-Identifier: Apache-2.0
"""The normalizer Precompiled of a tokenizer.json, compared with Hugging Face's tokenizers.

XLM-R, T5, mT5, CamemBERT and ALBERT have it. In an environment with tokenizers and sentencepiece
(0.23 and 0.2 have been compared)::

    pip install . && python -m pytest tests/python/readers/test_precompiled.py
"""

from __future__ import annotations

import base64
import io
import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import Error
from millhopper.base.zipped import zip_strict
from protobuf_wire import fields_of

sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")
from tokenizers import (  # noqa: E402
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
)

pytestmark = pytest.mark.usefixtures("own_cache")

# Text of kinds that are divided, joined and replaced: characters, and ranges to draw them from.
JOINED = (
    "e\u0301|\uac01|\u1112\u1161\u11ab|\u1100\u1161|\uac00\u11a8|\u0915\u094d\u0937|\u0915\u093c|"
    "\u0e33|\U0001f468\u200d\U0001f469\u200d\U0001f467|\U0001f1e9\U0001f1ea\U0001f1eb|\u2764\ufe0f|"
    "\U0001f44d\U0001f3fd|\uff21\uff42|\uff76\uff9e|\u30ab\u3099|\u0600\u0661|a\u0300\u0301\u0302|"
    "\ufb01|\u2026|\u00bd|\u2460|\ufdfa|\r\n|\r|\n|\t| |  |\u200b|\u200c|\u200d|\u3000|\u00a0|"
    "\ufeff|"
    "\x00|\x7f|\x85|Hello|the|12|.|\u2581|\u0130|\u0df4|\u1e9e|\u0cbf\u0cd5|\u0b4d\u0b15|i\u0307|"
    "\u02bc|\u1fbf|\u0344|\u09c7\u09be|\U0001d15e|\U0001133b|\u20dd|1\ufe0f\u20e3|\u00e9|\u212b"
).split("|")
RANGES = (
    (0x0, 0x80),
    (0x80, 0x250),
    (0x300, 0x370),
    (0x400, 0x600),
    (0x600, 0x900),
    (0x900, 0xE00),
    (0xE00, 0x1100),
    (0x1100, 0x1200),
    (0x1A00, 0x1C00),
    (0x1DC0, 0x2000),
    (0x2000, 0x2800),
    (0x3000, 0x3100),
    (0x3100, 0x3400),
    (0xA000, 0xABFF),
    (0xAC00, 0xD7FC),
    (0xF900, 0x10000),
    (0x10000, 0x11D00),
    (0x1D100, 0x1D800),
    (0x1E000, 0x1F000),
    (0x1F000, 0x1FB00),
    (0xE0000, 0xE0200),
    (0x0, 0x110000),
)


def texts(count: int, seed: int) -> list[str]:
    dice = random.Random(seed)

    def part(ranges: list[tuple[int, int]]) -> str:
        if dice.random() < 0.4:
            return dice.choice(JOINED)
        code = dice.randrange(*dice.choice(ranges))
        return "x" if 0xD800 <= code < 0xE000 else chr(code)

    made = []
    for _ in range(count):
        ranges = dice.sample(RANGES, 3)
        made.append("".join(part(ranges) for _ in range(dice.randrange(1, 30))))
    return made


def pairs() -> list[str]:
    """Each character before and after what may join it."""
    beside = (
        "a|\u0301|\u0903|\u200d|\u1100|\u1161|\u11a8|\uac00|\uac01|\U0001f468|\U0001f1e9|\u0915"
    )
    points = [chr(code) for code in range(1, 0x32000) if not 0xD800 <= code < 0xE000]
    points += [chr(code) for code in range(0xE0000, 0xE1000)]
    made = []
    for other in beside.split("|"):
        for begin in range(0, len(points), 200):
            some = points[begin : begin + 200]
            made.append("a".join(f"{point}{other}" for point in some))
            made.append("a".join(f"{other}{point}" for point in some))
    linked = (
        "\u0915\u094d{}\u0937a|\u0915{}\u094d\u0937a|\U0001f468{}\u200d\U0001f469a|"
        "{}\u094d\u0937a|{}\u0301\u0302a"
    )
    for pattern in linked.split("|"):
        made += [
            "".join(pattern.format(point) for point in points[begin : begin + 200])
            for begin in range(0, len(points), 200)
        ]
    return made


def trained(**options: Any) -> tuple[Any, bytes]:
    """A unigram model of SentencePiece, and its map of characters."""
    dice = random.Random(7)
    words = Path(random.__file__).read_text().split() + texts(300, 8)
    lines = [" ".join(dice.choice(words) for _ in range(8)).replace("\0", "") for _ in range(4000)]
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        minloglevel=2,
        num_threads=1,
        vocab_size=6000,
        hard_vocab_limit=False,
        character_coverage=0.98,
        **options,
    )
    spec = dict(fields_of(model.getvalue()))[3]
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return processor, dict(fields_of(spec)).get(2, b"")


RULES = {
    "a": "A",
    "ab": "<ab>",
    "abc": "",
    "\u0301": "'",
    "e": "E",
    "e\u0301": "\u00e9",
    "\u0915\u094d": "K",
    "\uac00": "GA",
    "\U0001f468": "man",
    "\U0001f1e9": "D",
    "\r": "R",
    "\u1100": "g",
    " ": "\u2581",
}


def charsmap(name: str, tmp_path: Path) -> bytes:
    if name != "rules":
        return trained(normalization_rule_name=name)[1]
    path = tmp_path / "rules.tsv"

    def codes(text: str) -> str:
        return " ".join(f"{ord(character):X}" for character in text)

    path.write_text("".join(f"{codes(a)}\t{codes(b)}\n" for a, b in RULES.items()))
    return trained(normalization_rule_tsv=str(path))[1]


def of_bytes(normalizer: Any) -> Tokenizer:
    """A tokenizer whose tokens are the bytes of the normalized text."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({name: i for i, name in enumerate(alphabet)}, []))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return tokenizer


def compare(tokenizer: Tokenizer, made: list[str], path: Path) -> None:
    tokenizer.save(str(path))
    reader = millhopper.Reader.from_iterable([{"text": text} for text in made])
    tokens = reader.tokenize(path, slot="text", output="ids")
    for element, text in zip_strict(tokens, made):
        wanted = tokenizer.encode(text).ids
        assert np.asarray(element["ids"].values).tolist() == wanted, text[:300]


@pytest.mark.parametrize("name", ["nmt_nfkc", "nfkc_cf", "rules"])
def test_text_becomes_what_tokenizers_makes_of_it(name: str, tmp_path: Path) -> None:
    tokenizer = of_bytes(normalizers.Precompiled(charsmap(name, tmp_path)))
    compare(tokenizer, texts(8000, 3) + pairs(), tmp_path / "tokenizer.json")


def unigram_of(processor: Any, normalizer: Any, pre_tokenizer: Any) -> Tokenizer:
    count = processor.get_piece_size()
    vocabulary = [(processor.id_to_piece(i), processor.get_score(i)) for i in range(count)]
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=processor.unk_id()))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.add_special_tokens(["<s>", "</s>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
    )
    return tokenizer


SHAPES: dict[str, tuple[Callable[[Any], Any], Callable[[], Any]]] = {
    "t5": (
        lambda map_: normalizers.Precompiled(map_),
        lambda: pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
        ),
    ),
    "xlm_r": (
        lambda map_: normalizers.Sequence(
            [normalizers.Precompiled(map_), normalizers.Replace(Regex(" {2,}"), " ")]
        ),
        lambda: pre_tokenizers.Metaspace(prepend_scheme="always"),
    ),
    "albert": (
        lambda map_: normalizers.Sequence(
            [
                normalizers.Replace("``", '"'),
                normalizers.Replace("''", '"'),
                normalizers.NFKD(),
                normalizers.StripAccents(),
                normalizers.Lowercase(),
                normalizers.Precompiled(map_),
                normalizers.Replace(Regex(" {2,}"), " "),
            ]
        ),
        lambda: pre_tokenizers.Metaspace(prepend_scheme="always"),
    ),
}


@pytest.mark.parametrize("name", list(SHAPES))
def test_tokens_are_those_of_tokenizers(name: str, tmp_path: Path) -> None:
    processor, map_ = trained()
    normalizer, pre_tokenizer = SHAPES[name]
    tokenizer = unigram_of(processor, normalizer(map_), pre_tokenizer())
    compare(tokenizer, texts(7000, 4), tmp_path / "tokenizer.json")


def test_a_damaged_map_is_an_error(tmp_path: Path) -> None:
    map_ = charsmap("rules", tmp_path)
    state = json.loads(of_bytes(normalizers.Precompiled(map_)).to_str())
    (size,) = struct.unpack("<I", map_[:4])

    def read(damaged: bytes | str) -> None:
        text = damaged if isinstance(damaged, str) else base64.b64encode(damaged).decode()
        state["normalizer"]["precompiled_charsmap"] = text
        path = tmp_path / "damaged.json"
        path.write_text(json.dumps(state))
        reader = millhopper.Reader.from_iterable([{"text": "abc e\u0301"}])
        list(reader.tokenize(path, slot="text"))

    for damaged, problem in (
        ("abc!", "it is no base64"),
        (map_[:3], "it has 3 bytes"),
        (struct.pack("<I", len(map_)) + map_[4:], "its trie has"),
        (struct.pack("<I", size - 1) + map_[4:], "its trie has"),
        (map_[: size + 4], "its last string does not end"),
        (map_ + b"x", "its last string does not end"),
        (map_ + b"\xc3\0", "a string is not UTF-8"),
    ):
        with pytest.raises(Error, match=f"precompiled_charsmap: .*{problem}"):
            read(damaged)
