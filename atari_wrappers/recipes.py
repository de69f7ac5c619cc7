"""What "preprocessed Atari" means: one `Recipe` of parts, and the field's recipes by name.

Each preset is what the library of its name (for `baselines`: stable-baselines3) does by
default, pixel for pixel; the tests compare whole games. When an ended env restarts is no part of
it: that is `Settings.autoreset`, same-step whatever the preset.
`game.AtariGame` follows a recipe, and `request` fills in what a preset leaves to the id.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType, UnionType
from typing import Any, Literal, get_args, get_type_hints

import numpy as np

from atari_wrappers.checks import check_count, checked_by_type

ObsType = Literal["screen", "ram"]
FireReset = Literal["off", "steps", "before-noops", "after-noops"]
Pooling = Literal["rgb", "gray"]
Resizing = Literal["gray", "rgb"]
Interpolation = Literal["area", "linear"]
LastFrame = Literal["pooled", "dropped", "alone"]
Padding = Literal["zero", "reset"]
LifeLoss = Literal["after-skip", "in-skip", "any-drop"]
AfterLifeLoss = Literal["go-on", "noop-step", "noops", "new-game"]
EndPrecedence = Literal["both", "terminated", "truncated"]
Seeding = Literal["hashed", "raw"]

RAM_BYTES = 128
LARGEST_SIDE = 4096
# Of integers, where it is not 0.
_MINIMA = {"frame_skip": 1, "frame_stack": 1}


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How a game becomes episodes of observations; the defaults are ALE's.

    Attributes:
        obs_type: What is observed: the `"screen"`, or the console's `"ram"`, uint8 `[128]` after
            the step's last frame. The parts about pictures and stacks do not apply to RAM.
        pooling: Which pictures of a step's last two frames are pooled by their pixel-wise maximum:
            `"rgb"` ones (turned to gray afterwards) or `"gray"` ones.
        resizing: Which pictures are resized to `screen_size`: `"gray"` ones, or `"rgb"` ones that
            are turned to gray afterwards; the latter needs `pooling="rgb"`. Observations in colour
            stay in colour.
        interpolation: How pictures are resized: by OpenCV's INTER_AREA or INTER_LINEAR.
        last_frame: What happens to the frame that ends a game within the skip, if it is one of the
            two that are pooled: it is `"pooled"` with the other one, which may be of the last
            full step; or it is shown `"alone"`; or it is `"dropped"`, and the previous picture
            stays. The picture also stays if the frame is none of the two.
        frame_skip: Emulator frames per agent step, the last two max-pooled; 1 for no skip.
        screen_size: Height and width of an observation, in pixels.
        grayscale: Gray observations; otherwise RGB ones, with a last axis of 3.
        frame_stack: Frames per observation, oldest first.
        channels_last: Observations `[height, width, frame_stack]` instead of
            `[frame_stack, height, width]`; with colours `[height, width, 3 * frame_stack]`.
        padding: What fills the stack before an episode's first frame: `"zero"`s, or copies of the
            first frame (`"reset"`).
        noop_min: Fewest frames of no-ops at the start of a game.
        noop_max: Most frames of no-ops at the start of a game; their number is uniform from
            `noop_min` to this one, both included.
        fire_reset: How a game that has the action FIRE is started: `"off"`; `"steps"`, action 1 and
            then action 2 after the no-ops, a whole agent step each; or a single frame of FIRE
            instead of one no-op, `"before-noops"` or `"after-noops"`.
        episodic_life: A lost life sets `terminated`.
        life_loss: When it does: `"after-skip"`, if fewer lives are left after the agent step than
            before it, and at least one; `"in-skip"`, the same after each frame of the skip, which
            stops there; `"any-drop"`, like `"in-skip"`, and for the last life too.
        after_life_loss: What the reset after it does: `"go-on"`, nothing (the loss is a signal);
            `"noop-step"`, one agent step of no-op in the same game and then FIRE as at the start;
            `"noops"`, no-ops and FIRE in the same game, with the stack kept; `"new-game"`, a new
            game: the old one counts as terminated.
        clip_reward: Replace each reward by its sign.
        max_episode_frames: Emulator frames after which a game is truncated; 0 for no limit.
        count_reset_frames: Whether frames of no-ops and FIRE count for that limit.
        count_reset_rewards: Whether `episode_return` includes the rewards of frames outside of the
            agent's steps (no-ops, FIRE, the continuation after a lost life), as
            stable-baselines3's `Monitor` below the wrappers counts them.
        max_episode_steps: Agent steps after which a game is truncated; 0 for no limit.
        end_precedence: Which flag is set if a game, or a life, ends in the step that reaches the
            limit. A lost life that is a signal only (`"go-on"`) always yields to the limit.
        sticky_actions: Probability, per emulator frame, that the previous action is repeated.
            `None`: that of the id.
        full_action_space: All 18 actions of the console instead of the game's own.
        continuous: ALE's polar actions: `[radius 0..1, angle -π..π, fire 0..1]`.
        continuous_action_threshold: Joystick or button position beyond which a direction or FIRE
            counts as pressed.
        mode: The game's mode; `None`: that of the id, else ALE's default.
        difficulty: The game's difficulty; `None`: that of the id, else ALE's default.
        seeding: Where random numbers come from: `"hashed"`, as gymnasium's Atari env derives ALE's
            seed and its own generator from a seed; `"raw"`, as ALE's and EnvPool's vector envs do:
            the seed itself for ALE, and a Mersenne Twister of the same seed for the no-ops.

    Raises:
        ValueError: A value is outside of its range; the message names part, value and range.
        TypeError: A value has the wrong type.
    """

    obs_type: ObsType = "screen"
    pooling: Pooling = "gray"
    resizing: Resizing = "gray"
    interpolation: Interpolation = "area"
    last_frame: LastFrame = "dropped"
    frame_skip: int = 4
    screen_size: tuple[int, int] = (84, 84)
    grayscale: bool = True
    frame_stack: int = 4
    channels_last: bool = False
    padding: Padding = "zero"
    noop_min: int = 0
    noop_max: int = 29
    fire_reset: FireReset = "before-noops"
    episodic_life: bool = False
    life_loss: LifeLoss = "in-skip"
    after_life_loss: AfterLifeLoss = "new-game"
    clip_reward: bool = True
    max_episode_frames: int = 108_000
    count_reset_frames: bool = False
    count_reset_rewards: bool = False
    max_episode_steps: int = 0
    end_precedence: EndPrecedence = "terminated"
    sticky_actions: float | None = 0.0
    full_action_space: bool = False
    continuous: bool = False
    continuous_action_threshold: float = 0.5
    mode: int | None = None
    difficulty: int | None = None
    seeding: Seeding = "raw"

    def __post_init__(self) -> None:
        for name, kind in _TYPES.items():
            value = getattr(self, name)
            if value is not None or not isinstance(kind, UnionType):
                object.__setattr__(self, name, checked_part(name, value))
        if self.noop_min > self.noop_max:
            raise ValueError(
                f"noop_min must be at most noop_max ({self.noop_max}), not {self.noop_min}"
            )
        if self.resizing == "rgb" and self.pooling == "gray":
            raise ValueError("resizing='rgb' needs pooling='rgb': gray pictures have no colours")

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all parts, in order."""
        return tuple(field.name for field in fields(Recipe))

    @property
    def steps_per_second(self) -> float:
        """Agent steps of a second of play, in which the console shows 60 frames."""
        return 60 / self.frame_skip

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """The shape of what one player observes."""
        if self.obs_type == "ram":
            return (RAM_BYTES,)
        if self.channels_last:
            return (*self.screen_size, self.frame_stack * (1 if self.grayscale else 3))
        return (self.frame_stack, *self.screen_size, *(() if self.grayscale else (3,)))


# Parts that may be `None` are those in which that stands for what the id says.
_TYPES = get_type_hints(Recipe)


def checked_part(name: str, value: Any) -> Any:
    """Return the value of a recipe's part, in the form that it has there."""
    if name == "screen_size":
        return _screen_size(value)
    kind = _TYPES[name]
    kind = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    return checked_by_type(name, value, kind, _MINIMA.get(name, 0))


def _screen_size(value: Any) -> tuple[int, int]:
    sides = list(value) if np.ndim(value) == 1 else [value, value]
    if len(sides) != 2:
        raise ValueError(f"screen_size must be a side or (height, width), not {value!r}")
    height, width = (check_count("screen_size", side, 1) for side in sides)
    if max(height, width) > LARGEST_SIDE:
        raise ValueError(f"screen_size must be at most {LARGEST_SIDE}, not {value!r}")
    return height, width


_BASELINES: dict[str, Any] = {
    "pooling": "rgb",
    "last_frame": "pooled",
    "noop_min": 1,
    "noop_max": 30,
    "fire_reset": "steps",
    "episodic_life": True,
    "life_loss": "after-skip",
    "after_life_loss": "noop-step",
    "count_reset_frames": True,
    "count_reset_rewards": True,
    "end_precedence": "both",
    "seeding": "hashed",
}

PRESETS: Mapping[str, Recipe] = MappingProxyType(
    {
        # ALE's, but a lost life is an end for the learner while the game goes on: what agents are
        # trained with, and what ALE's threads can run.
        "default": Recipe(episodic_life=True, life_loss="after-skip", after_life_loss="go-on"),
        "baselines": Recipe(**_BASELINES),
        # stable-baselines3's wrappers, and behind them those of gym and gymnasium before 1.0, which
        # take OpenCV's gray; later ones have another.
        "cleanrl": Recipe(**_BASELINES, padding="reset", resizing="rgb"),
        "gymnasium": Recipe(
            padding="reset",
            noop_min=1,
            noop_max=30,
            fire_reset="off",
            life_loss="any-drop",
            clip_reward=False,
            count_reset_frames=True,
            end_precedence="both",
            sticky_actions=None,
            seeding="hashed",
        ),
        "ale": Recipe(),
        "envpool": Recipe(
            last_frame="alone",
            padding="reset",
            noop_min=1,
            noop_max=30,
            fire_reset="after-noops",
            life_loss="after-skip",
            after_life_loss="noops",
            clip_reward=False,
            max_episode_frames=0,
            max_episode_steps=27_000,
            end_precedence="truncated",
        ),
    }
)
