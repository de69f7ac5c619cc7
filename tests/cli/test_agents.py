"""Several agents that learn in one environment, as users of the program meet them."""

from __future__ import annotations

import re

import pytest
from program import Trainer
from run_files import column, rows

SMALL = ["--num-envs", 4, "--total-steps", 600, "--torch-threads", 1]


def test_scores_are_of_an_agent_and_of_all(trainer: Trainer) -> None:
    arguments = ["--share-weights", "false", "--run-name", "run", *SMALL]
    out, _ = trainer.run("train", "mappo-simple-spread", *arguments)
    assert "simple_spread with PPO: 3 agents in each of 4 environments" in out
    score = r"(-?[\d.]+) per agent, (-?[\d.]+) summed over 3 agents"
    one, three = map(float, re.search(r"last 24 games: " + score, out).groups())
    assert abs(3 * one - three) < 0.3
    for more in [], ["--random"]:
        out, _ = trainer.run("eval", "runs/run", "--episodes", 3, *more)
        assert out.count("in 25 steps") == 9
        returns = [float(x) for x in re.findall(r"game [123], agent [012]: (\S+) in", out)]
        mean, spread, one, three = re.search(
            r"mean (\S+) ± (\S+) .* over 3 games per agent, (-?[\d.]+) summed over (3) agents", out
        ).groups()
        assert abs(float(mean) - sum(returns) / 9) < 0.01
        assert abs(float(one) - sum(returns) / 3) < 0.1
        assert float(spread) > 0
        assert three == "3"
        assert ("at random" in out) == bool(more)


def test_what_agents_have_not_is_refused_in_a_line(trainer: Trainer) -> None:
    spread = ["train", "mappo-simple-spread", *SMALL]
    trainer.assert_refused(
        ([*spread, "--backend", "sync"], "`simple_spread` has agents, and needs `backend` = auto"),
        ([*spread, "--num-players", 2], "has agents (num_agents) and no players"),
        ([*spread, "--num-agents", 65], "must lie between 0 and 64"),
        (
            [*spread, "--env-id", "cart_poles", "--continuous", "true"],
            "has no continuous actions",
        ),
        ([*spread, "--env-id", "CartPole-v1"], "several agents act at once"),
        (
            [*spread, "--env-id", "cart_poles", "--lstm-size", 8],
            "in one process, and without an LSTM",
        ),
        (
            [*spread, "--recipe", "envpool"],
            "`recipe` = envpool is not read: `simple_spread` is no Atari game",
        ),
        ([*spread, "--clip-reward", "true"], "`clip_reward` = true is not read"),
        (
            [*spread, "--env-id", "pettingzoo:none", "--frame-stack", 2],
            "`frame_stack` = 2 is not read",
        ),
        (
            ["train", "ppo-cartpole", "--num-agents", 3],
            "error: `CartPole-v1` has one agent; num_agents is 3\n",
        ),
        (
            ["train", "maddpg-simple-spread", "--exploration-noise", 0.5],
            "`exploration_noise` = 0.5 is not read: discrete actions are drawn",
        ),
    )


# Two agents of PettingZoo's: each is worth 1 for the action that it sees, and one leaves early.
PAIR = """
import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv

LENGTHS = {"short": 3, "long": 6}

class Pair(ParallelEnv):
    metadata = {"name": "pair"}
    possible_agents = ["short", "long"]

    def observation_space(self, agent):
        return Box(-1, 1, (2,), np.float64)

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.agents, self.steps = list(self.possible_agents), 0
        return self.observed(), {name: {} for name in self.agents}

    def observed(self):
        self.asked = {name: int(self.rng.integers(2)) for name in self.agents}
        return {name: np.eye(2)[asked] for name, asked in self.asked.items()}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        self.steps += 1
        if TROUBLE and self.steps == 5:
            raise RuntimeError("the ball is lost")
        rewards = {name: float(actions[name] == self.asked[name]) for name in actions}
        ended = {name: self.steps == LENGTHS[name] for name in actions}
        obs, going_on = self.observed(), [name for name in actions if not ended[name]]
        self.agents = going_on
        return obs, rewards, ended, dict.fromkeys(actions, False), {name: {} for name in actions}

TROUBLE = False
parallel_env = Pair
"""


def test_agents_of_pettingzoo_learn_and_leave_when_their_episodes_end(trainer: Trainer) -> None:
    pytest.importorskip("pettingzoo")
    (trainer.folder / "pair.py").write_text(PAIR)
    arguments = ["--num-envs", 4, "--num-steps", 32, "--learning-rate", 1e-2, "--torch-threads", 1]
    of_pair = ["--env-id", "pettingzoo:pair", *arguments, "--total-steps", 8192]
    out, _ = trainer.run("train", *of_pair, "--run-name", "run", "--central-critic", "true")
    assert "2 agents in each of 4 environments one after another (pettingzoo)" in out
    games = rows(trainer.folder / "runs/run/episodes.csv")
    for place, length in enumerate((3, 6)):
        own = [game for game in games if int(game["env"]) % 2 == place]
        assert {int(game["length"]) for game in own} == {length}
        last = [float(game["raw_return"]) for game in own[-50:]]
        assert sum(last) / len(last) > 0.9 * length
    _, err = trainer.run("train", *of_pair, "--algorithm", "maddpg", status=1)
    assert "`num_steps` is not a setting of maddpg" in err
    out, _ = trainer.run("eval", "runs/run", "--episodes", 2, "--greedy")
    assert "agent 0: 3 in 3 steps" in out


def test_what_absent_agents_are_worth_is_no_matter(trainer: Trainer) -> None:
    """Those who play on show what their next reward is, which a value learns; others show zeros."""
    pytest.importorskip("pettingzoo")
    shown = PAIR.replace("float(actions[name] == self.asked[name])", "1.0 + self.asked[name]")
    (trainer.folder / "pair.py").write_text(shown)
    arguments = ["--num-envs", 4, "--num-steps", 12, "--gamma", 0, "--learning-rate", 1e-2]
    of_pair = ["--env-id", "pettingzoo:pair", *arguments, "--torch-threads", 1]
    trainer.run("train", *of_pair, "--total-steps", 4096, "--run-name", "run")
    explained = column(trainer.folder / "runs/run/updates.csv", "explained_variance")
    assert min(explained[-10:]) > 0.95


def test_one_sample_is_not_normalized(trainer: Trainer) -> None:
    sizes = ["--num-agents", 2, "--num-envs", 1, "--num-steps", 1, "--num-minibatches", 1]
    arguments = ["--env-id", "cart_poles", *sizes, "--total-steps", 200, "--torch-threads", 1]
    trainer.run("train", "ppo-cartpole", *arguments)


def test_agents_that_end_apart_have_the_number_of_their_game(trainer: Trainer) -> None:
    poles = ["--env-id", "cart_poles", "--num-envs", 1, "--num-steps", 8, "--total-steps", 64]
    trainer.run("train", "ppo-cartpole", *poles, "--run-name", "run", "--num-minibatches", 1)
    out, _ = trainer.run("eval", "runs/run", "--episodes", 8, "--num-envs", 2)
    played = re.findall(r"game (\d+), agent (\d)", out)
    assert sorted(played) == [(str(game), agent) for game in range(1, 9) for agent in "01"]


def test_what_goes_wrong_with_agents_of_python_is_said(trainer: Trainer) -> None:
    pytest.importorskip("pettingzoo")
    (trainer.folder / "pair.py").write_text(PAIR.replace("TROUBLE = False", "TROUBLE = True"))
    arguments = ["--num-envs", 1, "--total-steps", 512]
    _, err = trainer.run("train", "--env-id", "pettingzoo:pair", *arguments, status=1)
    assert "the ball is lost" in err
    assert re.search(r'pair.py", line \d+, in step', err), "where it happened"
    modules = {
        "gives": (
            "float(actions[name] == self.asked[name])",
            "float('inf') if self.steps == 5 else 0",
        ),
        "shows": ("np.eye(2)[asked]", "np.eye(2)[asked] if self.steps < 4 else np.full(2, np.nan)"),
        "nobody": ("list(self.possible_agents), 0", "[], 0"),
    }
    for module, (mended, wrong) in modules.items():
        (trainer.folder / f"{module}.py").write_text(PAIR.replace(mended, wrong))
    cases = [
        (["pettingzoo:gives"], "agent `long` of `gives` gave the reward inf: nothing can be"),
        (["pettingzoo:shows"], "`shows` showed NaN at place 0 of an observation of shape [2]"),
        (["pettingzoo:nobody"], "`nobody`: nobody takes part after a reset"),
        (["pettingzoo:nowhere"], "`nowhere` cannot be imported"),
        (["pettingzoo:json"], "`json` has no `parallel_env`"),
        (["pettingzoo:pair", "--num-agents", 3], "`pair` has 2 agents; num_agents is 3"),
    ]
    lines = [["train", "--env-id", *words, *arguments] for words, _ in cases]
    said = trainer.run_all(*lines)
    for (_, problem), (status, _, err) in zip(cases, said, strict=True):
        assert status == 1, err
        assert problem in err, err
        assert "Traceback" not in err, err
        assert "Error:" not in err, "nobody asked which class of Python's it is"
