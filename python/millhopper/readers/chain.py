# SPDX-License-Identifier: Apache-2.0
"""The chain of readers that a Reader is: a startup program, which its methods extend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from millhopper import _core
from millhopper.base.integers import UINT64_MAX, integer_within
from millhopper.base.texts import checked_text
from millhopper.base.warn import warn_caller
from millhopper.base.zipped import zip_strict
from millhopper.errors import Error
from millhopper.programs.extras import load_extras
from millhopper.programs.operator import checked_arguments, checked_attributes
from millhopper.programs.program import Program
from millhopper.programs.schemas import schema_of
from millhopper.readers.map_function import Held
from millhopper.readers.slots import Slot, declared

if TYPE_CHECKING:
    from typing_extensions import Self, TypeAlias


Core: TypeAlias = "_core.Program"

# The names of a reader's slots, or the function of map that tells them in the first pass.
Names: TypeAlias = "Iterable[str] | _core.Function | None"

AnyReader = TypeVar("AnyReader", bound="Chain")


class Lanes(NamedTuple):
    """How many lanes files have of which nobody says it: `number`, if that suits the chain
    (StateLanes in default_lanes.h), or none."""

    undecided: frozenset[str] = frozenset()  # the sources that these files are
    number: int = _core.default_lanes
    shares_batches: bool = False


class Made(NamedTuple):
    """What runs."""

    program: Core  # to which methods append
    stated: Core  # the same, with the number of lanes where nobody says it
    core: _core.Reader  # of `stated`


class Chain:
    """A startup program that creates a reader on top of others, and what belongs to it in Python.

    The classes of methods that ``Reader`` is made of stand on it. It is not made by itself.
    """

    # What it was made of, if not by a method: a program, in which these texts replace ${name}.
    _written: tuple[bytes, dict[str, str]] | None = None
    _lanes = Lanes()
    _names_from: _core.Function | None = None
    _epoch = 0

    def __init__(
        self,
        program: bytes | str,
        *,
        variable: str = "",
        names: Iterable[str] | None = None,
        seed: int = 0,
        settings: Mapping[str, str] | None = None,
        name: str = "startup program",
        functions: Iterable[Held] = (),
    ) -> None:
        """A reader of a startup program, which is protobuf text or binary.

        Args:
            program: the program, which runs when the first pass begins.
            variable: the reader in the program, by default the one that it creates last.
            names: names of the slots, in order; by default ``slot0``, ``slot1`` ...
            seed: decides all random choices, together with the ``seed`` attributes in the program,
                as ``--seed`` of the commands does.
            settings: texts that replace ``${name}`` in the program.
            name: the name of the program in error messages.
            functions: the functions that the program calls and the arrays that it reads, which the
                reader keeps alive; ``map`` and ``from_arrays`` make them.

        Raises:
            Error: the program cannot be parsed or is wrong; the message lists all problems.
            TypeError: ``seed`` is no integer, or a name, a setting or the program is no text.
            ValueError: two slots have one name, or ``seed`` is not 0 to 2**64 - 1.
        """
        if not isinstance(program, (str, bytes)):
            raise TypeError(f"program is {program!r}; it must be protobuf text or bytes")
        content = program.encode() if isinstance(program, str) else program
        replaced = {
            checked_text("a setting's name", key): checked_text(f"setting {key!r}", value)
            for key, value in dict(settings or {}).items()
        }
        self._written = content, replaced
        self._name = checked_text("name", name)
        self._names = None if names is None else _checked_names(names)
        self._seed = integer_within("seed", seed, 0, UINT64_MAX)
        self._functions = tuple(functions)
        variable = checked_text("variable", variable)
        load_extras(content)
        try:
            self._take(_core.Program(content, name, replaced), variable)
        except Error as error:
            # A path has no braces, as every program in text has, is no longer than this, and has
            # no control characters, as every binary program has.
            if b"{" in content or len(content) > 4096 or any(byte < 32 for byte in content):
                raise
            hint = f"{program!r} is no program; Reader.open_files(...) reads files"
            raise Error(f"{error.message}\n{hint}", error.code, context=error.context) from None
        if isinstance(program, str):  # that a user has written; readers on readers are bytes
            self._warn(self._core.warnings())

    @classmethod
    def _of(
        cls,
        program: Core,
        variable: str,
        *,
        names: Names,
        seed: int,
        name: str,
        functions: Iterable[Held],
        lanes: Lanes,
    ) -> Self:
        """The reader of a program that methods have made; arguments as those of ``__init__``."""
        made: Self = object.__new__(cls)
        made._name, made._seed, made._functions, made._lanes = name, seed, tuple(functions), lanes
        if isinstance(names, _core.Function):
            made._names, made._names_from = None, names
        else:
            made._names = None if names is None else _checked_names(names)
        made._take(program, variable)
        return made

    def _take(self, program: Core, variable: str) -> None:
        """This is the reader of a program from now on."""
        stated = None
        if self._lanes.undecided:
            stated = _core.state_lanes(
                program,
                self._name,
                sorted(self._lanes.undecided),
                self._lanes.number,
                self._lanes.shares_batches,
            )
        core = _core.Reader(stated or program, variable, self._seed)
        core.functions = self._functions  # loops need them, even after this object is deleted
        if self._names is not None:
            core.set_names(self._names)
        self._made: Made | None = Made(program, stated or program, core)
        self._variable = core.variable

    def _make(self) -> Made:
        """What runs of a reader that has been only noted (OperatorMethods)."""
        raise NotImplementedError

    def _now_made(self) -> Made:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def _program(self) -> Core:
        return self._now_made().program

    @property
    def _stated(self) -> Core:
        return self._now_made().stated

    @property
    def _core(self) -> _core.Reader:
        return self._now_made().core

    @property
    def _chose_lanes(self) -> bool:
        """Whether files of the chain have lanes of which nobody has said how many."""
        return self._stated is not self._program

    def _with_lanes(self, lanes: int) -> Self:
        """This reader with so many lanes, if they suit, where nobody has said how many.

        For whoever knows that ranks share them, and makes the batches of all ranks.
        """
        if not self._lanes.undecided:
            return self
        return self._of(
            self._program,
            self._variable,
            names=self._naming,
            seed=self._seed,
            name=self._name,
            functions=self._functions,
            lanes=Lanes(self._lanes.undecided, lanes, True),
        )

    @classmethod
    def create(
        cls,
        operator: str,
        *,
        slots: Mapping[str, Slot] | None = None,
        names: Iterable[str] | None = None,
        seed: int = 0,
        name: str = "reader",
        **attributes: object,
    ) -> Self:
        """A source made by a creation operator, for example ``create_random_data_generator``.

        Args and errors are those of ``open_files``; ``attributes`` are those of the operator.
        """
        if names is None and isinstance(slots, Mapping):
            names = list(slots)
        return cls._source(operator, name, attributes, names, slots=slots, seed=seed)

    @classmethod
    def _source(
        cls,
        operator: str,
        name: str,
        attributes: Mapping[str, object],
        names: Iterable[str] | None,
        *,
        slots: Mapping[str, Slot] | None = None,
        seed: int = 0,
        functions: Iterable[Held] = (),
    ) -> Self:
        """The reader that an operator creates in its own program."""
        title = "startup program"
        program = _with_reader(_EMPTY, title, operator, name, attributes, slots)
        is_undecided = operator == "open_files" and attributes.get("lanes") is None
        return cls._of(
            program,
            name,
            names=names,
            seed=integer_within("seed", seed, 0, UINT64_MAX),
            name=title,
            functions=functions,
            lanes=Lanes(frozenset([name])) if is_undecided else Lanes(),
        )

    def decorate(self, operator: str, *, name: str = "", **attributes: object) -> Self:
        """Decorates this reader by a creation operator, which may be that of a plugin.

        Args:
            operator: for example ``create_shuffle_reader``.
            name: of the new reader; by default this reader's name and the operator's, joined.
            attributes: those of the operator; None leaves one at its default.

        Raises:
            Error: the operator or an attribute is unknown or wrong.
            ValueError: the operator adds slots, and must know those that there are.
        """
        return self._append(operator, name, attributes)

    def _append(self, operator: str, name: str, attributes: Mapping[str, object]) -> Self:
        made = self._decorate(operator, name, {}, attributes, self._naming, self._functions)
        added = made._core.added_slots()
        if added and self._naming is not None:
            made._names = _checked_names(self._names_with(added, _short(operator)))
            made._core.set_names(made._names)
        return made

    def _names_with(self, added: Iterable[str], method: str) -> list[str]:
        """The names of the slots with those that an operator adds (OpSchema::AddsSlots)."""
        if self._names is None:
            raise ValueError(
                f"{method} adds slots, so it needs the names of the others: give them to map or "
                'from_iterable, for example slots={"tokens": ("int64", [-1], 1)} for sequences of '
                "tokens"
            )
        names = list(self._names)
        for name in added:
            if "*" not in name:
                names.append(name)
                continue
            for slot, known in zip_strict(self._names, self.slots()):
                if known is None:
                    raise ValueError(
                        f"{method} adds slots, so those that there are must be known: give slots "
                        "where the reader is made, or to map"
                    )
                if known[2] == 1:
                    names.append(name.replace("*", slot))
        return names

    def _decorate(
        self,
        operator: str,
        name: str,
        slots: Mapping[str, Slot],
        attributes: Mapping[str, object],
        names: Names,
        functions: Iterable[Held],
    ) -> Self:
        checked_text("operator", operator)
        variable = checked_text("name", name) or f"{self._variable}.{_short(operator)}"
        below = {"UnderlyingReader": self._variable}
        return self._created(
            self._program, below, operator, variable, slots, attributes, names, functions
        )

    def _created(
        self,
        program: Core,
        inputs: Mapping[str, str | list[str]],
        operator: str,
        variable: str,
        slots: Mapping[str, Slot] | None,
        attributes: Mapping[str, object],
        names: Names,
        functions: Iterable[Held],
        undecided: frozenset[str] | None = None,
    ) -> Self:
        """The reader that an operator creates at the end of a program, with this reader's seed.

        ``undecided`` are the sources of which nobody says how many lanes they have, by default
        those of this reader.
        """
        lanes = self._lanes if undecided is None else self._lanes._replace(undecided=undecided)
        made = self._of(
            _with_reader(program, self._name, operator, variable, attributes, slots, inputs),
            variable,
            names=names,
            seed=self._seed,
            name=self._name,
            functions=functions,
            lanes=lanes,
        )
        made._warn(warning for warning in made._core.warnings() if warning[0] == variable)
        return made

    def _warn(self, warnings: Iterable[tuple[str, str]]) -> None:
        for variable, text in warnings:
            warn_caller(f"reader {variable!r}: {text}")

    def slots(self) -> list[tuple[str, list[int], int] | None]:
        """Each slot, in order: dtype, dims of an element (-1 is any length), levels of offsets.

        A slot is None if it is defined only in a file that has not been read yet. Raises ``Error``
        for missing files.
        """
        return self._core.slots()

    def dtypes(self) -> list[str]:
        """The dtype of each slot in the last batch, in order; empty before the first one.

        The names are those of numpy, except ``"bfloat16"``: numpy has no such type, so its values
        are given as uint16 with the same bits.
        """
        return self._core.dtypes()

    def _slot_names(self) -> list[str]:
        """The names of the slots, as batches have them."""
        if self._names is not None:
            return self._names
        count = len(self.slots())
        learned = None if self._names_from is None else self._names_from.names()
        return learned or [f"slot{i}" for i in range(count)]

    def _slot_number(self, slot: int | str) -> int:
        if not isinstance(slot, str):
            return slot
        if self._names is None or slot not in self._names:
            raise ValueError(f"no slot is called {slot!r}; the slots are {self._names}")
        return self._names.index(slot)

    @property
    def _naming(self) -> Names:
        return self._names if self._names_from is None else self._names_from


def _checked_names(names: Iterable[str]) -> list[str]:
    checked = [checked_text("a slot's name", slot) for slot in names]
    if len(set(checked)) < len(checked):
        raise ValueError(f"two slots have one name: {checked}")
    return checked


def _short(operator: str) -> str:
    """What a method that appends the operator is called."""
    return operator.removeprefix("create_").removeprefix("python_").removesuffix("_reader")


# What sources are appended to.
_EMPTY = _core.Program(Program().to_bytes(), "startup program")


def _with_reader(
    program: Core,
    title: str,
    operator: str,
    name: str,
    attributes: Mapping[str, object],
    slots: Mapping[str, Slot] | None,
    inputs: Mapping[str, str | list[str]] | None = None,
) -> Core:
    """Adds a reader that stands on ``inputs``. Errors call the program ``title``.

    Raises:
        Error: the operator or an attribute is unknown or wrong, or the name is taken.
    """
    checked_text("operator", operator)
    checked_text("name", name)
    given = list(declared(slots).values())
    try:
        schema = schema_of(operator)
        if not schema.creates_reader:
            raise ValueError(f"operator {operator!r} creates no reader")
        checked = checked_attributes(schema, attributes)
        below = checked_arguments(schema, schema.inputs, "input", inputs or {})
    except (TypeError, ValueError) as error:
        raise Error(f"{title}: {error}") from None
    texts = [value for kind, value in checked.values() if kind == "STRING"]
    texts += [text for kind, value in checked.values() if kind == "STRINGS" for text in value]
    load_extras("\n".join(texts))
    values = [
        (key, kind, value.idx if kind == "BLOCK" else value)
        for key, (kind, value) in checked.items()
    ]
    return _core.append_reader(program, title, operator, name, list(below.items()), values, given)
