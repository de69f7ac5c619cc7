//! The settings of a run: the command line, the TOML file, the run's log and the checkpoint are one list.
//!
//! A setting is written once, with its explanation, default and rule: those that every run has in
//! `shared`, those of an algorithm in a file of its name. Files and the command line name them all in one flat
//! table; later layers win: the algorithm's defaults, a preset, a file, the command line.

mod a2c;
mod choices;
mod dqn;
mod fields;
mod layers;
mod ppo;
mod pqn;
mod presets;
mod recipe;
mod shared;

use std::path::Path;

use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use crate::error::TrainerError;
pub use a2c::A2cSettings;
pub use choices::{Backend, DeviceChoice, Distributional, Init, Net, ObsType, Precision, Recipe};
pub use dqn::DqnSettings;
pub use fields::{Field, ReadIf, Rule, SettingType};
pub(crate) use fields::{read, settings, shown};
pub use ppo::PpoSettings;
pub use pqn::PqnSettings;
pub use presets::Preset;
pub use recipe::{FireReset, OrRecipe};
pub use shared::{EnvSettings, MachineSettings, NetSettings, RunSettings};

/// The algorithms: a line for each.
macro_rules! algorithms {
    ($( $(#[doc = $doc:literal])+ $Algorithm:ident($Settings:ty) = $name:literal, )*) => {
        choices::choices! {
            /// The learning algorithm.
            pub enum Algorithm { $( $(#[doc = $doc])+ $Algorithm = $name, )* }
        }

        /// The algorithm of a run, with its settings.
        #[derive(Clone, Debug, PartialEq)]
        pub enum AlgorithmSettings { $( $(#[doc = $doc])+ $Algorithm($Settings), )* }

        impl Algorithm {
            /// All of them.
            pub const ALL: &[Self] = &[$( Self::$Algorithm, )*];

            /// The settings that it reads and that others may not.
            #[must_use]
            pub fn fields(self) -> &'static [Field] {
                match self { $( Self::$Algorithm => <$Settings>::FIELDS, )* }
            }

            /// Environments stepped together by default.
            fn num_envs(self) -> usize {
                match self { $( Self::$Algorithm => <$Settings>::NUM_ENVS, )* }
            }

            fn defaults(self) -> AlgorithmSettings {
                match self {
                    $( Self::$Algorithm => AlgorithmSettings::$Algorithm(<$Settings>::default()), )*
                }
            }

            fn read(self, table: &Table) -> Result<AlgorithmSettings, TrainerError> {
                Ok(match self {
                    $( Self::$Algorithm => AlgorithmSettings::$Algorithm(<$Settings>::from_table(table)?), )*
                })
            }
        }

        impl AlgorithmSettings {
            /// Which algorithm it is.
            #[must_use]
            pub fn algorithm(&self) -> Algorithm {
                match self { $( Self::$Algorithm(_) => Algorithm::$Algorithm, )* }
            }

            fn write_to(&self, table: &mut Table) {
                match self { $( Self::$Algorithm(settings) => settings.write_to(table), )* }
            }

            fn check(&self, num_envs: usize) -> Result<(), TrainerError> {
                match self { $( Self::$Algorithm(settings) => settings.check(num_envs), )* }
            }
        }
    };
}

algorithms! {
    /// Proximal policy optimization.
    Ppo(PpoSettings) = "ppo",
    /// Advantage actor-critic, the synchronous A3C.
    A2c(A2cSettings) = "a2c",
    /// Deep Q-network, and what was added to it up to Rainbow.
    Dqn(DqnSettings) = "dqn",
    /// Parallelized Q-network.
    Pqn(PqnSettings) = "pqn",
}

/// Which algorithm learns; its own settings follow from it.
pub(crate) const ALGORITHM: Field =
    Field::new::<Algorithm>("algorithm", "Learning algorithm", Rule::Any, || {
        Algorithm::Ppo.to_value()
    });

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
        Self {
            run: RunSettings::default(),
            env: EnvSettings {
                num_envs: algorithm.num_envs(),
                ..EnvSettings::default()
            },
            algorithm: algorithm.defaults(),
            net: NetSettings::default(),
            machine: MachineSettings::default(),
        }
    }

    /// The settings that `table` names, the others at the defaults of its algorithm. What none of them
    /// reads may stand in it at its default, for tables hold every setting.
    ///
    /// # Errors
    /// A name that is no setting, or not one of this algorithm; a value of the wrong type or out of
    /// range, alone or with the others.
    pub fn from_table(table: &Table) -> Result<Self, TrainerError> {
        let algorithm = read(Some(&ALGORITHM), table, Algorithm::Ppo)?;
        for name in table.keys() {
            check_name(name, algorithm)?;
        }
        let mut env = named("num_envs", &algorithm.num_envs());
        env.extend(table.clone());
        let settings = Self {
            run: RunSettings::from_table(table)?,
            env: EnvSettings::from_table(&env)?,
            algorithm: algorithm.read(table)?,
            net: NetSettings::from_table(table)?,
            machine: MachineSettings::from_table(table)?,
        };
        layers::check_read(&settings, |field, value| {
            *value != default_of(field, algorithm)
        })?;
        settings.algorithm.check(settings.env.num_rows())?;
        settings.check_groups()?;
        Ok(settings)
    }

    /// Refuses groups of environments that cannot be made, or learned from.
    fn check_groups(&self) -> Result<(), TrainerError> {
        let (num_envs, groups) = (self.env.num_envs, self.env.env_groups);
        let is_normalized = match &self.algorithm {
            AlgorithmSettings::Ppo(ppo) => ppo.norm_obs || ppo.norm_reward,
            AlgorithmSettings::A2c(a2c) => a2c.norm_obs || a2c.norm_reward,
            AlgorithmSettings::Dqn(_) | AlgorithmSettings::Pqn(_) => false,
        };
        let problem = if groups == 1 {
            return Ok(());
        } else if !num_envs.is_multiple_of(groups) {
            format!("does not divide the {num_envs} environments (num_envs)")
        } else if is_normalized {
            "must be 1 with norm_obs or norm_reward, whose statistics are of all environments"
                .to_owned()
        } else if !self.run.img_dir.as_os_str().is_empty() {
            "must be 1 with img_dir: the groups' files would have the same names".to_owned()
        } else {
            return Ok(());
        };
        Err(TrainerError::setting("env_groups", groups, problem))
    }

    /// The settings from an optional TOML file and the command line, the latter winning.
    ///
    /// # Errors
    /// A file that cannot be read; those of [`Settings::from_table`].
    pub fn resolve(file: Option<&Path>, command_line: &Table) -> Result<Self, TrainerError> {
        Self::layered(None, file, command_line)
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
        let from_file = file.map(read_file).transpose()?.unwrap_or_default();
        let table = layers::lay_over(below.clone(), &from_file)?;
        let table = layers::lay_over(table, command_line)?;
        if let Some(preset) = preset
            && table.get("algorithm") != below.get("algorithm")
        {
            return Err(TrainerError::Usage(format!(
                "preset `{}` is of {}; without it another algorithm has its own defaults",
                preset.name,
                below.get("algorithm").map(shown).unwrap_or_default(),
            )));
        }
        let algorithm = read(Some(&ALGORITHM), &table, Algorithm::Ppo)?;
        if let Some(file) = file {
            check_names(&from_file, algorithm, file)?;
        }
        let settings = Self::from_table(&table)?;
        layers::check_read(&settings, |field, _| {
            let by_user = [&from_file, command_line];
            let is_named = by_user.iter().any(|layer| layer.contains_key(field.name));
            is_named && table.contains_key(field.name) // and was not switched off by a later layer
        })?;
        Ok(settings)
    }

    /// The settings of a run that [`Settings::to_toml`] has written, or an earlier program, whose files
    /// also hold what is not read.
    ///
    /// # Errors
    /// A file that cannot be read; those of [`Settings::from_table`].
    pub fn of_run(file: &Path) -> Result<Self, TrainerError> {
        let table = read_file(file)?;
        check_names(
            &table,
            read(Some(&ALGORITHM), &table, Algorithm::Ppo)?,
            file,
        )?;
        Self::from_table(&table)
    }

    /// These settings with those that `changes` names in their place.
    ///
    /// # Errors
    /// Those of [`Settings::from_table`]; a change that is not read.
    pub fn with(&self, changes: &Table) -> Result<Self, TrainerError> {
        let settings = Self::from_table(&layers::lay_over(self.table(), changes)?)?;
        layers::check_read(&settings, |field, _| changes.contains_key(field.name))?;
        Ok(settings)
    }

    /// All settings by name.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = named("algorithm", &self.algorithm.algorithm());
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
        let table = self.table();
        let unread = layers::unread(self);
        let is_read = |field: &Field| unread.iter().all(|(other, ..)| other.name != field.name);
        let groups = groups(&[self.algorithm.algorithm()]);
        let fields = groups.iter().flat_map(|(_, fields)| fields);
        let fields = fields
            .map(|(field, _)| field)
            .filter(|field| is_read(field));
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

/// A group of settings under its heading, each with the algorithms that read it.
pub(crate) type Group = (&'static str, Vec<(&'static Field, Vec<Algorithm>)>);

/// The settings of `algorithms` in the order in which they are shown, each name once.
pub(crate) fn groups(algorithms: &[Algorithm]) -> [Group; 5] {
    let shared = |fields: &'static [Field]| -> Vec<(&'static Field, Vec<Algorithm>)> {
        let all = fields.iter().map(|field| (field, Algorithm::ALL.to_vec()));
        all.collect()
    };
    let mut learning: Vec<(&Field, Vec<Algorithm>)> = Vec::new();
    for &algorithm in algorithms {
        for field in algorithm.fields() {
            match learning
                .iter_mut()
                .find(|(seen, _)| seen.name == field.name)
            {
                Some((_, readers)) => readers.push(algorithm),
                None => learning.push((field, vec![algorithm])),
            }
        }
    }
    let mut run = shared(RunSettings::FIELDS);
    run.insert(0, (&ALGORITHM, Algorithm::ALL.to_vec()));
    [
        ("Run", run),
        ("Learning", learning),
        ("Network", shared(NetSettings::FIELDS)),
        ("Environment", shared(EnvSettings::FIELDS)),
        ("Machine", shared(MachineSettings::FIELDS)),
    ]
}

/// The default of a field for an algorithm that reads it.
pub(crate) fn default_of(field: &Field, algorithm: Algorithm) -> Value {
    if field.name == "num_envs" {
        return algorithm.num_envs().to_value();
    }
    let mut own = algorithm.fields().iter();
    let own = own.find(|own| own.name == field.name);
    (own.unwrap_or(field).default)()
}

/// Refuses a name that is no setting of `algorithm`, and says whose it is.
fn check_name(name: &str, algorithm: Algorithm) -> Result<(), TrainerError> {
    let has = |algorithms: &[Algorithm]| {
        let groups = groups(algorithms);
        let mut fields = groups.iter().flat_map(|(_, fields)| fields);
        fields.any(|(field, _)| field.name == name)
    };
    if has(&[algorithm]) {
        return Ok(());
    }
    let owners = Algorithm::ALL.iter().filter(|&&other| has(&[other]));
    let owners: Vec<_> = owners.map(|owner| owner.name()).collect();
    Err(TrainerError::Usage(if owners.is_empty() {
        format!("`{name}` is not a setting; `train --help` lists them")
    } else {
        format!(
            "`{name}` is not a setting of {algorithm}; it is one of {}",
            owners.join(", ")
        )
    }))
}

/// Refuses what a file names and `algorithm` has not.
fn check_names(table: &Table, algorithm: Algorithm, file: &Path) -> Result<(), TrainerError> {
    table.keys().try_for_each(|name| {
        check_name(name, algorithm)
            .map_err(|error| TrainerError::Usage(format!("`{}`: {error}", file.display())))
    })
}

fn read_file(path: &Path) -> Result<Table, TrainerError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| TrainerError::io("read", path, source))?;
    toml::from_str(&text).map_err(|source| TrainerError::Toml {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

fn named(name: &str, value: &impl SettingType) -> Table {
    Table::from_iter([(name.to_owned(), value.to_value())])
}
