# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that call a function of Python for each element, or look at a slot."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from millhopper.base.texts import checked_text
from millhopper.errors import Error
from millhopper.programs.program import Program
from millhopper.readers.chain import Chain
from millhopper.readers.map_function import keep_function, require_one_argument
from millhopper.readers.other_names import other_keywords
from millhopper.readers.slots import Slot, declared
from millhopper.readers.steps import Step, append_steps

if TYPE_CHECKING:
    from typing_extensions import Self


_THREADS = "millhopper.set_threads(n) says how many threads call it"
_BATCHES = "batch(batch_size).map(function) calls it with batches"
# What tf.data, Hugging Face's datasets and Ray call what map does otherwise.
_MAP_KEYWORDS = {
    "batch_format": "batches are dicts of numpy arrays, Ragged and Texts",
    "batched": _BATCHES,
    "batch_size": _BATCHES,
    "concurrency": _THREADS,
    "deterministic": "the order is that of the elements, always",
    "fn_kwargs": "functools.partial(function, keyword=value) gives it more",
    "input_columns": 'select("slot", ...).map(function) gives it some slots only',
    "keep_in_memory": "cache(memory_bytes) keeps a pass in memory",
    "load_from_cache_file": "cache(directory=..., disk_bytes=...) keeps a pass on a disk",
    "num_parallel_calls": _THREADS,
    "num_proc": _THREADS,
    "num_workers": _THREADS,
    "remove_columns": "what the function returns is all that an element has then",
    "with_indices": "millhopper.current_record() tells pass and sample within the function",
    "with_rank": "millhopper.current_record() tells pass and sample within the function",
}


class FunctionMethods(Chain):
    """What Reader can do with functions of Python. Each method returns a new reader."""

    @other_keywords(**_MAP_KEYWORDS)
    def map(
        self,
        function: Callable[[dict[str, Any]], object],
        *,
        slots: Mapping[str, Slot] | None = None,
        name: str = "",
    ) -> Self:
        """Yields what ``function`` returns for each element, in the order of the elements.

        Several of the core's threads call the function at once, so it must not change shared data.
        The threads run in parallel only while it releases the GIL, as numpy and decoders do. If it
        raises an exception, the loop gets an ``Error`` in place of the element, with the exception
        as its ``__cause__``. The function cannot use the reader that calls it, nor set the number
        of threads, since either would wait for the function itself; both raise an ``Error``. Its
        random choices should depend on the element and on ``current_record()`` only. ::

            reader.map(lambda e: {"image": e["image"] / np.float32(255), "label": e["label"]})

        Args:
            function: gets an element as a dict by slot name, as a loop does: arrays with the
                leading axis of one instance (it may write to them), ``Ragged``, or ``Texts`` of
                slots of texts (``e["title"][0]`` is the one of an element). It returns a dict by
                slot name, a tuple or list with one value for each slot, or the only value. A value
                is an array, a ``Ragged``, a number or lists of numbers, or of texts a ``Texts``, a
                ``str`` or a list of such, whose slot has texts, too, unless ``slots`` declares it.
                A value without axes gets one of length 1; others keep theirs, and ``batch`` lays
                them end to end, so give a row of numbers a leading axis: ``values[np.newaxis]``.
                Large new arrays are not copied if the function keeps no reference to them.
            slots: what the function returns, as for ``open_files``; numbers and lists are converted
                to the dtype, arrays must have it. By default the reader learns dtypes, ranks and
                names when the first pass begins: it calls the function once more, for the first
                element. Then dims are unknown; batching is faster if all dims are declared.
            name: of the new reader.

        Raises:
            TypeError: ``function`` cannot be called, or needs several arguments.
            Error: at an element: the function raised an exception, or its result is not as
                declared.

        Source: paddle.reader.xmap_readers, which does the same for readers of Python.
        """
        given = declared(slots)
        if callable(function):
            require_one_argument(function, self._names)
        held, attributes = keep_function(function, self._names, self._names_from, given)
        functions = (*self._functions, held)
        names = list(given) or held
        return self._decorate("create_python_map_reader", name, given, attributes, names, functions)

    def filter(
        self, condition: str | Callable[[dict[str, Any]], object], *, name: str = ""
    ) -> Self:
        """Yields the elements for which ``condition`` is true, in their order.

        A text is computed in C++, by operators, and never as Python. A function is called as that
        of ``map`` is, by several threads at once. ::

            reader.filter("label >= 3 and lang in ('en', 'de') and not fare is missing")
            reader.filter("user_id % 10 != 0")
            reader.filter(lambda e: e["city"] == "Rome" or len(e["text"][0]) > 20)

        Args:
            condition: a slot that holds one bool in each element; a text that compares slots of one
                value (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in (...)``, ``is missing``,
                or ``is null``) with each other, numbers, texts in quotes, ``true`` and ``false``,
                joined by ``and``, ``or``, ``not`` (``&``, ``|``, ``~``, as in ``query`` of pandas)
                and parentheses, ``0 < x <= 5`` as in Python, and numbers computed by ``+``, ``-``,
                ``*``, ``/``, ``//``, ``%`` as Python does, but that an integer of more than 64 bits
                is an error; or a function that gets an element as
                ``map`` passes it and returns something that is true or false. In a text, a slot
                whose name is no word stands in backquotes. A slot is missing where it is NaN or its
                mask ``NAME.valid`` says so; what is compared with it is neither true nor false, as
                in SQL, so that the element is left out.
            name: of the new reader.

        Raises:
            TypeError: ``condition`` is neither a text nor a function.
            Error: there is no such slot, or it is no bool; the text has another form, which the
                message shows by the character, or compares text and numbers; at an element: the
                function raised an exception, or returned None, a slot has several values, or
                numbers are divided by zero.

        Source: tf.data.Dataset.filter; pandas.DataFrame.query; operator condition.
        """
        if isinstance(condition, str):
            return self._filter_by_text(condition, name)
        return self._filter_by_function(condition, name)

    def _filter_by_function(self, function: Callable[[dict[str, Any]], object], name: str) -> Self:
        if not callable(function):
            raise TypeError(f"filter takes a slot or a function of an element: {function!r}")
        require_one_argument(function, self._names)

        @functools.wraps(function)
        def is_true(element: dict[str, Any]) -> bool | None:
            result = function(element)
            return None if result is None else bool(result)  # the core says what None means

        held, attributes = keep_function(
            is_true, self._names, self._names_from, {"keep": ("bool", [1], 0)}
        )
        functions = (*self._functions, held)
        return self._decorate(
            "create_python_filter_reader", name, {}, attributes, self._naming, functions
        )

    def _filter_by_text(self, condition: str, name: str) -> Self:
        variable = checked_text("name", name) or f"{self._variable}.filter"
        program = Program.of_core(self._program)
        slots = self._slot_names()
        steps = []
        if condition not in slots:
            attributes = {"condition": condition, "names": slots}
            outputs = {"Out": [condition]}
            steps.append(Step("condition", variable, {"X": slots}, outputs, attributes))
        try:
            made, attributes = append_steps(program, self._variable, slots, steps)
        except ValueError as error:
            raise Error(f"{self._name}: filter: {error}") from None
        attributes["sink_var_names"] = [attributes["sink_var_names"][made.index(condition)]]
        return self._created(
            program.binary_core_program(self._name),
            {"UnderlyingReader": self._variable},
            "create_filter_reader",
            variable,
            None,
            attributes,
            self._naming,
            self._functions,
        )
