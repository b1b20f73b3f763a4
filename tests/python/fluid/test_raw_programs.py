# SPDX-License-Identifier: Apache-2.0
"""A program written operator by operator, as the lineage's own test of C++ readers writes it."""

from __future__ import annotations

import millhopper as fluid
from millhopper.core import VarDesc

READER = VarDesc.VarType.READER
FLOAT = VarDesc.VarType.FP32


def test_random_data_shuffled_batched_and_buffered() -> None:
    startup = fluid.framework.Program()
    block = startup.current_block()
    names = ["RandomData", "Shuffled", "Batches", "Buffered"]
    readers = [block.create_var(type=READER, name=name) for name in names]
    readers[0].desc.set_dtypes([FLOAT, FLOAT])
    for reader in readers:
        reader.desc.set_persistable(True)
    main = startup.clone()
    block.append_op(
        type="create_random_data_generator",
        outputs={"Out": readers[0]},
        attrs={
            "shape_concat": [1, 2, 1, 1],
            "ranks": [2, 2],
            "low": 0.0,
            "high": 1.0,
            "lod_levels": [0, 0],
        },
    )
    for i, (operator, attrs) in enumerate(
        [
            ("create_shuffle_reader", {"buffer_size": 7}),
            ("create_batch_reader", {"batch_size": 10}),
            ("create_double_buffer_reader", {}),
        ]
    ):
        block.append_op(
            type=operator,
            inputs={"UnderlyingReader": readers[i]},
            outputs={"Out": readers[i + 1]},
            attrs=attrs,
        )
    assert readers[3].desc.shapes() == [[-1, 2], [-1, 1]]
    assert readers[3].desc.dtypes() == [FLOAT, FLOAT]
    outs = [
        main.current_block().create_var(type=VarDesc.VarType.LOD_TENSOR, name=name)
        for name in ("first", "second")
    ]
    main.current_block().append_op(
        type="read", inputs={"Reader": readers[3]}, outputs={"Out": outs}
    )

    executor, scope = fluid.Executor(fluid.CPUPlace()), fluid.Scope()
    executor.run(startup, scope=scope)
    for _ in range(99):
        first, second = executor.run(main, fetch_list=outs, scope=scope)
        assert first.shape == (10, 2)
        assert second.shape == (10, 1)
