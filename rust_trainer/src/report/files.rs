//! The files that a run writes while it lasts: its tables and its `TensorBoard` events.

use std::path::{Path, PathBuf};

use super::{Episode, Evaluation, events::EventWriter, read_rows, table::Table};
use crate::error::TrainerError;

/// The table of finished games in a run's folder.
pub(crate) const EPISODES: &str = "episodes.csv";
/// The table of evaluations, which is there once there was one.
pub(crate) const EVALUATIONS: &str = "evaluations.csv";

/// Numbers that are logged, and have no column in `updates.csv`: only readers of `CleanRL`'s logs miss them.
pub(super) const LOGGED_ONLY: &str = "old_approx_kl";

/// Columns of `updates.csv` under the tags that `CleanRL` has for them, so that its plots and scripts read these runs.
const USUAL: [(&str, &str); 7] = [
    ("steps_per_second", "charts/SPS"),
    ("learning_rate", "charts/learning_rate"),
    ("epsilon", "charts/epsilon"),
    ("clip_fraction", "losses/clipfrac"),
    ("q_loss", "losses/td_loss"),
    ("q_value", "losses/q_values"),
    ("raw_return_mean_100", "charts/raw_return_mean_100"),
];

/// Numbers of the course of a run, as are those that begin with `seconds`; they stand under `charts/`, all others under
/// `losses/`.
const CHARTS: [&str; 5] = [
    "update",
    "length_mean_100",
    "replay_size",
    "gradient_steps",
    "worker_restarts",
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
        self.events.scalars(episode.step, of_episode(episode))
    }

    /// The row of an update; a number that is not there leaves its column empty.
    pub fn update(
        &mut self,
        step: u64,
        row: &[(&str, Option<f64>)],
        loss_tag: &str,
    ) -> Result<(), TrainerError> {
        let has_column = |cell: &&(&str, Option<f64>)| cell.0 != LOGGED_ONLY;
        let columns: Vec<_> = row.iter().filter(has_column).copied().collect();
        self.updates.numbers(step, &columns)?;
        self.events.scalars(step, of_update(row, loss_tag))
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
        self.events.scalars(row.step, of_evaluation(row))
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

/// What is logged of a game, by its tags.
pub(super) fn of_episode(episode: &Episode) -> Vec<(String, f64)> {
    vec![
        ("charts/episodic_return".to_owned(), episode.raw_return),
        ("charts/episodic_length".to_owned(), episode.length as f64),
    ]
}

/// The same of an update, whose `loss`, if it has one of that name, has its own tag.
pub(super) fn of_update(row: &[(&str, Option<f64>)], loss_tag: &str) -> Vec<(String, f64)> {
    let tagged = |&(name, value)| {
        let tag = match name {
            "loss" => loss_tag.to_owned(),
            _ => tag(name),
        };
        Some((tag, value?))
    };
    row.iter().filter_map(tagged).collect()
}

/// The same of an evaluation.
pub(super) fn of_evaluation(row: &Evaluation) -> Vec<(String, f64)> {
    vec![
        ("eval/episodic_return".to_owned(), row.mean),
        ("eval/episodic_return_std".to_owned(), row.std),
        ("eval/episodic_length".to_owned(), row.length),
    ]
}

/// The tag of a named scalar.
fn tag(name: &str) -> String {
    if let Some((_, usual)) = USUAL.iter().find(|(column, _)| *column == name) {
        return (*usual).to_owned();
    }
    let is_of_run = CHARTS.contains(&name) || name.starts_with("seconds");
    let group = if is_of_run { "charts" } else { "losses" };
    format!("{group}/{name}")
}
