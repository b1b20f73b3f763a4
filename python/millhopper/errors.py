# SPDX-License-Identifier: Apache-2.0
"""The one family of exceptions that come out of the C++ core."""

from __future__ import annotations

import re

# How steps name an operator, and a reader with the operator that created it.
_OPERATOR = re.compile(r"operator '([^']+)'|reader '[^']*' \((\w+),")


class Error(RuntimeError):
    """Something went wrong in the core: a program, a data file, a limit, a plugin.

    ``str()`` of it is the message and one indented line for each step that led to it, as the
    commands print it.

    Attributes:
        code: what kind of thing, for example ``"invalid argument"``, ``"data loss"``,
            ``"resource limit"`` (the kinds of ``framework/base/error.h``).
        message: what went wrong, without the steps.
        file: the data file that it is about, or ``""``.
        offset: the byte in that file, or None.
        context: the steps, innermost first.
        operator: the innermost operator in them, such as ``"read"`` or ``"open_files"``, or ``""``.

    Source: Millhopper's own; PaddlePaddle's fluid.core, 2018, has EnforceNotMet, a text alone.
    """

    def __init__(
        self,
        text: str,
        code: str = "invalid argument",
        message: str = "",
        file: str = "",
        offset: int | None = None,
        context: tuple[str, ...] = (),
    ) -> None:
        super().__init__(text)
        self.code = code
        self.message = message or text
        self.file = file
        self.offset = offset
        self.context = context

    @property
    def operator(self) -> str:
        """The innermost operator in the steps, such as ``"read"``, or ``""``. Raises nothing."""
        for step in (*self.context, self.message):
            if found := _OPERATOR.search(step):
                return found[1] or found[2]
        return ""

    def __reduce__(self) -> tuple[object, ...]:
        fields = (str(self), self.code, self.message, self.file, self.offset, self.context)
        return (type(self), fields)


class EndOfData(Error):
    """A reader was asked for an element after its last one. Loops over a reader end instead.

    Its code is ``"invalid argument"``: a program can ask first, by ``has_next``.

    Source: PaddlePaddle's fluid.core.EOFException, 2018.
    """
