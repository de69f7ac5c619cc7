//! What ranks tell one another at the end of each update: the games that ended, whether anybody was asked
//! to stop, how long their own work took.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::Ranks;
use crate::{error::TrainerError, report::Episode};

/// What one rank says, or what all of them said together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RankReport {
    /// A signal by which any was asked to stop, 0 for none.
    pub signal: i32,
    /// Games that ended in their environments, numbered over all ranks; in the order of steps and environments.
    pub games: Vec<Episode>,
    /// How often workers were restarted, over the run.
    pub worker_restarts: u64,
    /// Seconds of the update that each rank worked, waiting for the others left out.
    pub busy: Vec<f64>,
    /// It is time to keep a checkpoint in memory: rank 0's clock decides.
    pub keeps: bool,
}

impl RankReport {
    /// The reports of all ranks, at least one, as one.
    fn merged(reports: Vec<Self>) -> Self {
        let keeps = reports.first().is_some_and(|report| report.keeps);
        let mut all = Self {
            keeps,
            ..Self::default()
        };
        for report in reports {
            all.signal = all.signal.max(report.signal);
            all.games.extend(report.games);
            all.worker_restarts += report.worker_restarts;
            all.busy.extend(report.busy);
        }
        all.games.sort_by_key(|game| (game.step, game.env));
        all
    }
}

impl Ranks {
    /// Tells the others, and hears them.
    pub(crate) fn meet(&self, report: RankReport) -> Result<RankReport, TrainerError> {
        if self.is_alone() {
            return Ok(report);
        }
        Ok(RankReport::merged(self.tell(&report)?))
    }

    /// What each rank says, at every rank.
    pub(crate) fn tell<T: Serialize + DeserializeOwned>(
        &self,
        said: &T,
    ) -> Result<Vec<T>, TrainerError> {
        let garbled = |error: serde_json::Error| {
            TrainerError::Lost(format!("what another rank said is not understood: {error}"))
        };
        let heard = self.all_gather(&serde_json::to_vec(said).map_err(garbled)?)?;
        let heard = heard
            .iter()
            .map(|text| serde_json::from_slice(text).map_err(garbled));
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
