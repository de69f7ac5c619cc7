"""`play`: a trained agent in a window, in the terminal, and in files."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest
from displays import screenshot
from PIL import Image, ImageSequence
from processes import cpu_seconds
from program import INVADERS_RUN, PROGRAM, Trainer, without_waits
from tmux import PROMPT, Terminal, terminal
from untrained import save_untrained
from waiting import wait_until

from atari_wrappers import make_env
from rust_trainer import load_policy


def pictures(folder: Path) -> np.ndarray:
    """Return the frames in a folder, uint8 `[frames, height, width, 3]`."""
    paths = sorted(folder.glob("out0-*.png"))
    assert paths
    return np.stack([np.asarray(Image.open(path)) for path in paths])


def test_frames_are_those_of_ale_py_and_files_hold_them(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*INVADERS_RUN)
    folder = trainer.folder
    out, _ = trainer.run("play", "runs/run", "--to", "native/", "--seed", 3)
    expected, _ = trainer.run("dump-frames", "runs/run", "ale", "--seed", 3)
    frames = pictures(folder / "native")
    # `dump-frames` plays on ale-py, in Python.
    assert np.array_equal(frames, pictures(folder / "ale"))
    assert (
        re.search(r"of (\S+) points in (\d+) frames", expected).groups()
        == re.search(r"game 1: (\S+) in \d+ steps, (\d+) frames", out).groups()
    )

    film = ["--seed", 3, "--from-frame", 60, "--seconds", 1]
    trainer.run("play", "runs/run", "--to", "a.gif", "--scale", 4, *film)
    with Image.open(folder / "a.gif") as gif:
        assert gif.info["loop"] == 0
        shown, milliseconds = [], 0
        for picture in ImageSequence.Iterator(gif):
            shown += [np.asarray(picture.convert("RGB"))] * round(picture.info["duration"] / 50)
            milliseconds += picture.info["duration"]
    assert milliseconds == 1000
    shown = np.stack(shown)
    assert shown.shape == (20, 840, 1120, 3)
    assert np.array_equal(shown[:, ::4, ::7], frames[60:120:3])

    trainer.run("play", "runs/run", "--to", "a.mp4", "--values", *film)
    with av.open(folder / "a.mp4") as video:
        decoded = [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]
        assert video.streams.video[0].average_rate == 60
    assert len(decoded) == 60
    height, width, _ = decoded[0].shape
    assert (height, width) == (420, 2 * (280 + 160))
    # Of 280 columns, each written twice, seven show four of the console's.
    columns = 2 * -(np.arange(160) * -7 // 4)
    game = np.stack(decoded)[:, ::2][:, :, columns].astype(int)
    assert np.abs(game - frames[60:120]).mean() < 3


def test_another_game_mode_and_difficulty_are_those_of_ale_py(trainer: Trainer) -> None:
    run = save_untrained("nature", trainer.folder, max_episode_frames=200)
    asked = {"mode": 1, "difficulty": 1}
    options = [f"--{name}={value}" for name, value in asked.items()]
    how = ["--greedy", "--precision", "fp32", "--to", "played/"]
    trainer.run("play", run, "--game", "Pong", *options, *how)
    played, policy = pictures(trainer.folder / "played"), load_policy(run)
    for left_out in (None, *asked):
        chosen = {name: value for name, value in asked.items() if name != left_out}
        folder = trainer.folder / f"without-{left_out}"
        parts = policy.env.settings | chosen
        with make_env("PongNoFrameskip-v4", img_dir=folder, **parts) as game:
            obs, ended = game.reset(seed=0)[0], False
            while not ended:
                obs, _, *ends, _ = game.step(int(policy.act(obs, greedy=True)[0]))
                ended = any(ends)
        assert np.array_equal(pictures(folder), played) == (left_out is None)


def test_what_cannot_be_played_or_shown_is_one_line(
    trainer: Trainer, trained: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(*INVADERS_RUN)
    monkeypatch.delenv("DISPLAY", raising=False)
    cases = (
        (["--to", "film.avi"], "name window, terminal"),
        ([], "neither a display nor a terminal"),
        (["--to", "window"], "no window can be opened"),
        (
            ["--to", "a.gif", "--game", "Breakout"],
            "cannot play breakout: it chooses from 6 actions",
        ),
        (["--to", "a.mp4", "--scale", 3], "--scale 3: for an mp4 it is an even number"),
        (["--to", "a.gif", "--seconds", 0.001], "nothing is saved: the games have no frame"),
    )
    trainer.assert_refused(*((["play", "runs/run", *how], words) for how, words in cases))


def test_the_terminal_shows_the_game_and_gives_the_stick(
    trainer: Trainer, trained: Callable[..., Path]
) -> None:
    trained(*INVADERS_RUN)
    with terminal(trainer.folder) as screen:
        colours = ("env", "NO_COLOR=1")  # which asks for words without, not for no picture
        screen.start(*colours, *PROGRAM, "play", "runs/run", "--to", "terminal", "--greedy")
        text = screen.wait("Space Invaders  game")
        assert text.count("▀") > 1000
        assert "the agent plays" in text
        screen.type("h", "v")
        text = screen.wait(lambda text: "you play" in text and "rightfire" in text)
        assert re.search(r"value +-?\d+\.\d{3}", text), text
        screen.type("p")
        wait_until(lambda: is_still(screen), seconds=60)
        os.kill(screen.child(), signal.SIGTERM)
        screen.wait(lambda text: "▀" not in text and PROMPT in text)
        # Until there is a frame to be shown the terminal is not taken.
        screen.start(*PROGRAM, "play", "runs/run", "--to", "terminal", "--from-frame", 10**9)
        wait_until(lambda: plays(screen), seconds=60)
        screen.type("C-c")
        screen.type("echo ended $?", "Enter")
        screen.wait("ended 130")


def is_still(screen: Terminal) -> bool:
    """Say whether nothing moves on the screen for half a second."""
    text = screen.text()
    time.sleep(0.5)
    return screen.text() == text


def plays(screen: Terminal) -> bool:
    """Say whether the program has computed for longer than its start takes."""
    try:
        return cpu_seconds(screen.child()) > 3
    except (OSError, ValueError):  # it is being started
        return False


def test_a_window_shows_the_pixels_of_the_console(
    trainer: Trainer, trained: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, display: str
) -> None:
    trained(*INVADERS_RUN)
    trainer.run("play", "runs/run", "--to", "frames/")
    monkeypatch.setenv("DISPLAY", display)
    process = trainer.start("play", "runs/run", "--games", 1, "--speed", 2)
    last = np.zeros(0)
    seen = []
    while process.poll() is None:
        last = screenshot(display)
        if last.any():
            seen.append(last)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, without_waits(err)) == (0, "")
    assert "game 1: " in out
    # A frame of the game stands in the window, 630 lines high, each of its pixels sharp.
    frames = {frame.tobytes() for frame in pictures(trainer.folder / "frames")}
    assert any(frame_in(picture).tobytes() in frames for picture in seen)


def frame_in(picture: np.ndarray) -> np.ndarray:
    """Return a console's frame out of a window of 840 by 630 pixels in the middle of a screen."""
    top, left = (picture.shape[0] - 630) // 2, (picture.shape[1] - 840) // 2
    middles = left + (np.arange(160) * 840 + 420) // 160
    return np.ascontiguousarray(picture[top + 1 : top + 630 : 3][:, middles])
