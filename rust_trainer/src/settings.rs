//! The settings of a run: one list that is the command line, the TOML file, the run's log and the
//! checkpoint.
//!
//! A field is written once, with its explanation, in `settings!`; its default stands once, in
//! [`Settings::defaults`]. From the list come [`Settings`] (every value known) and [`Overrides`]
//! (what a command line or a file says), and `--help` reads the defaults from the former.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::error::TrainerError;
pub use crate::{
    choices::{Algorithm, Backend, DeviceChoice, Precision},
    preset::{FireReset, OrPreset, Preset},
};

macro_rules! settings {
    ($( $heading:literal {
        $( $(#[doc = $doc:literal])+ $(#[serde($serde:ident)])? $name:ident : $type:ty, )*
    } )*) => {
        /// Every setting of a run.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Settings {
            $( $( $(#[doc = $doc])+ $(#[serde($serde)])? pub $name: $type, )* )*
        }

        /// The settings that a command line or a TOML file names.
        #[derive(Clone, Debug, Default, PartialEq, clap::Args, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct Overrides {
            $( $( $(#[doc = $doc])+ #[arg(long, help_heading = $heading)]
                  pub $name: Option<$type>, )* )*
        }

        impl Settings {
            /// The names of all settings, as in the TOML file.
            pub const NAMES: &[&str] = &[$( $( stringify!($name), )* )*];

            /// These settings with those that `overrides` names put in their place.
            #[must_use]
            pub fn with(mut self, overrides: &Overrides) -> Self {
                $( $( if let Some(value) = &overrides.$name { self.$name.clone_from(value); } )* )*
                self
            }
        }

        impl Overrides {
            /// The names of the settings given.
            #[must_use]
            pub fn names(&self) -> Vec<&'static str> {
                let mut names = Vec::new();
                $( $( if self.$name.is_some() { names.push(stringify!($name)); } )* )*
                names
            }
        }
    };
}

settings! {
    "Run" {
        /// Learning algorithm
        algorithm: Algorithm,
        /// Any environment id that Gymnasium knows
        env_id: String,
        /// Agent steps to train for, over all environments
        total_steps: u64,
        /// Seed of the environments, the weights and the sampling
        seed: u64,
        /// Folder for the runs
        runs_dir: PathBuf,
        /// Name of the run's folder [default: made from the environment, algorithm, seed and time]
        run_name: String,
        /// Agent steps between two checkpoints
        checkpoint_every: u64,
        /// Newest checkpoints to keep
        keep_checkpoints: usize,
        /// Save every raw frame as PNG into this folder while training (slow; Atari)
        img_dir: PathBuf,
    }
    "Learning" {
        /// Environments stepped together
        num_envs: usize,
        /// Agent steps of each environment between two updates
        num_steps: usize,
        /// Learning rate
        learning_rate: f64,
        /// Let the learning rate fall linearly to zero over the run
        anneal_lr: bool,
        /// Discount factor
        gamma: f64,
        /// λ of generalized advantage estimation
        gae_lambda: f64,
        /// Minibatches that a rollout is split into (ppo)
        num_minibatches: usize,
        /// Passes over each rollout (ppo)
        update_epochs: usize,
        /// Normalize advantages to mean 0 and deviation 1 in each minibatch
        norm_adv: bool,
        /// Clip range of the probability ratio, and of the value with --clip-vloss (ppo)
        clip_coef: f64,
        /// Clip the value loss too (ppo)
        clip_vloss: bool,
        /// Weight of the entropy bonus
        ent_coef: f64,
        /// Weight of the value loss
        vf_coef: f64,
        /// Largest global norm of the gradient
        max_grad_norm: f64,
        /// Adam's ε (ppo)
        adam_eps: f64,
        /// RMSprop's smoothing constant (a2c)
        rmsprop_alpha: f64,
        /// RMSprop's ε (a2c)
        rmsprop_eps: f64,
    }
    "Environment" {
        /// Backend that steps the environments
        backend: Backend,
        /// Recipe by which games are preprocessed; it decides what says `preset` below (Atari)
        #[serde(default)]
        preset: Preset,
        /// A lost life ends the learner's episode (Atari)
        episodic_life: OrPreset<bool>,
        /// Learn from the sign of the reward; preset: for Atari, where the preset does
        clip_reward: OrPreset<bool>,
        /// Press FIRE after a reset where the game needs it: true, false, steps, before-noops or
        /// after-noops (Atari)
        fire_reset: OrPreset<FireReset>,
        /// Largest number of no-ops at the start of a game (Atari)
        noop_max: OrPreset<i64>,
        /// Frames that each action is repeated for (Atari)
        frame_skip: OrPreset<i64>,
        /// Frames in an observation (Atari)
        frame_stack: OrPreset<i64>,
        /// Probability that the emulator repeats the previous action instead (Atari)
        sticky_actions: OrPreset<f64>,
        /// All 18 actions instead of those that the game uses (Atari)
        full_action_space: OrPreset<bool>,
        /// Emulator frames after which a game is cut off, 0 for no limit (Atari)
        max_episode_frames: OrPreset<i64>,
    }
    "Machine" {
        /// Where the network runs: auto, cpu, cuda or cuda:N
        device: DeviceChoice,
        /// Number format of the forward and backward pass
        precision: Precision,
        /// Threads of libtorch; 0: as many as there are cores
        torch_threads: i32,
        /// Threads (ale) or processes (async) that step the environments; 0: as many as there are cores,
        /// at most one each
        env_threads: i64,
    }
}

impl Settings {
    /// The settings that an algorithm is published with, for Atari.
    ///
    /// PPO: Schulman et al. 2017, table 5, with the 8 environments, learning rate 2.5e-4 and ε 1e-5 of
    /// the Baselines implementation (Huang et al., "The 37 Implementation Details of PPO").
    /// A2C: Mnih et al. 2016 as in Baselines: 16 environments × 5 steps, λ = 1, RMSprop.
    #[must_use]
    pub fn defaults(algorithm: Algorithm) -> Self {
        let ppo = Self {
            algorithm,
            env_id: "SpaceInvadersNoFrameskip-v4".to_owned(),
            total_steps: 10_000_000,
            seed: 1,
            num_envs: 8,
            num_steps: 128,
            learning_rate: 2.5e-4,
            anneal_lr: true,
            gamma: 0.99,
            gae_lambda: 0.95,
            num_minibatches: 4,
            update_epochs: 4,
            norm_adv: true,
            clip_coef: 0.1,
            clip_vloss: true,
            ent_coef: 0.01,
            vf_coef: 0.5,
            max_grad_norm: 0.5,
            adam_eps: 1e-5,
            rmsprop_alpha: 0.99,
            rmsprop_eps: 1e-5,
            backend: Backend::Auto,
            preset: Preset::Default,
            episodic_life: OrPreset::Preset,
            clip_reward: OrPreset::Preset,
            fire_reset: OrPreset::Preset,
            noop_max: OrPreset::Preset,
            frame_skip: OrPreset::Preset,
            frame_stack: OrPreset::Preset,
            sticky_actions: OrPreset::Preset,
            full_action_space: OrPreset::Preset,
            max_episode_frames: OrPreset::Preset,
            device: DeviceChoice::Auto,
            precision: Precision::Fp32,
            torch_threads: 0,
            env_threads: 0,
            runs_dir: PathBuf::from("runs"),
            run_name: String::new(),
            checkpoint_every: 100_000,
            keep_checkpoints: 3,
            img_dir: PathBuf::new(),
        };
        match algorithm {
            Algorithm::Ppo => ppo,
            Algorithm::A2c => Self {
                num_envs: 16,
                num_steps: 5,
                learning_rate: 7e-4,
                gae_lambda: 1.0,
                num_minibatches: 1,
                update_epochs: 1,
                norm_adv: false,
                ..ppo
            },
        }
    }

    /// The settings from an optional TOML file and the command line, the latter winning.
    ///
    /// # Errors
    /// A file that cannot be read or names an unknown setting; a value out of range.
    pub fn resolve(file: Option<&Path>, command_line: &Overrides) -> Result<Self, TrainerError> {
        let from_file = file.map(Overrides::read).transpose()?.unwrap_or_default();
        let algorithm = command_line
            .algorithm
            .or(from_file.algorithm)
            .unwrap_or(Algorithm::Ppo);
        let settings = Self::defaults(algorithm)
            .with(&from_file)
            .with(command_line);
        settings.check()?;
        Ok(settings)
    }

    /// Agent steps that one update learns from.
    #[must_use]
    pub fn batch_size(&self) -> u64 {
        (self.num_envs * self.num_steps) as u64
    }

    /// Updates in the whole run; the last rollout is a whole one.
    #[must_use]
    pub fn num_updates(&self) -> u64 {
        self.total_steps.div_ceil(self.batch_size())
    }

    /// Refuses values that no run can work with.
    pub(crate) fn check(&self) -> Result<(), TrainerError> {
        let positive = [
            ("num_envs", self.num_envs as f64),
            ("num_steps", self.num_steps as f64),
            ("total_steps", self.total_steps as f64),
            ("num_minibatches", self.num_minibatches as f64),
            ("update_epochs", self.update_epochs as f64),
            ("learning_rate", self.learning_rate),
            ("max_grad_norm", self.max_grad_norm),
            ("clip_coef", self.clip_coef),
            ("checkpoint_every", self.checkpoint_every as f64),
            ("keep_checkpoints", self.keep_checkpoints as f64),
            ("adam_eps", self.adam_eps),
            ("rmsprop_eps", self.rmsprop_eps),
        ];
        let given = |name, count: OrPreset<i64>| Some((name, count.value()? as f64));
        let frames = [
            given("frame_skip", self.frame_skip),
            given("frame_stack", self.frame_stack),
        ];
        for (name, value) in positive.into_iter().chain(frames.into_iter().flatten()) {
            require(
                name,
                value,
                value > 0.0 && value.is_finite(),
                "must be greater than 0",
            )?;
        }
        let fractions = [
            ("gamma", self.gamma),
            ("gae_lambda", self.gae_lambda),
            ("rmsprop_alpha", self.rmsprop_alpha),
        ];
        let sticky_actions = self.sticky_actions.value();
        let sticky_actions = sticky_actions.map(|value| ("sticky_actions", value));
        for (name, value) in fractions.into_iter().chain(sticky_actions) {
            require(
                name,
                value,
                (0.0..=1.0).contains(&value),
                "must lie between 0 and 1",
            )?;
        }
        let not_negative = [
            ("ent_coef", self.ent_coef),
            ("vf_coef", self.vf_coef),
            ("torch_threads", f64::from(self.torch_threads)),
            ("env_threads", self.env_threads as f64),
        ];
        let counts = [
            given("noop_max", self.noop_max),
            given("max_episode_frames", self.max_episode_frames),
        ];
        for (name, value) in not_negative.into_iter().chain(counts.into_iter().flatten()) {
            require(
                name,
                value,
                value >= 0.0 && value.is_finite(),
                "must not be negative",
            )?;
        }
        let batch = self.num_envs * self.num_steps;
        if self.norm_adv && batch / self.num_minibatches < 2 {
            let problem = format!(
                "leaves minibatches of under 2 samples out of {batch}; nothing to normalize"
            );
            return Err(TrainerError::setting(
                "num_minibatches",
                self.num_minibatches,
                problem,
            ));
        }
        require(
            "num_minibatches",
            self.num_minibatches,
            batch >= self.num_minibatches,
            "is more than the samples of a rollout",
        )
    }
}

impl Overrides {
    /// Reads a TOML file of settings.
    ///
    /// # Errors
    /// A file that cannot be read, or names a setting that does not exist.
    pub fn read(path: &Path) -> Result<Self, TrainerError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TrainerError::io("read", path, source))?;
        toml::from_str(&text).map_err(|source| TrainerError::Toml {
            path: path.to_owned(),
            source,
        })
    }
}

fn require(
    name: &'static str,
    value: impl fmt::Display,
    holds: bool,
    rule: &str,
) -> Result<(), TrainerError> {
    if holds {
        Ok(())
    } else {
        Err(TrainerError::setting(name, value, rule.to_owned()))
    }
}
