# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that loops call: which pass is next, and how long it is."""

from __future__ import annotations

import re

from millhopper import _core
from millhopper.base.integers import INT64_MAX, integer_within
from millhopper.base.missing_slots import explain_missing_slots
from millhopper.errors import Error
from millhopper.readers.chain import Chain
from millhopper.readers.state_methods import StateMethods

# A step of the core's errors ends like this if methods of Reader have made the program, and with
# the line of the operator if it is text.
_MADE_HERE = re.compile(r": operator \d+ of block \d+\)$")
# The core's error contains this if operators are to make slots whose dims it does not know in time.
_DIMS_MISSING = "must declare its type {"
_WHAT_TO_WRITE = 'pass slots={"name": (dtype, dims), ...} where the reader is made'


def _explain(error: Error) -> None:
    """Raises an error that says what to type in Python, if slots are missing."""
    if any(_MADE_HERE.search(step) for step in error.context):
        explain_missing_slots(error, _WHAT_TO_WRITE)
    if _DIMS_MISSING in error.message:
        text = (
            f"the slots of a record are not known: {_WHAT_TO_WRITE}, or in a program in text: "
            + error.message
        )
        steps = "".join(f"\n  {step}" for step in error.context)
        raise Error(text + steps, error.code, text, context=error.context) from None


class LoopMethods(Chain, StateMethods):
    """What loops over a Reader do; views of it for other libraries need no more than this."""

    def set_epoch(self, epoch: int) -> None:
        """The next loop will be pass number ``epoch``, from 0: the same order in every process.

        After ``load_state_dict`` the saved pass is resumed if it is this one; otherwise this one
        begins.

        Raises:
            TypeError: it is no integer.
            ValueError: it is below 0, or 2**63 or more.
        """
        self._go_to(integer_within("epoch", epoch, 0, INT64_MAX))

    def __len__(self) -> int:
        """How many batches (or elements, without ``batch``) a pass has.

        The number is known for idx and uncompressed fixed files, RecordIO files that have a
        manifest, files that have an index (``recordio index FILE`` makes it, or a pass after
        ``millhopper.set_index()``: of text, csv, jsonl, tfrecord, tar and others), random data with
        a count, and every chain on one of these. Files may be opened to find it, but none is read:
        of a file that has an index, at most 64 KiB at each end, which tell whether it is still the
        file of the index. For a damaged file it is the number that the file should have.

        Raises:
            TypeError: the number is not known: the files would have to be read first, or can be
                read once only, or several readers share the source, so that each gets what the
                others leave.
            Error: a file is missing, its header, manifest or index is damaged, or it has changed
                since its index was made.
        """
        try:
            length = self._core.length()
        except Error as error:
            _explain(error)
            raise
        if length is None:
            raise TypeError(
                f"how many elements a pass of {self!r} has is not known without reading it; it is "
                "known for idx files, uncompressed fixed files, RecordIO files with a manifest, "
                "files with an index (made by `millhopper-recordio index FILE`, or by a pass after "
                "millhopper.set_index()) and random data with a count, if no other reader reads "
                "them, but never for what can be read once only: pipes, FIFOs, standard input"
            )
        return length

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> _core.Loop:
        """Begins the next pass: returns an iterator of ``Batch``, whose ``close()`` ends it early.

        Raises:
            Error: a file is missing or damaged, or a limit is exceeded. It is raised now, or later
                in place of an element, and names file, byte, record and reader.
        """
        try:
            loop = self._begin()
        except Error as error:
            _explain(error)
            raise
        if self._names_from is not None:
            self._core.set_names(self._names_from.names() or [])
        return loop
