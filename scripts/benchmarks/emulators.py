"""The bare emulator beside ALE's: `emulators.py [--rounds N]`, on one core, in turns, CPU time.

Ten games, each with the same file of random actions: ALE's `act`, which always draws, and
atari_core drawing no frame, every fourth, and every one. RAM after every hundredth frame must be
the same for all four. Starts of games are not timed. Writes `docs/results/bench-emulator.json`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

import ale_py
import numpy as np
from ale_py import roms
from harness import RESULTS, ROOT, machine, store

SPEED = ROOT / "target/release/examples/speed"
GAMES = (
    "asterix",
    "beam_rider",
    "breakout",
    "enduro",
    "montezuma_revenge",
    "ms_pacman",
    "pong",
    "qbert",
    "seaquest",
    "space_invaders",
)
FRAMES = 10_000
# As in the speed example: the byte that begins a new game, and frames between two looks at RAM.
NEW_GAME = 255
CHECKED_EVERY = 100
# What is drawn, and how the speed example is told.
DRAWN = {"none": 0, "every fourth": 4, "every": 1}


def loaded(rom: Path) -> ale_py.ALEInterface:
    """Return an ALE with the game begun, without sticky actions."""
    ale = ale_py.ALEInterface()
    ale.setInt("random_seed", 0)
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(rom)
    return ale


def random_play(rom: Path) -> np.ndarray:
    """Return actions, each held for 1 to 7 frames, and a new game where one ends: uint8 `[n]`."""
    ale, rng = loaded(rom), np.random.default_rng(0)
    bytes_: list[int] = []
    action, held = 0, 0
    for _ in range(FRAMES):
        if held == 0:
            action, held = int(rng.integers(18)), int(rng.integers(1, 8))
        held -= 1
        ale.act(action)
        bytes_.append(action)
        if ale.game_over(with_truncation=False):
            ale.reset_game()
            bytes_.append(NEW_GAME)
    return np.array(bytes_, np.uint8)


def ale_turn(rom: Path, actions: list[int]) -> tuple[float, int]:
    """Return the CPU seconds that ALE's `act` took, and the checksum of RAM."""
    ale = loaded(rom)
    checksum, frames, seconds = 0, 0, 0.0
    started = time.process_time()
    for action in actions:
        if action == NEW_GAME:
            seconds += time.process_time() - started
            ale.reset_game()
            started = time.process_time()
            continue
        ale.act(action)
        frames += 1
        if frames % CHECKED_EVERY == 0:
            checksum = zlib.crc32(ale.getRAM(), checksum)
    return seconds + time.process_time() - started, checksum


def our_turn(rom: Path, actions: Path, drawn_every: int) -> tuple[float, int]:
    """Return the CPU seconds that atari_core took, and the checksum of RAM."""
    command = [str(SPEED), str(rom), str(actions), str(drawn_every)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    seconds, checksum = printed.split()
    return float(seconds), int(checksum)


def measure(game: str, rounds: int, folder: Path) -> dict[str, Any]:
    """Return frames per second of each, round by round."""
    rom = Path(roms.get_rom_path(game))
    file = folder / f"{game}.actions"
    actions = random_play(rom)
    actions.tofile(file)
    sample: dict[str, Any] = {"game": game, "ale": [], **{drawn: [] for drawn in DRAWN}}
    for _ in range(rounds):
        turns = {"ale": ale_turn(rom, actions.tolist())}
        turns |= {drawn: our_turn(rom, file, every) for drawn, every in DRAWN.items()}
        checksums = {checksum for _, checksum in turns.values()}
        if len(checksums) > 1:
            sys.exit(f"{game}: unequal work, checksums {checksums}")
        for name, (seconds, _) in turns.items():
            sample[name].append(FRAMES / seconds)
    return sample


def ratios(sample: dict[str, Any]) -> list[float]:
    """Return how many times as fast as ALE each is, the median of the rounds."""
    pairs = [zip(sample[drawn], sample["ale"], strict=True) for drawn in DRAWN]
    return [statistics.median(ours / ales for ours, ales in pair) for pair in pairs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="turns of all four")
    arguments = parser.parse_args()
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    about = machine()
    # The processes that are started inherit it.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    ours = " | ".join(f"{drawn} drawn" for drawn in DRAWN)
    print(f"| game | ALE, frames/s of CPU time | ours: {ours} |")
    print("| --- | --- | --- | --- | --- |")
    samples = []
    with tempfile.TemporaryDirectory() as folder:
        for game in GAMES:
            sample = measure(game, arguments.rounds, Path(folder))
            samples.append(sample)
            speeds = [statistics.median(sample[name]) for name in ("ale", *DRAWN)]
            cells = (f"{s:.0f} ({r:.2f})" for s, r in zip(speeds[1:], ratios(sample), strict=True))
            print(f"| {game} | {speeds[0]:.0f} | {' | '.join(cells)} |", flush=True)
    medians = [statistics.median(each) for each in zip(*map(ratios, samples), strict=True)]
    print("| median of the games | | " + " | ".join(f"**{m:.2f}**" for m in medians) + " |")
    path = RESULTS / "bench-emulator.json"
    record = {
        "command": f"./scripts/bench --rounds {arguments.rounds} emulator",
        "machine": about,
        "ale_py": ale_py.__version__,
        "frames": FRAMES,
        "median_ratios": dict(zip(DRAWN, medians, strict=True)),
    }
    store(path, record, samples)
    print(f"\nraw samples: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
