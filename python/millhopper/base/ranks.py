# SPDX-License-Identifier: Apache-2.0
"""How many processes train together, and which of them this is."""

from __future__ import annotations

import operator
import os
import sys
from typing import Any, NamedTuple


class Ranks(NamedTuple):
    """The processes that train together.

    Attributes:
        size: how many there are.
        rank: which of them this one is, from 0.
        source: what says so.
    """

    size: int
    rank: int
    source: str

    def __str__(self) -> str:
        return f"rank {self.rank} of {self.size} ({self.source})"


class NotKnownYet(ValueError):
    """Lightning has started this process, but has not told it yet which of them it is."""


# The environment variables of torchrun, Open MPI's mpirun, Slurm's srun and JAX. The first that
# says how many processes there are counts: mpirun within a job of Slurm's has been started by it,
# and not the other way round. SLURM_NTASKS does not count, because an allocation has it where
# nothing has been started by srun. operators/readers/create_shard_reader_op.cc has the same.
LAUNCHERS = (
    ("WORLD_SIZE", "RANK"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
    ("JAX_NUM_PROCESSES", "JAX_PROCESS_ID"),
)


def shard_problem(num_shards: Any, index: Any) -> str:
    """What is wrong with the number of a part that the user asks for; "" if nothing is.

    None for both leaves the choice to the environment. In an operator, 0 and -1 do so; a caller who
    has computed them means something else. What is no integer is not judged here.
    """
    if num_shards is None:
        return "" if index is None else f"index is {index}, but num_shards is not given"
    try:
        size = operator.index(num_shards)
        part = 0 if index is None else operator.index(index)
    except TypeError:
        return ""
    if size < 1:
        return f"num_shards is {size}; it must be at least 1"
    if index is None and size > 1:
        return f"num_shards is {size}, but index is not given; without both the environment decides"
    if not 0 <= part < size:
        return f"index is {part}; of {size} parts it is 0 to {size - 1}"
    return ""


def find_ranks() -> Ranks | None:
    """Asks torch.distributed and jax.distributed, if the program uses them, then the environment.

    Returns:
        None if nothing says that there are several processes, or even one.

    Raises:
        NotKnownYet: Lightning will initialise torch.distributed, but has not done so.
        ValueError: an environment variable is missing beside its other, or is no such number.
    """
    torch: Any = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return Ranks(distributed.get_world_size(), distributed.get_rank(), "torch.distributed")
    jax: Any = sys.modules.get("jax")
    is_initialized = getattr(getattr(jax, "distributed", None), "is_initialized", None)
    if is_initialized is not None and is_initialized():
        return Ranks(jax.process_count(), jax.process_index(), "jax.distributed")
    for size_name, index_name in LAUNCHERS:
        if size_name in os.environ:
            if index_name not in os.environ:
                if index_name == "RANK" and {"NODE_RANK", "LOCAL_RANK"} <= os.environ.keys():
                    raise NotKnownYet(
                        "Lightning has started this process, and tells its rank when the trainer "
                        "begins; until then nothing can be read in parts"
                    )
                raise ValueError(f"the environment has {size_name}, but no {index_name}")
            size, rank = _number(size_name), _number(index_name)
            if not 0 <= rank < size:
                raise ValueError(
                    f"the environment's {index_name} is {rank} and {size_name} is {size}; ranks "
                    "are numbered from 0"
                )
            return Ranks(size, rank, f"{size_name} and {index_name}")
    return None


def _number(name: str) -> int:
    text = os.environ[name]
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the environment's {name} is {text!r}, which is not a number") from None
