//! [`Preset`]: the field's recipes by name, each proved by `atari_wrappers` against the library of its name.

use serde::{Deserialize, Serialize};

use super::recipe::{
    AfterLifeLoss, EndPrecedence, FireReset, Interpolation, LastFrame, LifeLoss, ObsType, Padding,
    Pooling, Recipe, Resizing, Seeding,
};

/// A recipe of the field's, whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// ALE's, but a lost life ends the learner's episode while the game goes on.
    Default,
    /// As stable-baselines3 does it.
    Baselines,
    /// As CleanRL does it.
    Cleanrl,
    /// As gymnasium's `AtariPreprocessing` and `FrameStackObservation`.
    Gymnasium,
    /// As ALE's `AtariVectorEnv`.
    Ale,
    /// As EnvPool.
    Envpool,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Default,
        Self::Baselines,
        Self::Cleanrl,
        Self::Gymnasium,
        Self::Ale,
        Self::Envpool,
    ];
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
    interpolation: Interpolation::Area,
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
}
