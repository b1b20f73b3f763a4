# SPDX-License-Identifier: Apache-2.0
"""Feeding and fetching by hand: the lists of tensors that the operators feed and fetch use."""

from __future__ import annotations

import millhopper as fluid
import numpy as np
import pytest
from millhopper import core


def sequences(fill: float) -> core.LoDTensor:
    tensor = core.LoDTensor([[2, 2, 2]])
    tensor.set(np.full((6, 3, 4), fill, np.float32), core.CPUPlace())
    return tensor


def test_what_is_fed_can_be_fetched() -> None:
    """The figures of lineage.md, section 6, feed and fetch."""
    scope = core.Scope()
    core.set_feed_variable(scope, sequences(1), "list", 0)
    fetched = core.get_fetch_variable(scope, "list", 0)
    assert fetched.shape() == [6, 3, 4]
    assert fetched.recursive_sequence_lengths() == [[2, 2, 2]]
    assert np.asarray(fetched).sum() == 72


def test_a_program_takes_from_one_list_and_puts_into_another() -> None:
    program = fluid.Program()
    block = program.global_block()
    sources = block.create_var("feed", type=core.VarDesc.VarType.FEED_MINIBATCH, persistable=True)
    results = block.create_var("fetch", type=core.VarDesc.VarType.FETCH_LIST, persistable=True)
    value = block.create_var("value", shape=[-1, 3, 4], dtype="float32")
    block.append_op("feed", {"X": sources}, {"Out": value}, {"col": 1})
    block.append_op("scale", {"X": value}, {"Out": value}, {"scale": 2.0})
    block.append_op("fetch", {"X": value}, {"Out": results}, {"col": 0})
    scope = core.Scope()
    core.set_feed_variable(scope, sequences(9), "feed", 0)
    core.set_feed_variable(scope, sequences(3), "feed", 1)
    fluid.Executor().run(program, scope=scope)
    assert (np.asarray(core.get_fetch_variable(scope, "fetch", 0)) == 6).all()


def test_a_list_of_tensors_is_filled_and_read_in_its_variable() -> None:
    tensors = core.Scope().var("list").get_lod_tensor_array()
    assert len(tensors) == 0
    for number in range(10):
        tensors.append(sequences(number))
    assert [np.asarray(tensor)[0, 0, 0] for tensor in tensors] == list(range(10))
    tensors[0] = sequences(11)
    assert np.asarray(tensors[0])[0, 0, 0] == 11
    assert tensors[-1].lod() == [[0, 2, 4, 6]]
    for index in (10, -11):
        with pytest.raises(IndexError):
            tensors[index]


def test_what_is_not_there_is_named() -> None:
    scope = core.Scope()
    with pytest.raises(fluid.Error, match="no variable 'none'"):
        core.get_fetch_variable(scope, "none", 0)
    core.set_feed_variable(scope, sequences(1), "list", 1)
    with pytest.raises(fluid.Error, match="holds 2 tensors; there is no tensor 2"):
        core.get_fetch_variable(scope, "list", 2)
    with pytest.raises(fluid.Error, match="at most"):
        core.set_feed_variable(scope, sequences(1), "list", 1 << 60)
