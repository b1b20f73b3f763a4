# SPDX-License-Identifier: Apache-2.0
"""Texts that a caller gives, checked before they go anywhere."""

from __future__ import annotations


def checked_text(name: str, text: object) -> str:
    """The text, as it is.

    Raises:
        TypeError: it is no text.
        ValueError: it has surrogates, which a program cannot hold.
    """
    if not isinstance(text, str):
        raise TypeError(f"{name} is {text!r}; it must be a text")
    text.encode()
    return text
