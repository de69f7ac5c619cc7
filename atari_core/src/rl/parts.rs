//! Parts of a [`Recipe`] by their names, as whoever reads settings has them.

use super::recipe::{
    AfterLifeLoss, EndPrecedence, FireReset, LastFrame, LifeLoss, ObsType, Padding, Pooling,
    Recipe, Seeding,
};

/// The value of a part.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// None: the game's default, where a part has one.
    None,
    /// Yes or no.
    Flag(bool),
    /// A number.
    Number(f64),
    /// Height and width.
    Size(f64, f64),
    /// The name of a choice.
    Name(String),
}

impl Recipe {
    /// Sets the part `name`; [`Recipe::check`] checks ranges.
    ///
    /// # Errors
    /// A message that names a part that there is not, or a value that it cannot have.
    pub fn set(&mut self, name: &str, value: &Part) -> Result<(), String> {
        self.set_if_known(name, value).ok_or_else(|| {
            format!("{name}={value:?} is no part of a recipe of atari_core, or no value of it")
        })
    }

    fn set_if_known(&mut self, name: &str, value: &Part) -> Option<()> {
        match name {
            "obs_type" => self.obs_type = ObsType::from_name(text(value)?)?,
            "pooling" => self.pooling = Pooling::from_name(text(value)?)?,
            "last_frame" => self.last_frame = LastFrame::from_name(text(value)?)?,
            "frame_skip" => self.frame_skip = count(value)?,
            "screen_size" => self.screen_size = size(value)?,
            "grayscale" => self.grayscale = flag(value)?,
            "frame_stack" => self.frame_stack = count(value)? as usize,
            "channels_last" => self.channels_last = flag(value)?,
            "padding" => self.padding = Padding::from_name(text(value)?)?,
            "noop_min" => self.noop_min = count(value)?,
            "noop_max" => self.noop_max = count(value)?,
            "fire_reset" => self.fire_reset = FireReset::from_name(text(value)?)?,
            "episodic_life" => self.episodic_life = flag(value)?,
            "life_loss" => self.life_loss = LifeLoss::from_name(text(value)?)?,
            "after_life_loss" => self.after_life_loss = AfterLifeLoss::from_name(text(value)?)?,
            "clip_reward" => self.clip_reward = flag(value)?,
            "max_episode_frames" => self.max_episode_frames = count(value)?,
            "count_reset_frames" => self.count_reset_frames = flag(value)?,
            "count_reset_rewards" => self.count_reset_rewards = flag(value)?,
            "max_episode_steps" => self.max_episode_steps = count(value)?,
            "end_precedence" => self.end_precedence = EndPrecedence::from_name(text(value)?)?,
            "sticky_actions" => self.sticky_actions = number(value)? as f32,
            "full_action_space" => self.full_action_space = flag(value)?,
            "continuous" => self.continuous = flag(value)?,
            "continuous_action_threshold" => {
                self.continuous_action_threshold = number(value)? as f32;
            }
            "mode" if *value == Part::None => self.mode = None,
            "mode" => self.mode = Some(count(value)?),
            "difficulty" if *value == Part::None => self.difficulty = None,
            "difficulty" => self.difficulty = Some(count(value)?),
            "seeding" => self.seeding = Seeding::from_name(text(value)?)?,
            _ => return None,
        }
        Some(())
    }
}

fn text(value: &Part) -> Option<&str> {
    match value {
        Part::Name(name) => Some(name),
        _ => None,
    }
}

fn flag(value: &Part) -> Option<bool> {
    match value {
        Part::Flag(flag) => Some(*flag),
        _ => None,
    }
}

fn number(value: &Part) -> Option<f64> {
    match value {
        Part::Number(number) => Some(*number),
        _ => None,
    }
}

/// A whole number; what exceeds 32 bits is as good as their greatest.
fn whole(number: f64) -> Option<u32> {
    (number >= 0.0 && number.fract() == 0.0).then_some(number as u32)
}

fn count(value: &Part) -> Option<u32> {
    whole(number(value)?)
}

fn size(value: &Part) -> Option<(usize, usize)> {
    match value {
        Part::Size(height, width) => Some((whole(*height)? as usize, whole(*width)? as usize)),
        _ => None,
    }
}
