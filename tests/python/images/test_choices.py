# SPDX-License-Identifier: Apache-2.0
"""Steps that are applied by chance: random_apply, random_choice, random_order."""

from __future__ import annotations

import hashlib
from typing import Any

import millhopper
import numpy as np
import pytest
from millhopper import Error, Reader, vision
from millhopper.base.zipped import zip_strict

COUNT = 2000


def values(reader: Reader) -> np.ndarray:
    """The numbers of a pass."""
    return np.concatenate([np.asarray(batch["image"]).reshape(-1) for batch in reader])


def numbers(seed: int = 1) -> Reader:
    """Zeros, whose changes can be told from what they are then."""
    return Reader.from_arrays({"image": np.zeros((COUNT, 1), np.float32)}, seed=seed)


def add(number: float) -> Any:
    return lambda reader: reader.apply("scale", "image", scale=1.0, bias=float(number))


def times(number: float) -> Any:
    return lambda reader: reader.apply("scale", "image", scale=float(number), bias=0.0)


def test_steps_are_applied_with_their_probability() -> None:
    made = values(numbers().random_apply(add(1), p=0.3))
    assert set(made) == {0.0, 1.0}
    assert abs(made.mean() - 0.3) < 0.04
    assert values(numbers().random_apply(add(1), p=0.0)).max() == 0
    assert values(numbers().random_apply(add(1), p=1.0)).min() == 1


def test_one_of_several_is_chosen() -> None:
    made = values(numbers().random_choice([add(1), add(2), add(4)], p=[1, 2, 5]))
    found, counts = np.unique(made, return_counts=True)
    assert found.tolist() == [1, 2, 4]
    np.testing.assert_allclose(counts / COUNT, [1 / 8, 2 / 8, 5 / 8], atol=0.04)


def test_what_has_no_share_is_not_chosen() -> None:
    reader = numbers().random_choice([add(1), add(2), add(4)], p=[0, 1 / 3, 0])
    assert set(values(reader)) == {2}


def test_all_are_applied_in_any_order() -> None:
    made = values(numbers().random_order([add(1), times(2), add(3)]))
    orders = {}  # what each makes of 0
    for order in ("123", "132", "213", "231", "312", "321"):
        value = 0.0
        for step in order:
            value = value * 2 if step == "2" else value + float(step)
        orders[order] = value
    assert set(made) == set(orders.values())
    expected = [list(orders.values()).count(value) / 6 for value in np.unique(made)]
    counts = np.unique(made, return_counts=True)[1]
    np.testing.assert_allclose(counts / COUNT, expected, atol=0.04)


def test_choices_within_choices_are_the_same_for_any_threads(pool: None) -> None:
    def passes(threads: int) -> list[list[float]]:
        millhopper.set_threads(threads)
        reader = numbers().random_apply(lambda r: r.random_choice([add(1), add(2)]))
        reader = reader.random_apply(add(10), p=0.5)
        return [values(reader).tolist() for _ in range(2)]

    first = passes(0)
    assert first[0] != first[1]
    assert set(first[0]) == {0, 1, 2, 10, 11, 12}
    assert passes(2) == first
    assert passes(7) == first


def test_a_step_may_stand_in_a_choice_and_after_it() -> None:
    images = np.zeros((20, 4, 4, 1), np.uint8)
    reader = Reader.from_arrays({"image": images}).random_apply(lambda r: r.pad(1)).pad(2)
    sides = {element["image"].shape[1] for element in reader}
    assert sides == {8, 10}


def test_images_of_a_known_size_may_get_another_one() -> None:
    images = np.zeros((30, 4, 5, 1), np.uint8)
    reader = Reader.from_arrays({"image": images})
    for made, sizes in {
        reader.random_apply(lambda r: r.resize((6, 5))): {(4, 5), (6, 5)},
        reader.random_choice([lambda r: r.pad(1), lambda r: r.resize(9)]): {(6, 7), (9, 11)},
    }.items():
        found = {element["image"].shape[1:3] for element in made}
        assert found == sizes
        assert made.resize((3, 3)).slots() == [("uint8", [1, 3, 3, 1], 0)]


def test_choices_of_one_kind_within_each_other_draw_their_own() -> None:
    reader = numbers().random_apply(
        lambda r: r.random_choice([lambda q: q.random_apply(add(1)), lambda q: q])
    )
    made = values(reader.batch(100))
    assert abs((made == 1).mean() - 0.125) < 0.03
    twice = numbers().random_apply(lambda r: r.random_apply(add(1)))
    assert abs(values(twice.batch(100)).mean() - 0.25) < 0.04
    ordered = numbers().random_order([lambda r: r.random_order([add(1), times(2)]), add(3)])
    # ((0 + 1) * 2) + 3, (0 * 2 + 1) + 3, ((0 + 3) + 1) * 2, (0 + 3) * 2 + 1
    assert set(values(ordered.batch(100))) == {5, 4, 8, 7}
    with pytest.raises(Error, match="another step or reader has the name 'a'"):
        numbers().random_apply(lambda r: r.random_apply(add(1), name="a"), name="a")


def test_the_image_stays_what_the_next_method_works_on() -> None:
    arrays = {
        "image": np.zeros((1, 1, 4, 4, 3), np.uint8),
        "mask": np.zeros((1, 1, 4, 4, 1), np.uint8),
    }
    reader = Reader.from_arrays(arrays)
    reader = reader.apply("reshape", "image", shape=[1, 4, 4, 3])
    reader = reader.apply("reshape", "mask", shape=[1, 4, 4, 1])
    for slots in (["image", "mask"], ["mask", "image"]):
        (plain,) = reader.random_horizontal_flip(slots=slots).random_invert(1.0)
        assert (np.asarray(plain["image"]) == 255).all()
        assert (np.asarray(plain["mask"]) == 0).all()
        flipped = reader.random_apply(lambda r: r.random_horizontal_flip(slots=slots))  # noqa: B023
        (chosen,) = flipped.random_invert(1.0)
        assert (np.asarray(chosen["image"]) == 255).all()
        assert (np.asarray(chosen["mask"]) == 0).all()


def test_images_keep_their_size_and_are_batched() -> None:
    arrays = {"image": np.random.default_rng(2).integers(0, 256, (64, 8, 8, 3), dtype=np.uint8)}
    reader = Reader.from_arrays(arrays, seed=3)
    plain = reader.apply("reshape", "image", shape=[1, 8, 8, 3])
    changed = plain.random_apply(lambda r: r.random_invert(1.0, slot="image"), p=0.5).normalize(
        slot="image"
    )
    inverted = 0
    for one, other in zip_strict(plain.batch(16), changed.batch(16)):
        for before, after in zip_strict(np.asarray(one["image"]), np.asarray(other["image"])):
            same = np.allclose(before / 255, after, atol=1e-6)
            assert same or np.allclose(1 - before / 255, after, atol=1e-6)
            inverted += not same
    assert 15 < inverted < 49


def test_draws_depend_on_seed_and_name() -> None:
    first = values(numbers().random_apply(add(1)))
    assert (values(numbers().random_apply(add(1))) == first).all()
    assert (values(numbers(seed=2).random_apply(add(1))) != first).any()
    assert (values(numbers().random_apply(add(1), seed=5)) != first).any()
    assert (values(numbers().random_apply(add(1), name="other")) != first).any()
    twice = values(numbers().random_apply(add(1)).random_apply(add(2)))
    assert set(twice) == {0, 1, 2, 3}


def test_wrong_functions_say_what_is_wanted() -> None:
    with pytest.raises(TypeError, match="is no function of a reader"):
        numbers().random_apply("flip")  # type: ignore[arg-type]
    with pytest.raises(Error, match="a function returns Reader that is not its reader with more"):
        numbers().random_apply(lambda reader: reader.batch(2))
    with pytest.raises(Error, match="p is 1.5; it is from 0 to 1"):
        numbers().random_apply(add(1), p=1.5)
    with pytest.raises(Error, match="2 probabilities for 1 steps"):
        numbers().random_choice([add(1)], p=[0.5, 0.5])
    with pytest.raises(Error, match="it takes 1 to 4"):
        numbers().random_order([add(1)] * 5)
    order = lambda r: r.random_order([add(1), times(2), add(3)])  # noqa: E731
    orders = lambda r: r.random_order([order, order, order])  # noqa: E731
    numbers().random_order([orders, order])  # of 2 * (1 + 6 * (1 + 3 * 6) + 6) blocks
    with pytest.raises(Error, match="random_order: 1416 blocks of the program, and at most 1000"):
        numbers().random_order([lambda r: r.random_apply(orders), orders, order])
    with pytest.raises(Error, match="an alternative makes a new slot, 'new'"):
        numbers().random_apply(lambda r: r.apply("scale", "image", "new", scale=2.0))


def test_types_that_differ_are_an_error_that_says_where() -> None:
    arrays = {"image": np.zeros((2, 1, 4, 4, 3), np.uint8)}
    of_any_type = Reader.from_arrays(arrays).apply("reshape", "image", shape=[1, 4, 4, 3])
    reader = of_any_type.cast("uint8")

    def normalized(some: Reader) -> Reader:
        return some.normalize(slot="image")

    def inverted(some: Reader) -> Reader:
        return some.random_invert(1.0, slot="image")

    with pytest.raises(
        Error,
        match=r"slot 'image' would be float32 \[1, 4, 4, 3\] if the steps are applied, and uint8 "
        r'\[1, 4, 4, 3\] if they are not; .* after the choice.*\.cast\("float32", slot="image"\)',
    ):
        reader.random_apply(normalized)
    with pytest.raises(Error, match="float32 .* if alternative 0 is drawn, and uint8 .* if altern"):
        reader.random_choice([normalized, inverted])
    with pytest.raises(
        Error, match="uint8 .* if alternative 0 is drawn, and float32 .*native 1 is"
    ):
        reader.random_choice([inverted, normalized])
    with pytest.raises(Error, match=r"\[1, 48\] if the steps are applied, and uint8 .*change them"):
        reader.random_apply(lambda some: some.apply("reshape", "image", shape=[1, 48]))
    with pytest.raises(
        Error, match=r"random_apply, random_choice\) decides its type .*after the cho"
    ):
        next(iter(of_any_type.random_apply(normalized)))
    (one, _) = reader.random_choice([normalized, lambda some: some.cast("float32", slot="image")])
    assert np.asarray(one["image"]).dtype == np.float32


def test_transforms_are_chosen() -> None:
    arrays = {"image": np.zeros((400, 1, 4, 4, 1), np.uint8)}
    reader = Reader.from_arrays(arrays, seed=3).apply("reshape", "image", shape=[1, 4, 4, 1])
    invert, solarize = vision.RandomInvert(1.0), vision.RandomSolarize(200, 1.0)
    order = vision.RandomOrder([vision.RandomVerticalFlip(), invert])
    assert repr(order) == "RandomOrder([\n    RandomVerticalFlip(),\n    RandomInvert(1.0),\n])"
    chain = vision.Compose(
        [
            vision.RandomApply([invert, solarize], p=0.5),
            vision.RandomChoice([invert, vision.RandomPosterize(4, 1.0)]),
            order,
        ]
    )
    (batch,) = chain(reader, slot="image").batch(400)
    pixels = np.asarray(batch["image"])
    assert pixels.shape == (400, 4, 4, 1)
    assert set(np.unique(pixels)) == {0, 255}
    assert 0.3 < (pixels[:, 0, 0, 0] == 255).mean() < 0.7


def test_the_same_chain_in_cpp() -> None:
    """``fluent_reader_test.cc`` has the same digest of the bytes of two passes."""
    reader = Reader.create(
        "create_random_data_generator",
        slots={"image": ("float32", [1, 8, 9, 3], 0)},
        high=256.0,
        count=90,
        seed=5,
    )
    chain = (
        reader.cast("uint8")
        .random_apply(lambda r: r.apply("flip", p=0.5).apply("invert"), p=0.7)
        .random_choice(
            [
                lambda r: r.apply("rotate", degrees=[-30.0, 30.0]),
                lambda r: r.apply("flip", axis="vertical"),
                lambda r: r,
            ],
            p=[1, 2, 1],
            seed=3,
        )
        .random_order(
            [
                lambda r: r.random_apply(lambda q: q.apply("solarize")),
                lambda r: r.apply("color_jitter", brightness=[0.5, 1.5]),
            ]
        )
    )
    made = [np.asarray(one["image"]).tobytes() for _ in range(2) for one in chain]
    assert len(made) == 180
    pixels = b"".join(made)
    digest = hashlib.sha256(b"%d:%s" % (len(pixels), pixels)).hexdigest()
    assert digest == "6795d62710165b76530a6a54a27690db3f5b2197040026a1e85a0daba31231e6"
