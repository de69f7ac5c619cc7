//! What a run starts from: its folder, its settings, and where it goes on its newest checkpoint.

use std::{fs, path::Path};

use super::{
    checkpoints::{self, Checkpoint, Found},
    folder::RunFolder,
    machine,
};
use crate::{
    envs::PastSelves,
    error::TrainerError,
    ranks::Ranks,
    settings::{CHANGEABLE, Settings},
};

/// What other ranks wait for while rank 0 reads: a replay memory may take it longer than they wait for one another.
const OPENED: &str = "opening of the run";

/// A run before its environments are made.
#[derive(Debug)]
pub struct RunStart {
    /// Its settings; of one that goes on changed as asked for.
    pub settings: Settings,
    /// It is a new one, in an empty folder.
    pub is_new: bool,
    pub(super) ranks: Ranks,
    pub(super) folder: RunFolder,
    pub(super) checkpoint: Option<Found>,
    /// What is wrong with the replay memory that the checkpoint should have.
    pub(super) replay_problem: Option<TrainerError>,
    /// Shared with the environments that its past selves play in: see [`envs::for_training`](crate::envs::for_training).
    pub past_selves: PastSelves,
    /// The settings are the checkpoint's.
    settings_were_lost: bool,
}

impl RunStart {
    /// A new run, in a folder that is [reserved](RunFolder::reserve) for it; the folder is rank 0's.
    #[must_use]
    pub fn anew(folder: RunFolder, settings: Settings, ranks: Ranks) -> Self {
        Self {
            settings,
            is_new: true,
            ranks,
            folder,
            checkpoint: None,
            replay_problem: None,
            past_selves: PastSelves::default(),
            settings_were_lost: false,
        }
    }

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
        let step = found.map_or(0, |found| found.checkpoint.counters.step);
        let of_checkpoint = || found.map(|found| found.checkpoint.settings.clone());
        let settings = settings.or_else(of_checkpoint).ok_or_else(|| {
            let folder = folder.path().display();
            TrainerError::Usage(format!(
                "`{folder}` has an empty settings.toml and no checkpoint"
            ))
        })?;
        // Whole updates may have gone beyond the total that it had.
        let total = changes.get("total_steps").and_then(toml::Value::as_integer);
        let least = step.min(settings.run.total_steps) as i64;
        if let Some(total) = total.filter(|total| *total < least) {
            let problem = format!("is less than the {step} agent steps that the run has had");
            return Err(TrainerError::setting("total_steps", total, problem));
        }
        Ok(Self {
            is_new: false,
            checkpoint,
            replay_problem,
            settings_were_lost,
            ..Self::anew(folder, settings.with(changes)?, Ranks::alone())
        })
    }

    /// The same for several ranks: rank 0 opens the run and hands the others what they need of it, who need
    /// not see the folder. There may have been more ranks before, or fewer.
    pub fn open_at_first(
        folder: &Path,
        changes: &toml::Table,
        ranks: &Ranks,
    ) -> Result<Self, TrainerError> {
        let not_handed = TrainerError::value("settings");
        if ranks.is_first() {
            let opened = Self::open(folder, changes)?;
            ranks.wait_for_first(OPENED, 0)?;
            if !ranks.is_alone() {
                let found = opened.checkpoint.as_ref();
                let read = |found: &Found| {
                    fs::read(&found.path).map_err(TrainerError::io("read", &found.path))
                };
                let bytes = found.map(read).transpose()?.unwrap_or_default();
                ranks.of_first(&serde_json::to_vec(&opened.settings).map_err(not_handed)?)?;
                ranks.of_first(&bytes)?;
            }
            let ranks = ranks.clone();
            return Ok(Self { ranks, ..opened });
        }
        ranks.wait_for_first(OPENED, 0)?;
        let settings = serde_json::from_slice(&ranks.of_first(&[])?).map_err(not_handed)?;
        let bytes = ranks.of_first(&[])?;
        let parse = || Checkpoint::parse(folder, &bytes);
        let checkpoint = (!bytes.is_empty()).then(parse).transpose()?;
        let own = RunFolder::of_another_rank(folder.to_owned());
        Ok(Self {
            is_new: false,
            checkpoint: checkpoint.map(|checkpoint| Found::alone(folder.to_owned(), checkpoint)),
            ..Self::anew(own, settings, ranks.clone())
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
                "the run's settings.toml was lost: it is written again, as the checkpoint has it";
            notices.push(words.to_owned());
        }
        if let Some(problem) = &self.replay_problem {
            notices.push(format!("{problem}; the replay memory starts empty"));
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
