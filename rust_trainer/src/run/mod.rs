//! A training run: step, learn, report, save, until it is done or asked to stop. Which algorithm learns
//! it does not know.
//!
//! The loop is in `train_loop`. A run begins in `start`, anew or from its `checkpoints`; its updates are in
//! `update`, what it plays between them in `evaluation` and `clips`, and what it keeps of itself, in its `folder`, in `saving`.

pub(crate) mod aside;
pub mod checkpoints;
pub(crate) mod clips;
pub mod evaluate;
mod evaluation;
pub(crate) mod folder;
pub(crate) mod machine;
mod past_selves;
mod run_start;
mod saving;
mod start;
mod train_loop;
mod update;
pub(crate) mod versus;
mod wait;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    time::{Duration, Instant},
};

use vec_env::{StepBatch, VecEnv};

use crate::{
    algorithms::Algorithm,
    envs::PastSelves,
    ranks::{RankReport, Ranks, WorkTimes},
    report::{Episode, Evaluation, RunReport},
    settings::Settings,
};
pub use checkpoints::{Checkpoint, Counters, EnvStates};
use clips::Clips;
use evaluate::Evaluator;
pub use folder::RunFolder;
pub use run_start::RunStart;
use wait::Restarts;

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
    /// Agents of each environment; returns are those of one.
    pub num_agents: usize,
    /// Mean raw return of the last true games, and how many they are: 100 if as many ended.
    pub mean_return: Option<(f64, usize)>,
    /// In self-play, whose returns say nothing: mean length in agent steps of the same games.
    pub mean_length: Option<(f64, usize)>,
    /// The evaluation that the best checkpoint is of, where the run is evaluated.
    pub best: Option<Evaluation>,
    /// How often failed workers were restarted.
    pub worker_restarts: u64,
    /// The picture of the learning curve.
    pub curve: PathBuf,
}

/// A training run and its folder.
pub struct Run {
    /// Where it is on the disk.
    pub folder: RunFolder,
    /// Its settings.
    pub settings: Settings,
    arithmetic: BTreeMap<String, String>,
    /// The environments.
    pub env: Box<dyn VecEnv>,
    /// What learns.
    pub algorithm: Box<dyn Algorithm>,
    report: RunReport,
    /// What the user should know of how it started: that the games of a resumed one start over.
    pub notices: Vec<String>,
    evaluator: Option<Evaluator>,
    clips: Option<Clips>,
    /// Its opponents, where it has any.
    past_selves: PastSelves,
    /// How far the environments have come.
    step_count: u64,
    /// How far learning has come: what a checkpoint holds.
    pub learned: Counters,
    /// Nothing has happened since the last update, or since the run began, that the algorithm's state
    /// does not hold.
    at_boundary: bool,
    /// In the midst of an update, which may have failed there.
    is_learning: bool,
    step: StepBatch,
    /// Groups of environments whose steps are in flight.
    in_flight: usize,
    restarts: Restarts,
    times: Times,
    /// The agent step of the newest checkpoint.
    saved: Option<u64>,
    in_memory: InMemory,
    ranks: Ranks,
    /// Games that ended at this rank since the last update.
    games: Vec<Episode>,
    work_times: WorkTimes,
    /// What all ranks said at the end of the last update.
    met: RankReport,
    /// Of the restarts of workers, those at other ranks that were told.
    restarted_elsewhere: u64,
}

/// The last update's checkpoint in memory, for when the update after it comes to nothing: a stop does not
/// wait for one that takes long, environments fail in it, its loss is no number.
#[derive(Debug)]
struct InMemory {
    newest: Option<Checkpoint>,
    taken: Instant,
}

/// Where the time of one update went.
#[derive(Default)]
struct Times {
    act: Duration,
    env: Duration,
    learn: Duration,
    /// CPU time of the process when the update began.
    cpu: Duration,
}
