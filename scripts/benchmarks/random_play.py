"""Games of random play: `random_play.py [ENV_ID] [--games N] [--seed N]`.

Each env plays one game, by the recipe that training has by default, with actions drawn uniformly:
of envs that begin the next game at once, the first few to end would be the short ones. Prints a row
for each game, raw return over all lives and length in agent steps, and the mean on standard error.
"""

from __future__ import annotations

import argparse
import csv
import sys

import numpy as np

from atari_wrappers import make_vec


def play(env_id: str, games: int, seed: int) -> list[tuple[float, int]]:
    """Return the raw return and the length of `games` games."""
    rng = np.random.default_rng(seed)
    played: dict[int, tuple[float, int]] = {}
    with make_vec(env_id, games) as vec:
        vec.reset(seed=seed)
        while len(played) < games:
            *_, info = vec.step(rng.integers(vec.single_action_space.n, size=games))
            for env in np.flatnonzero(info.get("_episode", [])):
                game = info["episode"]
                played.setdefault(int(env), (float(game["r"][env]), int(game["l"][env])))
    return [played[env] for env in range(games)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("env_id", nargs="?", default="SpaceInvadersNoFrameskip-v4")
    parser.add_argument("--games", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    played = play(arguments.env_id, arguments.games, arguments.seed)
    rows = csv.writer(sys.stdout, lineterminator="\n")
    rows.writerow(["raw_return", "length"])
    rows.writerows(played)
    returns = [raw_return for raw_return, _ in played]
    mean, deviation = np.mean(returns), np.std(returns, ddof=1)
    print(f"mean {mean:.1f} ± {deviation:.1f} (standard deviation)", file=sys.stderr)


if __name__ == "__main__":
    main()
