# SPDX-License-Identifier: Apache-2.0
"""The command ``python -m millhopper``: lists operators, runs, checks and prints programs."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import millhopper
from millhopper import _core
from millhopper.base.zipped import zip_strict
from millhopper.command import catalog
from millhopper.errors import Error
from millhopper.programs.extras import load_extras
from millhopper.programs.schemas import format_schemas, operator_types, schema_of

USAGE_ERROR = 2


def _settings(texts: list[str]) -> dict[str, str]:
    settings = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            # The text is not shown: it may be a value, and that a secret.
            raise ValueError("--set takes NAME=VALUE; one of them has no '=', or nothing before it")
        settings[name] = value
    return settings


def _load(path: str, settings: dict[str, str]) -> _core.Program:
    content = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    load_extras(content)
    return _core.Program(content, path, settings)


def _plugin_path(given: str, arguments: argparse.Namespace) -> Path:
    """The file that --plugin means; it says which one a relative path is."""
    if Path(given).is_absolute():
        return Path(given)
    programs = [*getattr(arguments, "startup", []), *getattr(arguments, "main", [])]
    programs += [arguments.file] if hasattr(arguments, "file") else []
    folders = [Path.cwd(), *(Path.cwd() / Path(program).parent for program in programs[:1])]
    places = [Path(os.path.normpath(folder / given)) for folder in folders]
    found = next((place for place in places if place.exists()), None)
    if found is None:
        looked = ", nor ".join(map(str, places))
        raise FileNotFoundError(f"--plugin={given}: there is no such file: no {looked}")
    print(f"--plugin={given}: {found}", file=sys.stderr)
    return found


def _programs(
    arguments: argparse.Namespace,
) -> tuple[list[_core.Program], list[_core.Program]]:
    """Loads the startup and main programs and checks them in the order in which they run."""
    settings = _settings(arguments.set)
    startup = [_load(path, settings) for path in arguments.startup]
    main = [_load(path, settings) for path in arguments.main]
    for i, program in enumerate(startup):
        program.check("startup", startup[:i])
    for i, program in enumerate(main):
        program.check("main", [*startup, *main[:i]])
    return startup, main


def _plain(value: Any) -> Any:
    """The value for JSON: a number that is not finite becomes text, since JSON has none."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _print_tensor(name: str, tensor: _core.LoDTensor) -> None:
    fields = {
        "name": name,
        "dtype": tensor.dtype,
        "dims": tensor.shape(),
        "lod": tensor.lod(),
        "data": [_plain(value) for value in np.ravel(np.asarray(tensor)).tolist()],
    }
    print(json.dumps(fields))


def _run(arguments: argparse.Namespace) -> None:
    startup, main = _programs(arguments)
    scope = _core.Scope()
    fetch = [name for name in arguments.fetch.split(",") if name]
    for i, program in enumerate([*startup, *main]):
        last = i == len(startup) + len(main) - 1
        prepared = _core.prepare(program, scope, arguments.place, arguments.seed)
        fetched = prepared.run({}, fetch if last else [])
        if last:
            for name, tensor in zip_strict(fetch, fetched):
                _print_tensor(name, tensor)


def _check(arguments: argparse.Namespace) -> None:
    startup, main = _programs(arguments)
    print(f"{len(startup) + len(main)} programs: nothing wrong", file=sys.stderr)


def _print(arguments: argparse.Namespace) -> None:
    print(_load(arguments.file, _settings(arguments.set)).to_text(), end="")


def _operators(arguments: argparse.Namespace) -> None:
    for type in arguments.type:
        print(f"{type}: {catalog.describe_operator(schema_of(type))}\n")
    if not arguments.type:
        width = max(map(len, operator_types()))
        for type in operator_types():
            print(f"{type:{width}}  {catalog.summary(schema_of(type).doc)}")


def _formats(_: argparse.Namespace) -> None:
    for schema in format_schemas():
        print(f"{schema.tag}: {catalog.describe_format(schema)}\n")


def _reference(arguments: argparse.Namespace) -> None:
    from millhopper.command import html, reference  # look at every module of the package

    if arguments.html is None:
        print(reference.page())
    else:
        files = html.write(Path(arguments.html))
        print(f"{arguments.html}: {len(files)} pages; begin with index.html")


def _within(low: int, high: int) -> Callable[[str], int]:
    """The type of an option that takes integers from ``low`` to ``high``."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = low - 1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number from {low} to {high}")
        return value

    return number


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m millhopper",
        description="Lists what Millhopper can do, and runs, checks and prints programs. What "
        "programs print goes to standard output. Exit codes: 0 ok, 2 a wrong program or usage, "
        "3 bad data, 4 input or output, 5 a limit, 6 a plugin, 70 a bug, 130 Ctrl-C.",
    )
    parser.add_argument("--version", action="version", version=millhopper.__version__)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")

    programs = argparse.ArgumentParser(add_help=False)
    programs.add_argument(
        "--startup", action="append", default=[], metavar="FILE", help="a startup program"
    )
    programs.add_argument(
        "--main",
        action="append",
        default=[],
        metavar="FILE",
        help="a main program; all run in one scope, in the order given",
    )
    settings = argparse.ArgumentParser(add_help=False)
    settings.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="replaces ${NAME} in programs with the text VALUE",
    )
    plugins = argparse.ArgumentParser(add_help=False)
    plugins.add_argument(
        "--allow_exec",
        action="store_true",
        help="run the commands that names of files tell to run, such as 'pipe:zcat a.gz', and read "
        "what they write; without it, none is run",
    )
    plugins.add_argument(
        "--allow_local_entries",
        action="store_true",
        help="read files of this machine that an image_list from a server names; without it, its "
        "images must lie beside it or on a server, or below the attribute root",
    )
    plugins.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="a shared library to load; it runs as part of this process. A relative path is looked "
        "for in the current folder, then beside the first program; which file it is, is printed",
    )

    def command(name: str, function: Any, text: str, *parents: argparse.ArgumentParser) -> Any:
        added = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            parents=[*parents, plugins],
        )
        added.set_defaults(function=function)
        return added

    run = command("run", _run, "run programs, startup first", programs, settings)
    run.add_argument(
        "--seed", type=_within(0, 2**64 - 1), default=0, help="seed of all randomness; default 0"
    )
    run.add_argument(
        "--threads",
        type=_within(-1, 1024),
        default=-1,
        help="number of worker threads, 0 to 1024; -1 (default): number of cores minus 1",
    )
    run.add_argument(
        "--place", default="cpu", help="where double buffers put batches: cpu or cuda:0"
    )
    run.add_argument(
        "--fetch",
        default="",
        metavar="A,B",
        help="variables of the last program to print at the end, each as one line of JSON",
    )
    command("check", _check, "list all problems of programs, without a run", programs, settings)
    printed = command("print", _print, "print a program, text or binary, as text", settings)
    printed.add_argument("file")
    operators = command("ops", _operators, "list the operators, or describe some")
    operators.add_argument("type", nargs="*")
    command("formats", _formats, "list the file formats")
    page = command("reference", _reference, "print the reference page, in Markdown")
    page.add_argument(
        "--html", metavar="DIR", help="write it as HTML pages into this folder instead"
    )
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    parser = _parser()
    parsed = parser.parse_args(arguments)
    if not hasattr(parsed, "function"):
        parser.print_help()
        return 0
    try:
        if parsed.function in (_run, _check) and not parsed.startup and not parsed.main:
            parser.error("no program is given: --startup=FILE or --main=FILE")
        if parsed.allow_exec:
            millhopper.allow_exec()
        if parsed.allow_local_entries:
            millhopper.allow_local_entries()
        for path in parsed.plugin:
            millhopper.load_plugin(_plugin_path(path, parsed))
        if getattr(parsed, "threads", -1) >= 0:
            millhopper.set_threads(parsed.threads)
        parsed.function(parsed)
        _flush()
    except Error as error:
        if isinstance(error.__cause__, BrokenPipeError):
            _write_no_more()
            return 0
        for line in str(error).splitlines():
            print(line if line.startswith(" ") else f"error: {line}", file=sys.stderr)
        return _core.exit_codes[error.code]
    except ValueError as error:
        print(f"error: {_core.without_secrets(error.args[0])}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:  # the process that reads the output has closed the pipe
        _write_no_more()
    except OSError as error:
        print(f"error: {_core.without_secrets(str(error))}", file=sys.stderr)
        return _core.exit_codes["input/output error"]
    except KeyboardInterrupt:
        return _core.exit_codes["cancelled"]
    return 0


def _flush() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        _write_no_more()
        raise


def _write_no_more() -> None:
    # Otherwise the interpreter writes the rest of the output when it exits, and fails once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
