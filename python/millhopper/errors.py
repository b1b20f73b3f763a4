# SPDX-License-Identifier: Apache-2.0
"""The exceptions that the C++ core raises: ``Error`` and what derives from it."""

from __future__ import annotations

import re

# A step names an operator, or a reader together with the operator that created it.
_OPERATOR = re.compile(r"operator '([^']+)'|reader '[^']*' \((\w+),")


class Error(RuntimeError):
    """The core failed because of a program, a data file, a limit or a plugin.

    ``str(error)`` is the message and one indented line for each step that led to the error, as the
    commands print it.

    Attributes:
        code: the kind of error, for example ``"invalid argument"``, ``"data loss"``,
            ``"resource limit"`` (``framework/base/error.h`` lists the kinds).
        message: what went wrong, without the steps.
        file: the data file that the error is about, or ``""``.
        offset: the byte in that file, or None.
        context: the steps, innermost first.
        operator: the innermost operator that a step or the message names, such as ``"read"`` or
            ``"open_files"``, or ``""``.

    Source: Millhopper's own; PaddlePaddle's fluid.core, 2018, has EnforceNotMet, which has text
    only.
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
        """The innermost operator that a step or the message names, or ``""``. Raises nothing."""
        for step in (*self.context, self.message):
            if found := _OPERATOR.search(step):
                return found[1] or found[2]
        return ""

    def __reduce__(self) -> tuple[object, ...]:
        fields = (str(self), self.code, self.message, self.file, self.offset, self.context)
        return (type(self), fields)


class EndOfData(Error):
    """A reader was asked for an element after its last one. A ``for`` loop ends there instead.

    The code is ``"invalid argument"``, because a program can ask ``has_next`` first.

    Source: PaddlePaddle's fluid.core.EOFException, 2018.
    """
