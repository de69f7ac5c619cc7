//! The files that a run writes while it lasts: its tables and its `TensorBoard` events.

use std::path::Path;

use super::{
    Episode, Evaluation, ReportError, episodes::EpisodeTable, evaluations::EvaluationTable,
    events::EventWriter, scalars::ScalarTable,
};

/// The table of finished games in a run's folder.
pub(super) const EPISODES: &str = "episodes.csv";

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
    episodes: EpisodeTable,
    pub updates: ScalarTable,
    pub evaluations: EvaluationTable,
    pub events: EventWriter,
}

impl Files {
    /// Those in `folder`: fresh ones, or up to the step and the update `at` which the run goes on.
    pub fn open(folder: &Path, at: Option<(u64, u64)>) -> Result<Self, ReportError> {
        let (at_step, updated_at) = at.unzip();
        Ok(Self {
            episodes: EpisodeTable::open(&folder.join(EPISODES), at_step)?,
            updates: ScalarTable::open(&folder.join("updates.csv"), updated_at)?,
            evaluations: EvaluationTable::open(&folder.join("evaluations.csv"), at_step)?,
            events: match at_step {
                Some(at_step) => EventWriter::resume(folder, at_step)?,
                None => EventWriter::create(folder)?,
            },
        })
    }

    /// A finished game.
    pub fn episode(&mut self, episode: &Episode) -> Result<(), ReportError> {
        self.episodes.write(episode)?;
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

    /// An evaluation.
    pub fn evaluation(&mut self, row: &Evaluation) -> Result<(), ReportError> {
        self.evaluations.write(row)?;
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
        self.updates.sync()?;
        self.events.flush()
    }

    /// Hands everything to the operating system.
    pub fn flush(&mut self) -> Result<(), ReportError> {
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
