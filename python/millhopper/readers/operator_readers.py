# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that append one operator each, made from the operators' schemas."""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from millhopper.programs.schemas import (
    AttributeSchema,
    OperatorSchema,
    did_you_mean,
    find_schema,
    operator_types,
    schema_of,
)
from millhopper.readers.chain import Chain
from millhopper.readers.method_signatures import (
    arguments,
    docstring,
    is_list,
    method_name,
    signature,
)
from millhopper.readers.other_names import other_keywords

if TYPE_CHECKING:
    from typing_extensions import Self


class OperatorReaders(Chain):
    """``take``, ``shuffle``, ``batch`` and a method for every other operator that stands on one
    reader: ``create_<name>_reader`` is ``name``. Each of them returns a new reader."""

    if TYPE_CHECKING:  # installed packages have a stub beside this file, with every method

        def __getattr__(self, name: str) -> Callable[..., Self]: ...

    @staticmethod
    def _learn(name: str) -> bool:
        """Makes the method of an operator whose plugin was loaded meanwhile, if there is one."""
        operator = None if name.startswith("_") else find_schema(f"create_{name}_reader")
        return operator is not None and _add_method(operator)


def _add_method(operator: OperatorSchema) -> bool:
    name = method_name(operator)
    if name is None or hasattr(Chain, name):
        return False
    setattr(OperatorReaders, name, _method(operator, name))
    return True


def _method(operator: OperatorSchema, name: str) -> Callable[..., Chain]:
    taken = signature(operator)
    attributes = arguments(operator)

    def method(self: Chain, *args: Any, **kwargs: Any) -> Chain:
        try:
            bound = taken.bind(self, *args, **kwargs)
        except TypeError as error:
            problem = str(error)
            for key in kwargs.keys() - taken.parameters.keys():
                meant = did_you_mean(key, [*attributes, "name"])
                problem = f"got an unexpected keyword argument {key!r}{meant}"
            if missing := re.fullmatch("missing a required argument: '(.*)'", problem):
                problem += f": {attributes[missing[1]].doc}"
            raise TypeError(f"{name}() {problem}") from None
        bound.apply_defaults()
        given = bound.arguments
        values = {
            attribute.name: _value(self, attribute, given[argument])
            for argument, attribute in attributes.items()
        }
        return self._append(operator.type, given["name"], values)

    method.__name__, method.__qualname__ = name, f"{OperatorReaders.__qualname__}.{name}"
    method.__doc__ = docstring(operator)
    method.__signature__ = taken  # type: ignore[attr-defined]
    method.__annotations__ = {
        **{key: taken.parameters[key].annotation for key in (*attributes, "name")},
        "return": taken.return_annotation,
    }
    return other_keywords(**_meant(attributes))(method)


def _meant(attributes: Mapping[str, AttributeSchema]) -> dict[str, str]:
    """What is written here, by keywords that programs and other libraries have."""
    meant = {
        attribute.name: f"it is called {argument} here"
        for argument, attribute in attributes.items()
        if argument != attribute.name
    }
    if "drop_last" in attributes:
        meant["drop_remainder"] = "drop_last=True leaves out what is not full"  # tf.data, Grain
    if "reshuffle" in attributes:  # tf.data
        meant["reshuffle_each_iteration"] = "reshuffle=False gives all passes one order"
    if "pad_length" in attributes:  # tf.data
        meant["padded_shapes"] = "pad_length=[16, 0] gives each slot a length, 0 that of the batch"
        meant["padding_values"] = "pad_values=[-1] gives each slot its padding"
        meant["pad_id"] = meant["padding_value"] = meant["padding_values"]
    if "overlong" in attributes:  # pack, of Hugging Face's trainers and torchtune
        meant["ignore_index"] = "labels=-100 adds the next tokens, and -100 where there is none"
        meant["split"] = 'overlong="split" cuts documents that are longer than a row'
        meant["truncation"] = 'overlong="truncate" leaves out what is longer than a row'
        for keyword in ("seq_len", "max_length", "max_seq_len", "block_size"):
            meant[keyword] = "length=... is that of a row"
    meant["num_parallel_calls"] = "millhopper.set_threads(n) says how many threads load"  # tf.data
    return meant


def _value(reader: Chain, attribute: AttributeSchema, given: Any) -> Any:
    """What a program has for an argument: a list for one item, numbers for the names of slots."""
    if given is None:
        return None
    several = is_list(attribute)
    if several and isinstance(given, (numbers.Number, str, os.PathLike)):
        given = [given]
    if not attribute.numbers_slots:
        return given
    slots = [reader._slot_number(slot) for slot in (given if several else [given])]
    return slots if several else slots[0]


for _type in operator_types():
    if _type.startswith("create_"):
        _add_method(schema_of(_type))
