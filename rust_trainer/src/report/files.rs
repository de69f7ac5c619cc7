//! The files that a run writes while it lasts: its tables and its `TensorBoard` events.

use std::path::{Path, PathBuf};

use super::{Episode, Evaluation, events::EventWriter, read_rows, table::Table};
use crate::error::TrainerError;

/// The table of finished games in a run's folder.
pub(crate) const EPISODES: &str = "episodes.csv";
/// The table of evaluations, which is there once there was one.
pub(crate) const EVALUATIONS: &str = "evaluations.csv";

/// Scalars that describe the run, as do those that begin with `seconds`; `TensorBoard` shows them
/// under `charts/`, all others under `losses/`.
const CHARTS: [&str; 6] = [
    "update",
    "learning_rate",
    "epsilon",
    "steps_per_second",
    "raw_return_mean_100",
    "length_mean_100",
];

/// What is written while the run lasts.
pub(super) struct Files {
    folder: PathBuf,
    episodes: Table,
    pub updates: Table,
    evaluation_table: Option<Table>,
    /// The rows of that.
    pub evaluations: Vec<Evaluation>,
    pub events: EventWriter,
}

impl Files {
    /// Those in `folder`: fresh ones, or up to the step and the update `at` which the run goes on.
    pub fn open(folder: &Path, at: Option<(u64, u64)>) -> Result<Self, TrainerError> {
        let (at_step, updated_at) = at.unzip();
        let mut files = Self {
            folder: folder.into(),
            episodes: Table::of::<Episode>(&folder.join(EPISODES), at_step)?,
            updates: Table::open(&folder.join("updates.csv"), updated_at)?,
            evaluation_table: None,
            evaluations: Vec::new(),
            events: EventWriter::open(folder, at_step)?,
        };
        let evaluated = folder.join(EVALUATIONS);
        if at_step.is_some() && evaluated.exists() {
            files.evaluation_table = Some(Table::of::<Evaluation>(&evaluated, at_step)?);
            files.evaluations = read_rows(&evaluated)?;
        }
        Ok(files)
    }

    /// A finished game.
    pub fn episode(&mut self, episode: &Episode) -> Result<(), TrainerError> {
        self.episodes.row(episode)?;
        let values = [
            ("charts/raw_return", episode.raw_return),
            ("charts/episode_length", episode.length as f64),
        ];
        self.events.scalars(episode.step, values)
    }

    /// The row of an update; a number that is not there leaves its column empty.
    pub fn update(&mut self, step: u64, row: &[(&str, Option<f64>)]) -> Result<(), TrainerError> {
        self.updates.numbers(step, row)?;
        let tagged = row
            .iter()
            .filter_map(|&(name, value)| Some((tag(name), value?)));
        self.events.scalars(step, tagged)
    }

    /// An evaluation, which goes to the disk at once: they are rare, and a resumed run goes by the last.
    pub fn evaluation(&mut self, row: &Evaluation) -> Result<(), TrainerError> {
        let table = match &mut self.evaluation_table {
            Some(table) => table,
            none => none.insert(Table::of::<Evaluation>(
                &self.folder.join(EVALUATIONS),
                None,
            )?),
        };
        table.row(row)?;
        table.sync()?;
        self.evaluations.push(*row);
        let values = [
            ("eval/raw_return_mean", row.mean),
            ("eval/raw_return_std", row.std),
            ("eval/episode_length_mean", row.length),
        ];
        self.events.scalars(row.step, values)
    }

    /// Brings everything to the disk.
    pub fn sync(&mut self) -> Result<(), TrainerError> {
        self.episodes.sync()?;
        self.updates.sync()?;
        self.events.flush()
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), TrainerError> {
        self.episodes.flush()?;
        self.updates.flush()?;
        self.events.flush()
    }
}

/// The `TensorBoard` tag of a named scalar.
fn tag(name: &str) -> String {
    let describes_run = CHARTS.contains(&name) || name.starts_with("seconds");
    let group = if describes_run { "charts" } else { "losses" };
    format!("{group}/{name}")
}
