# SPDX-License-Identifier: Apache-2.0
"""Imports, reads and trains, where there is only Python and numpy: for tools/dev/check_bare."""

import random
import tempfile
from pathlib import Path

import millhopper
import numpy as np
from millhopper import layers, optimizer


def main() -> None:
    """Learns y = 3 x - 1 from a table, and checks what was read and learnt."""
    random.seed(0)
    rows = [(x, 3 * x - 1) for x in (random.uniform(-1, 1) for _ in range(256))]
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "table.csv"
        table.write_text("x,y\n" + "".join(f"{x},{y}\n" for x, y in rows))
        fields = ["x float32[1]", "y float32[1]"]
        reader = millhopper.Reader.open_files(table, fields=fields)
        read = np.concatenate([element["x"] for element in reader]).ravel()
        np.testing.assert_allclose(read, [x for x, _ in rows], rtol=1e-6)

        x = layers.data(name="x", shape=[1], dtype="float32")
        y = layers.data(name="y", shape=[1], dtype="float32")
        cost = layers.mean(layers.square_error_cost(input=layers.fc(input=x, size=1), label=y))
        optimizer.SGD(learning_rate=0.1).minimize(cost)
        executor = millhopper.Executor(millhopper.CPUPlace())
        executor.run(millhopper.default_startup_program())
        batches = reader.shuffle(256).batch(16)
        for _ in range(30):
            for batch in batches:
                feed = {name: values.reshape(-1, 1) for name, values in batch.items()}
                (loss,) = executor.run(feed=feed, fetch_list=[cost])
    assert float(np.ravel(loss)[0]) < 1e-3, loss
    print(f"imports, reads, trains: the loss is {float(np.ravel(loss)[0]):.2g}")


if __name__ == "__main__":
    main()
