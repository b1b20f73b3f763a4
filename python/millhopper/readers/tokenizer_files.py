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

_folder: str | None = None


def _folder_of_files() -> str:
    """One of this process, which is removed at its end."""
    global _folder
    if _folder is None:
        folder = tempfile.mkdtemp(prefix="millhopper-tokenizers-")
        atexit.register(_remove, folder, os.getpid())
        _folder = folder
    return _folder


def _remove(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a process that was forked
        shutil.rmtree(folder, ignore_errors=True)


def _written(data: bytes) -> str:
    """The path of a file with these bytes; the same for the same bytes."""
    path = os.path.join(_folder_of_files(), hashlib.sha256(data).hexdigest()[:32])
    if not os.path.exists(path):
        descriptor, beside = tempfile.mkstemp(dir=_folder_of_files())
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    return path


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
    """The path of a file of tokens; for a tokenizer, of a file of this process that says the same.

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
