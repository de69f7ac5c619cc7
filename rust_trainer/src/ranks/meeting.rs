//! What ranks tell one another at the end of each update: the games that ended, whether anybody was asked
//! to stop, how long their own work took.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::Ranks;
use crate::error::TrainerError;

/// A game that ended, as `(agent step of the run, environment among those of all ranks, raw return, length
/// in agent steps, emulator frames)`.
pub(crate) type Game = (u64, usize, f64, u64, u64);

/// What one rank says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankReport {
    /// The signal by which it was asked to stop, 0 for none.
    pub signal: i32,
    /// Games that ended in its environments.
    pub games: Vec<Game>,
    /// How often its workers were made anew, over the run.
    pub worker_restarts: u64,
    /// Seconds of the update that it worked, waiting for the others left out.
    pub busy: f64,
    /// It is time to keep a checkpoint in memory: rank 0's clock decides.
    pub keeps: bool,
}

/// What all of them said.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Meeting {
    /// A signal that any was asked to stop by, 0 for none.
    pub signal: i32,
    /// All games, in the order of their steps and environments.
    pub games: Vec<Game>,
    /// All that were made anew.
    pub worker_restarts: u64,
    /// Seconds that each rank worked.
    pub busy: Vec<f64>,
    /// Whether all hand rank 0 what a checkpoint in memory takes.
    pub keeps: bool,
}

impl From<Vec<RankReport>> for Meeting {
    fn from(reports: Vec<RankReport>) -> Self {
        let mut games: Vec<Game> = reports
            .iter()
            .flat_map(|report| report.games.clone())
            .collect();
        games.sort_by_key(|game| (game.0, game.1));
        Self {
            signal: reports
                .iter()
                .map(|report| report.signal)
                .max()
                .unwrap_or(0),
            games,
            worker_restarts: reports.iter().map(|report| report.worker_restarts).sum(),
            busy: reports.iter().map(|report| report.busy).collect(),
            keeps: reports.first().is_some_and(|report| report.keeps),
        }
    }
}

impl Ranks {
    /// Tells the others, and hears them.
    pub(crate) fn meet(&self, report: RankReport) -> Result<Meeting, TrainerError> {
        if self.is_alone() {
            return Ok(vec![report].into());
        }
        Ok(self.tell(&report)?.into())
    }

    /// What each rank says, at every rank.
    pub(crate) fn tell<T: Serialize + DeserializeOwned>(
        &self,
        said: &T,
    ) -> Result<Vec<T>, TrainerError> {
        let said = serde_json::to_vec(said).map_err(|error| garbled(&error))?;
        let heard = self.all_gather(&said)?;
        let heard = heard
            .iter()
            .map(|text| serde_json::from_slice(text).map_err(|error| garbled(&error)));
        heard.collect()
    }

    /// Refuses ranks that differ in the program or in what it was told to do, `facts` by name.
    ///
    /// # Errors
    /// [`TrainerError::Usage`], which names the first fact that differs, and the ranks.
    pub(crate) fn check_alike(&self, facts: &[(String, String)]) -> Result<(), TrainerError> {
        let all = self.tell(&facts.to_vec())?;
        let value = |rank: usize, name: &str| {
            let found = all[rank].iter().find(|(other, _)| other == name);
            found.map_or("nothing", |(_, value)| value.as_str())
        };
        for rank in 1..all.len() {
            let mut names = all[rank].iter().chain(&all[0]).map(|(name, _)| name);
            if let Some(name) = names.find(|name| value(rank, name) != value(0, name)) {
                return Err(TrainerError::Usage(format!(
                    "`{name}` is {} at {} and {} at {}: all ranks take the same program, the same packages and the same settings",
                    value(0, name),
                    self.name(0),
                    value(rank, name),
                    self.name(rank)
                )));
            }
        }
        Ok(())
    }
}

fn garbled(error: &serde_json::Error) -> TrainerError {
    TrainerError::Lost {
        reason: format!("what another rank said is not understood: {error}"),
    }
}
