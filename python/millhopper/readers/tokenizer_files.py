# SPDX-License-Identifier: Apache-2.0
"""Tokenizers of other libraries as files that the operator tokenize reads."""

from __future__ import annotations

import atexit
import base64
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from typing import Any

from millhopper.base.paths import Path
from millhopper.errors import Error

# What tiktoken.get_encoding takes. It knows where their files are; this package does not.
_ENCODINGS = ("gpt2", "r50k_base", "p50k_base", "cl100k_base", "o200k_base")
_MERGES = (
    "it must be a file, such as tokenizer.json, cl100k_base.tiktoken, or merges.txt with "
    "vocab=vocab.json; or a tokenizer of tokenizers, transformers (fast), tiktoken or "
    "sentencepiece"
)

# What a list of words is not.
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather")

_folder: str | None = None


def _folder_of_files() -> str:
    """The user's own, where other processes find the same files when they continue from a state.

    Where there is none to write to, one of this process, which is removed at its end.
    """
    global _folder
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = os.path.join(cache, "millhopper", "tokenizers")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.stat(folder)
        if status.st_uid == os.getuid() and os.access(folder, os.W_OK | os.X_OK):
            return folder
    except OSError:
        pass
    if _folder is None:
        _folder = tempfile.mkdtemp(prefix="millhopper-tokenizers-")
        atexit.register(_remove, _folder, os.getpid())
    return _folder


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a process that was forked
        shutil.rmtree(folder, ignore_errors=True)


def _written(data: bytes) -> str:
    """The path of a file with these bytes; the same for the same bytes."""
    folder = _folder_of_files()
    path = os.path.join(folder, hashlib.sha256(data).hexdigest()[:32])
    if not _holds(path, data):
        descriptor, beside = tempfile.mkstemp(dir=folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    return path


def _holds(path: str, data: bytes) -> bool:
    """Whether a file has these bytes; another process may have left it half written."""
    try:
        with open(path, "rb") as file:
            return file.read(len(data) + 1) == data
    except OSError:
        return False


def file_of_words(vocab: Path | Sequence[str]) -> str | bytes:
    """The path of a vocabulary; for a list of words, of a file that has one a line.

    Raises:
        TypeError: it is neither a path nor a list of str.
        ValueError: a word has more than one line, or it is a table.
    """
    if isinstance(vocab, (str, bytes, os.PathLike)):
        path = os.fspath(vocab)
        if os.fsdecode(path).lower().endswith(_TABLES):
            raise ValueError(
                f"vocab is {path!r}: a vocabulary has one word a line, and this is a table; list "
                f"the words of a column of it: [word for batch in Reader.open_files({path!r}, "
                'fields=["column str"]).batch(1024) for word in batch["column"]]'
            )
        return path
    for word in vocab:
        if not isinstance(word, str):
            raise TypeError(f"{word!r} in a vocabulary; it is a file, or a list of str")
        if "\n" in word or "\r" in word:
            raise ValueError(f"the word {word!r} has more than one line")
    return _written("".join(f"{word}\n" for word in vocab).encode())


def _encoding_as_json(encoding: Any) -> str:
    """An Encoding of tiktoken."""
    ranks: dict[bytes, int] = encoding._mergeable_ranks
    lines = (f"{base64.b64encode(token).decode()} {rank}\n" for token, rank in ranks.items())
    return json.dumps(
        {
            "type": "tiktoken",
            "pattern": encoding._pat_str,
            "special_tokens": encoding._special_tokens,
            "ranks": "".join(lines),
        }
    )


def file_of_tokenizer(tokenizer: Any) -> str:
    """The path of a file of tokens; for a tokenizer, of a file that says the same.

    Raises:
        TypeError: it is neither a path nor a tokenizer that can be written.
        Error: it is the name of an encoding, and of no file.
    """
    if hasattr(tokenizer, "_mergeable_ranks") and hasattr(tokenizer, "_pat_str"):
        return _written(_encoding_as_json(tokenizer).encode())
    if callable(getattr(tokenizer, "serialized_model_proto", None)):
        return _written(tokenizer.serialized_model_proto())
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)  # that of transformers
    if callable(getattr(backend, "to_str", None)):
        return _written(backend.to_str().encode())
    try:
        path: Path = os.fspath(tokenizer)
    except TypeError:
        raise TypeError(f"merges is {type(tokenizer).__name__!r}; {_MERGES}") from None
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if path in _ENCODINGS and not os.path.exists(path):
        raise Error(
            f"merges is {path!r}, which is no file here; tiktoken.get_encoding({path!r}) is one "
            f"that tokenize takes, too; {_MERGES}"
        )
    return str(path)
