# SPDX-License-Identifier: Apache-2.0
"""The random numbers of operators, written anew from framework/base/random.h and image_draws.h."""

from __future__ import annotations

import math

_MASK = (1 << 64) - 1
_STEP = 0x9E3779B97F4A7C15


def _mixed(x: int) -> int:
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _MASK
    return x ^ (x >> 31)


class Key:
    """The draws of one operator for one record of the first pass."""

    def __init__(self, variable: str, sample: int, run_seed: int = 0, seed: int = 0) -> None:
        name = 0xCBF29CE484222325
        for byte in variable.encode():
            name = (name ^ byte) * 0x100000001B3 & _MASK
        key = _mixed(run_seed + _STEP & _MASK)
        key = _mixed(key ^ (seed + 2 * _STEP & _MASK))
        self._key = _mixed(key ^ (name + 3 * _STEP & _MASK))
        self._key = self.bits(sample, 0)

    def bits(self, index: int, image: int = 0) -> int:
        """Draw ``index`` of an image: 64 bits."""
        base = _mixed(self._key + image * _STEP & _MASK)
        return _mixed(base + (index + 1) * _STEP & _MASK)

    def part(self, number: int) -> Key:
        """The key of a part."""
        other = Key("", 0)
        other._key = _mixed(self._key ^ ((number + 1) * _STEP & _MASK))
        return other

    def below(self, n: int, index: int) -> int:
        return self.bits(index) * n >> 64

    def unit24(self, index: int) -> float:
        return (self.bits(index) >> 40) / 2**24

    def unit(self, index: int, image: int = 0) -> float:
        return (self.bits(index, image) >> 11) / 2**53

    def order(self, count: int, first: int) -> list[int]:
        places = list(range(count))
        for k in range(count - 1, 0, -1):
            other = self.below(k + 1, first + count - 1 - k)
            places[k], places[other] = places[other], places[k]
        return places


_TAIL = 3.442619855899
_AREA = 9.91256303526217e-3


def _height(x: float) -> float:
    return math.exp(-x * x / 2)


_EDGES = [_AREA / _height(_TAIL), _TAIL]
for _ in range(126):
    _EDGES.append(math.sqrt(-2 * math.log(_AREA / _EDGES[-1] + _height(_EDGES[-1]))))
_EDGES.append(0.0)


def normal(bits: int) -> float:
    """A normal number of these bits."""
    while True:
        layer = bits & 127
        side = 2 * ((bits >> 11) / 2**53) - 1
        x = side * _EDGES[layer]
        if abs(x) < _EDGES[layer + 1]:
            return x
        if layer == 0:
            while True:
                bits = _mixed(bits + _STEP & _MASK)
                beyond = -math.log(1 - (bits >> 11) / 2**53) / _TAIL
                bits = _mixed(bits + _STEP & _MASK)
                if -2 * math.log(1 - (bits >> 11) / 2**53) >= beyond * beyond:
                    return math.copysign(_TAIL + beyond, side)
        bits = _mixed(bits + _STEP & _MASK)
        low, high = _height(_EDGES[layer]), _height(_EDGES[layer + 1])
        if low + (bits >> 11) / 2**53 * (high - low) < _height(x):
            return x
        bits = _mixed(bits + _STEP & _MASK)


def log_gamma(key: Key, which: int, alpha: float) -> float:
    """The logarithm of a number of Gamma(alpha, 1)."""
    d = alpha + 1 - 1 / 3
    c = 1 / math.sqrt(9 * d)
    first = 1
    while True:
        drawn = math.sqrt(-2 * math.log(1 - key.unit(first, which))) * math.cos(
            6.283185307179586 * key.unit(first + 1, which)
        )
        root = 1 + c * drawn
        if root > 0:
            cube = root**3
            limit = drawn * drawn / 2 + d - d * cube + d * math.log(cube)
            if math.log(1 - key.unit(first + 2, which)) < limit:
                return math.log(d * cube) + math.log(1 - key.unit(0, which)) / alpha
        first += 3
