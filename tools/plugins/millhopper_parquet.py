# SPDX-License-Identifier: Apache-2.0
"""The formats parquet, arrow and feather: Millhopper loads this package when it needs them."""

from __future__ import annotations

from pathlib import Path

PYARROW = "@PYARROW@"  # the version whose libraries the plugin was built against


def plugin() -> str:
    """The absolute path of the plugin, whose libraries are in memory then.

    Raises:
        ImportError: pyarrow is missing, or of another version than the plugin was built against.
    """
    # The plugin needs the Arrow that pyarrow brings, wherever it is installed: it is loaded here.
    try:
        import pyarrow
        import pyarrow.parquet  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError(
            f"millhopper-parquet needs pyarrow {PYARROW}: pip install pyarrow=={PYARROW}"
        ) from error
    if pyarrow.__version__ != PYARROW:
        raise ImportError(
            f"millhopper-parquet was built against pyarrow {PYARROW}, but {pyarrow.__version__} is "
            f"installed: pip install pyarrow=={PYARROW}"
        )
    return str(Path(__file__).resolve().parent / "libmillhopper_parquet.so")
