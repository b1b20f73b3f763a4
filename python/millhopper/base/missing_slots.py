# SPDX-License-Identifier: Apache-2.0
"""The core's error about a reader without slots, in the words of those who made it in Python."""

from __future__ import annotations

import re

from millhopper.errors import Error

# The core's words, which say how a program in text declares slots. What it has found of them in
# the files follows.
_MISSING = re.compile("the slots of this reader must be declared: .* ranks and lod_levels")


def explain_missing_slots(error: Error, what_to_write: str) -> None:
    """Raises an error that says what to write instead, if the error is about missing slots."""
    found = _MISSING.match(error.message)
    if found is None:
        return
    message = f"the slots of a record are not known: {what_to_write}{error.message[found.end() :]}"
    steps = "".join(f"\n  {step}" for step in error.context)
    raise Error(message + steps, error.code, message, context=error.context) from None
