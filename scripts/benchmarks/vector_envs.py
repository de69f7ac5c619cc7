"""Backends beside their peers: `vector_envs.py [--rounds N] [--envs N …] [--games ROM …] [PAIR …]`.

Both of a pair run in this process, in turns of a few hundred milliseconds, with the same recipe,
seeds and actions; the sums of their rewards must agree. The ratio is that of each round's two
times, so that a slow moment of the machine meets both; that of CPU times, of pairs that run in this
process alone, leaves out what else the machine does. With several games, the median of their
medians follows. Writes `docs/results/bench-envs.json`, or what `--output` names.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import math
import os
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any

import ale_py
import envpool
import gymnasium as gym
import numpy as np
from ale_py.vector_env import AtariVectorEnv
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from harness import RESULTS, command_line, machine, store
from stable_baselines3.common.env_util import make_atari_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecFrameStack

from atari_wrappers import envpool as our_envpool
from atari_wrappers import make_vec
from atari_wrappers.remote import RemoteVecEnv

gym.register_envs(ale_py)
SIZES = (1, 8, 64, 256, 1024)
CHUNK_SECONDS = 0.4
# The most envs of a pair. 64 processes of SubprocVecEnv, each with torch, do not fit into 24 GiB.
MOST = {"async, SB3 SubprocVecEnv": 8, "native for two, sync for two": 8}
MOST_OF_PYTHON = 256

Step = Callable[[np.ndarray], float]  # actions to the sum of rewards
Opened = tuple[Step, Callable[[], Any]]
Open = Callable[[str, int], Opened]  # a ROM and the number of envs


def name_of(rom: str) -> str:
    """Return what gymnasium and EnvPool call a game."""
    return "".join(map(str.capitalize, rom.split("_")))


def ours(rom: str, num_envs: int, **settings: Any) -> Opened:
    """Our vector env."""
    vec = make_vec(f"{name_of(rom)}NoFrameskip-v4", num_envs, **settings)
    vec.reset(seed=0)
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def of_ours(backend: str, preset: str, **settings: Any) -> Open:
    """Return what opens our vector env with a backend and a recipe."""
    return lambda rom, num_envs: ours(rom, num_envs, backend=backend, preset=preset, **settings)


def for_two(backend: str, rom: str, num_envs: int) -> Opened:
    """Games for two: the second players take the first ones' actions, those of other games."""
    vec = make_vec(f"{name_of(rom)}NoFrameskip-v4", num_envs, num_players=2, backend=backend)
    vec.reset(seed=0)

    def step(actions: np.ndarray) -> float:
        rewards = vec.step(np.stack([actions, actions[::-1]], axis=1))[1]
        return float(rewards[:, 0].sum())  # what one wins the other may lose

    return step, vec.close


def remote(rom: str, num_envs: int) -> Opened:
    """Our vector env in a server's process, over loopback."""
    command = [sys.executable, "-m", "atari_wrappers", "serve", f"{name_of(rom)}NoFrameskip-v4"]
    command += ["--num-envs", str(num_envs), "--listen", "127.0.0.1:0"]
    environment = os.environ | {"ATARI_WRAPPERS_TOKEN": "benchmark"}
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    address = server.stderr.readline().split()[-1]
    vec = RemoteVecEnv(address, token="benchmark")
    vec.reset(seed=0)

    def close() -> None:
        vec.close()
        server.terminate()
        server.communicate()

    return lambda actions: float(vec.step(actions)[1].sum()), close


def ale(rom: str, num_envs: int) -> Opened:
    """ALE's own."""
    vec = AtariVectorEnv(rom, num_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    vec.reset(seed=np.arange(num_envs))
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def preprocessed(rom: str) -> gym.Env:
    """Gymnasium's single env."""
    env = gym.wrappers.AtariPreprocessing(gym.make(f"{name_of(rom)}NoFrameskip-v4"))
    return gym.wrappers.FrameStackObservation(env, 4)


def gymnasium(vector: type, rom: str, num_envs: int) -> Opened:
    """Gymnasium's vector envs, observations copied as they are by default."""
    makers = [partial(preprocessed, rom)] * num_envs
    vec = vector(makers, autoreset_mode=AutoresetMode.SAME_STEP)
    vec.reset(seed=0)
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def baselines(vector: type, rom: str, num_envs: int) -> Opened:
    """The vector envs of stable-baselines3."""
    env_id = f"{name_of(rom)}NoFrameskip-v4"
    vec = VecFrameStack(make_atari_env(env_id, num_envs, seed=0, vec_env_cls=vector), 4)
    vec.reset()
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


def pool(envpool: ModuleType, rom: str, num_envs: int) -> Opened:
    """EnvPool, or ours in its words: what runs is the same script with another import."""
    vec = envpool.make(f"{name_of(rom)}-v5", env_type="gymnasium", num_envs=num_envs, seed=0)
    vec.reset()
    return lambda actions: float(vec.step(actions)[1].sum()), vec.close


their_pool = partial(pool, envpool)

PAIRS: dict[str, tuple[Open, Open]] = {
    "native, AtariVectorEnv": (of_ours("native", "ale"), ale),
    "native, EnvPool": (of_ours("native", "envpool", autoreset="next-step"), their_pool),
    "envpool's words, EnvPool": (partial(pool, our_envpool), their_pool),
    "ale, AtariVectorEnv": (of_ours("ale", "ale"), ale),
    "sync, gymnasium SyncVectorEnv": (
        of_ours("sync", "gymnasium"),
        partial(gymnasium, SyncVectorEnv),
    ),
    "async, gymnasium AsyncVectorEnv": (
        of_ours("async", "gymnasium"),
        partial(gymnasium, AsyncVectorEnv),
    ),
    "sync, SB3 DummyVecEnv": (of_ours("sync", "baselines"), partial(baselines, DummyVecEnv)),
    "async, SB3 SubprocVecEnv": (of_ours("async", "baselines"), partial(baselines, SubprocVecEnv)),
    "native for two, sync for two": (partial(for_two, "native"), partial(for_two, "sync")),
    "remote, native": (remote, of_ours("native", "default")),
    "async, EnvPool": (of_ours("async", "envpool", autoreset="next-step"), their_pool),
}


# Neither side has worker processes, whose CPU time would be missing.
IN_PROCESS = (
    "native, AtariVectorEnv",
    "native, EnvPool",
    "envpool's words, EnvPool",
    "native for two, sync for two",
    "ale, AtariVectorEnv",
)


def measure(pair: str, rom: str, num_envs: int, rounds: int) -> dict[str, Any]:
    """Return the steps per second of both, round by round."""
    opened = [make(rom, num_envs) for make in PAIRS[pair]]
    num_actions = gym.make(f"{name_of(rom)}NoFrameskip-v4").action_space.n
    rng = np.random.default_rng(0)
    speeds: list[list[float]] = [[], []]
    cpu: list[list[float]] = [[], []]
    rewards = [0.0, 0.0]
    chunk = 1
    try:
        for number in range(-2, rounds):  # two rounds to warm up, and to find the chunk's length
            actions = rng.integers(num_actions, size=(chunk, num_envs))
            seconds, busy = [0.0, 0.0], [0.0, 0.0]
            for which in (0, 1) if number % 2 else (1, 0):
                step = opened[which][0]
                started, started_cpu = time.perf_counter(), time.process_time()
                for row in actions:
                    rewards[which] += step(row)
                seconds[which] = time.perf_counter() - started
                busy[which] = time.process_time() - started_cpu
            if number < 0:
                chunk = max(1, round(chunk * CHUNK_SECONDS / max(seconds)))
                continue
            for which in (0, 1):
                speeds[which].append(chunk * num_envs / seconds[which])
                cpu[which].append(1e6 * busy[which] / (chunk * num_envs))
    finally:
        for _, close in opened:
            close()
    if rewards[0] != rewards[1]:
        sys.exit(f"{pair}, {rom}, {num_envs} envs: unequal work, rewards {rewards}")
    sample = {"pair": pair, "game": rom, "num_envs": num_envs, "ours": speeds[0], "peer": speeds[1]}
    if pair in IN_PROCESS:
        sample |= {"ours_cpu_us_per_step": cpu[0], "peer_cpu_us_per_step": cpu[1]}
    return sample


def ratios(sample: dict[str, Any]) -> tuple[np.ndarray, float]:
    """Return the quartiles of the rounds' ratios, and the median of those of CPU time, or NaN."""
    by_clock = np.divide(sample["ours"], sample["peer"])
    by_cpu = [math.nan]
    if "ours_cpu_us_per_step" in sample:
        by_cpu = np.divide(sample["peer_cpu_us_per_step"], sample["ours_cpu_us_per_step"])
    return np.quantile(by_clock, (0.25, 0.5, 0.75)), float(np.median(by_cpu))


def row(sample: dict[str, Any]) -> str:
    """Return a line of the table."""
    (low, middle, high), by_cpu = ratios(sample)
    backend, peer = sample["pair"].split(", ", 1)
    return (
        f"| {backend} | {peer} | {sample['game']} | {sample['num_envs']} "
        f"| {statistics.median(sample['ours']):.0f} | {statistics.median(sample['peer']):.0f} "
        f"| **{middle:.3f}** | {low:.3f} to {high:.3f} | {by_cpu:.2f} |"
    )


def medians(samples: list[dict[str, Any]]) -> list[str]:
    """Return a line for each pair and number of envs: the median of the games' medians."""
    groups = defaultdict(list)
    for sample in samples:
        (_, middle, _), by_cpu = ratios(sample)
        groups[sample["pair"], sample["num_envs"]].append((middle, by_cpu))
    return [
        f"{pair}, {num_envs} envs, median of {len(of_games)} games: "
        + "{:.3f}, of CPU time {:.2f}".format(*np.median(of_games, axis=0))
        for (pair, num_envs), of_games in groups.items()
        if len(of_games) > 1
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", metavar="PAIR", help=f"of: {'; '.join(PAIRS)}")
    parser.add_argument("--rounds", type=int, default=20, help="turns of both")
    parser.add_argument("--envs", type=int, nargs="+", default=SIZES, help="numbers of envs")
    parser.add_argument("--games", nargs="+", default=["space_invaders"], help="ROMs")
    parser.add_argument("--output", default="bench-envs.json", help="file in docs/results")
    arguments = parser.parse_args()
    if unknown := set(arguments.pairs) - set(PAIRS):
        parser.error(f"no such pair: {', '.join(unknown)}")
    path = RESULTS / arguments.output
    samples: list[dict[str, Any]] = []
    record = {"command": command_line(), "machine": machine()}
    print("| ours | peer | game | envs | steps/s | peer's | ratio | its quartiles | of CPU time |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for pair, num_envs, rom in itertools.product(
        arguments.pairs or PAIRS, arguments.envs, arguments.games
    ):
        most = num_envs if pair.startswith(("native", "envpool")) else MOST_OF_PYTHON
        if num_envs > MOST.get(pair, most):
            continue
        samples.append(measure(pair, rom, num_envs, arguments.rounds))
        store(path, record, samples)
        print(row(samples[-1]), flush=True)
        gc.collect()
    print("\n".join(["", *medians(samples), f"raw samples: {path}"]))


if __name__ == "__main__":
    main()
