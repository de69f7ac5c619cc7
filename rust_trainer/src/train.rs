//! A training run: rollout, update, report, checkpoint, until it is done or asked to stop.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use vec_env::{StepBatch, VecEnv};

use crate::{
    algorithms::{self, Algorithm},
    checkpoint::{self, Counters},
    device,
    error::TrainerError,
    make_env::{self, env_seed},
    report::RunReport,
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
    algorithm: Box<dyn Algorithm>,
    counters: Counters,
    report: RunReport,
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
        let algorithm = algorithms::new(&settings, &*env, device)?;
        Ok(Self::new(
            folder,
            settings,
            env,
            algorithm,
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
        let mut algorithm = algorithms::new(&settings, &*env, device)?;
        algorithm
            .load_state(&checkpoint::read_algorithm(&path)?)
            .map_err(|error| TrainerError::checkpoint(&path, error))?;
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
            algorithm,
            state.counters,
            report,
        ))
    }

    fn new(
        folder: PathBuf,
        settings: Settings,
        env: Box<dyn VecEnv>,
        algorithm: Box<dyn Algorithm>,
        counters: Counters,
        report: RunReport,
    ) -> Self {
        Self {
            folder,
            settings,
            env,
            algorithm,
            counters,
            report,
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

    /// What learns.
    #[must_use]
    pub fn algorithm(&self) -> &dyn Algorithm {
        &*self.algorithm
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
        self.env.reset(Some(seed), &mut self.algorithm.next_obs())?;
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

    /// Steps until the algorithm has learned, and what it says of that.
    fn iterate(&mut self) -> Result<(), TrainerError> {
        let started = Instant::now();
        self.times = Times::default();
        let metrics = loop {
            self.step()?;
            let learning = Instant::now();
            let metrics = self.algorithm.learn()?;
            self.times.learn += learning.elapsed();
            if let Some(metrics) = metrics {
                break metrics;
            }
        };
        self.counters.update += 1;
        self.counters.seconds += started.elapsed().as_secs_f64();
        let mut scalars = vec![("update", self.counters.update as f64)];
        scalars.extend(metrics.0);
        scalars.extend([
            ("seconds_acting", self.times.act.as_secs_f64()),
            ("seconds_stepping", self.times.env.as_secs_f64()),
            ("seconds_learning", self.times.learn.as_secs_f64()),
        ]);
        Ok(self.report.update(self.counters.step, &scalars)?)
    }

    /// One step of every environment.
    fn step(&mut self) -> Result<(), TrainerError> {
        let acting = Instant::now();
        let actions = self.algorithm.act()?;
        self.times.act += acting.elapsed();

        let stepping = Instant::now();
        let slot = self.algorithm.next_obs();
        self.env.send(actions.as_actions(), slot)?;
        self.env.recv(&mut self.step)?;
        self.times.env += stepping.elapsed();

        self.counters.step += self.settings.env.num_envs as u64;
        self.algorithm.observe(&self.step)?;
        for episode in &self.step.episodes {
            self.report.episode(
                self.counters.step,
                episode.env,
                episode.raw_return,
                episode.length as u64,
                episode.frames as u64,
            )?;
        }
        Ok(self.report.tick(self.counters.step)?)
    }

    fn save(&mut self) -> Result<(), TrainerError> {
        let folder = self.folder.join("checkpoints");
        let (spec, num_actions) = (self.env.obs_spec(), self.env.action_space().num_actions());
        self.report.flush()?;
        checkpoint::save(
            &folder,
            &self.algorithm.state()?,
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
