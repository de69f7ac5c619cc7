//! Where environments come from: the one place that makes those of a run, from its settings.

mod checks;
mod env_thread;
mod groups;
mod native;
mod opponent;
mod own_thread;
mod policy_opponent;
mod self_play;

use std::path::PathBuf;

use python_shim::{MakeOptions, Value, VecGymEnv};
use vec_env::VecEnv;

use crate::{
    device::available_cores,
    error::TrainerError,
    memory,
    settings::{Backend, FireReset, OrRecipe, Settings},
};
use checks::check_memory;
pub use checks::{check, check_recipe};
pub(crate) use env_thread::EnvThread;
pub use groups::EnvGroups;
pub use opponent::{AgainstOpponent, Opponent, RandomOpponent, Score, Scores};
pub use policy_opponent::PolicyOpponent;
pub use self_play::{NUM_PLAYERS, SelfPlay};

/// Seconds that a worker process has to start and to make each environment, whatever is set for a step.
const MIN_START_SECONDS: f64 = 60.0;

/// What is saved of games that are played for evaluation.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Folder for every raw frame as PNG.
    pub img_dir: Option<PathBuf>,
    /// Folder for games as mp4.
    pub video_dir: Option<PathBuf>,
    /// Of each environment's games, the first and every n-th after it goes to `video_dir`; at least 1
    /// where that is set.
    pub record_every: u64,
}

impl Recording {
    fn has_pictures(&self) -> bool {
        self.img_dir.is_some() || self.video_dir.is_some()
    }
}

/// The environments to learn in.
///
/// # Errors
/// What `atari_wrappers.make_vec` refuses, such as an unknown id.
pub fn for_training(settings: &Settings) -> Result<Box<dyn VecEnv>, TrainerError> {
    let mut options = options(settings);
    set(&mut options, "episodic_life", settings.env.episodic_life);
    set(&mut options, "clip_reward", settings.env.clip_reward);
    if !settings.run.img_dir.as_os_str().is_empty() {
        options.set(
            "img_dir",
            settings.run.img_dir.to_string_lossy().into_owned(),
        );
    }
    let (num_envs, env_groups) = (settings.env.num_envs, settings.env.env_groups);
    check_memory(settings, num_envs, &options, |spec, on_host| {
        memory::of_run(settings, num_envs, spec, on_host)
    })?;
    let make_one = |settings: &Settings| {
        let made = make(settings, num_envs / env_groups, &options)?;
        Ok::<Box<dyn VecEnv>, TrainerError>(match made {
            Made::ForOne(env) => env,
            Made::ForTwo(players) => players,
        })
    };
    if env_groups == 1 {
        return make_one(settings);
    }
    let mut of_group = settings.clone();
    of_group.machine.env_threads = env_threads(settings)
        .unsigned_abs()
        .div_ceil(env_groups as u64)
        .cast_signed();
    let groups = (0..env_groups).map(|_| make_one(&of_group));
    Ok(Box::new(EnvGroups::new(groups.collect::<Result<_, _>>()?)?))
}

/// The environments to measure a policy in: whole games and raw rewards, whatever the recipe says. In
/// games for two the other side plays at random.
///
/// # Errors
/// What `atari_wrappers.make_vec` refuses.
pub fn for_evaluation(
    settings: &Settings,
    num_envs: usize,
    recording: &Recording,
) -> Result<Box<dyn VecEnv>, TrainerError> {
    Ok(match make_for_evaluation(settings, num_envs, recording)? {
        Made::ForOne(env) => env,
        Made::ForTwo(players) => {
            let opponent = RandomOpponent::new(players.action_space().num_actions());
            Box::new(AgainstOpponent::new(players, Box::new(opponent)))
        }
    })
}

/// Games for two to measure a policy in, against `opponent`.
///
/// # Errors
/// What `atari_wrappers.make_vec` refuses; settings of games for one.
pub fn against(
    opponent: Box<dyn Opponent>,
    settings: &Settings,
    num_envs: usize,
) -> Result<AgainstOpponent, TrainerError> {
    match make_for_evaluation(settings, num_envs, &Recording::default())? {
        Made::ForTwo(players) => Ok(AgainstOpponent::new(players, opponent)),
        Made::ForOne(_) => Err(TrainerError::setting(
            "num_players",
            settings.env.num_players,
            "must be 2 where two play".to_owned(),
        )),
    }
}

fn make_for_evaluation(
    settings: &Settings,
    num_envs: usize,
    recording: &Recording,
) -> Result<Made, TrainerError> {
    let mut options = options(settings)
        .with("episodic_life", false)
        .with("clip_reward", false);
    let mut settings = settings.clone();
    if recording.has_pictures() && matches!(settings.env.backend, Backend::Ale | Backend::Native) {
        // Their threads write no raw frames; the same games run elsewhere.
        settings.env.backend = Backend::Auto;
    }
    if let Some(folder) = &recording.img_dir {
        options.set("img_dir", folder.to_string_lossy().into_owned());
    }
    if let Some(folder) = &recording.video_dir {
        options.set("video_dir", folder.to_string_lossy().into_owned());
        options.set("record_every", recording.record_every as i64);
    }
    check_memory(&settings, num_envs, &options, |_, _| Vec::new())?;
    make(&settings, num_envs, &options)
}

/// Environments that pass [`check`], by the players of each.
enum Made {
    ForOne(Box<dyn VecEnv>),
    ForTwo(Box<SelfPlay>),
}

impl Made {
    fn env(&mut self) -> &mut dyn VecEnv {
        match self {
            Self::ForOne(env) => &mut **env,
            Self::ForTwo(players) => &mut **players,
        }
    }
}

/// Any seed as one that the environments take: environment i gets `seed + i`, and ALE's seeds end at 2³¹.
#[must_use]
pub fn env_seed(seed: u64) -> u64 {
    seed % (1 << 30)
}

/// Threads or worker processes that step the environments: as many as asked for, else one a core, at
/// most one each.
#[must_use]
pub fn env_threads(settings: &Settings) -> i64 {
    let asked = match settings.machine.env_threads {
        0 => available_cores(),
        threads => threads,
    };
    asked.min(settings.env.num_envs as i64)
}

/// An environment's id as a part of files' names: Gymnasium's may hold `/` and `:`, a mistake anything.
#[must_use]
pub fn name_in_files(env_id: &str) -> String {
    const LONGEST: usize = 80;
    let plain = |letter: char| letter.is_control() || ['/', ':'].contains(&letter);
    env_id.replace(plain, "-").chars().take(LONGEST).collect()
}

fn options(settings: &Settings) -> MakeOptions {
    let env = &settings.env;
    let mut options = MakeOptions::new()
        .with("autoreset", "same-step")
        .with("preset", env.recipe.name());
    if let OrRecipe::Value(way) = env.fire_reset {
        options.set("fire_reset", fire_reset(way));
    }
    if let OrRecipe::Value(shown) = env.obs_type {
        options.set("obs_type", shown.name());
    }
    set(&mut options, "noop_max", env.noop_max);
    set(&mut options, "frame_skip", env.frame_skip);
    set(&mut options, "frame_stack", env.frame_stack);
    set(&mut options, "sticky_actions", env.sticky_actions);
    set(&mut options, "full_action_space", env.full_action_space);
    set(&mut options, "continuous", env.continuous);
    set(
        &mut options,
        "continuous_action_threshold",
        env.continuous_action_threshold,
    );
    set(&mut options, "max_episode_frames", env.max_episode_frames);
    if env.num_players > 1 {
        options.set("num_players", env.num_players as i64);
    }
    options
}

/// The name in Python.
fn fire_reset(way: FireReset) -> Value {
    match way {
        FireReset::On => true.into(),
        FireReset::Off => false.into(),
        FireReset::Steps => "steps".into(),
        FireReset::BeforeNoops => "before-noops".into(),
        FireReset::AfterNoops => "after-noops".into(),
    }
}

/// Passes a setting on where it is named.
fn set<T: Into<Value>>(options: &mut MakeOptions, name: &str, setting: OrRecipe<T>) {
    if let Some(value) = setting.value() {
        options.set(name, value);
    }
}

/// Makes the environments on the backend that the settings name. Where they leave it open: on `native`, or
/// else on `ale`, if it can serve them; else in worker processes if they show images, whose making takes longer than
/// passing them on, and there are several environments and cores; else in this process.
fn make(settings: &Settings, num_envs: usize, options: &MakeOptions) -> Result<Made, TrainerError> {
    let threads = env_threads(settings).min(num_envs as i64);
    let on = |backend: Backend, num_envs: usize| {
        if backend == Backend::Native {
            return make_native(&settings.env.env_id, num_envs, threads as usize, options);
        }
        let mut options = options.clone().with("backend", backend.name());
        match backend {
            Backend::Ale => options.set("num_threads", threads),
            Backend::Async => {
                options.set("num_workers", threads);
                options.set("worker_timeout", settings.env.env_timeout);
                options.set(
                    "start_timeout",
                    settings.env.env_timeout.max(MIN_START_SECONDS),
                );
            }
            Backend::Auto | Backend::Sync | Backend::Native => {}
        }
        make_on(&settings.env.env_id, num_envs, &options)
    };
    if settings.env.backend != Backend::Auto {
        return on(settings.env.backend, num_envs);
    }
    // Behind their threads there are no raw frames to save.
    let mut named = options.settings().iter().map(|(name, _)| name);
    if !named.any(|name| name == "img_dir" || name == "video_dir") {
        for backend in [Backend::Native, Backend::Ale] {
            match on(backend, num_envs) {
                // Also what no backend can serve: the next one says so, too.
                Err(TrainerError::Usage(_)) => {}
                made => return made,
            }
        }
    }
    let mut made = on(Backend::Sync, 1)?;
    let single = made.env();
    let are_images = single.obs_spec().is_image();
    single.close()?;
    // In a Python process, worker processes would run the script anew that called this, unless it has a
    // `__main__` guard; there they are for those who ask for them.
    let may_spawn = !cfg!(feature = "extension-module");
    if are_images && threads > 1 && may_spawn {
        on(Backend::Async, num_envs)
    } else {
        on(Backend::Sync, num_envs)
    }
}

/// Why the fastest backend does not step the environments, where the settings leave the choice open.
#[must_use]
pub fn why_not_native(settings: &Settings) -> Option<String> {
    (settings.env.backend == Backend::Auto)
        .then(|| native::refusal(&settings.env.env_id, &options(settings)))?
}

fn make_native(
    env_id: &str,
    num_envs: usize,
    threads: usize,
    options: &MakeOptions,
) -> Result<Made, TrainerError> {
    match native::make(env_id, num_envs, threads, options) {
        Ok(env) => made(env_id, Box::new(env)),
        Err(error) if error.is_usage_error() => Err(TrainerError::Usage(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

fn made(env_id: &str, env: Box<dyn VecEnv>) -> Result<Made, TrainerError> {
    let mut made = match env.num_players() {
        NUM_PLAYERS => Made::ForTwo(Box::new(SelfPlay::new(env)?)),
        _ => Made::ForOne(env),
    };
    check(env_id, 1, made.env())?;
    Ok(made)
}

fn make_on(env_id: &str, num_envs: usize, options: &MakeOptions) -> Result<Made, TrainerError> {
    match VecGymEnv::make_vec(env_id, num_envs, options) {
        Ok(env) => made(env_id, own_thread::if_needed(env_id, Box::new(env))),
        // A typing mistake gets a line; anything else keeps its traceback.
        Err(error) if error.is_usage_error() => Err(TrainerError::Usage(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Algorithm, EnvSettings, FireReset, ObsType, Recipe};

    fn names(options: &MakeOptions) -> Vec<&str> {
        let settings = options.settings().iter();
        settings.map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn only_what_is_named_reaches_python_beside_the_recipe() {
        let settings = Settings::defaults(Algorithm::Ppo);
        let always = ["autoreset", "preset"];
        assert_eq!(names(&options(&settings)), always);
        let settings = Settings {
            env: EnvSettings {
                recipe: Recipe::Baselines,
                noop_max: OrRecipe::Value(0),
                fire_reset: OrRecipe::Value(FireReset::Off),
                sticky_actions: OrRecipe::Value(0.25),
                continuous: OrRecipe::Value(true),
                continuous_action_threshold: OrRecipe::Value(0.3),
                obs_type: OrRecipe::Value(ObsType::Ram),
                ..settings.env
            },
            ..settings
        };
        let options = options(&settings);
        let given = [
            "fire_reset",
            "obs_type",
            "noop_max",
            "sticky_actions",
            "continuous",
            "continuous_action_threshold",
        ];
        assert_eq!(names(&options), [always.as_slice(), &given].concat());
        let value = |name: &str| {
            let mut settings = options.settings().iter();
            let found = settings.find(|(given, _)| given == name);
            found.map(|(_, value)| value.clone())
        };
        assert_eq!(value("preset"), Some("baselines".into()));
        assert_eq!(value("fire_reset"), Some(false.into()));
        assert_eq!(value("noop_max"), Some(0.into()));
        assert_eq!(value("sticky_actions"), Some(0.25.into()));
        assert_eq!(value("continuous"), Some(true.into()));
        assert_eq!(value("continuous_action_threshold"), Some(0.3.into()));
        assert_eq!(value("obs_type"), Some("ram".into()));
    }
}
