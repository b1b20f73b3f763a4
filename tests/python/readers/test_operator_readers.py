# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that are made from the operators' schemas."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import replace

import millhopper
import numpy as np
import pytest
from millhopper.programs import schemas
from millhopper.programs.schemas import operator_types, schema_of
from millhopper.readers import method_signatures
from millhopper.readers.operator_readers import OperatorReaders

# What callers may write, as it was when these methods were written by hand; place of double_buffer
# and pad_length of token_batch are new.
SIGNATURES = """
batch(self, batch_size, *, drop_last=False, mode='concat', name='')
bucket(self, boundaries, batch_sizes, *, slot=0, drop_last=False, pad=False, pad_length=0,
 pad_multiple=1, pad_values=0.0, lengths=False, name='')
cache(self, memory_bytes=None, *, directory=None, disk_bytes=None, data_version=None, name='')
dedupe(self, slots=None, *, entries=1048576, name='')
double_buffer(self, depth=2, *, place='AUTO', name='')
fake(self, count, *, name='')
multi_pass(self, pass_num, *, name='')
pack(self, length, *, method='first_fit', bins=64, overlong='error', pad_values=0.0, labels=(),
 name='')
padded_batch(self, batch_size, *, drop_last=False, pad_length=0, pad_multiple=1, pad_values=0.0,
 lengths=False, name='')
shuffle(self, buffer_size, *, seed=0, reshuffle=True, name='')
skip(self, count, *, name='')
take(self, count, *, name='')
token_batch(self, max_tokens, *, slot=0, count='sum', overlong='error', drop_last=False, pad=False,
 pad_length=0, pad_multiple=1, pad_values=0.0, lengths=False, name='')
unbatch(self, *, mode='concat', name='')
window(self, size, *, shift=None, stride=1, drop_last=False, name='')
"""
# Operators on one reader that take blocks or functions, and the methods that make these.
BY_HAND = {"custom": "apply", "filter": "filter", "python_filter": "filter", "python_map": "map"}

ON_ONE_READER = [
    type.removeprefix("create_").removesuffix("_reader")
    for type in operator_types()
    if [argument.name for argument in schema_of(type).inputs] == ["UnderlyingReader"]
]
NUMBERS = millhopper.Reader.from_arrays({"x": np.arange(6) // 2, "y": np.zeros(6)})


@pytest.mark.parametrize("written", SIGNATURES.strip().replace("\n ", " ").split("\n"))
def test_callers_may_write_what_they_wrote(written: str) -> None:
    name = written.partition("(")[0]
    signature = inspect.signature(getattr(millhopper.Reader, name))
    assert re.sub(": '[^']*'| -> 'Self'", "", f"{name}{signature}").replace(" = ", "=") == written


@pytest.mark.parametrize("name", ON_ONE_READER)
def test_every_operator_on_one_reader_is_a_method(name: str) -> None:
    method = getattr(millhopper.Reader, BY_HAND.get(name, name))
    more = name in BY_HAND or name in ("partners", "resample", "shard", "split")
    assert (method.__module__ == OperatorReaders.__module__) != more
    if more:  # they do more than append it
        return
    schema = schema_of(f"create_{name}_reader")
    assert method.__name__ == name and method.__qualname__.endswith(f".{name}")
    text = " ".join(inspect.getdoc(method).split())
    assert text.startswith(" ".join(schema.doc.split()))
    parameters = inspect.signature(method).parameters
    assert [*parameters][0] == "self" and [*parameters][-1] == "name"
    assert method.__annotations__.keys() == {*parameters, "return"} - {"self"}
    for attribute in schema.attributes:
        assert " ".join(attribute.doc.split()) in text
        argument = parameters[attribute.python_name or attribute.name]
        assert (argument.default is argument.empty) == attribute.required
        assert attribute.required or (argument.default is None) == attribute.optional


def test_wrong_arguments_are_answered_with_right_ones() -> None:
    def said(**keywords: object) -> str:
        with pytest.raises(TypeError) as caught:
            NUMBERS.batch(**keywords)  # type: ignore[arg-type]
        return str(caught.value)

    assert said() == ("batch() missing a required argument: 'batch_size': elements in a batch")
    assert said(batch_size=2, drop_lst=True) == (
        "batch() got an unexpected keyword argument 'drop_lst'; did you mean 'drop_last'?"
    )
    assert said(bach_size=2) == (
        "batch() got an unexpected keyword argument 'bach_size'; did you mean 'batch_size'?"
    )
    assert said(batch_size=2, discard_leftover=True) == (
        "batch() has no keyword discard_leftover; it is called drop_last here"
    )
    with pytest.raises(TypeError, match=r"^batch\(\) too many positional arguments$"):
        NUMBERS.batch(2, True)  # type: ignore[misc]


def test_a_list_of_one_is_given_as_the_one_and_slots_by_name() -> None:
    for slots in ("x", ["x"], 0, [0], (0,), np.array([0])):
        assert len(list(NUMBERS.dedupe(slots))) == 3, slots
    assert len(list(NUMBERS.dedupe())) == 3
    with pytest.raises(ValueError, match="no slot is called 'z'"):
        NUMBERS.dedupe("z")


def test_slots_that_an_operator_adds_have_names_wherever_it_is_appended() -> None:
    texts = millhopper.Reader.from_dataset([7]).map(
        lambda e: {"label": [7], "tokens": millhopper.Ragged(np.arange(3), ([0, 3],))},
        slots={"label": ("int64", [1]), "tokens": ("int64", [-1], 1)},
    )
    (row,) = texts.select("tokens").decorate("create_pack_reader", length=4)
    assert [*row] == ["tokens", "document_ids", "positions"]
    padded = texts.decorate("create_padded_batch_reader", batch_size=1, lengths=True)
    assert [*next(iter(padded))] == ["label", "tokens", "tokens_length"]
    assert [*next(iter(texts.padded_batch(1)))] == ["label", "tokens"]


def test_an_operator_of_a_plugin_is_a_method_once_it_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OperatorReaders, "head", None, raising=False)
    del OperatorReaders.head  # and again when the test has ended
    assert not hasattr(NUMBERS, "head")
    head = replace(schema_of("create_take_reader"), type="create_head_reader")
    monkeypatch.setitem(schemas._known, head.type, head)  # find_schema asks the core for others
    assert str(inspect.signature(NUMBERS.head)) == str(inspect.signature(NUMBERS.take))
    with pytest.raises(millhopper.Error, match="create_head_reader"):
        NUMBERS.head(2)  # the core has none


def test_the_stub_declares_each_of_them() -> None:
    text = method_signatures.stub(map(schema_of, operator_types()))
    (declared,) = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    methods = {node.name: node for node in declared.body if isinstance(node, ast.FunctionDef)}
    assert methods.keys() == {*ON_ONE_READER} - BY_HAND.keys()
    for name, node in methods.items():
        method = getattr(OperatorReaders, name)
        assert [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)] == [
            *inspect.signature(method).parameters
        ]
        assert ast.get_docstring(node) == inspect.getdoc(method)
        assert node.returns is not None and ast.unparse(node.returns) == "'Self'"


def test_names_that_cannot_be_methods_are_none() -> None:
    take = schema_of("create_take_reader")
    for type in ("create_lambda_reader", "create_2nd_reader", "take", "create_take"):
        assert method_signatures.method_name(replace(take, type=type)) is None
    assert method_signatures.method_name(schema_of("create_concat_reader")) is None
    assert re.fullmatch(r"\w+", str(method_signatures.method_name(take)))
