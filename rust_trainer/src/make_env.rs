//! The environments of a run, made from its settings.

use std::{path::Path, thread};

use python_shim::{MakeOptions, VecEnv, VecGymEnv};

use crate::{
    error::TrainerError,
    settings::{Backend, ClipReward, Settings},
};

/// The environments to learn in.
///
/// # Errors
/// What `atari_wrappers.make_vec` refuses, such as an unknown id.
pub fn for_training(settings: &Settings) -> Result<Box<dyn VecEnv>, TrainerError> {
    let mut options = options(settings).with("episodic_life", settings.episodic_life);
    match settings.clip_reward {
        ClipReward::Auto => {}
        ClipReward::True => options.set("clip_reward", true),
        ClipReward::False => options.set("clip_reward", false),
    }
    if !settings.img_dir.as_os_str().is_empty() {
        options.set("img_dir", settings.img_dir.to_string_lossy().into_owned());
    }
    make(&settings.env_id, settings.num_envs, &options)
}

/// The environments to measure a policy in: whole games, raw rewards, frames into `img_dir` if named.
///
/// # Errors
/// What `atari_wrappers.make_vec` refuses.
pub fn for_evaluation(
    settings: &Settings,
    num_envs: usize,
    img_dir: Option<&Path>,
) -> Result<Box<dyn VecEnv>, TrainerError> {
    let mut options = options(settings)
        .with("episodic_life", false)
        .with("clip_reward", false);
    if let Some(folder) = img_dir {
        options.set("img_dir", folder.to_string_lossy().into_owned());
    }
    make(&settings.env_id, num_envs, &options)
}

/// Any seed as one that the environments take: environment i gets `seed + i`, and ALE's seeds end at 2³¹.
#[must_use]
pub fn env_seed(seed: u64) -> u64 {
    seed % (1 << 30)
}

/// Threads that step the environments: as many as asked for, else one a core, at most one each.
#[must_use]
pub fn env_threads(settings: &Settings) -> i64 {
    match settings.env_threads {
        0 => available_cores().min(settings.num_envs as i64),
        threads => threads,
    }
}

/// Cores that this process may use.
#[must_use]
pub fn available_cores() -> i64 {
    thread::available_parallelism().map_or(1, |cores| cores.get() as i64)
}

fn options(settings: &Settings) -> MakeOptions {
    let backend = match settings.backend {
        Backend::Auto => "auto",
        Backend::Ale => "ale",
        Backend::Sync => "sync",
        Backend::Async => "async",
    };
    MakeOptions::new()
        .with("backend", backend)
        .with("autoreset", "same-step")
        .with("fire_reset", settings.fire_reset)
        .with("noop_max", settings.noop_max)
        .with("frame_skip", settings.frame_skip)
        .with("frame_stack", settings.frame_stack)
        .with("sticky_actions", settings.sticky_actions)
        .with("full_action_space", settings.full_action_space)
        .with("max_episode_frames", settings.max_episode_frames)
        .with("num_threads", env_threads(settings))
}

fn make(
    env_id: &str,
    num_envs: usize,
    options: &MakeOptions,
) -> Result<Box<dyn VecEnv>, TrainerError> {
    match VecGymEnv::make_vec(env_id, num_envs, options) {
        Ok(env) => Ok(Box::new(env)),
        // A typing mistake gets a line; anything else keeps its traceback.
        Err(error) if error.is_usage_error() => Err(TrainerError::Usage(error.summary())),
        Err(error) => Err(error.into()),
    }
}
