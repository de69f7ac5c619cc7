"""Games for two: one network plays both sides, and is compared with others."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from program import CARTPOLE_RUN, INVADERS, Trainer, read_checkpoint
from run_files import learned, rows
from safetensors.numpy import load_file

# Games of 30 agent steps, in two environments of two players each.
PONG = [
    "--env-id", "PongNoFrameskip-v4", "--num-players", 2, "--max-episode-frames", 120,
    "--noop-max", 0, "--anneal-lr", "false", "--checkpoint-every", 64,
    *INVADERS,
]  # fmt: skip


def test_a_run_of_self_play_from_training_to_playing(trainer: Trainer) -> None:
    out, _ = trainer.run("train", "--run-name", "run", "--total-steps", 256, *PONG)
    run = trainer.folder / "runs/run"
    assert re.search(r"self-play of 2 in 2 environments.* \(native\)", out), out
    # An agent step is one player's: 8 steps of 2 players in 2 environments make an update.
    assert [int(row["step"]) for row in rows(run / "updates.csv")] == list(range(32, 257, 32))
    games = rows(run / "episodes.csv")
    assert [game["env"] for game in games] == ["0", "1", "2", "3"] * (len(games) // 4)
    for first, second in zip(games[::2], games[1::2], strict=True):
        assert float(first["raw_return"]) == -float(second["raw_return"])
        assert first["length"] == second["length"]
    lengths = [int(game["length"]) for game in games[::2]]
    mean = re.search(rf"mean length of the last {len(lengths)} games: (\d+)", out)[1]
    assert float(mean) == pytest.approx(sum(lengths) / len(lengths), abs=0.5)
    assert (run / "curve.png").read_bytes().startswith(b"\x89PNG")
    metadata, _ = read_checkpoint(trainer.checkpoints()[-1])
    assert json.loads(metadata["obs_shape"]) == [5, 84, 84]

    trainer.run("train", "--run-name", "whole", "--total-steps", 320, *PONG)
    out, _ = trainer.run("train", "--resume", "runs/run", "--total-steps", 320)
    assert "going on from agent step 256" in out
    assert [int(row["step"]) for row in rows(run / "updates.csv")] == list(range(32, 321, 32))
    last = "checkpoints/step-000000000320.safetensors"
    assert learned(run / last) == learned(trainer.folder / "runs/whole" / last)

    out, _ = trainer.run("eval", "runs/run", "--episodes", 4, "--num-envs", 2)
    assert len(re.findall(r"^game \d: -?[\d.]+ in 30 steps$", out, re.MULTILINE)) == 4
    out, _ = trainer.run("dump-frames", "runs/run", "frames")
    played = int(re.search(r"in (\d+) frames", out)[1])
    assert len(list((trainer.folder / "frames").glob("out0-*.png"))) == played >= 120


def test_games_against_past_selves_count_whichever_side_learns(trainer: Trainer) -> None:
    games = ["--env-groups", 2, "--opponent-games", 2]
    out, _ = trainer.run("train", "--run-name", "run", *PONG, *games, "--total-steps", 256)
    table = rows(trainer.folder / "runs/run/episodes.csv")
    # One game in each group, from one side and from the other, with its first player's number.
    assert {game["env"] for game in table} == {"0", "2"}
    assert f"mean length of the last {len(table)} games: 30" in out
    obs = load_file(trainer.checkpoints()[-1])["obs_in_hand"]
    assert obs[:, -1, 0, 0].tolist() == [0, 255]


def test_agents_are_compared_in_a_table(trainer: Trainer, trained: Callable[..., Path]) -> None:
    run = trained("--total-steps", 128, *PONG)
    first = sorted((run / "checkpoints").iterdir())[0]
    how = ["--episodes", 4, "--num-envs", 2, "--csv"]
    against = ["random", "self", first.relative_to(trainer.folder)]
    out, _ = trainer.run("versus", "runs/run", *against, *how, "table.csv")
    lines = [re.split(r"\s{2,}", line) for line in out.splitlines()[1:]]
    assert lines[0] == [
        "opponent", "wins", "draws", "losses", "points for", "points against", "difference",
        "standard error",
    ]  # fmt: skip
    names = ["random", "run at agent step 128", "run at agent step 64"]
    table = rows(trainer.folder / "table.csv")
    opponents = [(row["opponent"], row["opponent_step"]) for row in table]
    assert opponents == [("random", ""), ("run", "128"), ("run", "64")]
    for line, name, row in zip(lines[1:], names, table, strict=True):
        assert line[:4] == [name, row["wins"], row["draws"], row["losses"]]
        counts = [int(row[key]) for key in ("games", "wins", "draws", "losses")]
        assert counts[0] == 4 == sum(counts[1:])
        lead = float(row["points_for"]) - float(row["points_against"])
        assert float(row["difference"]) == pytest.approx(lead)
        assert float(row["length_mean"]) == 30
    # Neither side of a game between equals is favoured by whose random numbers it draws.
    again, _ = trainer.run("versus", "runs/run", *against, *how, "again.csv")
    assert again == out
    assert (trainer.folder / "again.csv").read_text() == (trainer.folder / "table.csv").read_text()
    versus = ["versus", "runs/run"]
    league = ["league", "runs/run", "random", *how[:-1], "--pairs", "one.csv", "--csv", "one.csv"]
    trainer.assert_refused(
        ([*versus, "self", *how, "table.csv"], "could not create `table.csv`"),
        # Before a game is played, whose result would be printed.
        ([*versus, "self", *how, "none/table.csv"], "could not create `none/table.csv`"),
        (league, "--csv and --pairs name one file"),
        ([*league[:-1], trainer.folder / "one.csv"], "--csv and --pairs name one file"),
        # The run was never evaluated, so it has no best; and a start that fails makes no table.
        ([*versus, "random", "--best", *how, "best.csv"], "best"),
    )
    assert not (trainer.folder / "best.csv").exists()


def test_versus_refuses_what_cannot_be_compared(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*CARTPOLE_RUN)
    even = "must be an even number"
    cases = (
        (["runs/run", "random"], 1, "num_players` is 1; only games for two have another side"),
        (["runs/run", "random", "--episodes", 5], 2, even),
        (["runs/run", "random", "--num-envs", 1], 2, even),
        (["runs/run"], 2, "<OPPONENTS>"),
        (["runs/nothing", "random"], 1, "runs/nothing"),
    )
    said = trainer.run_all(*(["versus", *arguments] for arguments, _, _ in cases))
    for (arguments, status, words), (ended, _, err) in zip(cases, said, strict=True):
        assert ended == status, (arguments, err)
        assert words in err, (arguments, err)
    assert "runs/run" in said[0][2]
    assert said[0][2].count("\n") == 1


def test_self_play_refuses_games_for_one(trainer: Trainer) -> None:
    cases = (
        (["BreakoutNoFrameskip-v4"], "is no game for two; backgammon, boxing"),
        (["CartPole-v1"], "num_players"),
        (["PongNoFrameskip-v4", "--backend", "ale"], "num_players=2: it has one"),
        (
            ["ALE/Backgammon-v5", "--backend", "native", "--sticky-actions", 0.25],
            "backgammon: how two play it is not known",
        ),
    )
    line = ["train", "--run-name", "run", "--num-players", 2, "--env-id"]
    trainer.assert_refused(*(([*line, *game], words) for game, words in cases))
    assert not (trainer.folder / "runs").exists()
