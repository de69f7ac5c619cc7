"""Games as mp4 files: H.264 through PyAV, an optional dependency (`atari-wrappers[video]`)."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import weakref
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from atari_wrappers import forks
from atari_wrappers.errors import UnsupportedError
from atari_wrappers.recording.files import log_loss, new_file, next_number
from atari_wrappers.settings import Settings

# Pictures are doubled, pixel by pixel: H.264 has one colour per 2 by 2 pixels, so that small things
# keep theirs (mean error in SpaceInvaders 0.5 of 255, not 1.9), and it needs even sides.
SCALE = 2
_ENCODER = "libx264"
_OPTIONS = {"preset": "veryfast", "crf": "18"}
_BT601 = 6  # the colours that pictures of this size are in; players guess when nothing is said
_LIMITED_RANGE = 1


def check_video_support() -> None:
    """Refuse to go on where PyAV is missing, or has no encoder for H.264."""
    remedy = 'pip install "atari-wrappers[video]"'
    if importlib.util.find_spec("av") is None:
        raise UnsupportedError(f"video_dir needs PyAV: {remedy}")
    from av.codec import Codec

    try:
        Codec(_ENCODER, "w")
    except ValueError as cause:
        raise UnsupportedError(
            f"video_dir: this PyAV has no encoder {_ENCODER}; PyPI's has: {remedy}"
        ) from cause


def unfinished(path: Path) -> Path:
    """Return the name under which a video is written until it is finished."""
    return path.with_name(f"{path.name}.part")


class VideoFile:
    """An mp4 that is written as `<path>.part`, and renamed when it is finished.

    When the interpreter exits, or when nothing refers to it any more, it is finished, or deleted if
    `is_kept` says so. A process that is killed leaves the `.part`, which no player reads. A file
    that cannot be finished is logged as lost. A forked child leaves it to its parent. An open file
    takes 16 MiB of memory at the size of an Atari screen, and a picture of it 0.9 ms.

    Args:
        path: The file's name in the end.
        rate: Pictures per second.
        size: Height and width of a picture; on the screen they are doubled.
        is_kept: Whether it is a file also if nobody finishes it.

    Raises:
        FileExistsError: There is a file of this name, or one that is being written.
        OSError: It cannot be created.
    """

    def __init__(
        self, path: Path, rate: Fraction, size: tuple[int, int], *, is_kept: bool = True
    ) -> None:
        import av
        from av.video.reformatter import Interpolation, VideoReformatter

        self._part = unfinished(path)
        new_file(self._part).close()
        if path.exists():
            self._part.unlink()
            raise FileExistsError(f"there is a video `{path}` already")
        self._new_frame = av.VideoFrame.from_ndarray
        self._scaler = VideoReformatter()
        try:
            self._open(rate, size)
        except BaseException:
            self._part.unlink()
            raise
        self._shape["interpolation"] = Interpolation.POINT
        self._path = path
        end = partial(_finish, self._stream, path) if is_kept else _discard
        self._end = weakref.finalize(self, end, self._container, self._part)
        forks.watch(self)

    def _open(self, rate: Fraction, size: tuple[int, int]) -> None:
        import av

        # Of a relative name with a colon FFmpeg would take the front for a protocol.
        self._container = av.open(str(self._part.absolute()), "w", format="mp4")
        stream: Any = self._container.add_stream(_ENCODER, rate=rate, options=dict(_OPTIONS))
        stream.height, stream.width = SCALE * size[0], SCALE * size[1]
        stream.pix_fmt = "yuv420p"
        codec = stream.codec_context
        codec.thread_count = 1  # more threads take half as much CPU time again, and no less time
        codec.colorspace = codec.color_primaries = codec.color_trc = _BT601
        codec.color_range = _LIMITED_RANGE
        self._container.start_encoding()  # opens the file now, not after a second of pictures
        self._stream = stream
        self._shape = {"height": stream.height, "width": stream.width, "format": stream.pix_fmt}

    def after_fork(self) -> None:
        """Leak it: to free encoder and scaler would wait for threads that the parent has."""
        self._end.detach()
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))

    def write(self, picture: np.ndarray) -> None:
        """Append a picture: uint8 RGB `[height, width, 3]`, or gray without the last axis."""
        kind = "rgb24" if picture.ndim == 3 else "gray"
        frame = self._new_frame(np.ascontiguousarray(picture), format=kind)
        scaled = self._scaler.reformat(frame, **self._shape)
        self._container.mux(self._stream.encode(scaled))

    def finish(self) -> None:
        """Give the file its end and its name, unless it has been finished or deleted."""
        if self._end.detach() is not None:
            _finish(self._stream, self._path, self._container, self._part)

    def discard(self) -> None:
        """Delete the file, unless it has been finished or deleted."""
        if self._end.detach() is not None:
            _discard(self._container, self._part)


def _finish(stream: Any, path: Path, container: Any, part: Path) -> None:
    try:
        container.mux(stream.encode(None))
        container.close()
        part.replace(path)
    except _write_errors() as error:
        log_loss(path, error)
        _discard(container, part)


def _discard(container: Any, part: Path) -> None:
    for end in (container.close, part.unlink):
        with contextlib.suppress(*_write_errors()):
            end()


def _write_errors() -> tuple[type[Exception], ...]:
    """Return what writing a video may raise; PyAV has an error of its own for a full disk."""
    from av.error import FFmpegError

    return OSError, FFmpegError


class GameVideos:
    """Games of an env as `env<env>-game<n>.mp4`: the first and every n-th after it.

    A game counts from its first agent step: one that ended before has no number and no file. In a
    folder that has games of this env already, numbers go on behind the highest. No file is ever
    replaced. A game that cannot be written is logged as lost, and the next ones are tried again.
    """

    def __init__(self, env_index: int, settings: Settings, rate: Fraction) -> None:
        if settings.video_dir is None:
            raise ValueError("videos need a video_dir")
        folder = Path(settings.video_dir)
        self._prefix = folder / f"env{env_index}-game"
        self._every, self._keeps_unfinished = settings.record_every, settings.record_unfinished
        self._rate = rate
        self._stepped = self._is_lost = False
        self._file: VideoFile | None = None
        free = next_number(folder, rf"env{env_index}-game([0-9]{{1,18}})\.mp4(?:\.part)?")
        self._game = -(-free // self._every) * self._every

    @property
    def wants_frames(self) -> bool:
        """Whether this game is one that is recorded."""
        return self._game % self._every == 0 and not self._is_lost

    def write(self, picture: np.ndarray) -> None:
        """Append to this game's file: uint8 RGB `[height, width, 3]` or gray `[height, width]`."""
        try:
            if self._file is None:
                self._file = self._new_file(picture.shape[:2])
            self._file.write(picture)
        except _write_errors() as error:
            log_loss(self._path, error)
            self._is_lost = True
            if self._file is not None:
                self._file.discard()
                self._file = None

    @property
    def _path(self) -> Path:
        return Path(f"{self._prefix}{self._game}.mp4")

    def _new_file(self, size: tuple[int, int]) -> VideoFile:
        while True:
            try:
                return VideoFile(self._path, self._rate, size, is_kept=self._keeps_unfinished)
            except FileExistsError:  # someone else writes here too
                self._game += self._every

    def note_step(self) -> None:
        """Note that the agent has acted in this game."""
        self._stepped = True

    def end_game(self, *, is_over: bool) -> None:
        """Finish the file of a game that is over, or else given up; what comes is of the next."""
        is_game = self._stepped and (is_over or self._keeps_unfinished)
        self._game += is_game
        self._stepped = self._is_lost = False
        file, self._file = self._file, None
        if file is not None:
            (file.finish if is_game else file.discard)()
