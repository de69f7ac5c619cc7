"""`eval`, `dump-frames`, `doctor`, `--help`, and what a typing mistake prints."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable
from pathlib import Path

import av
import pytest
from PIL import Image
from program import CARTPOLE, CARTPOLE_RUN, INVADERS_RUN, MODULE, Trainer


def test_eval_reports_each_return_and_their_mean(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*CARTPOLE_RUN)
    out, _ = trainer.run("eval", "runs/run", "--episodes", 7, "--num-envs", 3)
    returns = [float(value) for value in re.findall(r"^game \d+: ([\d.]+) in", out, re.MULTILINE)]
    assert len(returns) == 7
    mean, deviation = re.search(r"mean ([\d.]+) ± ([\d.]+)", out).groups()
    assert float(mean) == pytest.approx(statistics.mean(returns), abs=0.01)
    assert float(deviation) == pytest.approx(statistics.pstdev(returns), abs=0.01)
    assert trainer.run("eval", "runs/run", "--episodes", 7, "--num-envs", 3)[0] == out
    assert trainer.run("eval", "runs/run", "--episodes", 7, "--seed", 1)[0] != out


def test_dump_frames_saves_a_whole_game(trainer: Trainer, trained: Callable[..., Path]) -> None:
    trained(*INVADERS_RUN)
    out, _ = trainer.run("dump-frames", "runs/run", "frames/of a game")
    frames = list((trainer.folder / "frames/of a game").iterdir())
    numbers = sorted(int(re.fullmatch(r"out0-(\d+)\.png", frame.name)[1]) for frame in frames)
    assert numbers == list(range(len(numbers)))
    played = int(re.search(r"in (\d+) frames", out)[1])
    assert len(numbers) == played > 100
    assert f"saved {played} frames in" in out
    again, _ = trainer.run("dump-frames", "runs/run", "frames/of a game", "--episodes", 2)
    counts = [int(count) for count in re.findall(r"in (\d+) frames", again)]
    assert len(counts) == 2
    assert len(list((trainer.folder / "frames/of a game").iterdir())) == played + sum(counts)
    with Image.open(frames[0]) as frame:
        assert (frame.size, frame.mode) == ((160, 210), "RGB")


def test_eval_saves_games_as_videos(trainer: Trainer, trained: Callable[..., Path]) -> None:
    trained(*INVADERS_RUN)
    arguments = ["--episodes", 3, "--num-envs", 1, "--video-dir", "deep/videos"]
    out, _ = trainer.run("eval", "runs/run", *arguments, "--record-every", 2)
    videos = sorted((trainer.folder / "deep/videos").glob("*.mp4"))
    assert [re.fullmatch(r"env0-game(\d+)\.mp4", video.name)[1] for video in videos] == ["0", "2"]
    steps = [int(count) for count in re.findall(r"^game .* in (\d+) steps", out, re.MULTILINE)]
    for video, played in zip(videos, steps[::2], strict=True):
        with av.open(video) as file:
            frames = list(file.decode(video=0))
        assert len(frames) >= 4 * (played - 1) > 100
        assert frames[0].width * 210 == frames[0].height * 160
    named = re.findall(r"^game .*, (env.*)$", out, re.MULTILINE)
    assert named == [video.name for video in videos]


def test_eval_keeps_the_videos_of_the_games_that_it_prints(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    """Not those that envs begin, or even end, while others still play their share."""
    trained(*INVADERS_RUN)
    arguments = ["--episodes", 3, "--num-envs", 2, "--video-dir", "videos"]
    printed = []
    for _ in range(2):
        out, _ = trainer.run("eval", "runs/run", *arguments)
        printed += re.findall(r"^game .*, (env.*)$", out, re.MULTILINE)
        kept = sorted(file.name for file in (trainer.folder / "videos").iterdir())
        assert kept == sorted(printed)
    assert len(set(printed)) == 6


def test_eval_fails_where_its_result_is_lost(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*CARTPOLE_RUN)
    with Path("/dev/full").open("w") as full:
        _, err = trainer.run("eval", "runs/run", "--episodes", 1, status=1, stdout=full)
    assert err.startswith("error: could not write `standard output`")
    assert err.count("\n") == 1


def test_doctor_names_what_is_in_use(either_trainer: Trainer) -> None:
    # On a busy machine the matrix product may not scale: that is a note.
    out, err = either_trainer.run("doctor")
    assert "no problem found" in out, out + err
    for fact in ("python", "libpython", "libtorch", "openmp", "cpus", "cuda"):
        assert re.search(rf"^{fact}", out, re.MULTILINE), fact
    assert len(re.findall(r"^openmp ", out, re.MULTILINE)) == 1
    ways = re.findall(r"^  (fp32|bf16)  \w.* ([\d.]+) ms$", out, re.MULTILINE)
    assert {precision for precision, _ in ways} == {"fp32", "bf16"}
    assert all(0 < float(taken) < 60_000 for _, taken in ways)
    assert re.search(r"^--precision auto is (fp32|bf16) here$", out, re.MULTILINE)


def options(help_text: str) -> dict[str, str]:
    """Return what `--help` says of each option that takes a value, by the setting's name."""
    text = " ".join(help_text.split("Presets:")[0].split())
    found = re.findall(r"--([a-z-]+) <[A-Z_]+>(.*?)(?= --[a-z-]+ <|$)", text)
    return {name.replace("-", "_"): about for name, about in found}


def test_help_explains_every_setting_with_its_default(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*INVADERS_RUN)
    settings = (trainer.folder / "runs/run/settings.toml").read_text()
    names = re.findall(r"^(\w+) =", settings, re.MULTILINE)
    explained = options(trainer.run("train", "--help")[0])
    no_settings = {"config", "resume", "rank_timeout"}
    assert {*names, *no_settings} < set(explained)
    # What a run writes of itself is what it reads.
    unread = explained.keys() - {*names, *no_settings}
    assert "eval_episodes" in unread
    assert all("(with `" in explained[name] for name in unread), unread
    for name in explained.keys() - {"img_dir", "config", "resume"}:
        assert "[default: " in explained[name], name
    assert "[default: 128]" in explained["num_steps"]
    assert "[default: recipe]" in explained["noop_max"]


def test_help_shows_the_settings_of_what_is_named(trainer: Trainer) -> None:
    lines = (
        ["train", "a2c-cartpole", "--help"],
        ["train", "--algorithm", "a2c", "--help"],
        ["train", "a2c-atari", "-h"],
        ["train", "-h"],
        ["train", "--algorithm", "dqn", "--help"],
    )
    said = trainer.run_all(*lines)
    assert [status for status, _, _ in said] == [0] * len(lines)
    *of_a2c, on_atari, plain, of_dqn = (options(out) for _, out, _ in said)
    for explained in of_a2c:
        assert "clip_coef" not in explained
        assert "[default: 5]" in explained["num_steps"]
        assert "rmsprop_eps" in explained
        assert "num_players" in explained
    assert "[default: 16]" in on_atari["num_envs"]
    assert "rmsprop_eps" not in plain
    assert not {"num_players", "continuous", "continuous_action_threshold"} & set(of_dqn)


# What is wrong with a training, and what is said of it.
MISTAKES: list[tuple[list[str], list[str]]] = [
    (["--env-id", "SpaceInvader-v4"], ["error: no environment `SpaceInvader-v4`"]),
    (["--num-minibatches", "2000"], ["num_minibatches", "2000", "1024"]),
    (["--gamma", "1.5"], ["gamma", "1.5", "between 0 and 1"]),
    (["--device", "cuda:99"], ["cuda:99"]),
    (["--config", "missing.toml"], ["missing.toml"]),
    (["--resume", "missing"], ["missing"]),
    (["--img-dir", "/proc/frames"], ["/proc/frames"]),
    (["--backend", "ale", "--env-id", "CartPole-v1"], ["ale", "CartPole-v1"]),
    (["--runs-dir", "/proc/runs"], ["/proc/runs"]),
    (["--recipe", "envpool", "--backend", "ale"], ["ale", "padding"]),
    (["--num-envs", "4294967296"], ["num_envs", "4294967296"]),
    (["--num-steps", "1000000000000"], ["num_steps", "1000000000000"]),
    (["--torch-threads", "2000000000"], ["torch_threads", "2000000000"]),
    (["--env-threads", "2000000000"], ["env_threads", "2000000000"]),
    (["--run-name", "../escape"], ["run_name", "../escape"]),
    (["--algorithm", "a2c", "--clip-coef", "0.2"], ["clip_coef", "a2c", "ppo"]),
    (["--algorithm", "dqn", "--num-players", "2"], ["num_players", "dqn", "ppo or a2c or pqn"]),
    (["--algorithm", "pqn", "--continuous", "true"], ["continuous", "pqn", "ppo or a2c"]),
    (["a2c-atari", "--clip-coef", "0.2"], ["clip_coef", "a2c", "ppo"]),
    (["ppo-atari", "--algorithm", "a2c"], ["`ppo-atari`", "of ppo"]),
    (["rainbow-atari", "--huber", "true"], ["huber", "true", "`distributional` is c51"]),
    (["--env-timeout", "300", *CARTPOLE], ["env_timeout", "async", "auto chose sync"]),
    (["--recipe", "baselines", *CARTPOLE], ["`recipe` = baselines is not read", "no Atari"]),
    (["--backend", "native", "--img-dir", "frames"], ["img_dir = frames;"]),
    (["--run-name", "two\nlines"], ["run_name", r"two\nlines", "plain name"]),
    (["--run-name", 5000 * "a"], ["run_name", "(5000 characters)", "too long"]),
    (["--env-id", 5000 * "a"], ["(5000 characters)"]),
    (["--runs-dir", 5000 * "a"], ["(5"]),
]
WRONG_COMMAND_LINES: list[list[str]] = [
    [],
    ["trian"],
    ["train", "--gama", "0.9"],
    ["train", "--num-envs", "many"],
    ["train", "--algorithm", "sac"],
    ["train", "--device", "gpu"],
    ["eval"],
    ["eval", "runs/run", "--episodes", "0"],
    ["eval", "runs/run", "--record-every", "2"],
    ["train", "--recipe", "atari"],
    ["train", "ppo-atri"],
    ["train", "ppo-atari", "--resume", "runs/run"],
    ["train", "--noop-max", "many"],
    ["train", "--fire-reset", "maybe"],
    ["train", "--total-steps", str(2**64 - 1)],
    ["train", "--num-envs", "-5"],
    ["train", "--run-name", "\udcff"],
    ["train", "--\udcff"],
    ["\udcff"],
    ["train", "--num-envs", 5000 * "a"],
    ["train", "--" + 5000 * "a"],
    [5000 * "a"],
]


def test_a_mistake_is_one_line_that_names_it(trainer: Trainer) -> None:
    said = trainer.run_all(*(["train", *arguments] for arguments, _ in MISTAKES))
    for (arguments, words), (status, out, err) in zip(MISTAKES, said, strict=True):
        assert (status, out) == (1, ""), arguments
        assert err.startswith("error: "), arguments
        assert err.count("\n") == 1, arguments
        assert len(err) < 1000, arguments
        for word in words:
            assert word in err, arguments
    assert not (trainer.folder / "runs").exists()


def test_a_wrong_command_line_is_status_2(trainer: Trainer) -> None:
    said = trainer.run_all(*WRONG_COMMAND_LINES)
    for arguments, (status, _, err) in zip(WRONG_COMMAND_LINES, said, strict=True):
        assert status == 2, arguments
        assert len(err) < 2000, arguments
        assert "Usage" in err or "--help" in err, arguments
        assert err.count("\n") == 1 or not arguments, arguments
        assert ":;" not in err, arguments
    assert not (trainer.folder / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["train", "--gamma", "1.5"], 1),
        (["train", "--gama", "0.9"], 2),
        (["train", "--run-name", "\udcff"], 2),
        (["\udcff"], 2),
    ],
)
def test_the_program_says_it_in_a_line_too(
    trainer: Trainer, arguments: list[str], status: int
) -> None:
    out, err = trainer.run(*arguments, status=status)
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert not (trainer.folder / "runs").exists()


def test_what_is_no_text_is_one_line_in_the_module_too(tmp_path: Path) -> None:
    _, err = Trainer(tmp_path, MODULE).run("train", "--run-name", "\udcff", status=2)
    assert err.count("\n") == 1


def test_what_is_wrong_in_a_file_is_named(trainer: Trainer) -> None:
    (trainer.folder / "a.toml").write_text("gama = 0.9\n")
    _, err = trainer.run("train", "--config", "a.toml", status=1)
    assert "a.toml" in err
    assert "gama" in err
    assert "Traceback" not in err
    (trainer.folder / "a.toml").write_text('seed = "3"\n')
    _, err = trainer.run("train", "--config", "a.toml", status=1)
    assert 'setting `seed` = "3" must be a whole number' in err


def test_a_finished_run_is_resumed_with_the_total_that_it_had(trainer: Trainer) -> None:
    trainer.run("train", "--run-name", "run", *CARTPOLE, "--total-steps", 1000)
    out, _ = trainer.run("train", "--resume", "runs/run", "--total-steps", 1000)
    assert "nothing was left to do: the run has had its 1024 agent steps" in out


def test_a_resumed_run_keeps_what_it_learns(trainer: Trainer, trained: Callable[..., Path]) -> None:
    trained(*INVADERS_RUN)
    resume = ["train", "--resume", "runs/run"]
    fewer = "setting `total_steps` = 15 is less than the 16 agent steps that the run has had"
    trainer.assert_refused(
        ([*resume, "--gamma", 0.5], "`gamma`"), ([*resume, "--total-steps", 15], fewer)
    )
    file = trainer.folder / "runs/run/settings.toml"
    file.write_text(re.sub(r"^num_steps = .*\n", "", file.read_text(), flags=re.MULTILINE))
    _, err = trainer.run("train", "--resume", "runs/run", status=1)
    assert "has `num_steps` = 8, which settings.toml lacks: remove that file, and it is" in err
    file.unlink()
    trainer.run("train", "--resume", "runs/run", "--total-steps", 32)
