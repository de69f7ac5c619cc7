//! Whole runs on environments written in Rust: they implement `VecEnv`, and the trainer cannot tell.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use rust_trainer::{
    checkpoint,
    evaluate::play,
    nn::PolicyValueNet,
    policy::{seeded_rng, values},
    settings::{Algorithm, Precision, Settings},
    signals::StopRequest,
    train::{Outcome, Run},
};
use tch::{Device, Tensor};
use vec_env::{
    ActionSpace, Actions, AutoresetMode, Dtype, EnvError, Episode, ObsSlot, ObsSpec, StepBatch,
    VecEnv,
};

const NUM_ENVS: usize = 4;

/// How the scripted environment ends its episodes.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Terminated,
    Truncated,
}

/// Shows one of two contexts, one-hot; the action that names it is worth 1. The context is the parity of
/// the steps taken, or always the first with `constant`, and an episode takes `length` steps.
struct Contexts {
    spec: ObsSpec,
    constant: bool,
    length: i64,
    end: End,
    steps: i64,
    returns: [f64; NUM_ENVS],
    sent: Option<(Vec<i64>, ObsSlot)>,
    autoreset: AutoresetMode,
    space: ActionSpace,
    batch_size: usize,
}

impl Contexts {
    fn new(constant: bool, length: i64, end: End) -> Self {
        let spec = ObsSpec {
            shape: vec![2],
            dtype: Dtype::Float32,
        };
        Self {
            spec,
            constant,
            length,
            end,
            steps: 0,
            returns: [0.0; NUM_ENVS],
            sent: None,
            autoreset: AutoresetMode::SameStep,
            space: ActionSpace::Discrete { n: 2 },
            batch_size: NUM_ENVS,
        }
    }

    fn context(&self, env: usize) -> i64 {
        if self.constant {
            0
        } else {
            (self.steps + env as i64) % 2
        }
    }

    fn observe(&self, obs: &mut [u8]) {
        for (env, row) in obs.chunks_exact_mut(self.spec.num_bytes()).enumerate() {
            for (index, feature) in row.chunks_exact_mut(4).enumerate() {
                let value = f32::from(u8::from(index as i64 == self.context(env)));
                feature.copy_from_slice(&value.to_ne_bytes());
            }
        }
    }
}

impl VecEnv for Contexts {
    fn num_envs(&self) -> usize {
        NUM_ENVS
    }

    fn obs_spec(&self) -> &ObsSpec {
        &self.spec
    }

    fn action_space(&self) -> &ActionSpace {
        &self.space
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn autoreset_mode(&self) -> AutoresetMode {
        self.autoreset
    }

    fn reset(&mut self, _seed: Option<u64>, obs: &mut [u8]) -> Result<(), EnvError> {
        (self.steps, self.returns) = (0, [0.0; NUM_ENVS]);
        self.observe(obs);
        Ok(())
    }

    fn send(&mut self, actions: Actions<'_>, obs: ObsSlot) -> Result<(), EnvError> {
        let Actions::Discrete(actions) = actions else {
            let space = self.space.clone();
            return Err(EnvError::ActionKind { space });
        };
        self.sent = Some((actions.to_vec(), obs));
        Ok(())
    }

    fn recv(&mut self, batch: &mut StepBatch) -> Result<(), EnvError> {
        let (actions, mut obs) = self
            .sent
            .take()
            .ok_or_else(|| EnvError::Order("no step in flight".to_owned()))?;
        let rewards: Vec<f32> = (0..NUM_ENVS)
            .map(|env| f32::from(u8::from(actions[env] == self.context(env))))
            .collect();
        self.steps += 1;
        let ended = self.steps % self.length == 0;
        batch.clear(NUM_ENVS, 1);
        batch.raw_reward.clone_from(&rewards);
        batch.terminated.fill(ended && self.end == End::Terminated);
        batch.truncated.fill(ended && self.end == End::Truncated);
        self.observe(&mut obs);
        for (env, reward) in rewards.iter().enumerate() {
            self.returns[env] += f64::from(*reward);
            if ended {
                let raw_return = std::mem::take(&mut self.returns[env]);
                batch.episodes.push(Episode {
                    env,
                    raw_return,
                    length: self.length,
                    frames: self.length,
                });
                let row = env * self.spec.num_bytes();
                batch
                    .final_obs
                    .push((env, obs[row..row + self.spec.num_bytes()].to_vec()));
            }
        }
        batch.reward = rewards;
        Ok(())
    }

    fn close(&mut self) -> Result<(), EnvError> {
        Ok(())
    }
}

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

/// The network of a finished run, from its newest checkpoint.
fn trained(settings: &Settings) -> PolicyValueNet {
    let path = checkpoint::find(&settings.run.runs_dir.join(&settings.run.run_name)).unwrap();
    let (spec, precision) = (
        Contexts::new(true, 1, End::Terminated).spec,
        Precision::Fp32,
    );
    let net = PolicyValueNet::new(&spec, 2, Device::Cpu, precision, &mut seeded_rng(0)).unwrap();
    let state = checkpoint::read_algorithm(&path).unwrap();
    state.copy_to(net.params.named()).unwrap();
    net
}

#[test]
fn both_algorithms_learn_which_action_the_context_asks_for() {
    let folder = tempfile::tempdir().unwrap();
    for algorithm in [Algorithm::Ppo, Algorithm::A2c] {
        let settings = settings(algorithm, folder.path(), &format!("{algorithm:?}"));
        // Baselines' RMSprop moves by learning rate · gradient at first, Adam by the learning rate.
        let settings = match algorithm {
            Algorithm::Ppo => settings,
            Algorithm::A2c => with(&settings, "learning_rate = 0.5"),
        };
        let run = Run::create(
            settings.clone(),
            Box::new(Contexts::new(false, 9, End::Terminated)),
        )
        .unwrap();
        let summary = run.train(&StopRequest::never()).unwrap();
        assert_eq!(summary.outcome, Outcome::Finished);
        assert!(
            summary.mean_return.unwrap().0 > 8.5,
            "{algorithm:?}: {:?} of 9",
            summary.mean_return
        );

        let mut env = Contexts::new(false, 9, End::Terminated);
        let stop = StopRequest::never();
        let played = play(&trained(&settings), &mut env, 7, 0, true, &stop, |_| {}).unwrap();
        let returns: Vec<f64> = played.iter().map(|episode| episode.raw_return).collect();
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
        Run::create(settings.clone(), Box::new(Contexts::new(true, 4, end)))
            .unwrap()
            .train(&StopRequest::never())
            .unwrap();
        let value = values(&trained(&settings), &Tensor::from_slice2(&[[1.0_f32, 0.0]]))[0];
        assert!(
            (low..high).contains(&f64::from(value)),
            "{name}: V = {value}"
        );
    }
}

#[test]
fn a_resumed_run_ends_as_the_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    let env = || Box::new(Contexts::new(true, 1, End::Terminated));
    for algorithm in [Algorithm::Ppo, Algorithm::A2c] {
        let [whole, broken] = ["whole", "broken"].map(|name| {
            let name = format!("{name}-{algorithm:?}");
            with(
                &settings(algorithm, folder.path(), &name),
                "total_steps = 640",
            )
        });
        Run::create(whole.clone(), env())
            .unwrap()
            .train(&StopRequest::never())
            .unwrap();

        let stop = StopRequest::never();
        stop.ask();
        let summary = Run::create(broken.clone(), env())
            .unwrap()
            .train(&stop)
            .unwrap();
        assert_eq!(
            (summary.outcome, summary.counters.step),
            (Outcome::Stopped, 64)
        );
        let run_folder = folder.path().join(&broken.run.run_name);
        let summary = Run::resume(&run_folder, broken.clone(), env())
            .unwrap()
            .train(&StopRequest::never())
            .unwrap();
        assert_eq!(
            (summary.outcome, summary.counters.step),
            (Outcome::Finished, 640)
        );

        let [whole, broken] = [&whole, &broken].map(|settings| {
            let run = settings.run.runs_dir.join(&settings.run.run_name);
            let checkpoint = checkpoint::find(&run).unwrap();
            let tensors = fs::read(checkpoint.join("tensors.safetensors")).unwrap();
            (
                tensors,
                checkpoint::read_algorithm(&checkpoint).unwrap().values,
            )
        });
        assert!(whole.0 == broken.0, "{algorithm:?}: tensors differ");
        assert_eq!(whole.1, broken.1, "{algorithm:?}");
    }
}

#[test]
fn old_checkpoints_go_and_the_newest_stay() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(
        &settings(Algorithm::A2c, folder.path(), "keep"),
        "keep_checkpoints = 2",
    );
    Run::create(
        settings.clone(),
        Box::new(Contexts::new(true, 1, End::Terminated)),
    )
    .unwrap()
    .train(&StopRequest::never())
    .unwrap();
    let kept = checkpoint::list(&folder.path().join("keep/checkpoints")).unwrap();
    let names: Vec<_> = kept
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["step-000000005760", "step-000000006400"]);
}

#[test]
fn a_run_folder_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(Algorithm::A2c, folder.path(), "twice");
    let env = || Box::new(Contexts::new(true, 1, End::Terminated));
    Run::create(settings.clone(), env()).unwrap();
    let message = Run::create(settings, env()).err().unwrap().to_string();
    assert!(
        message.contains("twice") && message.contains("--resume"),
        "{message}"
    );
}

#[test]
fn environments_that_no_learner_here_can_learn_in_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let fit = || Contexts::new(true, 1, End::Terminated);
    let unfit = [
        (
            "NextStep",
            Contexts {
                autoreset: AutoresetMode::NextStep,
                ..fit()
            },
        ),
        (
            "MultiDiscrete",
            Contexts {
                space: ActionSpace::MultiDiscrete { nvec: vec![2, 2] },
                ..fit()
            },
        ),
        (
            "2 of 4",
            Contexts {
                batch_size: 2,
                ..fit()
            },
        ),
    ];
    for (what, env) in unfit {
        let settings = settings(Algorithm::A2c, folder.path(), "unfit");
        let message = Run::create(settings.clone(), Box::new(env))
            .err()
            .unwrap()
            .to_string();
        assert!(
            message.contains(&settings.env.env_id) && message.contains(what),
            "{message}"
        );
    }
    assert!(!folder.path().join("unfit").exists());
}

#[test]
fn a_run_goes_on_from_its_folder_and_no_checkpoint_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(
        &settings(Algorithm::A2c, folder.path(), "run"),
        "total_steps = 64",
    );
    let env = || Box::new(Contexts::new(true, 1, End::Terminated));
    Run::create(settings.clone(), env())
        .unwrap()
        .train(&StopRequest::never())
        .unwrap();
    let run_folder = folder.path().join("run");
    let path = checkpoint::find(&run_folder).unwrap();
    assert_eq!(checkpoint::find(&path).unwrap(), path, "to be evaluated");
    let message = Run::resume(&path, settings, env())
        .err()
        .unwrap()
        .to_string();
    let remedy = format!("`{}`", run_folder.display());
    assert!(message.contains(&remedy), "{message}");
    assert!(!path.join("settings.toml").exists());
}

#[test]
fn a_broken_checkpoint_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(
        &settings(Algorithm::A2c, folder.path(), "broken"),
        "total_steps = 64",
    );
    let env = || Box::new(Contexts::new(true, 1, End::Terminated));
    Run::create(settings.clone(), env())
        .unwrap()
        .train(&StopRequest::never())
        .unwrap();
    let run_folder = folder.path().join("broken");
    let path = checkpoint::find(&run_folder).unwrap();

    let weights = fs::read(path.join("tensors.safetensors")).unwrap();
    fs::write(
        path.join("tensors.safetensors"),
        &weights[..weights.len() / 2],
    )
    .unwrap();
    let message = Run::resume(&run_folder, settings.clone(), env())
        .err()
        .unwrap()
        .to_string();
    assert!(message.contains("step-000000000064"), "{message}");

    fs::write(path.join("state.json"), "{}").unwrap();
    let message = Run::resume(&run_folder, settings, env())
        .err()
        .unwrap()
        .to_string();
    assert!(message.contains("step-000000000064"), "{message}");
}
