"""The rules of games for two against multi_agent_ale_py's own, which is told what RAM holds.

The ROM that it plays leaves RAM alone, so that random numbers written there bring up situations
which no played game reaches.
"""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ale_py import roms

ale = pytest.importorskip("multi_agent_ale_py")

FRAMES = 1000
RESET_FRAMES = 8
NOOP = np.zeros(2, np.int32)
# A mode, the frames of each player's start, and RAM before and after SELECT that shows the modes
# of a game that does not show them while it is played.
GAMES: dict[str, tuple[int, int, dict[int, tuple[int, int]]]] = {
    "boxing": (2, 0, {0x92: (1, 2)}),
    "combat": (1, 0, {}),
    "double_dunk": (16, 1, {0x80: (0x82, 0xC2), 0xB0: (0, 0)}),
    "entombed": (3, 6, {}),
    "fishing_derby": (2, 0, {}),
    "flag_capture": (3, 10, {}),
    "ice_hockey": (1, 0, {}),
    "joust": (1, 0, {}),
    "mario_bros": (2, 17, {}),
    "maze_craze": (4, 0, {}),
    "othello": (4, 0, {0xDE: (1, 4)}),
    "pong": (4, 0, {}),
    "space_invaders": (34, 0, {}),
    "space_war": (2, 0, {0xA7: (6, 2)}),
    "surround": (5, 0, {}),
    "tennis": (2, 0, {}),
    "video_checkers": (10, 0, {}),
    "warlords": (3, 0, {}),
    "wizard_of_wor": (1, 0, {}),
}
# The byte that says who is waited for, and for how many frames, where who waits is punished.
WAITS = {
    "double_dunk": (0x89, 121),
    "othello": (0xC0, 600),
    "pong": (0x92, 120),
    "tennis": (0xCC, 180),
    "video_checkers": (0xC0, 601),
}
# RAM from $fd00 at power on, from $fe00 while SELECT is held; frames of 226 lines.
PROGRAM = bytes.fromhex(
    "78d8a27fbd00fd9580ca10f8"
    "a9028500850285028502a9008500"
    "ad82022902d00aa27fbd00fe9580ca10f8"
    "a2e08502cad0fb4c0cf0"
)
# The same with a menu: the stick down counts $b0, its row; to the right, $80 is as the mode wants.
WITH_MENU = {"double_dunk"}
PROGRAM_WITH_MENU = bytes.fromhex(
    "78d8a27fbd00fd9580ca10f8a020"
    "a9028500850285028502a9008500"
    "ad80022920d006c000f002e6b0a8"
    "ad80023005ad00fe8580"
    "a2e08502cad0fb4c0ef0"
)


def load(path: Path) -> Any:
    ale.ALEInterface.setLoggerMode("error")
    interface = ale.ALEInterface()
    interface.setInt(b"random_seed", 1)
    interface.setFloat(b"repeat_action_probability", 0.0)
    interface.loadROM(str(path))
    return interface


def still_rom(program: bytes, loaded: np.ndarray, chosen: np.ndarray, size: int) -> bytes:
    """A ROM under which RAM is `loaded` from power on, and `chosen` once SELECT was pressed."""
    bank = bytearray(b"\xea" * 0x1000)
    bank[: len(program)] = program
    bank[0xD00:0xD80], bank[0xE00:0xE80] = loaded.tobytes(), chosen.tobytes()
    bank[0xFFC:] = bytes([0x00, 0xF0, 0x00, 0xF0])
    return bytes(bank) * max(1, size // len(bank))


class Asked:
    """multi_agent_ale_py with a ROM that leaves RAM alone: what was in RAM, and what it said.

    Args:
        path: The ROM.
        mode: The mode that is played.
        start_frames: The frames of each player's start.

    Attributes:
        records: What RAM held, as the `rules` example reads it.
        answers: For each record rewards, lives and game over; nothing where a game begins.
    """

    def __init__(self, path: Path, mode: int, start_frames: int) -> None:
        self.ale = load(path)
        self.ale.setMode(mode)
        self._start_frames = start_frames
        self.records = bytearray()
        self.answers: list[list[int] | None] = []

    def begin(self) -> np.ndarray:
        """Begin a game; what RAM holds."""
        self.ale.reset_game()
        first = self.ale.getRAM().copy()
        # Rules look at a game's start, too.
        looks = self.ale.getEpisodeFrameNumber() + RESET_FRAMES + 2 * (self._start_frames + 1)
        self.records += b"\x01" + bytes(128) + (b"\x00" + first.tobytes()) * looks
        self.answers += [None] * (1 + looks)
        return first

    def act(self) -> bool:
        """Play a frame; whether the game is over."""
        rewards = self.ale.act(NOOP)
        over = self.ale.game_over()
        self.records += b"\x00" + self.ale.getRAM().tobytes()
        self.answers.append([*map(int, rewards), *map(int, self.ale.allLives()), int(over)])
        return over


def ask_of_any_ram(asked: Asked) -> None:
    """Random numbers in random places, which are there for a frame or stay."""
    rng = np.random.default_rng(0)
    over = True
    for frame in range(FRAMES):
        if over:
            first = asked.begin()
        ram = asked.ale.getRAM()
        kind = frame % 8
        for address in range(128) if kind == 0 else rng.integers(0, 128, 12):
            value = rng.choice([0, 1, 2, 0x10, 0x99, 0xFF, rng.integers(256)])
            back = first[address] if kind % 2 else value
            if back != ram[address]:
                asked.ale.setRAM(int(address), int(back))
        over = asked.act()


def ask_of_waiting(asked: Asked, address: int, frames: int) -> None:
    """Each player waits twice as long as is allowed; halfway somebody else is waited for."""
    for value in (0, 0x40, 0x80, 0xFF):
        asked.begin()
        for frame in range(2 * frames + 20):
            if frame in (10, frames // 2):
                asked.ale.setRAM(address & 0x7F, value if frame == 10 else value ^ 0xC0)
            if asked.act():
                break


@pytest.mark.parametrize("game", GAMES)
def test_rules_agree_for_any_ram(game: str, tmp_path: Path, rules_program: Path) -> None:
    mode, start_frames, shown = GAMES[game]
    real = roms.get_rom_path(game)
    interface = load(real)
    loaded = interface.getRAM().copy()
    interface.setMode(mode)
    interface.reset_game()
    chosen = interface.getRAM().copy()
    program = PROGRAM
    if game in WITH_MENU:
        program, loaded = PROGRAM_WITH_MENU, chosen.copy()
    for address, (before, after) in shown.items():
        loaded[address - 0x80], chosen[address - 0x80] = before, after
    rom = tmp_path / f"{game}.bin"
    rom.write_bytes(still_rom(program, loaded, chosen, real.stat().st_size))
    asked = Asked(rom, mode, start_frames)
    ask_of_any_ram(asked)
    if game in WAITS:
        ask_of_waiting(asked, *WAITS[game])
    command = [rules_program, game, str(mode)]
    done = subprocess.run(command, input=bytes(asked.records), capture_output=True, check=True)
    ours = np.frombuffer(done.stdout, "<i4").reshape(-1, 5).tolist()
    for frame, (mine, theirs) in enumerate(zip(ours, asked.answers, strict=True)):
        assert theirs is None or mine == theirs, (game, frame, mine, theirs)
