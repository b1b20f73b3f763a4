# SPDX-License-Identifier: Apache-2.0
"""The operator tokenize, compared with tiktoken on the same tokens, which are made here.

In an environment with tiktoken (0.14 has been compared)::

    pip install . && python -m pytest tests/python/readers/test_tiktoken.py
"""

from __future__ import annotations

import base64
import collections
import json
import os
import random
from pathlib import Path

import millhopper
import numpy as np
import pytest
from millhopper.base.zipped import zip_strict
from millhopper.recordio_writer import create_recordio_writer
from token_patterns import O200K

tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")

from tiktoken.load import data_gym_to_mergeable_bpe_ranks, load_tiktoken_bpe  # noqa: E402
from tiktoken_ext import openai_public  # noqa: E402

pytestmark = pytest.mark.usefixtures("own_cache")

PATTERNS = {
    "gpt2": openai_public.r50k_pat_str,
    "o200k": O200K,
    "cl100k": (
        r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|"""
        r""" ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"""
    ),
}
PIECES = (
    "'s,'S,'ll,'Re,'\u017f,', ,  ,\t,\n,\r\n,\n\n, \n , a, the,hello,1,2024,\u0660,--,!,...,"
    "\u00a0,\u3000,\u2028,\u00e9,\u4e2d\u6587,\U0001f600,x1, _,\u0301"
).split(",")
ALPHABET = [byte for byte in range(256) if chr(byte).isprintable() and byte != 32]
OTHERS = [byte for byte in range(256) if byte not in ALPHABET]
LETTER = {byte: chr(byte) for byte in ALPHABET} | {
    byte: chr(256 + i) for i, byte in enumerate(OTHERS)
}


def written(token: bytes) -> str:
    """A token in GPT-2's alphabet."""
    return "".join(LETTER[byte] for byte in token)


def random_text(dice: random.Random, parts: int) -> str:
    text = []
    for _ in range(parts):
        kind = dice.random()
        if kind < 0.5:
            text.append(dice.choice(PIECES))
        elif kind < 0.7:
            text.append(chr(dice.randrange(128)))
        else:
            code = dice.randrange(0x110000 if kind < 0.85 else 0x3000)
            text.append("x" if 0xD800 <= code < 0xE000 else chr(code))
    return "".join(text)


def texts() -> list[str]:
    dice = random.Random(3)
    made = [random_text(dice, 200) for _ in range(1000)]
    points = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    made += ["".join(points[i : i + 4096]) for i in range(0, len(points), 4096)]
    folder = os.environ.get("MILLHOPPER_TEST_DATA")
    if folder is not None:
        made += [
            path.read_bytes().decode(errors="replace")
            for path in sorted(Path(folder, "text").iterdir())
        ]
    return made


def make_merges(count: int) -> list[tuple[bytes, bytes]]:
    """Merges of the most frequent pairs in words of this page and in random text."""
    dice = random.Random(4)
    source = Path(__file__).read_text() + "".join(random_text(dice, 50) for _ in range(100))
    words = collections.Counter(source.replace("\n", " \n").split(" "))
    parts = {
        word: [bytes([byte]) for byte in (" " + word).encode("utf-8")] for word in words if word
    }
    merges: list[tuple[bytes, bytes]] = []
    made: set[bytes] = set()
    while len(merges) < count:
        pairs: collections.Counter[tuple[bytes, bytes]] = collections.Counter()
        for word, some in parts.items():
            for pair in zip(some, some[1:]):
                if pair[0] + pair[1] not in made:
                    pairs[pair] += words[word]
        if not pairs:
            break
        best = max(pairs, key=lambda pair: (pairs[pair], pair))
        merges.append(best)
        made.add(best[0] + best[1])
        for some in parts.values():
            i = 0
            while i + 1 < len(some):
                if (some[i], some[i + 1]) == best:
                    some[i : i + 2] = [best[0] + best[1]]
                i += 1
    return merges


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same tokens in both forms."""
    folder = tmp_path_factory.mktemp("tokens")
    paths = {name: folder / name for name in ("ranks", "merges", "vocab")}
    merges = make_merges(300)
    lines = [f"{written(left)} {written(right)}" for left, right in merges]
    paths["merges"].write_text("\n".join(["#version: 0.2", *lines, ""]), encoding="utf-8")
    tokens = [bytes([byte]) for byte in ALPHABET + OTHERS]
    tokens += [left + right for left, right in merges]
    ids = {written(token): rank for rank, token in enumerate(tokens)}
    paths["vocab"].write_text(json.dumps(ids), encoding="utf-8")
    paths["ranks"].write_bytes(
        b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))
    )
    return paths


@pytest.mark.parametrize("pattern", list(PATTERNS))
def test_tokens_are_those_of_tiktoken(files: dict[str, Path], pattern: str, tmp_path: Path) -> None:
    made = texts()
    with create_recordio_writer(str(tmp_path / "texts.recordio")) as writer:
        for text in made:
            array = np.frombuffer(text.encode(), np.uint8)
            writer.append_tensor(millhopper.LoDTensor.from_array(array))
            writer.complete_append_tensor()
    # tiktoken checks that both files say the same.
    ranks = data_gym_to_mergeable_bpe_ranks(str(files["merges"]), str(files["vocab"]))
    assert ranks == load_tiktoken_bpe(str(files["ranks"]))
    encoding = tiktoken.Encoding(
        pattern, pat_str=PATTERNS[pattern], mergeable_ranks=ranks, special_tokens={}
    )
    reader = millhopper.Reader.open_files(
        tmp_path / "texts.recordio", slots={"text": ("uint8", [-1])}
    )
    tokens = reader.tokenize(files["ranks"], pattern=pattern, output="ranks")
    tokens = tokens.tokenize(files["merges"], pattern=pattern, slot="text", output="merges")
    tokens = tokens.tokenize(
        files["merges"], vocab=files["vocab"], pattern=pattern, slot="text", output="vocab"
    )
    for element, text in zip_strict(tokens, made):
        wanted = encoding.encode_ordinary(text)
        for form in files:
            assert np.asarray(element[form].values).tolist() == wanted, (form, text[:200])


# Others than those that have names: digits one by one, and what does not match is left out.
EXPRESSIONS = {
    **PATTERNS,
    "digits": (
        r"""(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|"""
        r"""\s+$|\s+(?!\S)|\s"""
    ),
    "words": r"""\p{L}{2,5}+|\p{Lu}(?=\p{Ll})|[^\p{L}\s]++""",
    # Source: Kimi K2's, of which the last alternatives are left out.
    "kimi": (
        r"""[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*"""
        r"""[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|\s+"""
    ),
    "behind": (
        r"""(?<=\d)\p{L}|(?<!a|th|[,.]e)\w|(?<=\p{Script=Greek})\W|\p{sc=Cyrl}+|[[a-y]&&[^e]]+"""
    ),
}


@pytest.mark.parametrize("name", list(EXPRESSIONS))
def test_encodings_are_objects(files: dict[str, Path], name: str) -> None:
    special = {"<|end|>": 1000, "<|endoftext|>": 1001}
    encoding = tiktoken.Encoding(
        name,
        pat_str=EXPRESSIONS[name],
        mergeable_ranks=load_tiktoken_bpe(str(files["ranks"])),
        special_tokens=special,
    )
    dice = random.Random(8)
    made = [
        "".join(random_text(dice, 5) + dice.choice([*special, "<|end"]) for _ in range(4))
        for _ in range(300)
    ]
    reader = millhopper.Reader.from_iterable([{"text": text} for text in made])
    tokens = reader.tokenize(encoding, slot="text", output="ordinary")
    tokens = tokens.tokenize(
        encoding, special="allow", eos="<|end|>", slot="text", output="allowed"
    )
    for element, text in zip_strict(tokens, made):
        assert element["ordinary"].values.tolist() == encoding.encode_ordinary(text), text
        wanted = [*encoding.encode(text, allowed_special="all"), 1000]
        assert element["allowed"].values.tolist() == wanted, text
    with pytest.raises(millhopper.Error, match="special tokens are refused"):
        list(reader.tokenize(encoding, special="refuse"))
