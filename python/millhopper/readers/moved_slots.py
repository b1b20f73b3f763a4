# SPDX-License-Identifier: Apache-2.0
"""Which slots an operator moves together, and as what: images, masks, boxes and points."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from millhopper.readers.steps import Choice, Step

if TYPE_CHECKING:
    from typing_extensions import TypeAlias

# Names of slots, or what each is.
MovedSlots: TypeAlias = "Sequence[str] | Mapping[str, str]"
SlotSpecs: TypeAlias = "Mapping[str, tuple[str, list[int], int] | None]"

# What a slot can be, with the input and the output of the operators that move it.
_KINDS = {
    "image": ("X", "Out"),
    "mask": ("Masks", "OutMasks"),
    "points": ("Points", "OutPoints"),
    "xyxy": ("Boxes", "OutBoxes"),
    "xywh": ("Boxes", "OutBoxes"),
    "cxcywh": ("Boxes", "OutBoxes"),
}
_BOXES = ("xyxy", "xywh", "cxcywh")
_RELATIVE = " relative"  # after the notation of boxes, or points
_INTEGERS = ("int", "uint", "bool")


def box_notation(notation: str, before: str = "") -> dict[str, object]:
    """The attributes of an operator for a notation of boxes, such as ``"cxcywh relative"``.

    Raises:
        ValueError: there is no such notation.
    """
    box_format = notation[: -len(_RELATIVE)] if notation.endswith(_RELATIVE) else notation
    if box_format not in _BOXES:
        raise ValueError(
            f"{notation!r} is no notation of boxes; these are {', '.join(_BOXES)}, each also with "
            f"{_RELATIVE!r} after it"
        )
    return {before + "box_format": box_format, before + "relative": box_format != notation}


class Moved:
    """What ``apply`` needs to move slots by one draw.

    Attributes:
        inputs: slots by the operator's input.
        outputs: the same slots by its output.
        attributes: the notation of boxes and points.
    """

    def __init__(self, slots: MovedSlots, specs: SlotSpecs, steps: Iterable[Step | Choice]) -> None:
        """Sorts slots by what they are.

        Args:
            slots: see ``ImageMethods``.
            specs: what is known of each slot of the reader.
            steps: what has been applied to it.

        Raises:
            TypeError: ``slots`` is no list or dict of texts.
            ValueError: it names no image, or it is not known what a slot is.
        """
        kinds = _kinds(slots, specs, list(steps))
        self.inputs: dict[str, list[str]] = {}
        self.outputs: dict[str, list[str]] = {}
        self.attributes: dict[str, object] = {}
        for slot, kind in kinds.items():
            base = kind[: -len(_RELATIVE)] if kind.endswith(_RELATIVE) else kind
            if base not in _KINDS or (base != kind and base in ("image", "mask")):
                raise ValueError(
                    f"slots: {slot!r} is {kind!r}; a slot is one of {', '.join(_KINDS)}, and boxes "
                    f"and points may be, for example, 'cxcywh{_RELATIVE}'"
                )
            read, written = _KINDS[base]
            self.inputs.setdefault(read, []).append(slot)
            self.outputs.setdefault(written, []).append(slot)
            notation = box_notation(kind) if base in _BOXES else {}
            if base == "points":
                notation = {"relative": base != kind}
            for name, value in notation.items():
                if self.attributes.setdefault(name, value) != value:
                    raise ValueError(
                        f"slots: {kinds} has boxes and points in several notations; convert_boxes "
                        "makes one of them"
                    )
        if "X" not in self.inputs:
            raise ValueError(f"slots: {kinds} has no image, whose size all others need")
        # The image is what the next method works on where it is not told.
        self.outputs = {"Out": self.outputs.pop("Out"), **self.outputs}


def _kinds(slots: MovedSlots, specs: SlotSpecs, steps: list[Step | Choice]) -> dict[str, str]:
    if isinstance(slots, str) or not isinstance(slots, (Mapping, Sequence)):
        raise TypeError(f"slots is {slots!r}; it is a list of names, or a dict of what each is")
    for text in [*slots, *(slots.values() if isinstance(slots, Mapping) else ())]:
        if not isinstance(text, str):
            raise TypeError(f"slots is {slots!r}; {text!r} is no text")
    if isinstance(slots, Mapping):
        return dict(slots)
    if len(set(slots)) < len(slots):
        raise ValueError(f"slots: {list(slots)} has a slot twice")
    return {slot: _kind(slot, specs.get(slot), steps) for slot in slots}


def _kind(slot: str, spec: tuple[str, list[int], int] | None, steps: list[Step | Choice]) -> str:
    """Whether a slot is an image or a mask."""
    decoders = (step for step in reversed(steps) if step.operator == "decode_image")
    decoded = next((step for step in decoders if [slot] in step.outputs.values()), None)
    if isinstance(decoded, Step):
        return "image" if decoded.attributes.get("mode") is None else "mask"
    is_open = spec is not None and spec[0].startswith(_INTEGERS) and spec[1][-1:] == [-1]
    if spec is None or len(spec[1]) != 4 or is_open:
        raise ValueError(
            f'slots: it is not known what {slot!r} is; say so: slots={{"image": "image", '
            f'{slot!r}: ...}}, with "image", "mask", "points", or for boxes "xyxy", "xywh" or '
            '"cxcywh"'
        )
    dtype, dims, _ = spec
    return "mask" if dtype.startswith(_INTEGERS) and dims[3] == 1 else "image"
