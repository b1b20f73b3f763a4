# SPDX-License-Identifier: Apache-2.0
"""What other libraries call the methods of Reader, for the errors of those who type these names."""

from __future__ import annotations

from typing import NoReturn

# The name in tf.data, Grain, webdataset, Ray Data or Hugging Face's datasets, and what to type.
_HERE = {
    "as_numpy_iterator": "a loop over it, which gives arrays of numpy",
    "batched": "batch(batch_size)",
    "concat": "chain(other)",
    "concatenate": "chain(other)",
    "decode": 'decode_image("slot")',
    "enumerate": "enumerate(reader)",
    "head": "take(count)",
    "interleave": "mix(other, weights=[...])",
    "iter_batches": "batch(batch_size)",
    "map_batches": "batch(batch_size).map(function)",
    "mp_prefetch": "double_buffer(depth)",
    "padded": "padded_batch(batch_size)",
    "prefetch": "double_buffer(depth)",
    "random_map": "map(function), with random choices by millhopper.current_record()",
    "remove_columns": 'select("slot", ...), with those that stay',
    "rename": "names=[...] or a dict of fields, where the reader is made",
    "select_columns": 'select("slot", ...)',
    "slice": "skip(count).take(count)",
    "to_iter_dataset": "the reader itself, which is read ahead with double_buffer(depth)",
    "to_tuple": 'select("slot", ...)',
    "with_epoch": "repeat(passes).take(count)",
}


class OtherNames:
    """Tells, for a name that Reader does not have, what it is called here."""

    def __getattr__(self, name: str) -> NoReturn:
        here = f"; here it is {_HERE[name]}" if name in _HERE else ""
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{here}")
