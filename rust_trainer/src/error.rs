//! What can go wrong in a run.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use vec_env::EnvError;

use crate::report::ReportError;

/// An error of the trainer.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// A setting whose value cannot work.
    #[error("setting `{name}` = {value} {problem}")]
    Setting {
        /// The setting's name.
        name: &'static str,
        /// The value given.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Something the user asked for that cannot be done.
    #[error("{0}")]
    Usage(String),
    /// A file or folder that could not be used.
    #[error("could not {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// A settings file that is not valid.
    #[error("`{}`: {source}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: Box<toml::de::Error>,
    },
    /// A checkpoint that cannot be used.
    #[error("checkpoint `{}`: {problem}", path.display())]
    Checkpoint {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The environment failed.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// libtorch failed.
    #[error("libtorch: {}", first_line(&.0.to_string()))]
    Torch(#[from] tch::TchError),
    /// The run's outputs could not be written.
    #[error(transparent)]
    Report(#[from] ReportError),
    /// A loss, a gradient or another number of learning is no longer one.
    #[error("{what} is not finite: the run diverged")]
    Diverged {
        /// What is not finite.
        what: &'static str,
    },
    /// What a checkpoint holds does not fit what it is loaded into.
    #[error("{0}")]
    State(String),
    /// An environment cut an episode off and did not show what came last.
    #[error(
        "environment {env} truncated an episode without its last observation (`final_obs`): what was cut off cannot be valued"
    )]
    NoFinalObs {
        /// Index of the environment.
        env: usize,
    },
    /// A run that had begun could not go on.
    #[error("{cause} (at agent step {step}); {}", kept(folder, *saved))]
    Run {
        /// Why.
        cause: Box<TrainerError>,
        /// Agent steps so far.
        step: u64,
        /// The run's folder.
        folder: PathBuf,
        /// The agent step of its newest checkpoint.
        saved: Option<u64>,
    },
    /// A stop was asked for before there was anything to save.
    #[error("stopped")]
    Stopped,
    /// Something below panicked.
    #[error("{message} ({place})")]
    Panic {
        /// What it said.
        message: String,
        /// Where.
        place: String,
    },
}

/// What is left of a run that failed, and how to go on.
fn kept(folder: &Path, saved: Option<u64>) -> String {
    match saved {
        None => "no checkpoint could be written".to_owned(),
        Some(step) => format!(
            "its newest checkpoint is of agent step {step}: go on by train --resume '{}'",
            folder.display()
        ),
    }
}

/// libtorch adds a stack trace of its own to its messages.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default()
}

impl TrainerError {
    /// What the message leaves out, for whoever looks for the cause: an environment's traceback.
    #[must_use]
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Env(error) => error.details(),
            Self::Run { cause, .. } => cause.details(),
            _ => None,
        }
    }

    pub(crate) fn setting(name: &'static str, value: impl fmt::Display, problem: String) -> Self {
        Self::Setting {
            name,
            value: value.to_string(),
            problem,
        }
    }

    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io {
            action,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn checkpoint(path: &Path, problem: impl fmt::Display) -> Self {
        Self::Checkpoint {
            path: path.to_owned(),
            problem: problem.to_string(),
        }
    }
}
