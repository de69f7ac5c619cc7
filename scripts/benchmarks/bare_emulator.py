"""The bare emulator: frames of SpaceInvaders per second of CPU time, nothing drawn or resized.

What environments cannot be faster than with this emulator: 4 frames an agent step, one core.
"""

import json
import time
from random import Random

import ale_py
from ale_py import roms

FRAMES = 20_000


def main() -> None:
    ale = ale_py.ALEInterface()
    ale.loadROM(roms.get_rom_path("space_invaders"))
    actions, random = ale.getMinimalActionSet(), Random(1)
    started = time.process_time()
    for _ in range(FRAMES):
        ale.act(random.choice(actions))
        if ale.game_over():
            ale.reset_game()
    print(json.dumps({"frames_per_cpu_second": FRAMES / (time.process_time() - started)}))


if __name__ == "__main__":
    main()
