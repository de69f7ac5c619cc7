"""A policy over a socket says what it says here."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from networks import Proxy
from serving import TOKEN
from untrained import observations, save_untrained, untrained
from waiting import wait_until

pytest.importorskip("grpc", reason="it is an extra")

from atari_wrappers.errors import ServerError
from atari_wrappers.remote import RemotePolicy, RemoteVecEnv
from rust_trainer.policy import Policy
from rust_trainer.serving import PolicyServer


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def serve(closing: ExitStack, policy: Policy) -> PolicyServer:
    return closing.enter_context(PolicyServer(policy, "127.0.0.1:0", TOKEN))


def connect(closing: ExitStack, address: str, reconnect: float = 0.0) -> RemotePolicy:
    return closing.enter_context(RemotePolicy(address, token=TOKEN, reconnect=reconnect))


SAID = {
    "nature": {"probabilities", "value"},
    "nature-lstm": {"probabilities", "value"},
    "nature-continuous": {"mean", "deviation", "value"},
    "mlp": {"probabilities", "value"},
    "rainbow": {"action_values", "value"},
    "td3": set(),
}


@pytest.mark.parametrize("name", SAID)
def test_it_says_what_the_policy_says(name: str, tmp_path: Path, closing: ExitStack) -> None:
    twin = untrained(name, tmp_path)
    remote = connect(closing, serve(closing, untrained(name, tmp_path)).address)
    assert remote.observation_space.shape == twin.obs_shape
    assert remote.action_space.contains(remote.act(observations(twin, 1)[0]))
    state = None
    for round_ in range(3):
        obs = observations(twin, 4)[round_:][:2]
        starts = [[True], [False, False], [True, False]][round_]
        expected, state = twin.act(obs, state, greedy=True, episode_start=starts)
        actions, said = remote.decide(obs, greedy=True, episode_start=starts)
        np.testing.assert_array_equal(actions, expected)
        assert actions.dtype == expected.dtype
        assert said.keys() == SAID[name]
        assert all(rows.dtype == np.float32 and len(rows) == 2 for rows in said.values())
        if "probabilities" in said:
            np.testing.assert_allclose(said["probabilities"].sum(1), 1, rtol=1e-5)
            np.testing.assert_array_equal(said["probabilities"].argmax(1), actions)


def test_values_and_probabilities_are_those_of_the_network(
    tmp_path: Path, closing: ExitStack
) -> None:
    twin = untrained("nature", tmp_path)
    obs = observations(twin, 3)
    _, said = connect(closing, serve(closing, twin).address).decide(obs)
    with torch.no_grad():
        logits, values = twin(torch.from_numpy(obs))
    np.testing.assert_allclose(said["value"], values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(said["probabilities"], logits.softmax(1), rtol=1e-5)


def test_each_client_has_a_memory_of_its_own(tmp_path: Path, closing: ExitStack) -> None:
    twin = untrained("mlp-lstm", tmp_path)
    server = serve(closing, twin)
    one, other = (connect(closing, server.address) for _ in range(2))
    assert one.is_recurrent
    obs = observations(twin, 5)
    values = [float(one.decide(each)[1]["value"]) for each in obs]
    fresh = [float(other.decide(each, episode_start=True)[1]["value"]) for each in obs]
    assert values[0] == fresh[0]
    assert all(a != b for a, b in zip(values[1:], fresh[1:], strict=True))
    with pytest.raises(ValueError, match="3 observations, and the policy remembers 1: episode_st"):
        one.act(obs[:3])
    one.act(obs[:3], episode_start=True)
    with pytest.raises(ValueError, match="2 starts of episodes for 3 observations"):
        one.act(obs[:3], episode_start=[True, False])


def test_a_memory_survives_a_lost_connection(tmp_path: Path, closing: ExitStack) -> None:
    twin = untrained("mlp-lstm", tmp_path)
    server = serve(closing, twin)
    proxy = closing.enter_context(Proxy(server.address))
    steady = connect(closing, server.address)
    shaken = connect(closing, proxy.address, reconnect=20.0)
    for obs in observations(twin, 4):
        assert shaken.decide(obs)[1]["value"] == steady.decide(obs)[1]["value"]
        proxy.drop()


def test_both_players_are_told_apart(tmp_path: Path, closing: ExitStack) -> None:
    twin = untrained("self-play", tmp_path)
    remote = connect(closing, serve(closing, twin).address)
    assert remote.observation_space.shape == (2, 4, 84, 84)
    obs = np.random.default_rng(0).integers(0, 256, (3, 2, 4, 84, 84), np.uint8)
    actions, said = remote.decide(obs, greedy=True)
    np.testing.assert_array_equal(actions, twin.act(obs, greedy=True)[0])
    assert (actions.shape, said["probabilities"].shape) == ((3, 2), (3, 2, 6))


def test_what_does_not_fit_is_told(tmp_path: Path, closing: ExitStack) -> None:
    server = serve(closing, untrained("nature", tmp_path))
    remote = connect(closing, server.address)
    with pytest.raises(ValueError, match=r"an observation has the shape \(4, 84, 84\)"):
        remote.act(np.zeros((2, 5), np.uint8))
    for none in (np.uint8(1), np.zeros((0, 4, 84, 84), np.uint8)):
        with pytest.raises(ValueError, match="a batch one or more"):
            remote.act(none)
    remote.act(np.zeros((4, 84, 84), np.uint8))  # it goes on
    with pytest.raises(ServerError, match="does not serve batches"):
        RemoteVecEnv(server.address, token=TOKEN, connect_timeout=0.0)
    remote.close()
    wait_until(lambda: server.num_clients == 0, seconds=60)


def test_the_command_says_what_is_wrong(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from rust_trainer.commands import serve as command

    assert command("serve-policy", [str(tmp_path / "none")]) == 1
    assert "does not exist; name a run's folder" in capfd.readouterr().err
    file = save_untrained("mlp", tmp_path)
    assert command("serve-policy", [str(file), "--listen", "0.0.0.0:1"]) == 1
    assert "other machines could connect" in capfd.readouterr().err
    assert command("serve-policy", [str(file), "--listening"]) == 2


def test_it_speaks_json_too(tmp_path: Path, closing: ExitStack) -> None:
    pytest.importorskip("aiohttp", reason="it is an extra")
    twin = untrained("mlp-lstm", tmp_path)
    server = closing.enter_context(PolicyServer(twin, "127.0.0.1:0", TOKEN, http="127.0.0.1:0"))
    steady = connect(closing, server.address)
    host = server.http_address.removeprefix("http://")
    connection = closing.enter_context(contextlib.closing(HTTPConnection(host, timeout=60)))

    def act(**body: Any) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        connection.request("POST", "/act", json.dumps(body), headers)
        return json.load(connection.getresponse())

    for obs in observations(twin, 3):
        actions, said = steady.decide(obs[None], greedy=True)
        reply = act(observations=[obs.tolist()], greedy=True)
        assert reply["actions"] == actions.tolist()
        np.testing.assert_array_equal(np.float32(reply["value"]), said["value"])
    assert "an act is" in act(obs=1)["error"]
    assert "the policy remembers 1" in act(observations=[[0.0] * 4] * 2)["error"]
    assert "of the shape [n, 4], not [4]" in act(observations=[0.0] * 4)["error"]
    for wrong in ({"greedy": "false"}, {"episode_start": "no"}, {"episode_start": [1]}):
        assert "greedy is true or false" in act(observations=[[0.0] * 4], **wrong)["error"]
    assert "an array is nested lists" in act(observations={"dtype": "float32"})["error"]
