# SPDX-License-Identifier: Apache-2.0
"""Settings of the whole process: worker threads, a cache of files and plugins."""

from __future__ import annotations

import os

from millhopper import _core
from millhopper.base.integers import integer, integer_within


def set_threads(threads: int) -> None:
    """Sets how many worker threads load data, for all readers.

    The default is the number of cores minus one, but at least one: of the cores that this process
    may run on, and where torchrun, mpirun or srun has started several processes on this machine,
    of its share of all. The consumer's thread uses the remaining core, because it loads data, too,
    instead of waiting. With 0 threads the consumer's
    thread does all the work. Streams are the same with any number. The call ends the present
    workers, so do not call it while a reader is being read.

    Raises:
        TypeError: ``threads`` is no integer.
        Error: the number is not 0 to 1024, or a function that a reader calls makes this call, which
            would wait for itself.

    Source: Millhopper's own.
    """
    _core.set_threads(integer("threads", threads))


def allow_exec(allowed: bool = True) -> None:
    """Allows names of files to be commands, as ``--allow_exec`` does; without it, none is run. ::

        millhopper.allow_exec()
        reader = millhopper.Reader.open_files("csv:pipe:zcat train.csv.gz", fields=[...])

    A name ``pipe:COMMAND`` stands for what the command writes. Its words stand between blanks, a
    pair of ``'`` or ``"`` holds a word together, and everything else means itself, because no shell
    sees it. The command is started when the first record is read, and gets no standard input. If it
    ends with another status than 0, that is an error after all that it has written, with the last
    line of its standard error. When its reader is reset or goes away, it is ended: by SIGTERM and,
    50 ms later, by SIGKILL, for all that it has started, too.

    Such a file can be read once only, as a FIFO or standard input (``-``) can: a second pass, a
    length, saved positions and shuffles of chunks or records in place need a copy in a file.

    Args:
        allowed: ``False`` forbids it again, for commands that are not started yet.

    Raises:
        TypeError: ``allowed`` is no bool.

    Source: Millhopper's own.
    """
    if not isinstance(allowed, bool):
        raise TypeError(f"allowed is {allowed!r}; it must be True or False")
    _core.allow_exec(allowed)


def allow_local_entries(allowed: bool = True) -> None:
    """Allows lists from servers to name files of this machine, as ``--allow_local_entries`` does.

    An ``image_list`` that comes from a server names files beside it and on servers, and below the
    folder ``root`` if that is given. Other files, such as ``/home/me/a.png``, are refused, because
    the author of the list could otherwise have them read.

    Args:
        allowed: ``False`` forbids it again, for lists that are not opened yet.

    Raises:
        TypeError: ``allowed`` is no bool.

    Source: Millhopper's own.
    """
    if not isinstance(allowed, bool):
        raise TypeError(f"allowed is {allowed!r}; it must be True or False")
    _core.allow_local_entries(allowed)


def set_cache(directory: str | os.PathLike[str] | None, max_bytes: int = 64_000_000_000) -> None:
    """Keeps files of servers in a folder, as ``--cache_dir`` and ``--cache_bytes`` do. ::

        millhopper.set_cache("/data/cache")
        reader = millhopper.Reader.open_files("s3://bucket/train-*.recordio")

    What is read of ``http://``, ``https://`` and ``s3://`` is kept in blocks of 1 MiB, so that it
    is not sent again: not for the next pass, and not for another process with the same folder.
    When a file is opened, its server is asked whether it has another version of it. Damaged blocks
    are noticed and sent again. If the folder cannot be written any more, such as on a full disk,
    files are read past it.

    The folder must be on a local disk, and no other user may write there. Set it before files are
    opened: files that are open stay as they were.

    Args:
        directory: the folder, which is made if need be; ``None`` keeps nothing from now on.
        max_bytes: the most that it takes, 16 MiB at least. What has not been used for the longest
            time makes room.

    Raises:
        TypeError: ``directory`` is no path, or ``max_bytes`` no integer.
        ValueError: ``directory`` is empty, or ``max_bytes`` is less than 0.
        Error: the folder cannot be written, or other users can write there; or ``max_bytes`` is too
            little.

    Source: Millhopper's own.
    """
    most_bytes = integer_within("max_bytes", max_bytes, 0, 2**63 - 1)
    folder = b"" if directory is None else os.fsencode(directory)
    if directory is not None and not folder:
        raise ValueError("directory is empty; it must name a folder, or be None")
    _core.set_cache(folder, most_bytes)


def set_index(enabled: bool = True) -> None:
    """Has the first pass over a file leave an index of it, as ``--index`` does. ::

        millhopper.set_index()
        reader = millhopper.Reader.open_files("train-*.tfrecord")
        for _ in reader:
            pass
        len(millhopper.Reader.open_files("train-*.tfrecord"))  # known without reading the files

    Where a file without an index is read from its beginning to its end, the index that ``recordio
    index`` makes is left, for later passes and other processes: beside a local file, as
    ``FILE.mhi``, or in the cache (``set_cache``) for a file on a server or in a folder that cannot
    be written to. Nothing is left of a file of which a part could not be read or is left out, and
    of one that changes meanwhile. An index that cannot be written is one warning on standard error,
    and the file is read without one, as are formats without indexes.

    Args:
        enabled: ``False`` leaves none, of files that are opened from now on.

    Raises:
        TypeError: ``enabled`` is no bool.

    Source: Millhopper's own.
    """
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled is {enabled!r}; it must be True or False")
    _core.set_index(enabled)


def load_plugin(path: str | os.PathLike[str]) -> None:
    """Loads a shared library that adds operators, readers and formats, as ``--plugin`` does.

    The library runs as part of this process, so load only libraries that you trust. Loading one
    again does nothing. One that uses protobuf or curl itself (Millhopper's own do not) is loaded
    before TensorFlow is imported, which shows its own to all libraries that come later.

    Args:
        path: an absolute path of a file that is not writable for everybody.

    Raises:
        Error: the library is refused; the code is ``"plugin error"`` and the message says why.

    Source: Millhopper's own.
    """
    _core.load_plugin(os.fsencode(path))
