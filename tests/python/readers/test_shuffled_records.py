# SPDX-License-Identifier: Apache-2.0
"""open_files with shuffle_records: the records of all files in a random order."""

from __future__ import annotations

from pathlib import Path

import millhopper
import numpy as np
import pytest


@pytest.mark.parametrize("records", [1000, 20000])
def test_rows_of_npy_files_come_once_in_each_pass_in_another_order(
    tmp_path: Path, records: int
) -> None:
    rows = np.arange(2 * records).reshape(records, 2)
    np.save(tmp_path / "0.npy", rows[: records // 3])
    np.save(tmp_path / "1.npy", rows[records // 3 :])
    reader = millhopper.Reader.open_files(
        str(tmp_path / "*.npy"), names=["row"], shuffle_records=True
    ).batch(64)
    passes = [np.concatenate([batch["row"] for batch in reader]) for _ in range(2)]
    for one in passes:
        np.testing.assert_array_equal(one[one[:, 0].argsort()], rows)
    assert (passes[0] == passes[1]).all(axis=1).sum() < 20
    again = millhopper.Reader.open_files(
        str(tmp_path / "*.npy"), names=["row"], shuffle_records=True
    ).batch(7)
    np.testing.assert_array_equal(np.concatenate([batch["row"] for batch in again]), passes[0])


def test_arrays_in_fortran_order_have_the_same_rows(tmp_path: Path) -> None:
    rows = np.arange(600.0).reshape(100, 2, 3)
    batches = []
    for name, array in (("c", rows), ("fortran", np.asfortranarray(rows))):
        np.save(tmp_path / f"{name}.npy", array)
        reader = millhopper.Reader.open_files(
            tmp_path / f"{name}.npy", names=["row"], shuffle_records=True
        )
        batches.append(next(iter(reader.batch(100)))["row"])
    np.testing.assert_array_equal(*batches)


def test_files_that_cannot_be_read_record_by_record_are_refused(tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("a\nb\n")
    reader = millhopper.Reader.open_files(tmp_path / "lines.txt", shuffle_records=True)
    with pytest.raises(millhopper.Error, match="plain files of the formats fixed, idx and npy"):
        list(reader)
