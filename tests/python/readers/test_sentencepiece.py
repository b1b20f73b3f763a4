# SPDX-License-Identifier: Apache-2.0
"""The operator tokenize, compared with SentencePiece on models that are trained here.

In an environment with sentencepiece (0.2 has been compared)::

    pip install . && python -m pytest tests/python/readers/test_sentencepiece.py
"""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import millhopper
import pytest
from millhopper.base.zipped import zip_strict

sentencepiece = pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")

pytestmark = pytest.mark.usefixtures("own_cache")

SAMPLES = (
    "'s|  |   |\t|\n|\r\n| a| the|hello|Hello|x|1|2024|\u0660|--|!|...|\u00a0|\u3000|\u2028|\u00e9|"
    "e\u0301|\u4e2d\u6587|\U0001f600|\U0001f468\u200d\U0001f469|\u0301|\u0130|\ufb01|\uff21\uff42|"
    "\uac00|\u1100\u1161|\u2167|\u00bd|\ufdfa|\u200b|\ufeff|\ufffd|\x00|\x7f|</s>|<s>|<unk>|<0x41>|"
    "\u2581|\u2581the|def f(x):|http://a.b/c?d=e&f|\u30ab\u3099|\u2460"
).split("|")


def random_text(dice: random.Random, parts: int) -> str:
    text = []
    for _ in range(parts):
        kind = dice.random()
        if kind < 0.7:
            text.append(dice.choice(SAMPLES))
        elif kind < 0.85:
            text.append(chr(dice.randrange(128)))
        else:
            code = dice.randrange(0x110000 if kind < 0.9 else 0x3000)
            text.append("x" if 0xD800 <= code < 0xE000 else chr(code))
    return "".join(text)


def lines() -> list[str]:
    dice = random.Random(6)
    paths = sorted(Path(json.__file__).parent.glob("*.py"))
    made = [line for path in paths for line in path.read_text().splitlines() if line.strip()]
    return made + [random_text(dice, 20).replace("\0", "") for _ in range(300)]


def texts() -> list[str]:
    dice = random.Random(5)
    made = ["", " ", "  ", "\n", "a", " a ", "\u00e9", "\u2581"]
    made += [random_text(dice, dice.randrange(1, 60)) for _ in range(800)]
    points = [chr(code) for code in range(1, 0x32000) if not 0xD800 <= code < 0xE000]
    made += ["".join(points[i : i + 256]) for i in range(0, len(points), 256)]
    made += [" ".join(points[i : i + 256]) for i in range(0, len(points), 256)]
    return made + [Path(random.__file__).read_text()]


def trained(**options: Any) -> Any:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines()),
        model_writer=model,
        minloglevel=2,
        num_threads=1,
        **{"vocab_size": 1200, "hard_vocab_limit": False, **options},
    )
    return sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())


OPTIONS: dict[str, dict[str, Any]] = {
    "unigram": {"model_type": "unigram"},
    "unigram_bytes": {"model_type": "unigram", "byte_fallback": True, "character_coverage": 0.99},
    "unigram_identity": {
        "model_type": "unigram",
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
    },
    "unigram_small_letters": {
        "model_type": "unigram",
        "normalization_rule_name": "nmt_nfkc_cf",
        "add_dummy_prefix": False,
    },
    "bpe": {"model_type": "bpe", "vocab_size": 2000},
    "bpe_bytes": {
        "model_type": "bpe",
        "byte_fallback": True,
        "character_coverage": 0.99,
        "normalization_rule_name": "identity",
        "remove_extra_whitespaces": False,
        "split_digits": True,
    },
    "bpe_across_words": {"model_type": "bpe", "vocab_size": 2000, "split_by_whitespace": False},
}


@pytest.mark.parametrize("name", list(OPTIONS))
def test_tokens_are_those_of_sentencepiece(name: str, tmp_path: Path) -> None:
    processor = trained(**OPTIONS[name])
    path = tmp_path / "spiece.model"
    path.write_bytes(processor.serialized_model_proto())
    made = texts()
    reader = millhopper.Reader.from_iterable([{"text": text} for text in made])
    tokens = reader.tokenize(path, slot="text", output="file")
    tokens = tokens.tokenize(processor, bos="<s>", eos="</s>", slot="text", output="object")
    for element, text in zip_strict(tokens, made):
        wanted = processor.encode(text)
        assert element["file"].values.tolist() == wanted, text[:300]
        assert element["object"].values.tolist() == [1, *wanted, 2], text[:300]


def test_what_is_not_supported_is_named() -> None:
    reader = millhopper.Reader.from_iterable([{"text": "a"}])
    with pytest.raises(millhopper.Error, match="defined by the user.*'<sep>'"):
        list(reader.tokenize(trained(user_defined_symbols=["<sep>"])))
    with pytest.raises(millhopper.Error, match="neither unigram nor BPE"):
        list(reader.tokenize(trained(model_type="char")))
    with pytest.raises(millhopper.Error, match="treat_whitespace_as_suffix"):
        list(reader.tokenize(trained(treat_whitespace_as_suffix=True)))
    with pytest.raises(millhopper.Error, match="this one has none"):
        list(reader.tokenize(trained(), special="allow"))
