"""Observations, rewards and ends as tensors: over the same memory, and filled in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from atari_wrappers import PendingStepError, UnsupportedError, make_vec
from atari_wrappers.types import Observations

torch = pytest.importorskip("torch")

OpenVec = Callable[..., Any]
GAME = "BreakoutNoFrameskip-v4"


def staged(envs: Any) -> Any:
    """Have a batch stage its observations as on the way to another device; this one stays here."""
    from atari_wrappers.vector.torch_env import Staging

    envs._staging = Staging(envs.observation_space, torch.device("cpu"))
    return envs


def test_tensors_hold_what_arrays_do(open_vec: OpenVec) -> None:
    tensors, arrays = open_vec(GAME, 3, output="torch"), open_vec(GAME, 3)
    obs, _ = tensors.reset(seed=1)
    np.testing.assert_array_equal(obs, arrays.reset(seed=1)[0])
    rng, ended = np.random.default_rng(0), 0
    for _ in range(120):
        actions = rng.integers(4, size=3)
        results, expected = tensors.step(torch.from_numpy(actions)), arrays.step(actions)
        for tensor, array in zip(results[:-1], expected[:-1], strict=True):
            assert isinstance(tensor, torch.Tensor)
            assert tensor.numpy().dtype == array.dtype
            np.testing.assert_array_equal(tensor, array)
        info = results[-1]
        assert isinstance(info["lives"], np.ndarray)
        if "final_obs" in info:
            rows = info["_final_obs"]
            np.testing.assert_array_equal(info["final_obs"][rows], expected[-1]["final_obs"][rows])
            ended += 1
    assert ended
    row, _ = tensors.reset_at(1, seed=5)
    np.testing.assert_array_equal(row, arrays.reset_at(1, seed=5)[0])
    states = tensors.save_state()
    assert isinstance(tensors.restore_state(states)[0], torch.Tensor)


@pytest.mark.parametrize("backend", ["native", "sync"])
def test_a_rollout_is_filled_in_place(backend: str, open_vec: OpenVec) -> None:
    envs, twin = open_vec(GAME, 2, output="torch", backend=backend), open_vec(GAME, 2)
    rollout = torch.zeros((5, *envs.observation_space.shape), dtype=torch.uint8)
    obs, _ = envs.reset(seed=3, out=rollout[0])
    assert obs.data_ptr() == rollout[0].data_ptr(), "no copy"
    for step in range(1, 5):
        obs = envs.step([1, 2], out=rollout[step])[0]
        assert obs.data_ptr() == rollout[step].data_ptr()
    expected = [twin.reset(seed=3)[0], *(twin.step([1, 2])[0] for _ in range(4))]
    np.testing.assert_array_equal(rollout, np.stack(expected))


def test_arrays_are_written_through_dlpack_too(open_vec: OpenVec) -> None:
    """A batch of arrays fills a tensor, and what it returns is taken as a tensor: one memory."""
    envs = open_vec(GAME, 2)
    out = torch.zeros(envs.observation_space.shape, dtype=torch.uint8)
    obs, _ = envs.reset(seed=0, out=out)
    back: Observations = torch.from_dlpack(obs)
    assert back.data_ptr() == out.data_ptr()
    assert out.any()
    envs.send([0, 0])
    assert torch.from_dlpack(envs.recv(out=out)[0]).data_ptr() == out.data_ptr()


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda shape: torch.zeros(shape), "out must be uint8 .* not float32"),
        (lambda shape: torch.zeros(shape[1:], dtype=torch.uint8), "out must be uint8"),
        (lambda shape: torch.zeros(*shape[:-1], 168, dtype=torch.uint8)[..., ::2], "C-contiguous"),
        (lambda shape: torch.zeros(shape, requires_grad=True), "require gradient"),
    ],
)
@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_tensors_that_do_not_fit_are_refused(
    output: str, out: Any, message: str, open_vec: OpenVec
) -> None:
    envs = open_vec(GAME, 2, output=output)
    with pytest.raises(ValueError, match=message):
        envs.reset(out=out(envs.observation_space.shape))
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        envs.step([0, 0], out=out(envs.observation_space.shape))
    envs.step([0, 0])


def test_devices_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r'device=.cuda.: arrays are on the CPU; output="torch"'):
        make_vec(GAME, 2, device="cuda")
    with pytest.raises(ValueError, match="output must be one of numpy, torch, not 'jax'"):
        make_vec(GAME, 2, output="jax")
    with pytest.raises(UnsupportedError, match="device='cuda:77'"):
        make_vec(GAME, 2, output="torch", device="cuda:77")


@pytest.mark.parametrize("parts", [{}, {"batch_size": 2}])
def test_what_is_staged_is_what_was_observed(parts: dict[str, int], open_vec: OpenVec) -> None:
    """The way to another device, all of it but pinned memory and queues, which need CUDA."""
    envs, twin = staged(open_vec(GAME, 3, output="torch", **parts)), open_vec(GAME, 3, **parts)
    kept: list[tuple[Any, Any]] = []
    if not parts:
        kept.append((envs.reset(seed=2)[0], twin.reset(seed=2)[0]))
        actions = [[step % 4] * 3 for step in range(6)]
        kept += [(envs.step(each)[0], twin.step(each)[0]) for each in actions]
    else:
        envs.reset_async(seed=2), twin.reset_async(seed=2)
        shown: dict[int, list[Any]] = {env: [] for env in range(3)}
        expected: dict[int, list[Any]] = {env: [] for env in range(3)}
        for batch, seen in ((envs, shown), (twin, expected)):
            while min(map(len, seen.values())) < 5:
                obs, *_, info = batch.recv()
                for row, env in zip(obs, info["env_id"].tolist(), strict=True):
                    seen[env].append(row)
                batch.send([1, 1])
        kept = [(shown[e][t], expected[e][t]) for e in range(3) for t in range(5)]
    for tensor, array in kept:  # after later steps wrote to the same memory
        np.testing.assert_array_equal(tensor, array)


def test_a_call_out_of_order_leaves_what_is_staged(open_vec: OpenVec) -> None:
    envs, twin = staged(open_vec(GAME, 2, output="torch")), open_vec(GAME, 2)
    envs.reset_async(seed=0)
    with pytest.raises(PendingStepError):
        envs.reset_async(seed=1)
    np.testing.assert_array_equal(envs.reset_wait()[0], twin.reset(seed=0)[0])
    for step in range(4):
        envs.send([step, 1])
        for refused in (envs.send, envs.step):
            with pytest.raises(PendingStepError):
                refused([0, 0])
        np.testing.assert_array_equal(envs.recv()[0], twin.step([step, 1])[0])


def test_a_call_out_of_order_leaves_the_callers_tensor(open_vec: OpenVec) -> None:
    envs, twin = staged(open_vec(GAME, 2, output="torch")), open_vec(GAME, 2)
    out, other = (torch.zeros(twin.observation_space.shape, dtype=torch.uint8) for _ in range(2))
    envs.reset(seed=0), twin.reset(seed=0)
    envs.send([3, 1], out=out)
    with pytest.raises(PendingStepError):
        envs.reset_async(out=other)
    with pytest.raises(ValueError, match="out was given before"):
        envs.recv(out=other)
    assert envs.recv()[0] is out
    np.testing.assert_array_equal(out, twin.step([3, 1])[0])
    envs.send([1, 1])
    assert envs.recv(out=other)[0] is other, "it may be said when it is received"
    np.testing.assert_array_equal(other, twin.step([1, 1])[0])
    envs.reset_async(seed=1, out=out)
    envs.drop_pending()
    twin.reset(seed=1)
    np.testing.assert_array_equal(envs.step([2, 2])[0], twin.step([2, 2])[0])


def test_a_later_part_leaves_the_out_of_the_next_batch(open_vec: OpenVec) -> None:
    parts = {"batch_size": 2, "backend": "sync"}
    envs, twin = staged(open_vec(GAME, 3, output="torch", **parts)), open_vec(GAME, 3, **parts)
    out = torch.zeros((2, *envs.single_observation_space.shape), dtype=torch.uint8)
    envs.reset(seed=0), twin.reset(seed=0)
    envs.send([1, 2], env_id=[0, 1], out=out)
    envs.send([3], env_id=[2])
    twin.send([1, 2, 3], env_id=[0, 1, 2])
    assert envs.recv()[0] is out
    np.testing.assert_array_equal(out, twin.recv()[0])


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (lambda shape, device: torch.zeros(shape, device=device), "not torch.float32"),
        (lambda shape, _: torch.zeros(shape, dtype=torch.uint8), "on meta, not on cpu"),
        (lambda shape, _: np.zeros(shape, np.uint8), "out must be a tensor on meta$"),
        (
            lambda shape, device: torch.zeros(5, *shape[1:], device=device).byte(),
            r"\[2, 4, 84, 84\]",
        ),
        (
            lambda shape, device: torch.zeros(1, *shape[1:], device=device).byte(),
            r"\[2, 4, 84, 84\]",
        ),
        (
            lambda shape, device: torch.zeros(2, 9, device=device).byte(),
            r"not torch.uint8 \[2, 9\]",
        ),
        (lambda _, device: torch.zeros((), device=device).byte(), r"not torch.uint8 \[\]"),
        (
            lambda shape, device: torch.zeros(*shape, 2, device=device).byte()[..., 0],
            "C-contiguous",
        ),
    ],
)
def test_tensors_of_a_device_that_do_not_fit_are_refused_before_any_env_moves(
    out: Any, message: str, open_vec: OpenVec
) -> None:
    envs = open_vec(GAME, 2, output="torch", device="meta")
    odd = out(envs.observation_space.shape, "meta")
    with pytest.raises(ValueError, match=message):
        envs.reset(out=odd)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match=message):
        envs.step([0, 0], out=odd)
    envs.send([0, 0])
    with pytest.raises(ValueError, match=message):
        envs.recv(out=odd)
    assert envs.recv()[4]["episode_length"].tolist() == [1, 1]
    fits = torch.empty(envs.observation_space.shape, dtype=torch.uint8, device="meta")
    assert envs.step([0, 0], out=fits)[0] is fits


class Elsewhere(torch.Tensor):
    """A tensor that numpy cannot read, as those of another device."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("can't convert it")

    def cpu(self) -> Any:
        return self.as_subclass(torch.Tensor)


def test_ended_envs_are_reset_by_a_mask_of_the_device(open_vec: OpenVec) -> None:
    envs = staged(open_vec(GAME, 3, output="torch"))
    envs.reset(seed=0)
    mask = torch.tensor([True, False, True]).as_subclass(Elsewhere)
    for given in ({"mask": mask}, {"options": {"reset_mask": mask}}):
        envs.step([1, 1, 1])
        assert envs.reset(**given)[1]["episode_length"].tolist()[::2] == [0, 0]
    assert envs.step([1, 1, 1])[4]["episode_length"].tolist() == [1, 3, 1]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_on_cuda_rollouts_are_filled_out_of_pinned_memory(open_vec: OpenVec) -> None:
    envs, twin = open_vec(GAME, 4, output="torch", device="cuda"), open_vec(GAME, 4)
    assert all(buffer.is_pinned() for buffer in envs._staging._buffers)
    shape = envs.observation_space.shape
    rollout = torch.zeros((20, *shape), dtype=torch.uint8, device="cuda")
    envs.reset(seed=0, out=rollout[0])
    expected = [twin.reset(seed=0)[0]]
    for step in range(1, 20):
        actions = torch.full((4,), step % 4, device="cuda")
        results = envs.step(actions, out=rollout[step])
        assert all(tensor.is_cuda for tensor in results[:4])
        expected.append(twin.step(actions.cpu().numpy())[0])
    np.testing.assert_array_equal(rollout.cpu(), np.stack(expected))
