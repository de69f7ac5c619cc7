//! The settings as options of the command line, presets, and what the help says of both.

use std::{ffi::OsString, path::PathBuf};

use clap::{
    Arg, ArgMatches, Args, FromArgMatches,
    builder::{PossibleValuesParser, TypedValueParser},
};
use toml::{Table, Value};

use crate::{
    error::TrainerError,
    settings::{
        Algorithm, Field, Preset, Settings,
        fields::shown,
        groups::{self, ALGORITHM},
    },
};

/// The layers of settings that a command line names.
#[derive(clap::Args)]
pub(super) struct LayerArgs {
    /// Published settings to start from, by name: see below; files and options win
    #[arg(value_name = "PRESET", value_parser = preset_parser(), hide_possible_values = true)]
    pub preset: Option<Preset>,
    /// TOML file of settings, named as the options below with `_` for `-`; the command line wins
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    pub named: SettingArgs,
}

impl LayerArgs {
    /// What they come to.
    pub fn settings(&self) -> Result<Settings, TrainerError> {
        Settings::layered(self.preset.as_ref(), self.config.as_deref(), &self.named.0)
    }
}

/// The settings that a command line names one by one.
pub(super) struct SettingArgs(pub Table);

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self(Table::new());
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for field in groups::fields(Algorithm::ALL) {
            if let Some(value) = matches.get_one::<Value>(field.name) {
                self.0.insert(field.name.to_owned(), value.clone());
            }
        }
        Ok(())
    }
}

impl Args for SettingArgs {
    fn augment_args(mut command: clap::Command) -> clap::Command {
        for (heading, fields) in groups::groups(Algorithm::ALL) {
            for field in fields {
                let arg = Arg::new(field.name)
                    .long(field.name.replace('_', "-"))
                    .value_name(field.name.to_uppercase())
                    .value_parser(field.parser())
                    .allow_hyphen_values(true)
                    .help_heading(heading);
                command = command.arg(arg);
            }
        }
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// `command` as its help shows it for a preset or an algorithm that the command line names: the settings
/// that this algorithm reads, with the values that they would have.
pub(super) fn tailored(command: clap::Command, args: &[OsString]) -> clap::Command {
    let chosen = chosen(&command, args);
    let values = chosen.table();
    let algorithm = chosen.algorithm.algorithm();
    let tailor = |mut command: clap::Command| {
        // Several seeds are named by --seeds.
        let several = command.get_name() == "seeds";
        let is_shown = |field: &Field| {
            values.contains_key(field.name)
                && is_read(field, algorithm)
                && !(several && field.name == "seed")
        };
        for field in groups::fields(Algorithm::ALL) {
            command = command.mut_arg(field.name, |arg| {
                if is_shown(field) {
                    arg.help(explain(own(field, algorithm), &values[field.name]))
                } else {
                    arg.hide(true)
                }
            });
        }
        command
    };
    TRAINING.iter().fold(command, |command, name| {
        command.mut_subcommand(name, tailor)
    })
}

/// The commands that take settings.
const TRAINING: &[&str] = &["train", "seeds"];

/// The settings that a command line asks for by its preset and algorithm; whatever else is in it.
fn chosen(command: &clap::Command, args: &[OsString]) -> Settings {
    let lenient = |command: clap::Command| command.disable_help_flag(true).ignore_errors(true);
    let command = TRAINING
        .iter()
        .fold(lenient(command.clone()), |command, name| {
            command.mut_subcommand(name, lenient)
        });
    let matches = command.try_get_matches_from(args).ok();
    let matches = matches.as_ref().and_then(|matches| matches.subcommand());
    let Some((_, matches)) = matches.filter(|(name, _)| TRAINING.contains(name)) else {
        return Settings::defaults(Algorithm::Ppo);
    };
    let preset = matches.get_one::<Preset>("preset");
    let mut named = Table::new();
    if let Some(algorithm) = matches.get_one::<Value>("algorithm") {
        named.insert("algorithm".to_owned(), algorithm.clone());
    }
    let of_both = Settings::layered(preset, None, &named);
    let chosen = of_both.or_else(|_| Settings::layered(preset, None, &Table::new()));
    chosen.unwrap_or_else(|_| Settings::defaults(Algorithm::Ppo))
}

/// The field as `algorithm` explains it, where several have one of this name.
fn own(field: &'static Field, algorithm: Algorithm) -> &'static Field {
    let mut own = algorithm.fields().iter();
    own.find(|own| own.name == field.name).unwrap_or(field)
}

/// Whether `algorithm` can read the field, whatever else is set.
fn is_read(field: &Field, algorithm: Algorithm) -> bool {
    let Some(condition) = field.read_if else {
        return true;
    };
    if condition.switch() == ALGORITHM.name {
        return condition.holds(&Value::from(algorithm.name()));
    }
    let switch = groups::fields(&[algorithm]).find(|other| other.name == condition.switch());
    switch.is_none_or(|switch| is_read(switch, algorithm))
}

/// A setting's line of `--help`: what it is, what it is read with, its value unless it is named.
fn explain(field: &Field, value: &Value) -> String {
    let mut help = field.help.trim().to_owned();
    let condition = field
        .read_if
        .filter(|condition| condition.switch() != ALGORITHM.name);
    if let Some(condition) = condition {
        help = format!("{help} (with {condition})");
    }
    match shown(value) {
        default if default.is_empty() => help,
        default => format!("{help} [default: {default}]"),
    }
}

/// The presets and what they are, and how to see what they hold: the end of the help.
pub(super) fn presets() -> String {
    let width = Preset::ALL.iter().map(|preset| preset.name.len()).max();
    let width = width.unwrap_or(0);
    let lines = Preset::ALL.iter().map(|preset| {
        let (name, about) = (preset.name, preset.about());
        format!("  {name:width$}  {about}\n")
    });
    format!(
        "Presets:\n{}\nThe settings above are those of the default or of the preset or algorithm that is named \
         beside --help:\n`PRESET --help`, `--algorithm NAME --help`.",
        lines.collect::<String>()
    )
}

/// A preset's name on the command line.
fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    let names = Preset::ALL.iter().map(|preset| preset.name);
    PossibleValuesParser::new(names)
        .try_map(|name| Preset::named(&name).ok_or_else(|| format!("there is no preset `{name}`")))
}
