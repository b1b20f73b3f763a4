# SPDX-License-Identifier: Apache-2.0
"""The source of Reader that reads files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from millhopper import _core
from millhopper.base.paths import Path
from millhopper.errors import Error
from millhopper.programs.extras import load_extras_for
from millhopper.programs.program import Program
from millhopper.readers.chain import Chain
from millhopper.readers.fields import Fields, field_entries, with_slots
from millhopper.readers.other_names import other_keywords
from millhopper.readers.slots import Slot, named

if TYPE_CHECKING:
    from typing_extensions import Self


_NULLS = "null=NA,NULL after a field names the texts that are no value there"
_FORMAT = 'decode=timestamp format="%d.%m.%Y" after a field of int64[] tells how dates are written'
_FIELDS = (
    'fields=["column", ...] names the columns, {"slot": "column int64[]", ...} their types, too'
)

# What pandas, polars and DuckDB call what fields and formats have.
_TABLE_KEYWORDS = {
    "chunksize": "batch(batch_size) makes batches",
    "columns": _FIELDS,
    "comment_prefix": "comment is what lines begin with that are left out",
    "date_format": _FORMAT,
    "dtype": _FIELDS,
    "encoding_errors": "encoding names what the text is in, as iconv does",
    "escapechar": "escape is the character that makes the one after it text",
    "ignore_errors": "ignore_errors() after it leaves out rows that do not fit their fields",
    "na_values": _NULLS,
    "null_values": _NULLS,
    "nullstr": _NULLS,
    "nrows": "take(count) ends after the first ones",
    "null_padding": 'ragged_rows="fill" takes rows that lack cells',
    "on_bad_lines": 'ragged_rows="fill" or "cut" takes rows of other numbers of cells',
    "parse_dates": "decode=timestamp after a field of int64[] reads dates and times",
    "quotechar": "quote is the character around cells",
    "quote_char": "quote is the character around cells",
    "schema": _FIELDS,
    "sep": "delimiter is the character between cells; separator the one between values in a cell",
    "skiprows": "skip_rows is how many rows before the table are left out",
    "truncate_ragged_lines": 'ragged_rows="cut" leaves out cells after those of the first row',
    "try_parse_dates": "decode=timestamp after a field of int64[] reads dates and times",
    "usecols": _FIELDS,
}


def _with_types(
    paths: list[str], fields: Fields | None, names: list[str] | None, attributes: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """The entries of fields, with types where the files tell these, and the names of all slots.

    Without fields, ``names`` are those of the slots if they are as many as the fields.
    """
    entries, names_of_slots = field_entries([] if fields is None else fields)
    if _core.are_chosen_by_name(entries):
        load_extras_for(paths)
        entries = with_slots(entries, names_of_slots)
        told: dict[str, object] = {**attributes, "fields": entries}
        found = _core.inferred_fields(paths, told)  # adds to it what goes with them
        if found:
            attributes.clear()
            attributes.update(told)
            attributes.pop("fields")
            attributes.pop("exclude", None)
            are_named = fields is None and names is not None and len(names) == len(found)
            entries = with_slots(found, names) if are_named and names else found
            names_of_slots = _core.field_names(entries)
    return entries, names_of_slots


def _as_stated(attributes: Mapping[str, object]) -> dict[str, object]:
    """Attributes of formats that pandas and polars have in another form, in ours.

    Raises:
        TypeError: ``header`` is None or a number, which mean something in pandas.
    """
    stated: dict[str, object] = {}
    if isinstance(attributes.get("exclude"), str):
        stated["exclude"] = [attributes["exclude"]]
    if "header" in attributes:
        header = attributes["header"]
        if header is None or (isinstance(header, int) and not isinstance(header, bool)):
            raise TypeError(
                f'header is {header!r}; header="no": there is none, "yes": the first row has names '
                "(skip_rows=n leaves rows out before), without it the rows tell"
            )
        if isinstance(header, bool):
            stated["header"] = "yes" if header else "no"
    return stated


_IMAGE_FOLDER = "image_folder:"


class FileSources(Chain):
    """What Reader can read of files."""

    @property
    def classes(self) -> list[str]:
        """The names of the classes of a folder of images, each at the place that is its label.

        Of ``open_files("image_folder:photos")``, ``dataset.image_folder("photos")`` and all that
        stands on one; the folder must be on this machine.

        Raises:
            AttributeError: it is another reader.
            OSError: there is no such folder.

        Source: torchvision.datasets.ImageFolder.
        """
        folders = [
            file
            for op in Program.of_core(self._program).global_block().ops
            if op.type == "open_files"
            for file in op.attr("file_names")
        ]
        if len(folders) != 1 or not folders[0].startswith(_IMAGE_FOLDER) or "://" in folders[0]:
            raise AttributeError(
                "classes are those of one folder of images, Reader.open_files("
                f'"{_IMAGE_FOLDER}photos") or dataset.image_folder("photos"); '
                "counts of any labels: collections.Counter of those of a pass"
            )
        with os.scandir(folders[0][len(_IMAGE_FOLDER) :]) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
        # As the format does (hidden_names.h).
        shown = [name for name in names if name[0] != "." and name != "__MACOSX"]
        return sorted(shown, key=os.fsencode)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The labels of ``classes`` by their names.

        Raises:
            AttributeError, OSError: as ``classes``.

        Source: torchvision.datasets.ImageFolder.
        """
        return {name: label for label, name in enumerate(self.classes)}

    @classmethod
    @other_keywords(**_TABLE_KEYWORDS)
    def open_files(
        cls,
        files: Path | Iterable[Path],
        *,
        slots: Mapping[str, Slot] | Literal["infer"] | None = None,
        fields: Fields | None = None,
        names: Iterable[str] | None = None,
        seed: int = 0,
        name: str = "files",
        **attributes: object,
    ) -> Self:
        """Reads many files as one stream, one record of each in turn: operator ``open_files``.

        For example, of a table with a header::

            millhopper.Reader.open_files("rides-*.csv.gz",
                                         fields={"fare": "float32[] null=NA missing=skip",
                                                 "start": "int64[] decode=timestamp",
                                                 "vendor": '"vendor id" int64[] hash=1000'})

        Args:
            files: paths, patterns (``train-*.recordio``) and ranges (``{00000..00127}``), each with
                an optional format and a colon before it (``text:notes``). A path may be an
                ``https://`` or ``http://`` URL, without a pattern, or ``s3://bucket/key``. What can
                be read once only, for one pass, is ``-`` (standard input), the path of a FIFO, and
                what a command writes: ``pipe:zcat a.gz``, after ``millhopper.allow_exec()``.
            slots: the slots of a record, in order: name to (dtype, dims) or (dtype, dims, levels of
                offsets). Dims include the leading axis of one instance: an image is
                ``("uint8", [1, 28, 28])``. Formats that define their slots (idx, text) need none,
                and RecordIO files none if their manifest stores slots, as ``recordio write`` and
                ``create_recordio_writer`` have it do; it may tell their names, too. Files without
                have those of their first records, and so they have with ``"infer"``, which is an
                error at once if these tell none: the first file is opened at once, and records
                after its first chunk that do not fit are an error, which says what they have.
            fields: what structured formats (tables, JSON, Examples ...) cut from a record: entries
                ``"name dtype[dims] option=value ..."``, or a dict of slots to such entries, in
                which the name may be left out; ``"str"`` is text, which batches have as ``Texts``,
                a sequence of ``str``. ``peek FILE`` prints some that fit a file, and
                ``readers/formats/README.md`` tells the notation. Without them, files are read as
                a whole: the first one is opened at once, and its schema, or a sample of it, tells
                the fields. So it does for names alone: ``["fare", "I1-I13"]``, ``["label", "*"]``
                (all others), ``{"age": None, "fare": "total amount"}``. ``exclude=["id"]`` leaves
                columns out. With ``infer="all"`` files without a schema (tables in text, JSON,
                Examples, tar) are read through once for their types, so that no later value is of
                another one; a terminal shows how far that is.
            names: names of the slots if neither ``slots`` nor ``fields`` is given, or the slots
                are inferred; by default those that the files tell.
            seed: seed of all random choices in this chain. What is drawn for a record depends on it
                and on the number of the record, not on its file. So ranks that open their own files
                need a seed each (``seed=1000 * seed + rank``), or record ``n`` of every rank is
                cropped and flipped alike; ranks that open all files and take a ``shard`` need none.
            name: the reader's name in error messages and programs; it tells apart what sources that
                are combined draw for records of one number.
            attributes: those of ``open_files`` and of the format; ``python -m millhopper ops
                open_files`` and ``executor --list_ops open_files`` list them. With
                ``shuffle_chunks=True`` the chunks of all files are read in a random order, another
                one in each pass; a ``shuffle`` on top mixes their records. With
                ``shuffle_records=True`` the records of plain fixed, idx and npy files are read in a
                random order, another one in each pass, in memory that does not grow with them. With
                ``buffer_type="mmap"`` records are copied straight from the kernel's pages. Use this
                for plain files on local disks only, and let no program write to them meanwhile. A
                change that the reader notices is an error with file and byte; it cannot notice
                every change (``readers/README.md``). The limit on memory does not count these
                pages. ``lanes`` deals the chunks of the files to so many lanes, which threads and
                ranks share; the order of elements depends on their number. Without it there is one,
                or 16 below a ``shuffle`` and a ``batch`` if the order is another one in each pass,
                the window has 64 elements or more, the files are not seen to have fewer (those that
                do not tell how many must have 4 KiB), and all steps from the files to the batch
                look at one element at a time (``apply``, ``filter`` by text, ``unbatch``,
                ``split``, ``shuffle``; not ``take``, ``pack``, functions of Python, or ``shard``,
                above which a batch would be that of all ranks). ``print(reader)`` and ``to_text``
                tell the number. ``lanes=1``
                keeps the order that there was before, and its states.

        Raises:
            TypeError, ValueError: ``slots`` is no dict, a slot in it is no (dtype, dims), or
                ``fields`` is no list of texts or dict.
            Error: there are no files, or an attribute is unknown or has a wrong value. For missing
                files, and for slots that are needed and neither given nor told by the files, the
                first pass raises it.
        """
        names = [names] if isinstance(names, str) else names
        attributes.update(_as_stated(attributes))
        given = [files] if isinstance(files, (str, os.PathLike)) else list(files)
        if not given:
            raise Error("open_files: no files are given; give at least one path or pattern")
        paths = [os.fspath(path) for path in given]
        if slots == "infer":
            found, stored_names = _core.recordio_slots(paths)
            slots = named(stored_names if names is None else names, found)
            names = None
        elif slots is fields is None and attributes.get("content") != "bytes":
            if stored := _core.stored_slots(paths):
                names = stored[1] if names is None else names
            elif inferred := _core.inferred_slots(paths):
                slots = named(names, inferred[0])
                names = None
        if slots is None:
            names = None if names is None else list(names)
            entries, names_of_fields = _with_types(paths, fields, names, attributes)
            if entries and (names is None or names == names_of_fields[: len(names)]):
                names = names_of_fields
            elif names is None and not entries:
                names = _core.format_slot_names(paths)
        else:
            entries = [] if fields is None else field_entries(fields)[0]
        if entries:
            attributes["fields"] = entries
        attributes["file_names"] = paths
        return cls.create(
            "open_files", slots=slots, names=names, seed=seed, name=name, **attributes
        )
