# SPDX-License-Identifier: Apache-2.0
"""The methods of Reader that work on text and sequences: operators in C++."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millhopper.base.paths import Path
from millhopper.programs.var_type import convert_dtype
from millhopper.readers.operator_methods import OperatorMethods
from millhopper.readers.other_names import other_keywords
from millhopper.readers.tokenizer_files import file_of_tokenizer, file_of_words

if TYPE_CHECKING:
    from typing_extensions import Self


_ROWS = (
    'pack(length) makes rows of that many tokens, and overlong="truncate" of it leaves out what is '
    "longer"
)


def _number_of(dtype: str) -> int:
    return int(convert_dtype(dtype))


def _token(name: str, token: int | str | None) -> dict[str, Any]:
    """The attribute for a token that is given by its number or its name."""
    return {f"{name}_token" if isinstance(token, str) else name: token}


class TextMethods(OperatorMethods):
    """What Reader can do with text and sequences. Each method returns a new reader, as ``apply``.

    Text is uint8 ``[n]`` with a level of offsets, as lines, ``bytes`` of fields and files have it.
    ``slot`` is by default the slot that the method before it wrote, or the only slot; ``output`` is
    the slot that is written, by default the one that is read. The methods work on each element,
    and so on batches, too: on each sequence by itself. Files are read when the first element comes,
    once for all threads.
    """

    @other_keywords(
        column='slot="text" is the slot of the text',
        field='slot="text" is the slot of the text',
        max_length=_ROWS,
        padding="padded_batch(batch_size) pads to the longest",
        tokenizer='it is the first argument: tokenize("tokenizer.json"), or an object of tiktoken',
        truncation=_ROWS,
    )
    def tokenize(
        self,
        merges: Any = None,
        *,
        vocab: Path | None = None,
        pattern: str | None = None,
        dtype: str = "int64",
        special: str | None = None,
        add_special_tokens: bool = True,
        bos: int | str | None = None,
        eos: int | str | None = None,
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Text becomes the numbers of its tokens, ``[tokens]`` with a level of offsets.

        The tokens are those of ``Tokenizer.encode`` for a tokenizer of Hugging Face, of
        ``SentencePieceProcessor.encode`` for a model of SentencePiece, and of tiktoken's
        ``encode_ordinary`` for its encodings and other files; of these, a byte that is
        not UTF-8 is a piece. A template of a chat is not applied: write messages as text first. ::

            reader.tokenize("tokenizer.json", slot="text", output="input_ids")
            reader.tokenize(tiktoken.get_encoding("o200k_base"), eos="<|endoftext|>")

        Args:
            merges: what makes the tokens: a file, which is a ``tokenizer.json``, one in tiktoken's
                form (``cl100k_base.tiktoken``) or of merges in GPT-2's (``merges.txt``,
                ``vocab.bpe``), or a model of SentencePiece; or a tokenizer:
                ``tokenizers.Tokenizer``, a fast one of ``transformers``, an ``Encoding`` of
                ``tiktoken``, a ``SentencePieceProcessor``, which is written to a file of this
                process. None: a token is a byte.
            vocab: the numbers of tokens for a file of merges (``vocab.json``, ``encoder.json``).
            pattern: how text is divided before bytes are merged, for files that do not say it:
                ``"gpt2"`` (which None is), ``"cl100k"``, ``"o200k"`` or ``"none"``.
            dtype: ``"int64"`` or ``"int32"``.
            special: what becomes of special tokens, such as ``<|endoftext|>``, that stand in a
                text: ``"allow"``, they are tokens; ``"refuse"``, they are an error; ``"text"``,
                they are text like any other. None: ``"allow"`` for a tokenizer of Hugging Face,
                else ``"text"``.
            add_special_tokens: whether the template of a ``tokenizer.json`` adds its tokens, such
                as those of beginning and end.
            bos: a token that stands before those of each text: its number, or its name in the
                tokenizer; None: none does.
            eos: a token that stands after those of each text, such as 50256 of GPT-2's
                ``<|endoftext|>``; None: none does.
            slot: the text.
            output: the slot for the tokens.

        Raises:
            TypeError: ``merges`` is neither a path nor such a tokenizer.
            Error: a dtype, pattern or special is not one of these; at the first element: a file is
                missing or damaged, or has a part that is not supported, with its name; at an
                element: a special token that is refused, or text that is not UTF-8.

        Source: operator tokenize; tiktoken; tokenizers; sentencepiece.
        """
        return self.apply(
            "tokenize",
            slot,
            output,
            mode="bytes" if merges is None else "bpe",
            merges=None if merges is None else file_of_tokenizer(merges),
            vocab=None if vocab is None else os.fspath(vocab),
            pattern=pattern,
            dtype=_number_of(dtype),
            special=special,
            add_special_tokens=add_special_tokens,
            **_token("bos", bos),
            **_token("eos", eos),
        )

    def lookup(
        self,
        vocab: Path | Sequence[str],
        *,
        first: int = 0,
        default: int | None = None,
        num_oov_buckets: int | None = None,
        null: int | None = None,
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Words, text each, become the numbers of their lines in a file, int64 ``[words]``.

        What ``StringLookup(mask_token="", num_oov_indices=1)`` of Keras does is
        ``lookup("words.txt", first=2, default=1, null=0)``.

        Args:
            vocab: the file, one word a line, or a list of the words.
            first: the number of the first line.
            default: what other words become; if neither it nor ``num_oov_buckets`` is given,
                another word is an error.
            num_oov_buckets: how many numbers other words become, each word one of them by its hash
                (``hash_bucket``): those from ``default`` on, or, if that is not given, those after
                the vocabulary's.
            null: what the empty word becomes, as which a null is read; None: it is a word like
                others.
            slot: the words.
            output: the slot for the numbers.

        Raises:
            Error: at an element: it has another word, or the file is missing or damaged.

        Source: operator lookup; what ``vocab=`` of fields does; tf.lookup.StaticVocabularyTable.
        """
        return self.apply(
            "lookup",
            slot,
            output,
            vocab=file_of_words(vocab),
            first=first,
            default=default,
            num_oov_buckets=num_oov_buckets,
            null=null,
        )

    def hash_bucket(
        self,
        buckets: int,
        *,
        null: int | None = None,
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Words, text each, become their hash (XXH64) modulo ``buckets``, int64 ``[words]``.

        Args:
            buckets: the numbers are below it; different words may get one number.
            null: what the empty word becomes, as which a null is read, such as ``buckets``, which
                no other word gets; None: it is a word like others.
            slot: the words.
            output: the slot for the numbers.

        Source: operator hash_bucket; what ``hash=`` of fields does.
        """
        return self.apply("hash_bucket", slot, output, buckets=buckets, null=null)

    def cross(self, slots: Sequence[str], buckets: int, *, output: str | None = None) -> Self:
        """What several slots have in a row becomes one number, by a hash, int64 ``[n]``. ::

            reader.cross(["user", "hour"], 100_000)  # the new slot user_x_hour

        An integer that is missing by its mask ``NAME.valid`` is another one than 0.

        Args:
            slots: texts, or integers ``[n]``, with equally many rows.
            buckets: the numbers are below it; different rows may get one number.
            output: the slot for the numbers; None is a new one, the names joined by ``_x_``.

        Raises:
            Error: there is no such slot, or one has numbers that are no integers, or another number
                of rows.

        Source: operator cross; keras.layers.HashedCrossing.
        """
        name = "_x_".join(slots) if output is None else output
        masks = {i: mask for i, slot in enumerate(slots) if (mask := self._mask_of(slot))}
        inputs = {"X": list(slots), **({"Valid": [*masks.values()]} if masks else {})}
        masked = [*masks] or None  # states saved by older versions stay valid
        return self.apply("cross", inputs, name, buckets=buckets, masked=masked)

    def bucketize(
        self,
        boundaries: Sequence[float],
        *,
        null: int | None = None,
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Numbers become how many of the ascending boundaries are at most the number, int64.

        Args:
            boundaries: in ascending order.
            null: what NaN becomes, and what is missing by the mask ``NAME.valid``, such as
                ``len(boundaries) + 1``, which no number gets; None: ``len(boundaries)``, as what is
                above all of them.
            slot: the numbers.
            output: the slot for how many.

        Source: operator bucketize; numpy.digitize.
        """
        return self.apply(
            "bucketize",
            self._with_mask(slot),
            output,
            boundaries=[float(boundary) for boundary in boundaries],
            null=null,
        )

    def one_hot(
        self,
        depth: int,
        *,
        dtype: str = "float32",
        allow_out_of_range: bool = False,
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Integers ``[n]`` or ``[..., 1]`` become rows of zeros with a one, ``[..., depth]``.

        Source: operator one_hot; Paddle Fluid.
        """
        return self.apply(
            "one_hot",
            slot,
            output,
            depth=depth,
            dtype=_number_of(dtype),
            allow_out_of_range=allow_out_of_range,
        )

    def truncate(
        self,
        length: int,
        *,
        keep: str = "first",
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Keeps the first (or ``"last"``) ``length`` rows of each sequence.

        Source: operator truncate.
        """
        return self.apply("truncate", slot, output, length=length, keep=keep)

    def pad_sequence(
        self,
        length: int | None = None,
        *,
        value: float = 0,
        truncate: bool = False,
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Sequences become ``[sequences, length, ...]``, with a value after the shorter ones.

        Args:
            length: None is that of the longest sequence of the element, or batch.
            value: what padding is.
            truncate: whether longer sequences are cut; otherwise they are an error.
            slot: the sequences.
            output: the slot for the rows.

        Source: operator pad_sequence.
        """
        return self.apply(
            "pad_sequence", slot, output, length=length, value=float(value), truncate=truncate
        )

    def sequence_mask(
        self,
        maxlen: int | None = None,
        *,
        dtype: str = "int64",
        slot: str | None = None,
        output: str | None = None,
    ) -> Self:
        """Ones where rows of ``pad_sequence`` have values, zeros where they have padding.

        Args:
            maxlen: the length of rows; None is the greatest length of the element, or batch.
            dtype: of the mask.
            slot: sequences, or integers, which are lengths.
            output: the slot for the mask, ``[sequences, maxlen]``.

        Source: operator sequence_mask; Paddle Fluid.
        """
        return self.apply("sequence_mask", slot, output, maxlen=maxlen, out_dtype=_number_of(dtype))
