"""What numpy, OpenCV and `atari_wrappers` make of what `preprocessing.rs` asks for, on stdout."""

import struct
import sys

import cv2
import numpy as np

from atari_wrappers.game.seeding import HashedDraws, RawDraws


def resize() -> None:
    """Resize pictures: each is whether it is by INTER_LINEAR, four sides, and its pixels."""
    data = sys.stdin.buffer.read()
    while data:
        linear, height, width, new_height, new_width = struct.unpack_from("<5I", data)
        end = 20 + height * width
        picture = np.frombuffer(data[20:end], np.uint8).reshape(height, width)
        way = cv2.INTER_LINEAR if linear else cv2.INTER_AREA
        resized = cv2.resize(picture, (new_width, new_height), interpolation=way)
        sys.stdout.buffer.write(resized.tobytes())
        data = data[end:]


def gray() -> None:
    """Turn RGB pixels to gray."""
    pixels = np.frombuffer(sys.stdin.buffer.read(), np.uint8).reshape(1, -1, 3)
    sys.stdout.buffer.write(cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY).tobytes())


def draws() -> None:
    """Draw the console's seed and 50 numbers for each way, seed and two bounds."""
    data = sys.stdin.buffer.read()
    for way, seed, low, high in struct.iter_unpack("<4Q", data):
        source = RawDraws(seed) if way else HashedDraws(seed)
        numbers = [source.ale_seed & 0xFFFFFFFF, *(source.between(low, high) for _ in range(50))]
        sys.stdout.buffer.write(np.array(numbers, np.uint32).tobytes())


def doubles() -> None:
    """Draw 2,000 doubles of 53 bits from a Mersenne Twister of each seed."""
    for (seed,) in struct.iter_unpack("<I", sys.stdin.buffer.read()):
        sys.stdout.buffer.write(np.random.RandomState(seed).random_sample(2000).tobytes())


if __name__ == "__main__":
    {"resize": resize, "gray": gray, "draws": draws, "doubles": doubles}[sys.argv[1]]()
