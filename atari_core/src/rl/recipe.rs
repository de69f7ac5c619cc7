//! What "preprocessed Atari" means: one [`Recipe`] of parts, and the field's recipes by name ([`Preset`]).
//!
//! Parts, values and presets are those of the Python package `atari_wrappers` (`recipes.py`), which proves each
//! preset against the library of its name.

use super::parts::{Part, PartType};

/// Most frames of one step, or of no-ops: as long as a game may last by most recipes.
const MOST_FRAMES: u32 = 108_000;
/// Longest side of an observation, in pixels, and most bytes that one may have.
const MOST_PIXELS: usize = 1 << 15;
const MOST_BYTES: usize = 1 << 28;

/// Enums whose values have names, those of the Python settings.
macro_rules! choices {
    ($($(#[$about:meta])* $name:ident { $($(#[$value_about:meta])* $value:ident = $text:literal,)+ })+) => {$(
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$value_about])* $value,)+
        }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$value,)+];

            /// What settings call it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }

            /// The value that settings call `name`.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }

        impl PartType for $name {
            fn from_part(part: &Part) -> Option<Self> {
                match part {
                    Part::Name(name) => Self::from_name(name),
                    _ => None,
                }
            }

            fn to_part(self) -> Part {
                Part::Name(self.name().to_owned())
            }
        }
    )+};
}

choices! {
    /// A recipe of the field's, whole.
    Preset {
        /// ALE's, but a lost life ends the learner's episode while the game goes on.
        Default = "default",
        /// As stable-baselines3 does it.
        Baselines = "baselines",
        /// As CleanRL does it.
        Cleanrl = "cleanrl",
        /// As gymnasium's `AtariPreprocessing` and `FrameStackObservation`.
        Gymnasium = "gymnasium",
        /// As ALE's `AtariVectorEnv`.
        Ale = "ale",
        /// As EnvPool.
        Envpool = "envpool",
    }

    /// What is observed.
    ObsType {
        /// The screen.
        Screen = "screen",
        /// The console's memory, uint8 `[128]`, as the step's last frame left it; what is said of pictures and
        /// stacks does not apply.
        Ram = "ram",
    }

    /// Of which pictures the pixel-wise maximum of a step's last two frames is taken.
    Pooling {
        /// Of colours, turned to gray afterwards.
        Rgb = "rgb",
        /// Of gray ones.
        Gray = "gray",
    }

    /// Which pictures are brought to the size of an observation.
    Resizing {
        /// Gray ones.
        Gray = "gray",
        /// Those of colours, turned to gray afterwards.
        Rgb = "rgb",
    }

    /// What becomes of the frame with which a game ends inside of the skip.
    LastFrame {
        /// If it is among those to be pooled, it is pooled with the other place's, which may be the last full
        /// step's.
        Pooled = "pooled",
        /// What was seen before stays.
        Dropped = "dropped",
        /// If it is among those to be pooled, it is seen alone.
        Alone = "alone",
    }

    /// What stands in the stack before an episode's first frame.
    Padding {
        /// Zeros.
        Zero = "zero",
        /// The first frame again.
        Reset = "reset",
    }

    /// How a game that has the action FIRE is started.
    FireReset {
        /// It is not.
        Off = "off",
        /// Action 1 and then action 2 after the no-ops, a whole agent step each.
        Steps = "steps",
        /// A single frame of FIRE in place of one no-op, before the others.
        BeforeNoops = "before-noops",
        /// The same, after the others.
        AfterNoops = "after-noops",
    }

    /// When a lost life ends an episode.
    LifeLoss {
        /// Where at the end of the agent step fewer lives are left than before, and at least one.
        AfterSkip = "after-skip",
        /// The same, but within the skip, which stops there.
        InSkip = "in-skip",
        /// As that, and the last life counts too.
        AnyDrop = "any-drop",
    }

    /// What the reset after a lost life does.
    AfterLifeLoss {
        /// Nothing: the loss is a signal.
        GoOn = "go-on",
        /// One agent step of no-op in the same game, and FIRE as at the start.
        NoopStep = "noop-step",
        /// No-ops and FIRE in the same game; the stack is kept.
        Noops = "noops",
        /// Another game: the one given up counts as terminated.
        NewGame = "new-game",
    }

    /// Which flag is set where a game, or a life, ends in the step that meets the limit.
    EndPrecedence {
        /// Both.
        Both = "both",
        /// `terminated`.
        Terminated = "terminated",
        /// `truncated`.
        Truncated = "truncated",
    }

    /// Where random numbers come from.
    Seeding {
        /// As gymnasium's Atari environment derives ALE's seed and its own generator from a seed.
        Hashed = "hashed",
        /// As the vector environments of ALE and EnvPool: the seed itself for ALE, and a Mersenne Twister of the
        /// same seed for the no-ops.
        Raw = "raw",
    }
}

/// How a game becomes episodes of observations.
#[derive(Clone, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
pub struct Recipe {
    /// What is observed.
    pub obs_type: ObsType,
    /// Of which pictures a step's maximum is taken.
    pub pooling: Pooling,
    /// Which pictures are brought to `screen_size`; `Rgb` asks for a `pooling` of those.
    pub resizing: Resizing,
    /// What becomes of the frame with which a game ends inside of the skip.
    pub last_frame: LastFrame,
    /// Emulator frames per agent step, the last two max-pooled; 1 for no skip.
    pub frame_skip: u32,
    /// Height and width of an observation, in pixels.
    pub screen_size: (usize, usize),
    /// Gray observations; otherwise RGB ones, with a last axis of 3.
    pub grayscale: bool,
    /// Frames per observation, oldest first.
    pub frame_stack: usize,
    /// Observations `[height, width, frame_stack]` instead of `[frame_stack, height, width]`; with colours
    /// `[height, width, 3 * frame_stack]`.
    pub channels_last: bool,
    /// What stands in the stack before an episode's first frame.
    pub padding: Padding,
    /// Fewest frames of no-ops at the start of a game.
    pub noop_min: u32,
    /// Most of them; their number is uniform between the two, both included.
    pub noop_max: u32,
    /// How a game that has the action FIRE is started.
    pub fire_reset: FireReset,
    /// A lost life sets `terminated`.
    pub episodic_life: bool,
    /// When it does.
    pub life_loss: LifeLoss,
    /// What the reset after it does.
    pub after_life_loss: AfterLifeLoss,
    /// Replace each reward by its sign.
    pub clip_reward: bool,
    /// Emulator frames after which a game is truncated; 0 for no limit.
    pub max_episode_frames: u32,
    /// Whether frames of no-ops and FIRE count for that limit.
    pub count_reset_frames: bool,
    /// Whether `episode_return` has the rewards of frames that no step of the agent covers (no-ops, FIRE, the
    /// continuation after a lost life) too.
    pub count_reset_rewards: bool,
    /// Agent steps after which a game is truncated; 0 for no limit.
    pub max_episode_steps: u32,
    /// Which flag is set where an end and the limit meet.
    pub end_precedence: EndPrecedence,
    /// Probability, per emulator frame, that the previous action is repeated. Gymnasium's preset takes what the id
    /// says; here it is 0 in every preset.
    pub sticky_actions: f32,
    /// All 18 actions of the console instead of the game's own; 9 in Skiing and Lost Luggage, without the button.
    pub full_action_space: bool,
    /// ALE's polar actions: `[radius 0..1, angle -π..π, fire 0..1]`.
    pub continuous: bool,
    /// Joystick or button position beyond which a direction or FIRE counts as pressed.
    pub continuous_action_threshold: f32,
    /// The game's mode; `None`: its default.
    pub mode: Option<u32>,
    /// Its difficulty, likewise.
    pub difficulty: Option<u32>,
    /// Where random numbers come from.
    pub seeding: Seeding,
}

const BASELINES: Recipe = Recipe {
    pooling: Pooling::Rgb,
    last_frame: LastFrame::Pooled,
    noop_min: 1,
    noop_max: 30,
    fire_reset: FireReset::Steps,
    episodic_life: true,
    life_loss: LifeLoss::AfterSkip,
    after_life_loss: AfterLifeLoss::NoopStep,
    count_reset_frames: true,
    count_reset_rewards: true,
    end_precedence: EndPrecedence::Both,
    seeding: Seeding::Hashed,
    ..ALE
};

const ALE: Recipe = Recipe {
    obs_type: ObsType::Screen,
    pooling: Pooling::Gray,
    resizing: Resizing::Gray,
    last_frame: LastFrame::Dropped,
    frame_skip: 4,
    screen_size: (84, 84),
    grayscale: true,
    frame_stack: 4,
    channels_last: false,
    padding: Padding::Zero,
    noop_min: 0,
    noop_max: 29,
    fire_reset: FireReset::BeforeNoops,
    episodic_life: false,
    life_loss: LifeLoss::InSkip,
    after_life_loss: AfterLifeLoss::NewGame,
    clip_reward: true,
    max_episode_frames: 108_000,
    count_reset_frames: false,
    count_reset_rewards: false,
    max_episode_steps: 0,
    end_precedence: EndPrecedence::Terminated,
    sticky_actions: 0.0,
    full_action_space: false,
    continuous: false,
    continuous_action_threshold: 0.5,
    mode: None,
    difficulty: None,
    seeding: Seeding::Raw,
};

impl Recipe {
    /// The recipe of a preset.
    #[must_use]
    pub const fn preset(preset: Preset) -> Self {
        match preset {
            Preset::Ale => ALE,
            Preset::Default => Self {
                episodic_life: true,
                life_loss: LifeLoss::AfterSkip,
                after_life_loss: AfterLifeLoss::GoOn,
                ..ALE
            },
            Preset::Baselines => BASELINES,
            Preset::Cleanrl => Self {
                padding: Padding::Reset,
                resizing: Resizing::Rgb,
                ..BASELINES
            },
            Preset::Gymnasium => Self {
                padding: Padding::Reset,
                noop_min: 1,
                noop_max: 30,
                fire_reset: FireReset::Off,
                life_loss: LifeLoss::AnyDrop,
                clip_reward: false,
                count_reset_frames: true,
                end_precedence: EndPrecedence::Both,
                seeding: Seeding::Hashed,
                ..ALE
            },
            Preset::Envpool => Self {
                last_frame: LastFrame::Alone,
                padding: Padding::Reset,
                noop_min: 1,
                noop_max: 30,
                fire_reset: FireReset::AfterNoops,
                life_loss: LifeLoss::AfterSkip,
                after_life_loss: AfterLifeLoss::Noops,
                clip_reward: false,
                max_episode_frames: 0,
                max_episode_steps: 27_000,
                end_precedence: EndPrecedence::Truncated,
                ..ALE
            },
        }
    }

    /// Says which part is out of its range, in the words of the settings.
    ///
    /// # Errors
    /// A message that names the part, its value and its range.
    pub fn check(&self) -> Result<(), String> {
        let (height, width) = self.screen_size;
        let at_least_one = [
            ("frame_skip", self.frame_skip as usize),
            ("frame_stack", self.frame_stack),
            ("screen_size", height.min(width)),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(format!("{name} must be at least 1, not 0"));
        }
        let probabilities = [
            ("sticky_actions", self.sticky_actions),
            (
                "continuous_action_threshold",
                self.continuous_action_threshold,
            ),
        ];
        for (name, value) in probabilities {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name} must be between 0 and 1, not {value}"));
            }
        }
        let at_most = [
            ("frame_skip", self.frame_skip as usize, MOST_FRAMES as usize),
            ("noop_max", self.noop_max as usize, MOST_FRAMES as usize),
            ("screen_size", height.max(width), MOST_PIXELS),
        ];
        if let Some((name, value, most)) = at_most.iter().find(|(_, value, most)| value > most) {
            return Err(format!("{name} must be at most {most}, not {value}"));
        }
        let plane = height * width * if self.grayscale { 1 } else { 3 };
        let num_bytes = plane.saturating_mul(self.frame_stack);
        if num_bytes > MOST_BYTES {
            return Err(format!(
                "frame_stack={} of {height}x{width} pixels makes {num_bytes} bytes an observation: {MOST_BYTES} at most",
                self.frame_stack
            ));
        }
        if self.noop_min > self.noop_max {
            return Err(format!(
                "noop_min must be at most noop_max ({}), not {}",
                self.noop_max, self.noop_min
            ));
        }
        if self.resizing == Resizing::Rgb && self.pooling == Pooling::Gray {
            return Err("resizing=rgb needs pooling=rgb: gray pictures have no colours".to_owned());
        }
        Ok(())
    }

    /// Shape of an observation: `[frame_stack, height, width]` by default.
    #[must_use]
    pub fn obs_shape(&self) -> Vec<usize> {
        let (height, width) = self.screen_size;
        match (self.obs_type, self.channels_last, self.grayscale) {
            (ObsType::Ram, ..) => vec![128],
            (_, true, gray) => {
                vec![height, width, self.frame_stack * if gray { 1 } else { 3 }]
            }
            (_, false, true) => vec![self.frame_stack, height, width],
            (_, false, false) => vec![self.frame_stack, height, width, 3],
        }
    }
}
