//! How runs start: anew, or from their newest checkpoint.

use std::path::Path;

use vec_env::VecEnv;

use super::{CHANGEABLE, Counters, Run, RunFolder, StopRequest, checkpoints};
use crate::{
    algorithms::{self, Algorithm},
    device, envs,
    error::TrainerError,
    report::RunReport,
    settings::Settings,
};

/// A run that is to go on.
#[derive(Debug)]
pub struct Resume {
    folder: RunFolder,
    checkpoint: Option<checkpoints::Found>,
    /// Its settings, changed as asked for.
    pub settings: Settings,
}

impl Resume {
    /// Opens the run in `folder`: its newest checkpoint that can be read, or, where it was ended before
    /// the first, its settings alone.
    ///
    /// # Errors
    /// A folder without a run, or one that another process works on; changes of other settings than
    /// [`CHANGEABLE`]; a checkpoint of another run; no readable one among those that are there.
    pub fn open(folder: &Path, changes: &toml::Table) -> Result<Self, TrainerError> {
        let mut names = changes.keys();
        if let Some(name) = names.find(|name| !CHANGEABLE.contains(&name.as_str())) {
            return Err(TrainerError::Usage(format!(
                "`{name}` cannot change in a resumed run; what can: {}",
                CHANGEABLE.join(", ")
            )));
        }
        let folder = RunFolder::open(folder)?;
        let settings = folder.settings()?;
        let found = checkpoints::newest(&folder.checkpoints())?;
        if let Some(found) = &found {
            found.checkpoint.check_belongs(&found.path, &settings)?;
        }
        Ok(Self {
            folder,
            checkpoint: found,
            settings: settings.with(changes)?,
        })
    }

    /// What the user should know: what is wrong with newer checkpoints, that there is none.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        let Some(found) = &self.checkpoint else {
            let folder = self.folder.path().display();
            return vec![format!(
                "`{folder}` has no checkpoint yet: starting again from its settings"
            )];
        };
        let damaged = found.damaged.iter().map(ToString::to_string);
        damaged
            .map(|error| format!("{error}; taking an older one"))
            .collect()
    }
}

impl Run {
    /// A new run in its own new folder. Nothing is left of it on the disk where it cannot start.
    ///
    /// # Errors
    /// A folder that exists or cannot be made, a device or memory that is not there, environments that
    /// [`envs::check`] refuses or that fail; [`TrainerError::Stopped`].
    pub fn create(
        settings: Settings,
        env: Box<dyn VecEnv>,
        stop: &StopRequest,
    ) -> Result<Self, TrainerError> {
        RunFolder::check_free(&settings)?;
        let (env, algorithm) = prepare(&settings, env, None, stop)?;
        let folder = RunFolder::create(&settings)?;
        let (title, total) = (title(&settings), settings.run.total_steps);
        let mut report = match RunReport::create(folder.path(), &title, total) {
            Ok(report) => report,
            Err(error) => {
                folder.remove();
                return Err(error.into());
            }
        };
        report.text("settings", &format!("```toml\n{}```", settings.to_toml()))?;
        Ok(Self::new(
            folder,
            settings,
            env,
            algorithm,
            Counters::default(),
            report,
        ))
    }

    /// A run that goes on.
    ///
    /// # Errors
    /// A checkpoint of another environment or network, or with numbers that are not finite; those of
    /// [`Run::create`].
    pub fn resume(
        resume: Resume,
        env: Box<dyn VecEnv>,
        stop: &StopRequest,
    ) -> Result<Self, TrainerError> {
        let Resume {
            folder,
            checkpoint,
            settings,
        } = resume;
        let (env, algorithm) = prepare(&settings, env, checkpoint.as_ref(), stop)?;
        folder.write_settings(&settings)?;
        if let Some(found) = &checkpoint {
            checkpoints::set_damaged_apart(&found.path)?;
        }
        let counters = checkpoint.as_ref().map(|found| found.checkpoint.counters);
        let start = counters.unwrap_or_default();
        let (title, total) = (title(&settings), settings.run.total_steps);
        let report = RunReport::resume(folder.path(), &title, total, start.step, start.seconds)?;
        let mut run = Self::new(folder, settings, env, algorithm, start, report);
        run.saved = counters.map(|counters| counters.step);
        Ok(run)
    }
}

/// What steps and what learns, ready for the first step.
type Prepared = (Box<dyn VecEnv>, Box<dyn Algorithm>);

/// The algorithm at its start or at a checkpoint, and the first observations in its memory.
fn prepare(
    settings: &Settings,
    env: Box<dyn VecEnv>,
    from: Option<&checkpoints::Found>,
    stop: &StopRequest,
) -> Result<Prepared, TrainerError> {
    envs::check(&settings.env.env_id, &*env)?;
    let device = device::select(settings.machine.device)?;
    let mut algorithm = algorithms::new(settings, &*env, device)?;
    let mut done_before = 0;
    if let Some(checkpoints::Found {
        path, checkpoint, ..
    }) = from
    {
        if checkpoint.obs_spec != *env.obs_spec() || checkpoint.action_space != *env.action_space()
        {
            let problem = "is of an environment with other observations or actions";
            return Err(TrainerError::checkpoint(path, problem));
        }
        algorithm
            .load_state(&checkpoint.state)
            .map_err(|error| TrainerError::checkpoint(path, error))?;
        done_before = checkpoint.counters.step;
    }
    // A resumed run plays on in new games: a seed of their own keeps it from repeating the first ones.
    let seed = envs::env_seed(settings.run.seed.wrapping_add(done_before));
    let (mut env, mut slot) = (env, algorithm.next_obs());
    let reset = move || {
        let done = env.reset(Some(seed), &mut slot);
        (env, done)
    };
    let (env, done) = stop.unless_asked(reset).ok_or(TrainerError::Stopped)?;
    done?;
    Ok((env, algorithm))
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
