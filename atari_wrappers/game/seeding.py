"""Where a game's random numbers come from: ALE's own seed, and the draws of no-op counts.

Two ways are in use, `Recipe.seeding` names one, and the tests compare both with those who use them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.utils import seeding

from atari_wrappers.checks import check_choice, check_number
from atari_wrappers.plain_data import check_alike


class HashedDraws:
    """As gymnasium's Atari env: `seed` is hashed to ALE's seed and to that of a PCG64.

    Attributes:
        ale_seed: ALE's `random_seed`, a signed 32-bit integer.
        generator: What counts are drawn from, the env's `np_random`.
    """

    generator: np.random.Generator

    def __init__(self, seed: int) -> None:
        own, ales = np.random.SeedSequence(seed).generate_state(2)
        self.ale_seed: int = int(ales.astype(np.int32))
        self.generator, _ = seeding.np_random(int(own))

    def between(self, low: int, high: int) -> int:
        """Return a uniform integer from `low` to `high`, both included."""
        return int(self.generator.integers(low, high + 1))

    def state(self) -> Any:
        """Return where in its sequence this stands, as plain data."""
        return self.generator.bit_generator.state

    def check_state(self, state: Any) -> None:
        """Refuse what `set_state` cannot take, by a `ValueError`."""
        check_alike("rules.draws", state, self.state())
        for name, number in state["state"].items():
            check_number(f"rules.draws.state.{name}", number, 0, (1 << 128) - 1)
        check_number("rules.draws.has_uint32", state["has_uint32"], 0, 1)
        check_number("rules.draws.uinteger", state["uinteger"], 0, (1 << 32) - 1)
        check_choice("rules.draws.bit_generator", state["bit_generator"], ("PCG64",))

    def set_state(self, state: Any) -> None:
        """Go to where a `state` was taken."""
        self.generator.bit_generator.state = state


class RawDraws:
    """As the C++ vector envs: `seed` is ALE's, and that of a `std::mt19937`."""

    def __init__(self, seed: int) -> None:
        self.ale_seed = seed
        self._twister = np.random.RandomState(seed)

    def between(self, low: int, high: int) -> int:
        """Return a uniform integer from `low` to `high`, both included.

        By the reduction of libstdc++'s `uniform_int_distribution` (Lemire 2019, "Fast random
        integer generation in an interval").
        """
        span = high - low + 1
        while True:
            product = int.from_bytes(self._twister.bytes(4), "little") * span
            if product & 0xFFFFFFFF >= (1 << 32) % span:
                return low + (product >> 32)

    def state(self) -> Any:
        """Return where in its sequence this stands, as plain data."""
        return self._twister.get_state(legacy=False)

    def check_state(self, state: Any) -> None:
        """Refuse what `set_state` cannot take, by a `ValueError`."""
        check_twister("rules.draws", state)

    def set_state(self, state: Any) -> None:
        """Go to where a `state` was taken."""
        self._twister.set_state(state)


def check_twister(name: str, state: Any) -> None:
    """Refuse, by a `ValueError`, what would have numpy's Mersenne Twister read beyond its words."""
    check_alike(name, state, np.random.RandomState(0).get_state(legacy=False))
    check_choice(f"{name}.bit_generator", state["bit_generator"], ("MT19937",))
    check_number(f"{name}.state.pos", state["state"]["pos"], 0, len(state["state"]["key"]))
    check_number(f"{name}.has_gauss", state["has_gauss"], 0, 1)


Draws = HashedDraws | RawDraws


def make_draws(way: str, seed: int | None) -> Draws:
    """Return what `Recipe.seeding` names, from fresh entropy where there is no seed."""
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0] >> 1)
    return HashedDraws(seed) if way == "hashed" else RawDraws(seed)
