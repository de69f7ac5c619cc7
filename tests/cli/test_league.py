"""Self-play against past selves, and their ratings."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from program import CARTPOLE_RUN, Trainer
from run_files import rows, tensors
from scipy.optimize import minimize

# Games of 120 agent steps with a few points: two for both players, two against past selves.
PONG = [
    "--env-id", "PongNoFrameskip-v4", "--num-players", 2, "--max-episode-frames", 480,
    "--noop-max", 0, "--anneal-lr", "false", "--num-envs", 4, "--num-steps", 32,
    "--num-minibatches", 2, "--update-epochs", 1,
    "--opponent-games", 2, "--opponent-every", 500, "--opponent-pool", 2,
    "--checkpoint-every", 300, "--keep-checkpoints", 1,
]  # fmt: skip
NAME = "step-000000000960.safetensors"


def test_a_run_against_past_selves_goes_on_as_if_it_had_not_stopped(trainer: Trainer) -> None:
    out, _ = trainer.run("train", "--run-name", "whole", "--total-steps", 900, *PONG)
    assert "self-play of 2 in 4 environments, 2 of them against past selves" in out
    whole = trainer.folder / "runs/whole"
    # Both players of two games and one of two more: 6 rows of 32 steps make an update.
    steps = [int(row["step"]) for row in rows(whole / "updates.csv")]
    assert steps == list(range(192, 961, 192))
    assert {row["env"] for row in rows(whole / "episodes.csv")} <= set("012346")
    kept = sorted(path.name for path in (whole / "opponents").iterdir())
    assert [int(name[5:17]) for name in kept] == [0, 576]

    trainer.run("train", "--run-name", "run", "--total-steps", 400, *PONG)
    run = trainer.folder / "runs/run"
    out, err = trainer.run("train", "--resume", "runs/run", "--total-steps", 900)
    assert "going on from agent step 576" in out
    assert not re.search("past self|start over", err), err
    for name in ("checkpoints/" + NAME, *(f"opponents/{name}" for name in kept)):
        assert tensors(run / name) == tensors(whole / name), name
    # The games have gone on against whom they were played, by the same random numbers.
    states = [
        state for name, state in tensors(run / "checkpoints" / NAME).items() if "env_s" in name
    ]
    assert sum(b'"past_self":' in state for state in states) == 2

    # The network of a past self plays as any other; who lost one is told, and goes on.
    out, _ = trainer.run("eval", "runs/run/opponents/" + kept[1], "--episodes", 2)
    assert "at agent step 576" in out
    (run / "opponents" / kept[1]).unlink()
    out, err = trainer.run("train", "--resume", "runs/run", "--total-steps", 1100)
    assert f"could not read `runs/run/opponents/{kept[1]}`" in err
    assert "a past self is missing" in err
    (whole / "opponents" / kept[1]).write_bytes(b"")
    _, err = trainer.run("train", "--resume", "runs/whole", "--total-steps", 1100)
    assert (
        f"{kept[1]}`: is damaged, or no checkpoint: header too small: a past self is missing" in err
    )


def elo(pairs: list[dict[str, str]], anchor: str) -> dict[str, tuple[float, float]]:
    """Return each player's rating and its 95 % interval's half width, by other means than ours."""
    games = [
        (f"{row['player']}{row['player_step']}", f"{row['opponent']}{row['opponent_step']}", row)
        for row in pairs
    ]
    names = sorted({name for game in games for name in game[:2]} - {anchor})
    scale = 400 / np.log(10)

    def minus_log_likelihood(ratings: np.ndarray) -> float:
        of = dict(zip(names, ratings, strict=True)) | {anchor: 0.0}
        total = 0.0
        for one, other, row in games:
            half = float(row["draws"]) / 2
            lead = (of[one] - of[other]) / scale
            total += (float(row["wins"]) + half) * np.logaddexp(0, -lead)
            total += (float(row["losses"]) + half) * np.logaddexp(0, lead)
        return total

    found = minimize(minus_log_likelihood, np.zeros(len(names)), method="BFGS", tol=1e-9)
    # The curvature at the maximum by differences.
    step, size = 1.0, len(names)
    shifts = step * np.eye(size)
    hessian = np.array([
        [
            sum(
                sign * other * minus_log_likelihood(found.x + sign * shifts[i] + other * shifts[j])
                for sign in (1, -1) for other in (1, -1)
            ) / (4 * step**2)
            for j in range(size)
        ]
        for i in range(size)
    ])  # fmt: skip
    half_widths = 1.959964 * np.sqrt(np.diag(np.linalg.inv(hessian)))
    values = zip(found.x, half_widths, strict=True)
    return dict(zip(names, values, strict=True)) | {anchor: (0.0, 0.0)}


def rated(trainer: Trainer, episodes: int, *how: object) -> tuple[str, list[dict[str, str]]]:
    """Play a league, compare its ratings; return what it printed and its table."""
    size = ["--episodes", episodes, "--num-envs", min(episodes, 4)]
    files = [f"{name}-{episodes}.csv" for name in ("table", "pairs")]
    saved = ["--csv", files[0], "--pairs", files[1]]
    out, _ = trainer.run("league", "random", "runs/run", *how, *size, *saved)
    table, pairs = (rows(trainer.folder / file) for file in files)
    assert len(pairs) == len(table) * (len(table) - 1) / 2
    for row in pairs:
        counted = [int(row[name]) for name in ("wins", "draws", "losses")]
        assert int(row["games"]) == sum(counted) == episodes
        row["draws"] = str(counted[1] + float(table[0]["virtual_draws"]))
    expected = elo(pairs, "random")
    for row in table:
        rating, half_width = expected[row["player"] + row["player_step"]]
        assert float(row["elo"]) == pytest.approx(rating, abs=0.01)
        assert float(row["elo_high"]) == pytest.approx(rating + half_width, abs=0.01)
        assert float(row["elo_low"]) == pytest.approx(rating - half_width, abs=0.01)
    return out, table


def test_ratings_are_those_of_scipy(trainer: Trainer, trained: Callable[..., Path]) -> None:
    trained("--total-steps", 900, *PONG)
    _, table = rated(trainer, 2, "--virtual-draws", 2.5)
    assert [float(row["virtual_draws"]) for row in table] == [2.5, 2.5]
    out, table = rated(trainer, 8, "--all")
    assert len(table) == 4, "two past selves, the newest checkpoint, random play"
    ratings = [float(row["elo"]) for row in table]
    assert ratings == sorted(ratings, reverse=True)
    assert len({round(rating) for rating in ratings}) > 1, "nobody won a game"
    lines = out[out.index("rank  player") :].splitlines()
    for line, row in zip(lines[1:], table, strict=False):
        fields = re.split(r"\s{2,}", line.strip())
        assert fields[:2] == [row["rank"], "random" if not row["player_step"] else fields[1]]
        assert fields[2] == f"{round(float(row['elo'])):+d}"
    # What each made against each: a matrix whose opposite cells are the games of a pair.
    cells = [line.split()[-4:] for line in lines[-4:]]
    for i in range(4):
        assert [float(cells[i][j]) + float(cells[j][i]) for j in range(4) if i != j] == [8.0] * 3


def test_players_of_one_name_are_told_apart_and_a_league_always_ends(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    shutil.copytree(trained("--total-steps", 128, *PONG), trainer.folder / "other")
    files = ["--csv", "table.csv", "--pairs", "runs/../table.csv"]
    trainer.assert_refused(
        (["league", "runs/run", "other", *files], "--csv and --pairs name one file"),
    )
    how = ["--episodes", 2, "--virtual-draws", 0, *files[:2]]
    trainer.run("league", "runs/run", "other", *how)
    assert {row["player"] for row in rows(trainer.folder / "table.csv")} == {"runs/run", "other"}
    out, _ = trainer.run("versus", "runs/run", "other", "self", "--episodes", 2)
    assert re.findall(r"^(\S+)(?: at agent step \d+)?  ", out, re.MULTILINE)[1:] == [
        "other",
        "self",
    ]


def test_a_league_refuses_who_cannot_play_in_it(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*CARTPOLE_RUN)
    league, train = ["league"], ["train", "--env-id", "PongNoFrameskip-v4"]
    trainer.assert_refused(
        (
            [*league, "runs/run", "random"],
            "its `num_players` is 1; only games for two have another side",
        ),
        ([*league, "random"], "a league needs two players, one of them a run or a checkpoint"),
        ([*league, "random", "random"], "`random` and `random` are the same player"),
        ([*league, "runs/nothing", "random"], "runs/nothing"),
        (
            [*train, "--num-players", 2, "--opponent-games", 9],
            "is more than the 8 environments",
        ),
        ([*train, "--opponent-games", 2], "needs `num_players` = 2"),
        ([*train, "--num-players", 2, "--opponent-draw", "latest"], "needs `opponent_games`"),
    )
