# SPDX-License-Identifier: Apache-2.0
"""The operator tokenize, compared with Hugging Face's tokenizers, which are trained here.

In an environment with tokenizers (0.23 has been compared)::

    pip install . && python -m pytest tests/python/readers/test_tokenizers.py
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from token_patterns import O200K

tokenizers = pytest.importorskip("tokenizers", reason="tokenizers is not installed")

from tokenizers import (  # noqa: E402
    AddedToken,
    Regex,
    Tokenizer,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

pytestmark = pytest.mark.usefixtures("own_cache")

LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
    r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = LLAMA3.replace("{1,3}", "")
DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
SAMPLES = (
    "'s|'S|'ll|'Re|'\u017f|'|  |\t|\n|\r\n|\n\n| \n |     | a| the|hello|Hello|HELLO|x|1|2024|"
    "\u0660\u0661|--|!|...|\u00a0|\u3000|\u2028|\u0085|\u00e9|e\u0301|\u4e2d\u6587|\u4e2d|"
    "\U0001f600|\U0001f468\u200d\U0001f469|x1| _|\u0301|\u0327\u0301|\u0130|\u00df|\u01c5|\ufb01|"
    "\u1e9b\u0323|\uac00|\u1100\u1161\u11a8|\u2167|\u00bd|\ufdfa|caf\u00e9|\u0915\u094d|\u200b|"
    "\ufeff|\ufffd|\x00|\x7f|\x1f|</s>|<s>|<mask>|[UNK]|<|special|>|added word|addedword|"
    "ADDED|ADDING|adding |"
    "\u2581|\u2581the|word</w>|##ing|def f(x):|    return x**2|http://a.b/c?d=e&f|3.14159"
).split("|")


def random_text(dice: random.Random, parts: int) -> str:
    text = []
    for _ in range(parts):
        kind = dice.random()
        if kind < 0.6:
            text.append(dice.choice(SAMPLES))
        elif kind < 0.75:
            text.append(chr(dice.randrange(128)))
        else:
            code = dice.randrange(0x110000 if kind < 0.85 else 0x3000)
            text.append("x" if 0xD800 <= code < 0xE000 else chr(code))
    return "".join(text)


def source_texts() -> list[str]:
    """Python's own sources and this page."""
    folder = Path(json.__file__).parent
    paths = [Path(__file__), *sorted(folder.glob("*.py")), Path(random.__file__)]
    return [path.read_text(encoding="utf-8") for path in paths]


def texts(parts: int = 60, count: int = 400) -> list[str]:
    dice = random.Random(5)
    made = ["", " ", "\n", "a", "\u00e9"]
    made += [random_text(dice, dice.randrange(1, parts)) for _ in range(count)]
    points = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    # All characters that are neither ideographs, syllables nor private, and some of those.
    some = [c for i, c in enumerate(points) if not 0x3400 <= i < 0xD7A4 or i % 37 == 0]
    some = some[: 0x20000 - 0x9C00]
    made += ["".join(some[i : i + 512]) for i in range(0, len(some), 512)]
    made += [" ".join(some[i : i + 512]) for i in range(0, len(some), 512)]
    return made + source_texts()[:3]


def corpus() -> Iterable[str]:
    dice = random.Random(6)
    yield from source_texts()
    for _ in range(200):
        yield random_text(dice, 40)


def trained(
    model: Any,
    trainer: Any,
    normalizer: Any = None,
    pre_tokenizer: Any = None,
    post_processor: Any = None,
) -> Tokenizer:
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if pre_tokenizer is not None:
        tokenizer.pre_tokenizer = pre_tokenizer
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    tokenizer.train_from_iterator(corpus(), trainer)
    return tokenizer


def byte_pairs(pre_tokenizer: Any, normalizer: Any = None, **options: Any) -> Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<s>", "</s>"],
        show_progress=False,
    )
    return trained(models.BPE(**options), trainer, normalizer, pre_tokenizer)


def split_bytes(pattern: str) -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def gpt2() -> Tokenizer:
    return byte_pairs(pre_tokenizers.ByteLevel(add_prefix_space=False))


def gpt2_prefix() -> Tokenizer:
    tokenizer = byte_pairs(pre_tokenizers.ByteLevel(add_prefix_space=True))
    tokenizer.add_special_tokens(["<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


def llama3() -> Tokenizer:
    tokenizer = byte_pairs(split_bytes(LLAMA3))
    state = json.loads(tokenizer.to_str())
    state["model"]["ignore_merges"] = True
    dice = random.Random(1)  # some tokens that merges do not make
    state["model"]["merges"] = [one for one in state["model"]["merges"] if dice.random() < 0.97]
    tokenizer = Tokenizer.from_str(json.dumps(state))
    tokenizer.post_processor = processors.Sequence(
        [
            processors.ByteLevel(trim_offsets=False),
            processors.TemplateProcessing(
                single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 0)]
            ),
        ]
    )
    return tokenizer


def qwen2() -> Tokenizer:
    return byte_pairs(split_bytes(QWEN2), normalizers.NFC())


def o200k() -> Tokenizer:
    return byte_pairs(split_bytes(O200K))


def deepseek() -> Tokenizer:
    steps = [
        pre_tokenizers.Split(Regex(r"\p{N}{1,3}"), "isolated"),
        pre_tokenizers.Split(Regex("[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+"), "isolated"),
        pre_tokenizers.Split(Regex(DEEPSEEK), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
    return byte_pairs(pre_tokenizers.Sequence(steps))


def starcoder() -> Tokenizer:
    steps = [
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
    ]
    return byte_pairs(pre_tokenizers.Sequence(steps))


def byte_level_normalizer() -> Tokenizer:
    return byte_pairs(
        pre_tokenizers.Split(Regex(r"[a-zA-Z0-9]+|[^a-zA-Z0-9\s]+|\s+"), "isolated"),
        normalizers.ByteLevel(),
    )


def llama2() -> Tokenizer:
    """As those that were made of SentencePiece: no pre-tokenizer, and bytes as a way out."""
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))],
        show_progress=False,
        limit_alphabet=150,
    )
    normalizer = normalizers.Sequence(
        [normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")]
    )
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.train_from_iterator(corpus(), trainer)
    state = json.loads(tokenizer.to_str())
    state["pre_tokenizer"] = None
    state["model"]["byte_fallback"] = True
    state["model"]["fuse_unk"] = True
    # As in files of SentencePiece, tokens are made by each pair of tokens that is one together.
    vocabulary = state["model"]["vocab"]
    ranks = {name: rank for rank, name in enumerate(vocabulary)}
    pairs = [
        (ranks[name], name[:cut], name[cut:])
        for name in vocabulary
        for cut in range(1, len(name))
        if name[:cut] in vocabulary and name[cut:] in vocabulary
    ]
    state["model"]["merges"] = [[left, right] for _, left, right in sorted(pairs)]
    special = {"<unk>", "<s>", "</s>"}
    state["added_tokens"] = [one for one in state["added_tokens"] if one["content"] in special]
    state["post_processor"] = json.loads(
        processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        ).__getstate__()
    )
    return Tokenizer.from_str(json.dumps(state))


def some_bytes() -> Tokenizer:
    """Only some bytes are tokens, so that some characters are unknown."""
    tokenizer = llama2()
    state = json.loads(tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    for byte in (0xF0, 0xC2):
        vocabulary[f"<no{byte}>"] = vocabulary.pop(f"<0x{byte:02X}>")
    state["model"]["fuse_unk"] = False
    return Tokenizer.from_str(json.dumps(state))


def clip() -> Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=1500, end_of_word_suffix="</w>", show_progress=False, limit_alphabet=200
    )
    return trained(
        models.BPE(unk_token=None, end_of_word_suffix="</w>"),
        trainer,
        normalizers.Sequence(
            [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
        ),
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(
                    Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"),
                    "removed",
                    invert=True,
                ),
            ]
        ),
    )


def continuing() -> Tokenizer:
    trainer = trainers.BpeTrainer(
        vocab_size=1200,
        continuing_subword_prefix="##",
        special_tokens=["<unk>"],
        show_progress=False,
        limit_alphabet=120,
    )
    return trained(
        models.BPE(unk_token="<unk>", continuing_subword_prefix="##"),
        trainer,
        None,
        pre_tokenizers.Whitespace(),
    )


def bert(**options: Any) -> Tokenizer:
    trainer = trainers.WordPieceTrainer(
        vocab_size=1500,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        show_progress=False,
    )
    tokenizer = trained(
        models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20),
        trainer,
        normalizers.BertNormalizer(**options),
        pre_tokenizers.BertPreTokenizer(),
    )
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.enable_truncation(64)
    return tokenizer


def word_level(pre_tokenizer: Any, normalizer: Any = None) -> Tokenizer:
    trainer = trainers.WordLevelTrainer(
        vocab_size=3000, special_tokens=["[UNK]"], show_progress=False
    )
    return trained(models.WordLevel(unk_token="[UNK]"), trainer, normalizer, pre_tokenizer)


def unigram(byte_fallback: bool = False) -> Tokenizer:
    special = ["<unk>", "<s>", "</s>"]
    if byte_fallback:
        special += [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = trainers.UnigramTrainer(
        vocab_size=6000, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer = trained(
        models.Unigram(),
        trainer,
        normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()]),
        pre_tokenizers.Metaspace(),
    )
    state = json.loads(tokenizer.to_str())
    names: set[str] = set()
    for one in state["model"]["vocab"]:  # texts have the names of special tokens, too
        if one[0] in names:
            one[0] += "again"
        names.add(one[0])
    if byte_fallback:
        state["model"]["byte_fallback"] = True
        state["added_tokens"] = [one for one in state["added_tokens"] if one["id"] < 3]
    return Tokenizer.from_str(json.dumps(state))


def added() -> Tokenizer:
    """Tokens that are added, with all their options."""
    tokenizer = byte_pairs(split_bytes(QWEN2), normalizers.Lowercase())
    tokenizer.add_special_tokens(
        [
            AddedToken("<mask>", lstrip=True, normalized=False),
            AddedToken("<|special|>", rstrip=True, lstrip=True, normalized=False),
        ]
    )
    tokenizer.add_tokens(
        [
            AddedToken("added", single_word=True),
            AddedToken("addedword", normalized=True),
            AddedToken("added word", normalized=False),
            AddedToken("ADDING", normalized=True, rstrip=True),
            AddedToken("\n\n", normalized=False),
            AddedToken("  ", normalized=False),
            AddedToken("    ", normalized=False),
            AddedToken("the", normalized=True, single_word=True, lstrip=True),
        ]
    )
    return tokenizer


def splits(behavior: str, invert: bool) -> Tokenizer:
    return word_level(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split("e", behavior, invert),
                pre_tokenizers.Split(
                    Regex(r"(?i:th|[aou]{2,3})|\d+?|[x-z]*+1|(?>ab|a)b"), behavior
                ),
            ]
        )
    )


# Source: Kimi K2's, of which the last alternatives are left out; BLOOM's; and what else expressions
# may have.
EXPRESSIONS = {
    "sets": r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"
    r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|\s+",
    "bloom": " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+",
    "words": r"\w+|\W",
    "scripts": r"\p{Greek}+|\p{Cyrl}+|\p{latin}+|\p{^Common}|\P{Old_Italic}",
    "behind": r"(?<=\d)\p{L}|(?<!a|th|[,.]e)\w|(?<=\p{Han}{1,2})\s|(?<![^x\s])[a-y]|(?<=^).|"
    r"(?<=^.)\W",
    "others": r"\p{C}|\p{Cn}+|\p{Co}|\p{LC}+|[[a-c][^\x00-\x7f]&&\p{L}&&[^\u4e00]]+",
    "cases": r"(?i:[a\p{N}]+|[^\W_b]|[k-s]\p{L}|\w)",
}


def expression(pattern: str) -> Tokenizer:
    return word_level(pre_tokenizers.Split(Regex(pattern), "isolated"))


def scripts() -> Tokenizer:
    return word_level(
        pre_tokenizers.Sequence(
            [pre_tokenizers.UnicodeScripts(), pre_tokenizers.Split(Regex(r"\d+|\s"), "removed")]
        )
    )


def mixed() -> Tokenizer:
    return word_level(
        pre_tokenizers.Sequence(
            [
                pre_tokenizers.CharDelimiterSplit("/"),
                pre_tokenizers.WhitespaceSplit(),
                pre_tokenizers.Punctuation("merged_with_previous"),
                pre_tokenizers.Digits(individual_digits=False),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
                pre_tokenizers.Metaspace(prepend_scheme="always", split=False),
            ]
        ),
        normalizers.Sequence(
            [
                normalizers.Strip(),
                normalizers.NFD(),
                normalizers.StripAccents(),
                normalizers.Replace("a", "aa"),
                normalizers.Replace(Regex("b+(?!c)"), ""),
                normalizers.Prepend("x"),
            ]
        ),
    )


def first_only() -> Tokenizer:
    """A prefix only where the text begins, not after a special token or another piece."""
    tokenizer = word_level(
        pre_tokenizers.Sequence(
            [pre_tokenizers.Whitespace(), pre_tokenizers.Metaspace(prepend_scheme="first")]
        )
    )
    tokenizer.add_special_tokens(["<s>"])
    return tokenizer


def llama2_first() -> Tokenizer:
    tokenizer = llama2()
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    return tokenizer


MADE: dict[str, Callable[[], Tokenizer]] = {
    "gpt2": gpt2,
    "gpt2_prefix": gpt2_prefix,
    "llama3": llama3,
    "qwen2": qwen2,
    "o200k": o200k,
    "deepseek": deepseek,
    "starcoder": starcoder,
    "byte_level_normalizer": byte_level_normalizer,
    "llama2": llama2,
    "some_bytes": some_bytes,
    "clip": clip,
    "continuing": continuing,
    "bert": bert,
    "bert_cased": lambda: bert(lowercase=False, handle_chinese_chars=False),
    "bert_accents": lambda: bert(strip_accents=False, clean_text=False),
    "unigram": unigram,
    "unigram_bytes": lambda: unigram(True),
    "added": added,
    "mixed": mixed,
    "unicode_scripts": scripts,
    "fixed_length": lambda: word_level(pre_tokenizers.FixedLength(3)),
    **{
        f"expression_{name}": lambda pattern=pattern: expression(pattern)
        for name, pattern in EXPRESSIONS.items()
    },
    "first_only": first_only,
    "llama2_first": llama2_first,
    "metaspace": lambda: word_level(pre_tokenizers.Metaspace(replacement="_"), normalizers.NFKD()),
    "strip_left": lambda: word_level(
        pre_tokenizers.Punctuation("removed"), normalizers.Strip(right=False)
    ),
    **{
        f"split_{behavior}_{invert}": lambda behavior=behavior, invert=invert: splits(
            behavior, invert
        )
        for behavior in (
            "removed",
            "isolated",
            "merged_with_previous",
            "merged_with_next",
            "contiguous",
        )
        for invert in (False, True)
    },
}


def reader_of(made: list[str]) -> millhopper.Reader:
    return millhopper.Reader.from_iterable([{"text": text} for text in made])


@pytest.mark.parametrize("name", list(MADE))
def test_tokens_are_those_of_tokenizers(name: str, tmp_path: Path) -> None:
    tokenizer = MADE[name]()
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    made = texts()
    tokens = reader_of(made).tokenize(path, slot="text", output="ids")
    tokens = tokens.tokenize(path, add_special_tokens=False, slot="text", output="plain")
    for element, text in zip_strict(tokens, made):
        wanted = tokenizer.encode(text).ids
        assert np.asarray(element["ids"].values).tolist() == wanted, text[:300]
        wanted = tokenizer.encode(text, add_special_tokens=False).ids
        assert np.asarray(element["plain"].values).tolist() == wanted, text[:300]
