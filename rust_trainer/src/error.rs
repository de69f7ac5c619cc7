//! What can go wrong in a run.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use vec_env::EnvError;

/// An error of the trainer.
#[derive(Debug, thiserror::Error)]
pub enum TrainerError {
    /// A setting whose value cannot work.
    #[error("setting {0}")]
    Setting(String),
    /// Something the user asked for that cannot be done.
    #[error("{0}")]
    Usage(String),
    /// What could not be done with a file or folder, and why.
    #[error("could not {0}: {1}")]
    Io(String, #[source] io::Error),
    /// A checkpoint that cannot be used.
    #[error("checkpoint {0}")]
    Checkpoint(String),
    /// The environment failed.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// libtorch failed.
    #[error("libtorch: {0}")]
    Torch(String),
    /// Memory ran out, the device's or the host's.
    #[error(
        "{0} What needs less: fewer num_envs, fewer num_steps, smaller minibatches, a smaller replay memory"
    )]
    OutOfMemory(String),
    /// The run's outputs cannot be written, drawn or read back.
    #[error("{0}")]
    Report(String),
    /// This number of learning is no longer one.
    #[error("{0} is not finite: the run diverged")]
    Diverged(&'static str),
    /// What a checkpoint holds does not fit what it is loaded into.
    #[error("{0}")]
    State(String),
    /// This environment cut an episode off and did not show what came last.
    #[error(
        "environment {0} truncated an episode without its last observation (`final_obs`): what was cut off cannot be valued"
    )]
    NoFinalObs(usize),
    /// The other ranks of a training cannot be reached any more, as the engine says.
    #[error("{0}")]
    Lost(String),
    /// At which rank, or with which, something went wrong, and what.
    #[error("{0}: {1}")]
    Rank(String, Box<TrainerError>),
    /// Something that another rank has told already.
    #[error("another rank says why")]
    Told,
    /// A run that had begun could not go on.
    #[error("{cause} (at agent step {step}); {}", kept(cause, folder, *saved))]
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
    /// Something below panicked: what it said, and where.
    #[error("{0} ({1})")]
    Panic(String, String),
}

/// What is left of a run that failed, and how to go on.
fn kept(cause: &TrainerError, folder: &Path, saved: Option<u64>) -> String {
    let folder = quoted(folder);
    match (cause, saved) {
        (_, None) => "there is no checkpoint of it".to_owned(),
        (TrainerError::Diverged(_), Some(step)) => format!(
            "its newest checkpoint, of agent step {step} in {folder}, is from before: a new run with a \
             smaller learning rate is the remedy"
        ),
        (_, Some(step)) => format!(
            "its newest checkpoint is of agent step {step}: go on by train --resume {folder}"
        ),
    }
}

/// A path as a shell takes it for one argument, and for no option.
pub(crate) fn quoted(path: &Path) -> String {
    let path = path.display().to_string();
    let start = if path.starts_with('-') { "./" } else { "" };
    format!("'{start}{}'", path.replace('\'', r"'\''"))
}

impl From<tch::TchError> for TrainerError {
    fn from(error: tch::TchError) -> Self {
        let text = error.to_string();
        Self::libtorch(text.trim_start_matches("Internal torch error: "))
    }
}

impl TrainerError {
    /// What the message leaves out, for whoever looks for the cause: an environment's traceback.
    #[must_use]
    pub fn details(&self) -> Option<&str> {
        match self {
            Self::Env(error) => error.details(),
            Self::Run { cause, .. } | Self::Rank(_, cause) => cause.details(),
            _ => None,
        }
    }

    /// What libtorch said: the first line, for it adds a stack trace of its own.
    pub(crate) fn libtorch(message: &str) -> Self {
        const NO_MEMORY: [&str; 4] = [
            "out of memory",
            "can't allocate memory",
            "CUBLAS_STATUS_ALLOC_FAILED",
            "CUDNN_STATUS_ALLOC_FAILED",
        ];
        let line = message.lines().next().unwrap_or_default();
        if !NO_MEMORY.iter().any(|words| line.contains(words)) {
            return Self::Torch(line.to_owned());
        }
        // Behind what is free stand the allocator's own statistics and advice.
        let end = line.find("is free.").map(|at| at + "is free.".len());
        let line = &line[..end.unwrap_or(line.len())];
        Self::OutOfMemory(format!("libtorch: {}.", line.trim_end_matches(['.', ' '])))
    }

    /// Whether it is another rank that is missing.
    pub(crate) fn is_lost(&self) -> bool {
        match self {
            Self::Lost(_) => true,
            Self::Run { cause, .. } => cause.is_lost(),
            _ => false,
        }
    }

    pub(crate) fn setting(
        name: &str,
        value: impl fmt::Display,
        problem: impl fmt::Display,
    ) -> Self {
        let value = brief(&value.to_string());
        Self::Setting(format!("`{name}` = {value} {problem}"))
    }

    /// A replay memory has no place for agents who are absent.
    pub(crate) fn ends_apart() -> Self {
        let problem = "agents whose episodes end apart are learned from by ppo, a2c and pqn";
        Self::Usage(problem.to_owned())
    }

    /// For `map_err`: what was tried on which file.
    pub(crate) fn io<P: AsRef<Path> + ?Sized>(
        action: &str,
        path: &P,
    ) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Io(format!("{action} `{}`", path.as_ref().display()), source)
    }

    /// For `map_err`: what could not be read, written or understood of the value of this name.
    pub(crate) fn value(name: &str) -> impl Fn(serde_json::Error) -> Self {
        move |error| Self::State(format!("value `{name}`: {error}"))
    }

    pub(crate) fn checkpoint(path: &Path, problem: impl fmt::Display) -> Self {
        Self::Checkpoint(format!("`{}`: {problem}", path.display()))
    }

    /// There is none where the user says.
    pub(crate) fn no_checkpoint(path: &Path, problem: &str) -> Self {
        Self::Usage(Self::checkpoint(path, problem).to_string())
    }
}

/// The longest word of a user that is repeated as it stands.
const LONGEST: usize = 100;
/// The same for what stands between backticks, where paths are.
const LONGEST_QUOTE: usize = 400;

/// What a user gave, as a part of one line: without control characters, and cut where it is long.
pub(crate) fn brief(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        control if control.is_control() => control.escape_default().to_string(),
        other => other.to_string(),
    });
    cut(&letters.collect::<String>(), LONGEST)
}

/// A message in which nothing between backticks is longer than a path may be.
pub(crate) fn brief_quotes(message: &str) -> String {
    let pieces = message.split('`').map(|piece| cut(piece, LONGEST_QUOTE));
    pieces.collect::<Vec<_>>().join("`")
}

fn cut(text: &str, longest: usize) -> String {
    let count = text.chars().count();
    if count <= longest {
        return text.to_owned();
    }
    let begin: String = text.chars().take(longest / 2).collect();
    format!("{begin}… ({count} characters)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_takes_a_quoted_path_for_one_argument() {
        for (path, expected) in [
            ("runs/a b", "'runs/a b'"),
            ("it's", r"'it'\''s'"),
            ("-x/-y", "'./-x/-y'"),
        ] {
            assert_eq!(quoted(Path::new(path)), expected);
        }
    }

    #[test]
    fn what_a_user_gave_stays_in_a_line_and_short() {
        assert_eq!(brief("runs/a"), "runs/a");
        assert_eq!(brief("a\nb\u{1b}[2Jc"), "a\\nb\\u{1b}[2Jc");
        let long = "é".repeat(5000);
        assert_eq!(
            brief(&long),
            format!("{}… (5000 characters)", "é".repeat(50))
        );
        let message = format!("no environment `{long}`; see `a/b`");
        let short = brief_quotes(&message);
        assert!(
            short.len() < 500 && short.ends_with("(5000 characters)`; see `a/b`"),
            "{short}"
        );
    }

    /// The words of libtorch 2.11: of its allocator for CUDA, and of that for the host.
    #[test]
    fn memory_that_runs_out_is_told_with_what_needs_less() {
        let cuda = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of \
            79.15 GiB of which 1.38 GiB is free. Process 7 has 77.76 GiB memory in use. Of the allocated \
            memory 76.0 GiB is allocated by PyTorch. See documentation.\nException raised from malloc";
        let host = "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you \
            tried to allocate 8 bytes. Error code 12 (Cannot allocate memory)\nframe #0";
        for (said, kept) in [(cuda, "1.38 GiB is free. "), (host, "allocate memory). ")] {
            let error = TrainerError::from(tch::TchError::Torch(said.to_owned()));
            assert!(matches!(error, TrainerError::OutOfMemory(_)), "{error}");
            let message = error.to_string();
            assert!(
                message.contains("num_envs") && message.contains(kept),
                "{message}"
            );
            assert!(
                !message.contains('\n') && !message.contains("PyTorch"),
                "{message}"
            );
        }
        let other = TrainerError::libtorch("The size of tensor a must match\nframe");
        assert_eq!(
            other.to_string(),
            "libtorch: The size of tensor a must match"
        );
    }
}
