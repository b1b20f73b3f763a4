# SPDX-License-Identifier: Apache-2.0
"""The method of Reader that runs operators of programs on its elements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from millhopper.base.texts import checked_text
from millhopper.base.zipped import zip_strict
from millhopper.errors import Error
from millhopper.programs.program import Program
from millhopper.programs.var_type import convert_dtype
from millhopper.readers.chain import Chain, Made
from millhopper.readers.steps import (
    Choice,
    Slots,
    Step,
    append_steps,
    default_name,
    make_step,
    taken_names,
)

if TYPE_CHECKING:
    from typing_extensions import Self


class OperatorMethods(Chain):
    """What Reader can do with operators."""

    # What apply has made this reader of: the reader below, and what is done to its elements.
    _applied: tuple[OperatorMethods, tuple[Step | Choice, ...]] | None = None
    # Whether steps that are added to this reader are only noted.
    _notes: bool = False

    def _noting(self) -> Self:
        """This reader, for who is going to add many steps.

        Every reader of steps has a program that is checked, which takes time for each step that
        there is. Readers of steps that are added to this one are only noted; the last one is made
        by ``_settled``, and one between if more than its slots' names are asked for. What is wrong
        with a step is said then.
        """
        if self._notes:
            return self
        return self._copy(vars(self), _notes=True, _applied=self._applied or (self, ()))

    def _settled(self) -> Self:
        """This reader, made, to which steps are added as usual.

        Raises:
            Error: as ``apply``, of any step.
        """
        if not self._notes:
            return self
        return self._copy(vars(self), _notes=False, _made=self._now_made())

    def _copy(self, attributes: Mapping[str, object], **others: object) -> Self:
        copy: Self = object.__new__(type(self))
        vars(copy).update(attributes, **others)
        return copy

    def _make(self) -> Made:
        assert self._applied is not None  # or it would have been made
        below, steps = self._applied
        return self._with_steps(below, steps, self._variable)._now_made()

    def apply(
        self,
        operator: str,
        slot: Slots | None = None,
        output: Slots | None = None,
        *,
        name: str = "",
        **attributes: object,
    ) -> Self:
        """Runs an operator on a slot of every element, in C++, in parallel and in order.

        All other slots are passed on. Calls one after another are one block of operators, which
        passes no element on in between. ::

            reader.apply("tokenize", "text").apply("pad_sequence", output="tokens", length=512)

        Args:
            operator: one that makes tensors of tensors, ``python -m millhopper ops`` lists them. An
                element is that of this reader: a record, or a batch if ``batch`` has been called.
            slot: what the operator's first input takes: a slot; or, by input, a slot or a list of
                them: ``{"X": "price", "Y": "factor"}``. By default the slot that the last ``apply``
                wrote, if that made this reader, or the only slot.
            output: the slot that the operator's first output becomes: one of this reader, whose
                place it takes, or a new one after the others; or such slots by output: ``{"Out":
                "tokens", "Length": "length"}``, lists of slots where it has several. By default it
                takes the place of the first slot that is read.
            name: of the new reader, which random choices of the operator depend on. Without it
                they depend on the name of the reader that the chain begins with (``files``) and of
                the operator, and if it is applied again, how often it has been; so they stay when
                other steps or readers are added.
            attributes: those of the operator; None leaves one at its default.

        Raises:
            TypeError: an argument is of another type.
            Error: there is no such operator, slot or attribute, the name is taken, or the operator
                cannot work with what is known of the slot; at an element: it cannot work with its
                values. If the names of the slots are not known, files are opened to learn how many
                there are, and missing ones are an error.

        Source: Millhopper's own.
        """
        checked_text("operator", operator)
        variable = checked_text("name", name) or f"{self._variable}.{operator}"
        below, steps = self._applied or (self, ())
        slot = self._default_slot() if slot is None else slot
        program = Program.of_core(below._program)
        taken = taken_names(program, steps)
        own = name or default_name(program, below._variable, variable, operator, taken)
        if own in taken:
            raise Error(
                f"{self._name}: apply: another step or reader has the name {own!r}; give another"
            )
        try:
            step = make_step(operator, own, slot, output, attributes)
        except ValueError as error:
            raise Error(f"{self._name}: {error}") from None
        return self._with_step(step, variable)

    def _with_step(self, step: Step | Choice, variable: str) -> Self:
        """The reader of this name that has one step more."""
        below, steps = self._applied or (self, ())
        steps = (*steps, step)
        if not self._notes:
            return self._with_steps(below, steps, variable)
        names = list(self._slot_names())
        names += [slot for slots in step.outputs.values() for slot in slots if slot not in names]
        # What a new reader begins with; not the place of a loop, for instance.
        kept = ["_name", "_seed", "_functions", "_notes", "_lanes"]
        return self._copy(
            {attribute: getattr(self, attribute) for attribute in kept},
            _made=None,
            _applied=(below, steps),
            _variable=variable,
            _names=names,
        )

    def _with_steps(
        self, below: OperatorMethods, steps: tuple[Step | Choice, ...], variable: str
    ) -> Self:
        """The reader of this name that has these steps on another one."""
        program = Program.of_core(below._program)
        try:
            names, block = append_steps(program, below._variable, below._slot_names(), steps)
        except (TypeError, ValueError) as error:
            raise Error(f"{self._name}: {error}") from None
        inputs = {"UnderlyingReader": below._variable}
        made = program.binary_core_program(self._name)
        reader = self._created(
            made, inputs, "create_custom_reader", variable, None, block, names, self._functions
        )
        reader._applied = (below, steps)
        return reader

    def select(self, *slots: str | Sequence[str], name: str = "") -> Self:
        """Yields elements with these slots only, in this order.

        What makes the others is still done. ::

            reader.tokenize("merges.txt", slot="text", output="input_ids").select("input_ids")

        Args:
            slots: their names, or lists of them.
            name: of the new reader.

        Raises:
            Error: no slot is given, or one twice, or there is none of this name.

        Source: Dataset.select_columns of Hugging Face's datasets.
        """
        variable = checked_text("name", name) or f"{self._variable}.select"
        chosen = [slot for given in slots for slot in _names_in(given)]
        program = Program.of_core(self._program)
        names, block = append_steps(program, self._variable, self._slot_names(), ())
        for slot in chosen:
            if slot not in names:
                hint = "" if isinstance(slot, str) else "; sampled(numbers) chooses elements"
                raise Error(f"{self._name}: select: there is no slot {slot!r} among {names}{hint}")
        if not chosen or len(set(chosen)) < len(chosen):
            raise Error(f"{self._name}: select: {chosen} are not different slots of {names}")
        sources = block["source_var_names"]
        block["sink_var_names"] = [sources[names.index(slot)] for slot in chosen]
        inputs = {"UnderlyingReader": self._variable}
        made = program.binary_core_program(self._name)
        return self._created(
            made, inputs, "create_custom_reader", variable, None, block, chosen, self._functions
        )

    def cast(
        self, dtype: str, *, slot: str | None = None, output: str | None = None, name: str = ""
    ) -> Self:
        """Converts the values of a slot to another type, as operator ``cast`` does.

        For example uint16 tokens, of which torch's ``Embedding`` takes none::

            millhopper.Reader.from_arrays({"tokens": memory_map.reshape(-1, 1024)}).cast("int64")

        Args:
            dtype: the type.
            slot: as for ``apply``.
            output: as for ``apply``.
            name: of the new reader.

        Raises:
            TypeError: ``dtype`` is a dict.
            ValueError: there is no such type.
            Error: as ``apply``.

        Source: operator cast; Paddle Fluid.
        """
        if isinstance(dtype, Mapping):
            slots = "".join(f".cast({kind!r}, slot={name!r})" for name, kind in dtype.items())
            raise TypeError(f"cast takes one type: reader{slots}")
        return self.apply("cast", slot, output, name=name, out_dtype=int(convert_dtype(dtype)))

    def _mask_of(self, slot: str) -> str | None:
        """The slot that tells where this one has no value, ``NAME.valid``, if there is one."""
        mask, slots = f"{slot}.valid", self._slot_names()
        if mask not in slots or slot not in slots:
            return None
        types = dict(zip_strict(slots, self.slots()))
        known, masked = types[mask], types[slot]
        has_rows = masked is not None and masked[2] == 0
        return mask if has_rows and known is not None and known[0] == "bool" else None

    def _with_mask(self, slot: str | None) -> Slots:
        """What an operator takes that is to know where a slot has no value."""
        slot = self._default_slot() if slot is None else slot
        mask = self._mask_of(slot) if isinstance(slot, str) else None
        return slot if mask is None else {"X": slot, "Valid": mask}

    def _default_slot(self) -> str:
        """The slot that apply works on if none is given."""
        for step in reversed(self._applied[1] if self._applied else ()):
            for slots in step.outputs.values():
                return slots[0]
        names = self._slot_names()
        if len(names) > 1:
            unnamed = "" if self._naming else "; names=[...] where the reader is made names them"
            raise Error(
                f"{self._name}: apply: slot is not given; it must be one of {names}{unnamed}"
            )
        return names[0]


def _names_in(slots: str | Sequence[str]) -> list[str]:
    """A name alone, or what is none, as a list."""
    if not isinstance(slots, str) and isinstance(slots, Iterable):
        return list(slots)
    return [slots]
