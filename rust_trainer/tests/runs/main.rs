//! Whole runs on environments written in Rust: they implement `VecEnv`, and the trainer cannot tell.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

/// What an environment is, and its end, where it stands around another one.
macro_rules! as_inside {
    ($env:tt) => {
        fn spec(&self) -> &BatchSpec {
            self.$env.spec()
        }
        fn close(&mut self) -> Result<(), EnvError> {
            self.$env.close()
        }
    };
}

mod contexts;
mod evaluations;
mod failures;
mod folders;
mod foreign;
mod groups;
mod policies;
mod replays;
mod resume;
mod run_folder;
mod stops;
mod variants;

use std::path::{Path, PathBuf};

use contexts::{Contexts, End, NUM_ENVS};
use rust_trainer::{
    error::TrainerError,
    nn::{Memory, PolicyValueNet},
    policy::values,
    random::seeded_rng,
    run::{
        Checkpoint, Outcome, Run, RunStart, Summary, checkpoints,
        evaluate::{Play, play},
    },
    settings::{Algorithm, NetSettings, Precision, Settings},
    stop::StopRequest,
};
use tch::{Device, Tensor};
use variants::AFTER_UPDATES;
use vec_env::{ActionSpace, AutoresetMode, BatchSpec, VecEnv};

fn settings(algorithm: Algorithm, folder: &Path, name: &str) -> Settings {
    let mut settings = Settings::defaults(algorithm);
    folder.clone_into(&mut settings.run.runs_dir);
    name.clone_into(&mut settings.run.run_name);
    with(
        &settings,
        &format!(
            "num_envs = {NUM_ENVS}\nnum_steps = 16\nlearning_rate = 3e-3\nent_coef = 0.0\n\
             total_steps = 6400\ncheckpoint_every = 640"
        ),
    )
}

fn with(settings: &Settings, changes: &str) -> Settings {
    settings.with(&toml::from_str(changes).unwrap()).unwrap()
}

fn folder_of(settings: &Settings) -> PathBuf {
    settings.run.runs_dir.join(&settings.run.run_name)
}

/// Ends at once.
fn one_step() -> Contexts {
    Contexts::new(true, 1, End::Terminated)
}

fn create(settings: &Settings, env: impl VecEnv + 'static) -> Result<Run, TrainerError> {
    tch::set_num_threads(1); // these networks are too small for more
    Run::create(settings.clone(), Box::new(env), &StopRequest::never())
}

fn train(settings: &Settings, env: impl VecEnv + 'static) -> Result<Summary, TrainerError> {
    create(settings, env)?.train(&StopRequest::never())
}

/// Goes on with the run in `folder`.
fn resume(folder: &Path, env: impl VecEnv + 'static) -> Result<Summary, TrainerError> {
    let stop = StopRequest::never();
    let resume = RunStart::open(folder, &toml::Table::new())?;
    Run::start(resume, Box::new(env), &stop)?.train(&stop)
}

/// The newest checkpoint of a run.
fn newest(settings: &Settings) -> Checkpoint {
    checkpoints::find(&folder_of(settings)).unwrap().checkpoint
}

/// The network of a finished run, from its newest checkpoint.
fn trained(settings: &Settings) -> PolicyValueNet {
    let env = Contexts::new(true, 1, End::Terminated);
    let BatchSpec {
        obs_spec,
        action_space,
        ..
    } = env.spec;
    let mut rng = seeded_rng(0);
    let net = NetSettings::default();
    let net = PolicyValueNet::new(
        &obs_spec,
        &action_space,
        &net,
        0,
        Device::Cpu,
        Precision::Fp32,
        &mut rng,
    );
    let net = net.unwrap();
    newest(settings).state.copy_to(net.params.named()).unwrap();
    net
}

#[test]
fn both_algorithms_learn_which_action_the_context_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    for algorithm in [Algorithm::Ppo, Algorithm::A2c] {
        let settings = settings(algorithm, folder.path(), &format!("{algorithm:?}"));
        // Baselines' RMSprop moves by learning rate · gradient at first, Adam by the learning rate.
        let settings = match algorithm {
            Algorithm::A2c => with(&settings, "learning_rate = 0.5"),
            _ => settings,
        };
        let summary = train(&settings, Contexts::new(false, 9, End::Terminated)).unwrap();
        assert_eq!(summary.outcome, Outcome::Finished);
        assert!(
            summary.mean_return.unwrap().0 > 8.5,
            "{algorithm:?}: {:?} of 9",
            summary.mean_return
        );

        let mut env = Contexts::new(false, 9, End::Terminated);
        let stop = StopRequest::never();
        let games = Play {
            num_episodes: 7,
            seed: 0,
            greedy: true,
        };
        let played = play(&trained(&settings), &mut env, &games, &stop, |_| Ok(())).unwrap();
        let returns: Vec<f64> = played.iter().map(|game| game.episode.raw_return).collect();
        assert_eq!(returns, [9.0; 7]);
    }
}

/// Reward 1 a step with γ = 0.9 is worth 1/(1 − γ) = 10 if it never ends, at most 3.44 within 4 steps.
#[test]
fn a_truncated_episode_is_worth_what_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    for (end, low, high) in [(End::Truncated, 8.5, 11.0), (End::Terminated, 1.0, 3.5)] {
        let name = if end == End::Truncated {
            "truncated"
        } else {
            "terminated"
        };
        let settings = with(
            &settings(Algorithm::Ppo, folder.path(), name),
            "gamma = 0.9\ntotal_steps = 25_600\nclip_vloss = false\nanneal_lr = false",
        );
        train(&settings, Contexts::new(true, 4, end)).unwrap();
        let value = values(
            &trained(&settings),
            &Tensor::from_slice2(&[[1.0_f32, 0.0]]),
            &Memory::default(),
        )[0];
        assert!(
            (low..high).contains(&f64::from(value)),
            "{name}: V = {value}"
        );
    }
}

#[test]
fn environments_that_no_learner_here_can_learn_in_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let spec = one_step().spec;
    let unfit = [
        (
            "NextStep",
            BatchSpec {
                autoreset_mode: AutoresetMode::NextStep,
                ..spec.clone()
            },
        ),
        (
            "MultiDiscrete",
            BatchSpec {
                action_space: ActionSpace::MultiDiscrete { nvec: vec![2, 2] },
                ..spec.clone()
            },
        ),
        (
            "2 of 4",
            BatchSpec {
                batch_size: 2,
                ..spec
            },
        ),
    ];
    for (what, spec) in unfit {
        let env = Contexts { spec, ..one_step() };
        let settings = settings(Algorithm::A2c, folder.path(), "unfit");
        let message = create(&settings, env).err().unwrap().to_string();
        assert!(
            message.contains(&settings.env.env_id) && message.contains(what),
            "{message}"
        );
    }
    assert!(!folder.path().join("unfit").exists());
}
