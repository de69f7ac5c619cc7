//! The files that a run writes while it lasts: its tables and its `TensorBoard` events.

use std::path::{Path, PathBuf};

use super::{
    events::EventWriter,
    rows::{Episode, Evaluation, read_evaluations},
    scalars::ScalarTable,
    table::Table,
};
use crate::error::ReportError;

/// The table of finished games in a run's folder.
pub(super) const EPISODES: &str = "episodes.csv";
/// The table of evaluations, which is there once there was one.
const EVALUATIONS: &str = "evaluations.csv";

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
    pub updates: ScalarTable,
    evaluation_table: Option<Table>,
    /// The rows of that.
    pub evaluations: Vec<Evaluation>,
    pub events: EventWriter,
}

impl Files {
    /// Those in `folder`: fresh ones, or up to the step and the update `at` which the run goes on.
    pub fn open(folder: &Path, at: Option<(u64, u64)>) -> Result<Self, ReportError> {
        let (at_step, updated_at) = at.unzip();
        let mut files = Self {
            folder: folder.into(),
            episodes: Table::of::<Episode>(&folder.join(EPISODES), at_step)?,
            updates: ScalarTable::open(&folder.join("updates.csv"), updated_at)?,
            evaluation_table: None,
            evaluations: Vec::new(),
            events: match at_step {
                Some(at_step) => EventWriter::resume(folder, at_step)?,
                None => EventWriter::create(folder)?,
            },
        };
        let evaluated = folder.join(EVALUATIONS);
        if at_step.is_some() && evaluated.exists() {
            files.evaluation_table = Some(Table::of::<Evaluation>(&evaluated, at_step)?);
            files.evaluations = read_evaluations(&evaluated)?;
        }
        Ok(files)
    }

    /// A finished game.
    pub fn episode(&mut self, episode: &Episode) -> Result<(), ReportError> {
        self.episodes.row(episode)?;
        let values = [
            ("charts/raw_return", episode.raw_return),
            ("charts/episode_length", episode.length as f64),
        ];
        self.events.scalars(episode.step, values)
    }

    /// The row of an update; a number that is not there leaves its column empty.
    pub fn update(&mut self, step: u64, row: &[(&str, Option<f64>)]) -> Result<(), ReportError> {
        self.updates.write(step, row)?;
        let tagged: Vec<_> = row
            .iter()
            .filter_map(|&(name, value)| Some((tag(name), value?)))
            .collect();
        let values = tagged.iter().map(|(tag, value)| (tag.as_str(), *value));
        self.events.scalars(step, values)
    }

    /// An evaluation, which goes to the disk at once: they are rare, and a resumed run goes by the last.
    pub fn evaluation(&mut self, row: &Evaluation) -> Result<(), ReportError> {
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
    pub fn sync(&mut self) -> Result<(), ReportError> {
        self.episodes.sync()?;
        self.updates.table.sync()?;
        self.events.flush()
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), ReportError> {
        self.episodes.flush()?;
        self.updates.table.flush()?;
        self.events.flush()
    }
}

/// The `TensorBoard` tag of a named scalar.
fn tag(name: &str) -> String {
    let describes_run = CHARTS.contains(&name) || name.starts_with("seconds");
    let group = if describes_run { "charts" } else { "losses" };
    format!("{group}/{name}")
}
