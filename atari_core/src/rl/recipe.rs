//! What "preprocessed Atari" means: one [`Recipe`] of parts. Parts and their values are those of the Python package
//! `atari_wrappers` (`recipes.py`).

use std::{fmt, ops::RangeInclusive};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use super::choices::{
    AfterLifeLoss, EndPrecedence, FireReset, Interpolation, LastFrame, LifeLoss, ObsType, Padding,
    Pooling, Resizing, Seeding,
};

/// Most frames of one step, or of no-ops: as long as a game may last by most recipes.
const MOST_FRAMES: usize = 108_000;
/// Longest side of an observation, in pixels, and most bytes that one may have.
const MOST_PIXELS: usize = 1 << 15;
const MOST_BYTES: usize = 1 << 28;

/// How a game becomes episodes of observations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a part of its own")]
pub struct Recipe {
    /// What is observed.
    pub obs_type: ObsType,
    /// Of which pictures a step's maximum is taken.
    pub pooling: Pooling,
    /// Which pictures are brought to `screen_size`; `Rgb` asks for a `pooling` of those.
    pub resizing: Resizing,
    /// How they are.
    pub interpolation: Interpolation,
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

impl Recipe {
    /// Every part by its name, as settings have it.
    #[must_use]
    pub fn parts(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(parts)) => parts,
            _ => unreachable!("a struct of plain values is an object"),
        }
    }

    /// Sets the part `name`; [`Recipe::check`] checks ranges.
    ///
    /// # Errors
    /// A message that names a part that there is not, or a value that it cannot have.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), String> {
        let refused = format!(
            "{} is no part of a recipe of atari_core",
            named(name, &value)
        );
        let mut parts = self.parts();
        *parts.get_mut(name).ok_or_else(|| refused.clone())? = value;
        *self = serde_json::from_value(parts.into())
            .map_err(|error| format!("{refused}, or no value of it: {error}"))?;
        Ok(())
    }

    /// Says which part is out of its range, in the words of the settings.
    ///
    /// # Errors
    /// A message that names the part, its value and its range.
    pub fn check(&self) -> Result<(), String> {
        let (height, width) = self.screen_size;
        within("frame_skip", self.frame_skip as usize, 1..=MOST_FRAMES)?;
        within("frame_stack", self.frame_stack, 1..=usize::MAX)?;
        within("screen_size", height.min(width), 1..=MOST_PIXELS)?;
        within("screen_size", height.max(width), 1..=MOST_PIXELS)?;
        within("noop_max", self.noop_max as usize, 0..=MOST_FRAMES)?;
        for (name, value) in [
            ("sticky_actions", self.sticky_actions),
            (
                "continuous_action_threshold",
                self.continuous_action_threshold,
            ),
        ] {
            if !(0.0..=1.0).contains(&value) {
                return Err(format!("{name} must be between 0 and 1, not {value}"));
            }
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

/// All parts as `name=value`, with spaces between.
impl fmt::Display for Recipe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts();
        let parts: Vec<String> = parts
            .iter()
            .map(|(name, value)| named(name, value))
            .collect();
        formatter.write_str(&parts.join(" "))
    }
}

fn named(name: &str, value: &Value) -> String {
    match value {
        Value::String(choice) => format!("{name}={choice}"),
        value => format!("{name}={value}"),
    }
}

/// Refuses a number outside of its range.
fn within(name: &str, value: usize, range: RangeInclusive<usize>) -> Result<(), String> {
    let (least, most) = range.into_inner();
    match value {
        _ if value < least => Err(format!("{name} must be at least {least}, not {value}")),
        _ if value > most => Err(format!("{name} must be at most {most}, not {value}")),
        _ => Ok(()),
    }
}
