//! A training run: rollout, update, report, checkpoint, until it is done or asked to stop.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tch::Tensor;
use vec_env::{StepBatch, VecEnv};

use crate::{
    checkpoint::{self, Counters},
    device,
    error::TrainerError,
    learner::{Actions, Learner},
    make_env::{self, env_seed},
    report::RunReport,
    rollout::{Observations, Rollout, kind, sizes},
    settings::Settings,
    signals::StopRequest,
};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done.
    Finished,
    /// It was asked to stop; a checkpoint is written.
    Stopped,
}

/// What became of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// How it ended.
    pub outcome: Outcome,
    /// How far it came.
    pub counters: Counters,
    /// Mean raw return of the last true games, and how many they are: 100 if as many ended.
    pub mean_return: Option<(f64, usize)>,
    /// The picture of the learning curve.
    pub curve: PathBuf,
}

/// A training run and its folder.
pub struct Run {
    folder: PathBuf,
    settings: Settings,
    env: Box<dyn VecEnv>,
    learner: Learner,
    counters: Counters,
    report: RunReport,
    observations: Observations,
    rollout: Rollout,
    step: StepBatch,
    times: Times,
}

/// Where the time of one iteration went.
#[derive(Default)]
struct Times {
    act: Duration,
    env: Duration,
    learn: Duration,
}

impl Run {
    /// A new run in its own new folder.
    ///
    /// # Errors
    /// A folder that exists or cannot be made, a device that is not there, environments that
    /// [`make_env::check`] refuses.
    pub fn create(settings: Settings, env: Box<dyn VecEnv>) -> Result<Self, TrainerError> {
        make_env::check(&settings.env.env_id, &*env)?;
        let device = device::select(settings.machine.device)?;
        let folder = settings.run.runs_dir.join(&settings.run.run_name);
        if folder.exists() {
            let advice = format!(
                "`{}` exists: go on with it by --resume {0}, or choose another --run-name",
                folder.display()
            );
            return Err(TrainerError::Usage(advice));
        }
        fs::create_dir_all(&folder)
            .map_err(|source| TrainerError::io("create", &folder, source))?;
        write_settings(&folder, &settings)?;
        let report = RunReport::create(&folder, &title(&settings), settings.run.total_steps)?;
        let learner = Learner::new(
            &settings,
            env.obs_spec(),
            env.action_space().num_actions(),
            device,
        )?;
        Ok(Self::new(
            folder,
            settings,
            env,
            learner,
            Counters::default(),
            report,
        ))
    }

    /// A run that goes on from its newest checkpoint, with `settings` instead of those saved there.
    ///
    /// # Errors
    /// A checkpoint that is missing, broken, or of another environment or network.
    pub fn resume(
        folder: &Path,
        settings: Settings,
        env: Box<dyn VecEnv>,
    ) -> Result<Self, TrainerError> {
        make_env::check(&settings.env.env_id, &*env)?;
        let path = checkpoint::newest(folder)?;
        let state = checkpoint::read_state(&path)?;
        if state.obs_spec() != *env.obs_spec()
            || state.num_actions != env.action_space().num_actions()
        {
            return Err(TrainerError::checkpoint(
                &path,
                "is of an environment with other observations or actions",
            ));
        }
        let device = device::select(settings.machine.device)?;
        let mut learner = Learner::new(
            &settings,
            env.obs_spec(),
            env.action_space().num_actions(),
            device,
        )?;
        checkpoint::load_tensors(&path, &mut learner, true)?;
        learner.rng = state.rng;
        learner.optimizer.steps = state.optimizer_steps;
        write_settings(folder, &settings)?;
        let report = RunReport::resume(
            folder,
            &title(&settings),
            settings.run.total_steps,
            state.counters.step,
        )?;
        Ok(Self::new(
            folder.to_owned(),
            settings,
            env,
            learner,
            state.counters,
            report,
        ))
    }

    fn new(
        folder: PathBuf,
        settings: Settings,
        env: Box<dyn VecEnv>,
        learner: Learner,
        counters: Counters,
        report: RunReport,
    ) -> Self {
        let device = learner.net.params.device();
        let observations = Observations::new(
            env.obs_spec(),
            settings.algorithm.num_steps(),
            settings.env.num_envs,
            device,
        );
        Self {
            folder,
            settings,
            env,
            learner,
            counters,
            report,
            observations,
            rollout: Rollout::default(),
            step: StepBatch::default(),
            times: Times::default(),
        }
    }

    /// The run's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The environments.
    #[must_use]
    pub fn env(&self) -> &dyn VecEnv {
        &*self.env
    }

    /// The learner.
    #[must_use]
    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// How far the run has come.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.counters
    }

    /// Trains until all steps are done or `stop` asks for an end, and leaves a checkpoint either way.
    ///
    /// # Errors
    /// A failing environment or full disk; what was learned since the last checkpoint is lost.
    pub fn train(mut self, stop: &StopRequest) -> Result<Summary, TrainerError> {
        // A resumed run plays on in new games: a seed of their own keeps it from repeating the first ones.
        let seed = env_seed(self.settings.run.seed.wrapping_add(self.counters.step));
        self.env.reset(Some(seed), &mut self.observations.slot(0))?;
        let mut saved_at = self.counters.step;
        while self.counters.step < self.settings.run.total_steps {
            self.iterate()?;
            let stopping = stop.is_asked();
            let due = self.counters.step / self.settings.run.checkpoint_every
                > saved_at / self.settings.run.checkpoint_every;
            if due || stopping || self.counters.step >= self.settings.run.total_steps {
                self.save()?;
                saved_at = self.counters.step;
            }
            if stopping {
                return self.end(Outcome::Stopped);
            }
        }
        self.end(Outcome::Finished)
    }

    fn end(mut self, outcome: Outcome) -> Result<Summary, TrainerError> {
        self.env.close()?;
        let mean_return = self.report.raw_return_mean();
        Ok(Summary {
            outcome,
            counters: self.counters,
            mean_return,
            curve: self.report.finish()?,
        })
    }

    /// One rollout and the update that learns from it.
    fn iterate(&mut self) -> Result<(), TrainerError> {
        let started = Instant::now();
        self.times = Times::default();
        self.collect()?;
        let learning_rate = self.learning_rate();
        let learning = Instant::now();
        let losses = self.learner.update(
            self.observations.flat(),
            &self.rollout,
            &self.settings,
            learning_rate,
        );
        self.times.learn = learning.elapsed();
        self.observations.wrap_around();
        self.counters.update += 1;
        self.counters.seconds += started.elapsed().as_secs_f64();
        if let Some(what) = losses.diverged() {
            return Err(TrainerError::Diverged {
                what,
                step: self.counters.step,
            });
        }
        let mut scalars = vec![
            ("update", self.counters.update as f64),
            ("learning_rate", learning_rate),
        ];
        scalars.extend(losses.as_slice());
        scalars.extend([
            ("seconds_acting", self.times.act.as_secs_f64()),
            ("seconds_stepping", self.times.env.as_secs_f64()),
            ("seconds_learning", self.times.learn.as_secs_f64()),
        ]);
        Ok(self.report.update(self.counters.step, &scalars)?)
    }

    /// Fills the rollout: `num_steps` steps of every environment.
    fn collect(&mut self) -> Result<(), TrainerError> {
        self.rollout.clear();
        for step in 0..self.settings.algorithm.num_steps() {
            let acting = Instant::now();
            let chosen = self.learner.act(&self.observations.row(step), false);
            self.times.act += acting.elapsed();

            let stepping = Instant::now();
            let slot = self.observations.slot(step + 1);
            self.env
                .send(vec_env::Actions::Discrete(&chosen.actions), slot)?;
            let Actions {
                actions,
                log_probs,
                values,
            } = chosen;
            self.rollout.actions.extend(actions);
            self.rollout.log_probs.extend(log_probs);
            self.rollout.values.extend(values);
            self.env.recv(&mut self.step)?;
            self.times.env += stepping.elapsed();

            self.counters.step += self.settings.env.num_envs as u64;
            self.store_step();
            for episode in &self.step.episodes {
                self.report.episode(
                    self.counters.step,
                    episode.env,
                    episode.raw_return,
                    episode.length as u64,
                    episode.frames as u64,
                )?;
            }
            self.report.tick(self.counters.step)?;
        }
        self.rollout.last_values = self
            .learner
            .values(&self.observations.row(self.settings.algorithm.num_steps()));
        Ok(())
    }

    /// Takes rewards and ends of the step just received into the rollout.
    ///
    /// An episode that a time limit cut goes on behind it: the value of its last observation stands for
    /// what was cut off (Pardo et al. 2018, "Time limits in reinforcement learning", eq. 6).
    fn store_step(&mut self) {
        let first = self.rollout.rewards.len();
        self.rollout.rewards.extend(&self.step.reward);
        self.rollout
            .dones
            .extend((0..self.settings.env.num_envs).map(|env| self.step.is_done(env)));
        let spec = self.env.obs_spec();
        let shape: Vec<i64> = [1].into_iter().chain(sizes(spec)).collect();
        for (env, bytes) in &self.step.final_obs {
            if self.step.truncated[*env] && !self.step.terminated[*env] {
                let obs = Tensor::from_data_size(bytes, &shape, kind(spec.dtype))
                    .to_device(self.learner.net.params.device());
                self.rollout.rewards[first + env] +=
                    self.settings.algorithm.gamma() as f32 * self.learner.values(&obs)[0];
            }
        }
    }

    fn learning_rate(&self) -> f64 {
        let rollout = (self.settings.env.num_envs * self.settings.algorithm.num_steps()) as u64;
        let num_updates = self.settings.run.total_steps.div_ceil(rollout);
        let done = self.counters.update as f64 / num_updates as f64;
        let left = if self.settings.algorithm.anneal_lr() {
            1.0 - done
        } else {
            1.0
        };
        self.settings.algorithm.learning_rate() * left
    }

    fn save(&mut self) -> Result<(), TrainerError> {
        let folder = self.folder.join("checkpoints");
        let (spec, num_actions) = (self.env.obs_spec(), self.env.action_space().num_actions());
        self.report.flush()?;
        checkpoint::save(
            &folder,
            &self.learner,
            &self.settings,
            self.counters,
            spec,
            num_actions,
        )?;
        Ok(())
    }
}

/// What a run is called in its curve: environment, algorithm, seed.
fn title(settings: &Settings) -> String {
    format!(
        "{} · {} · seed {}",
        settings.env.env_id,
        settings.algorithm.algorithm().name().to_uppercase(),
        settings.run.seed
    )
}

fn write_settings(folder: &Path, settings: &Settings) -> Result<(), TrainerError> {
    let path = folder.join("settings.toml");
    fs::write(&path, settings.to_toml()).map_err(|source| TrainerError::io("write", &path, source))
}
