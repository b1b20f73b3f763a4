#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes what type checkers read of the methods of Reader that the core makes when it is imported.

    tools/python_stub.py EXECUTOR   prints python/millhopper/readers/operator_readers.pyi

EXECUTOR is the built command, which lists the schemas of all operators. tools/build_wheel.py puts
the stub into the package. It runs on Python 3.9 and later, without numpy.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

_SIGNATURES = (
    Path(__file__).resolve().parent.parent / "python/millhopper/readers/method_signatures.py"
)
# Fields of schemas that the command leaves out where there is nothing to say.
_ABSENT = {"default": "null", "lowest": None, "words": []}


def stub(executor: Path) -> str:
    """The text of the stub, by what a built executor says of its operators."""
    spec = importlib.util.spec_from_file_location("method_signatures", _SIGNATURES)
    signatures = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(signatures)
    listed = subprocess.run(
        [executor, "--list_ops", "--json"], check=True, stdout=subprocess.PIPE, text=True
    )
    operators = [
        json.loads(line, object_hook=lambda fields: SimpleNamespace(**{**_ABSENT, **fields}))
        for line in listed.stdout.splitlines()
    ]
    made = [operator for operator in operators if signatures.method_name(operator)]
    for attribute in (attribute for operator in made for attribute in operator.attributes):
        attribute.default = json.loads(attribute.default)  # it is a text, such as "[1, 2]"
    return signatures.stub(made)


if __name__ == "__main__":
    print(stub(sys.argv[1]), end="")
