//! What a run that goes on is read from: its folder, its settings, its newest checkpoint.

use std::{fs, path::Path};

use serde::{Deserialize, Serialize};

use super::{
    checkpoints::{self, Checkpoint, Found},
    folder::RunFolder,
    machine,
};
use crate::{
    error::TrainerError,
    ranks::Ranks,
    settings::{CHANGEABLE, Settings},
};

/// A run that is to go on.
#[derive(Debug)]
pub struct Resume {
    pub(super) folder: RunFolder,
    pub(super) checkpoint: Option<Found>,
    /// What is wrong with the replay memory that the checkpoint should have.
    pub(super) replay_problem: Option<TrainerError>,
    /// Its settings, changed as asked for.
    pub settings: Settings,
    /// They are the checkpoint's.
    settings_were_lost: bool,
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
        let settings = Settings::in_folder(folder.path())?;
        let settings_were_lost = settings.is_none();
        let mut checkpoint = checkpoints::newest(&folder.checkpoints())?;
        let mut replay_problem = None;
        if let Some(found) = &mut checkpoint {
            found.check(settings.as_ref())?;
            replay_problem = found.checkpoint.read_replay(&found.path).err();
        }
        let found = checkpoint.as_ref();
        let of_checkpoint = || found.map(|found| found.checkpoint.settings.clone());
        let settings = settings.or_else(of_checkpoint).ok_or_else(|| {
            let folder = folder.path().display();
            TrainerError::Usage(format!(
                "`{folder}` has an empty settings.toml and no checkpoint"
            ))
        })?;
        Ok(Self {
            settings: settings.with(changes)?,
            folder,
            checkpoint,
            replay_problem,
            settings_were_lost,
        })
    }

    /// The same for several ranks: rank 0 opens the run and hands the others what they need of it, who need
    /// not see the folder.
    ///
    /// # Errors
    /// Those of [`Resume::open`], at rank 0; [`TrainerError::Lost`].
    pub fn open_at_first(
        folder: &Path,
        changes: &toml::Table,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        if ranks.is_first() {
            let opened = Self::open(folder, changes)?;
            if ranks.is_alone() {
                return Ok(opened);
            }
            let mut bytes = Vec::new();
            if let Some(found) = &opened.checkpoint {
                let failed = |source| TrainerError::io("read", &found.path, source);
                bytes = fs::read(&found.path).map_err(failed)?;
            }
            let run = RunOfFirst {
                settings: opened.settings.clone(),
                has_checkpoint: opened.checkpoint.is_some(),
            };
            let run = serde_json::to_vec(&run).map_err(|error| not_handed(&error))?;
            ranks.of_first(&run)?;
            ranks.of_first(&bytes)?;
            return Ok(opened);
        }
        let run = ranks.of_first(&[])?;
        let run: RunOfFirst = serde_json::from_slice(&run).map_err(|error| not_handed(&error))?;
        let bytes = ranks.of_first(&[])?;
        let parse = || Checkpoint::parse(folder, &bytes);
        let checkpoint = run.has_checkpoint.then(parse).transpose()?;
        Ok(Self {
            folder: RunFolder::of_another_rank(folder.to_owned()),
            checkpoint: checkpoint.map(|checkpoint| Found::alone(folder.to_owned(), checkpoint)),
            replay_problem: None,
            settings: run.settings,
            settings_were_lost: false,
        })
    }

    /// What the user should know: what is wrong with newer checkpoints, that there is none, what keeps
    /// the run from going on as if it had not been interrupted.
    #[must_use]
    pub fn notices(&self) -> Vec<String> {
        let Some(found) = &self.checkpoint else {
            let folder = self.folder.path().display();
            return vec![format!(
                "`{folder}` has no checkpoint yet: starting again from its settings"
            )];
        };
        let damaged = found.damaged.iter();
        let mut notices: Vec<String> = damaged
            .map(|error| format!("{error}; taking an older one"))
            .collect();
        if self.settings_were_lost {
            let words =
                "the run's settings.toml was lost: it is written anew, as the checkpoint has it";
            notices.push(words.to_owned());
        }
        if let Some(problem) = &self.replay_problem {
            notices.push(format!("{problem}; the replay memory is filled anew"));
        }
        let checkpoint = &found.checkpoint;
        let before = if checkpoint.arithmetic.is_empty() {
            &machine::arithmetic(&checkpoint.settings)
        } else {
            &checkpoint.arithmetic
        };
        let now = machine::arithmetic(&self.settings);
        notices.extend(machine::changes(before, &now));
        let before = checkpoint.settings.run.total_steps;
        let now = self.settings.run.total_steps;
        let what = stretched(&self.settings).join(" and ");
        if before != now && !what.is_empty() {
            notices.push(format!(
                "total_steps was {before} and is {now} now: {what} jumps to where it would stand here in a run of \
                 that length"
            ));
        }
        notices
    }
}

/// What rank 0 hands the others of a run that goes on, beside the bytes of its checkpoint.
#[derive(Serialize, Deserialize)]
struct RunOfFirst {
    settings: Settings,
    has_checkpoint: bool,
}

fn not_handed(error: &serde_json::Error) -> TrainerError {
    TrainerError::State(format!("settings for the other ranks: {error}"))
}

/// What falls or rises over a whole run: with a longer run it goes back.
fn stretched(settings: &Settings) -> Vec<&'static str> {
    let has_epsilon = settings.table().contains_key("exploration_fraction");
    let all = [
        (settings.is_on("anneal_lr"), "the learning rate"),
        (has_epsilon && !settings.is_on("noisy"), "epsilon"),
        (
            settings.is_on("prioritized"),
            "the exponent of the importance weights",
        ),
    ];
    let stretched = all.into_iter().filter(|(is_stretched, _)| *is_stretched);
    stretched.map(|(_, what)| what).collect()
}
