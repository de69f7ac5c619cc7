"""What "preprocessed Atari" means: one `Recipe` of parts, and the field's recipes by name.

Each preset is what the library of its name (for `baselines`: stable-baselines3 and CleanRL) does by
default, pixel for pixel; the tests compare whole games. `game.AtariGame` follows a recipe.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

CHOICES = {
    "pooling": ("rgb", "gray"),
    "last_frame": ("pooled", "dropped", "alone"),
    "padding": ("zero", "reset"),
    "fire_reset": ("off", "steps", "before-noops", "after-noops"),
    "life_loss": ("after-skip", "in-skip", "any-drop"),
    "after_life_loss": ("go-on", "noop-step", "noops", "new-game"),
    "end_precedence": ("both", "terminated", "truncated"),
    "seeding": ("hashed", "raw"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Recipe:
    """How a game becomes episodes of observations.

    Attributes:
        pooling: Of which pictures the pixel-wise maximum of a step's last two frames is taken:
            `"rgb"` (turned to gray afterwards) or `"gray"`.
        last_frame: What becomes of the frame with which a game ends inside of the skip. If it is
            among those to be pooled, it is `"pooled"` with the other place's, which may be the last
            full step's, or seen `"alone"`; else, and if it is `"dropped"`, what was seen before
            stays.
        frame_skip: Emulator frames per agent step, the last two max-pooled; 1 for no skip.
        screen_size: Height and width of an observation, in pixels.
        grayscale: Gray observations; otherwise RGB ones, with a last axis of 3.
        frame_stack: Frames per observation, oldest first.
        padding: What stands in the stack before an episode's first frame: `"zero"`s, or the first
            frame again (`"reset"`).
        noop_min: Fewest frames of no-ops at the start of a game.
        noop_max: Most of them; their number is uniform between the two, both included.
        fire_reset: How a game that has the action FIRE is started: `"off"`; `"steps"`, action 1 and
            then action 2 after the no-ops, a whole agent step each; or a single frame of FIRE in
            place of one no-op, `"before-noops"` or `"after-noops"`.
        episodic_life: A lost life sets `terminated`.
        life_loss: When it does: `"after-skip"`, where at the end of the agent step fewer lives are
            left than before and at least one; `"in-skip"`, the same, but within the skip, which
            stops there; `"any-drop"`, as that, and the last life counts too.
        after_life_loss: What the reset after it does: `"go-on"`, nothing (the loss is a signal);
            `"noop-step"`, one agent step of no-op in the same game and then FIRE as at the start;
            `"noops"`, no-ops and FIRE in the same game, the stack is kept; `"new-game"`,
            another game: the one given up counts as terminated.
        clip_reward: Replace each reward by its sign.
        max_episode_frames: Emulator frames after which a game is truncated; 0 for no limit.
        count_reset_frames: Whether frames of no-ops and FIRE count for that limit.
        max_episode_steps: Agent steps after which a game is truncated; 0 for no limit.
        end_precedence: Which flag is set where a game, or a life, ends in the step that meets the
            limit. A lost life that is a signal only (`"go-on"`) always yields to the limit.
        sticky_actions: Probability, per emulator frame, that the previous action is repeated.
            `None`: what the id says.
        full_action_space: All 18 actions of the console instead of the game's own.
        continuous: ALE's polar actions: `[radius 0..1, angle -π..π, fire 0..1]`.
        continuous_action_threshold: Joystick or button position beyond which a direction or FIRE
            counts as pressed.
        mode: The game's mode; `None`: what the id says, else ALE's default.
        difficulty: Its difficulty, likewise.
        seeding: Where random numbers come from: `"hashed"`, as gymnasium's Atari env derives ALE's
            seed and its own generator from a seed; `"raw"`, as ALE's and EnvPool's vector envs do:
            the seed itself for ALE, and a Mersenne Twister of the same seed for the no-ops.
    """

    pooling: str
    last_frame: str
    frame_skip: int = 4
    screen_size: tuple[int, int] = (84, 84)
    grayscale: bool = True
    frame_stack: int = 4
    padding: str
    noop_min: int
    noop_max: int
    fire_reset: str
    episodic_life: bool
    life_loss: str
    after_life_loss: str
    clip_reward: bool
    max_episode_frames: int
    count_reset_frames: bool
    max_episode_steps: int = 0
    end_precedence: str
    sticky_actions: float | None = 0.0
    full_action_space: bool = False
    continuous: bool = False
    continuous_action_threshold: float = 0.5
    mode: int | None = None
    difficulty: int | None = None
    seeding: str

    @staticmethod
    def names() -> tuple[str, ...]:
        """Return the names of all parts, in order."""
        return tuple(field.name for field in fields(Recipe))


_ALE = {
    "pooling": "gray",
    "last_frame": "dropped",
    "padding": "zero",
    "noop_min": 0,
    "noop_max": 29,
    "fire_reset": "before-noops",
    "clip_reward": True,
    "max_episode_frames": 108_000,
    "count_reset_frames": False,
    "end_precedence": "terminated",
    "seeding": "raw",
}

PRESETS = {
    # ALE's, but a lost life is an end for the learner while the game goes on: what agents are
    # trained with, and what ALE's threads can run.
    "default": Recipe(**_ALE, episodic_life=True, life_loss="after-skip", after_life_loss="go-on"),
    "baselines": Recipe(
        pooling="rgb",
        last_frame="pooled",
        padding="zero",
        noop_min=1,
        noop_max=30,
        fire_reset="steps",
        episodic_life=True,
        life_loss="after-skip",
        after_life_loss="noop-step",
        clip_reward=True,
        max_episode_frames=108_000,
        count_reset_frames=True,
        end_precedence="both",
        seeding="hashed",
    ),
    "gymnasium": Recipe(
        pooling="gray",
        last_frame="dropped",
        padding="reset",
        noop_min=1,
        noop_max=30,
        fire_reset="off",
        episodic_life=False,
        life_loss="any-drop",
        after_life_loss="new-game",
        clip_reward=False,
        max_episode_frames=108_000,
        count_reset_frames=True,
        end_precedence="both",
        sticky_actions=None,
        seeding="hashed",
    ),
    "ale": Recipe(**_ALE, episodic_life=False, life_loss="in-skip", after_life_loss="new-game"),
    "envpool": Recipe(
        pooling="gray",
        last_frame="alone",
        padding="reset",
        noop_min=1,
        noop_max=30,
        fire_reset="after-noops",
        episodic_life=False,
        life_loss="after-skip",
        after_life_loss="noops",
        clip_reward=False,
        max_episode_frames=0,
        count_reset_frames=False,
        max_episode_steps=27_000,
        end_precedence="truncated",
        seeding="raw",
    ),
}
