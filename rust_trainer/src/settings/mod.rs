//! The settings of a run: the command line, the TOML file, the run's log and the checkpoint are one list.
//!
//! A setting is written once, with its explanation, default and rule: those that every run has in
//! `shared`, those of an algorithm in a file of its name. Files and the command line name them all in one flat
//! table; later layers win: the algorithm's defaults, a preset, a file, the command line.

mod a2c;
mod algorithms;
mod choices;
mod ddpg;
mod dqn;
pub(crate) mod fields;
pub(crate) mod groups;
mod layers;
mod ppo;
mod pqn;
mod presets;
mod recipe;
mod shared;

use std::{fs, path::Path};

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use toml::{Table, Value};

use crate::error::TrainerError;
pub use a2c::A2cSettings;
pub use algorithms::{Algorithm, AlgorithmSettings};
pub use choices::{
    Autoreset, Backend, DeviceChoice, Distributional, Init, Net, ObsType, OpponentDraw, Precision,
    Recipe, Track,
};
pub use ddpg::DdpgSettings;
pub use dqn::DqnSettings;
use fields::shown;
pub use fields::{Field, ReadIf, Rule, SettingType};
use groups::{algorithm_of, check_name, default_of};
pub use ppo::PpoSettings;
pub use pqn::PqnSettings;
pub use presets::Preset;
pub use recipe::{FireReset, OrRecipe};
pub use shared::{EnvSettings, MachineSettings, NetSettings, RunSettings};
pub(crate) use shared::{PETTINGZOO, SIMPLE_SPREAD};

/// Settings that a resumed run may change: they say how far and where, not what is learned.
pub const CHANGEABLE: &[&str] = &[
    "total_steps",
    "device",
    "precision",
    "cuda_graphs",
    "cuda_streams",
    "torch_threads",
    "env_threads",
    "env_timeout",
    "remote",
    "checkpoint_every",
    "keep_checkpoints",
    "eval_every",
    "eval_episodes",
    "eval_num_envs",
    "eval_greedy",
    "track",
    "video_every",
    "img_dir",
];

/// The file of a run's folder that holds its settings.
pub(crate) const FILE_OF_RUN: &str = "settings.toml";

/// Every setting of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "Table", try_from = "Table")]
pub struct Settings {
    /// What the run is.
    pub run: RunSettings,
    /// Its environments.
    pub env: EnvSettings,
    /// What learns, and how.
    pub algorithm: AlgorithmSettings,
    /// The network that learns.
    pub net: NetSettings,
    /// What it may use.
    pub machine: MachineSettings,
}

impl Settings {
    /// The settings that an algorithm is published with, for Atari.
    #[must_use]
    pub fn defaults(algorithm: Algorithm) -> Self {
        let named = Table::from_iter([("algorithm".to_owned(), algorithm.to_value())]);
        Self::from_table(&named)
            .unwrap_or_else(|error| unreachable!("defaults are in range: {error}"))
    }

    /// The settings that `table` names, the others at the defaults of its algorithm. What none of them
    /// reads may stand in it at its default, for tables hold every setting.
    ///
    /// # Errors
    /// A name that is no setting, or not one of this algorithm; a value of the wrong type or out of
    /// range, alone or with the others.
    pub fn from_table(table: &Table) -> Result<Self, TrainerError> {
        let algorithm = algorithm_of(table)?;
        for name in table.keys() {
            check_name(name, algorithm)?;
        }
        let mut env = Table::from_iter([("num_envs".to_owned(), algorithm.num_envs().to_value())]);
        env.extend(table.clone());
        let settings = Self {
            run: RunSettings::from_table(table)?,
            env: EnvSettings::from_table(&env)?,
            algorithm: algorithm.read(table)?,
            net: NetSettings::from_table(table)?,
            machine: MachineSettings::from_table(table)?,
        };
        layers::check_read(&settings.table(), algorithm, |field, value| {
            *value != default_of(field, algorithm)
        })?;
        settings.check_opponents()?;
        // What has agents by itself says how many when it is made.
        if settings.env.num_agents > 0 || !settings.env.has_agents() {
            settings.check_rows()?;
        }
        settings.check_groups()?;
        settings.check_autoreset()?;
        settings.check_remote()?;
        Ok(settings)
    }

    /// Refuses what does not fit the number of agents that act at once.
    pub(crate) fn check_rows(&self) -> Result<(), TrainerError> {
        self.algorithm.check(self.env.num_rows())
    }

    /// Refuses more games against past selves than there are, or than groups can share.
    fn check_opponents(&self) -> Result<(), TrainerError> {
        let (num_envs, groups) = (self.env.num_envs, self.env.env_groups);
        let games = self.env.opponent_games;
        let problem = if games > num_envs {
            format!("is more than the {num_envs} environments (num_envs)")
        } else if !games.is_multiple_of(groups) {
            format!(
                "is not divided by the {groups} groups (env_groups), which take equally many each"
            )
        } else {
            return Ok(());
        };
        Err(TrainerError::setting("opponent_games", games, problem))
    }

    /// Refuses groups of environments that cannot be made, or learned from.
    fn check_groups(&self) -> Result<(), TrainerError> {
        let (num_envs, groups) = (self.env.num_envs, self.env.env_groups);
        let problem = if groups == 1 {
            return Ok(());
        } else if !num_envs.is_multiple_of(groups) {
            format!("does not divide the {num_envs} environments (num_envs)")
        } else if self.is_on("norm_obs") || self.is_on("norm_reward") {
            "must be 1 with norm_obs or norm_reward, whose statistics are of all environments"
                .to_owned()
        } else if !self.run.img_dir.as_os_str().is_empty() {
            "must be 1 with img_dir: the groups' files would have the same names".to_owned()
        } else {
            return Ok(());
        };
        Err(TrainerError::setting("env_groups", groups, problem))
    }

    /// Refuses steps that only restart where something of an episode is kept from step to step, or by both players.
    fn check_autoreset(&self) -> Result<(), TrainerError> {
        let autoreset = self.env.autoreset;
        let problem = if autoreset == Autoreset::SameStep {
            return Ok(());
        } else if self.table().get("lstm_size").and_then(Value::as_integer) > Some(0) {
            "goes without an LSTM, which would remember an episode in the next"
        } else if self.env.num_players > 1 {
            "is for one player"
        } else {
            return Ok(());
        };
        Err(TrainerError::setting(
            "autoreset",
            autoreset,
            problem.to_owned(),
        ))
    }

    /// Refuses servers that cannot share the environments, and a backend of this machine beside them.
    fn check_remote(&self) -> Result<(), TrainerError> {
        let (servers, groups) = (self.env.servers().count(), self.env.env_groups);
        let problem = if self.env.remote.is_empty() {
            return Ok(());
        } else if servers != 1 && servers != groups {
            format!("must be one server, or one for each group of env_groups = {groups}")
        } else if self.env.backend != Backend::Auto {
            format!(
                "goes without backend = {}: the server has one",
                self.env.backend
            )
        } else {
            return Ok(());
        };
        Err(TrainerError::setting("remote", &self.env.remote, problem))
    }

    pub(crate) fn is_on(&self, name: &str) -> bool {
        self.table().get(name).and_then(Value::as_bool) == Some(true)
    }

    /// The settings from an optional preset, an optional TOML file and the command line, later ones
    /// winning.
    ///
    /// # Errors
    /// A file that cannot be read; another algorithm than the preset's; those of
    /// [`Settings::from_table`].
    pub fn layered(
        preset: Option<&Preset>,
        file: Option<&Path>,
        command_line: &Table,
    ) -> Result<Self, TrainerError> {
        let below = preset.map(Preset::table).transpose()?.unwrap_or_default();
        let from_file = file.map(read_file::<Table>).transpose()?;
        let from_file = from_file.unwrap_or_default();
        let table = layers::lay_over(below.clone(), &from_file)?;
        let table = layers::lay_over(table, command_line)?;
        if let Some(preset) = preset
            && table.get("algorithm") != below.get("algorithm")
        {
            return Err(TrainerError::Usage(format!(
                "preset `{}` is of {}, and {} is asked for; without the preset it has its own defaults",
                preset.name,
                below.get("algorithm").map(shown).unwrap_or_default(),
                table.get("algorithm").map(shown).unwrap_or_default(),
            )));
        }
        let algorithm = algorithm_of(&table)?;
        if let Some(file) = file {
            check_names(&from_file, algorithm, file)?;
        }
        let settings = Self::from_table(&table)?;
        layers::check_read(&settings.table(), algorithm, |field, _| {
            let by_user = [&from_file, command_line];
            let is_named = by_user.iter().any(|layer| layer.contains_key(field.name));
            is_named && table.contains_key(field.name) // and was not switched off by a later layer
        })?;
        Ok(settings)
    }

    /// The settings of a run that [`Settings::to_toml`] has written, or an earlier program, whose files
    /// also hold what is not read.
    pub fn of_run(file: &Path) -> Result<Self, TrainerError> {
        let table: Table = read_file(file)?;
        check_names(&table, algorithm_of(&table)?, file)?;
        Self::from_table(&table)
    }

    /// The settings of the run in `folder`; `None` where their file is lost.
    pub fn in_folder(folder: &Path) -> Result<Option<Self>, TrainerError> {
        let file = folder.join(FILE_OF_RUN);
        let is_there = fs::metadata(&file).is_ok_and(|about| about.len() > 0);
        is_there.then(|| Self::of_run(&file)).transpose()
    }

    /// These settings with those that `changes` names in their place.
    ///
    /// # Errors
    /// Those of [`Settings::from_table`]; a change that is not read.
    pub fn with(&self, changes: &Table) -> Result<Self, TrainerError> {
        let settings = Self::from_table(&layers::lay_over(self.table(), changes)?)?;
        let algorithm = settings.algorithm.algorithm();
        layers::check_read(&settings.table(), algorithm, |field, _| {
            changes.contains_key(field.name)
        })?;
        Ok(settings)
    }

    /// The first setting that `other` has too, with another value, and that neither a resumed run may change nor
    /// `may_differ` names: its name, its value here, and that of `other`.
    pub(crate) fn difference(
        &self,
        other: &Self,
        may_differ: &[&str],
    ) -> Option<(String, Value, Value)> {
        let mut others = other.table();
        self.table().into_iter().find_map(|(name, own)| {
            let its = others.remove(&name)?;
            let is_free = CHANGEABLE.contains(&&*name) || may_differ.contains(&&*name);
            (own != its && !is_free).then_some((name, own, its))
        })
    }

    /// All settings by name.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.insert(
            "algorithm".to_owned(),
            self.algorithm.algorithm().to_value(),
        );
        self.run.write_to(&mut table);
        self.env.write_to(&mut table);
        self.algorithm.write_to(&mut table);
        self.net.write_to(&mut table);
        self.machine.write_to(&mut table);
        table
    }

    /// The settings that are read, as a file holds them: a line each, related ones together.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let (table, algorithm) = (self.table(), self.algorithm.algorithm());
        let unread = layers::unread(&table, algorithm);
        let is_read = |field: &&Field| unread.iter().all(|(other, ..)| other.name != field.name);
        let fields = groups::fields(&[algorithm]).filter(is_read);
        let lines = fields.map(|field| format!("{} = {}\n", field.name, table[field.name]));
        lines.collect()
    }
}

impl From<Settings> for Table {
    fn from(settings: Settings) -> Self {
        settings.table()
    }
}

impl TryFrom<Table> for Settings {
    type Error = TrainerError;

    fn try_from(table: Table) -> Result<Self, TrainerError> {
        Self::from_table(&table)
    }
}

/// Refuses what a file names and `algorithm` has not.
fn check_names(table: &Table, algorithm: Algorithm, file: &Path) -> Result<(), TrainerError> {
    table.keys().try_for_each(|name| {
        check_name(name, algorithm)
            .map_err(|error| TrainerError::Usage(format!("`{}`: {error}", file.display())))
    })
}

/// What a TOML file holds.
pub(crate) fn read_file<T: DeserializeOwned>(path: &Path) -> Result<T, TrainerError> {
    let text = fs::read_to_string(path).map_err(TrainerError::io("read", path))?;
    toml::from_str(&text).map_err(|error| {
        let lines = error
            .span()
            .map(|span| text[..span.start].matches('\n').count() + 1);
        let line = lines.map_or_else(String::new, |line| format!("line {line}: "));
        // What was expected stands on a line of its own.
        let message = error.message().replace('\n', ", ");
        TrainerError::Usage(format!("`{}`: {line}{message}", path.display()))
    })
}
