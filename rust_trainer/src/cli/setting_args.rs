//! The settings as options of the command line, with the default of each in its help.

use clap::{Arg, ArgMatches, Args, FromArgMatches};
use toml::{Table, Value};

use crate::settings::{self, Algorithm, Field};

/// The settings that a command line names.
pub(super) struct SettingArgs(pub Table);

impl FromArgMatches for SettingArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Self(Table::new());
        given.update_from_arg_matches(matches)?;
        Ok(given)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        let groups = settings::groups(Algorithm::ALL);
        for (field, _) in groups.iter().flat_map(|(_, fields)| fields) {
            if let Some(value) = matches.get_one::<Value>(field.name) {
                self.0.insert(field.name.to_owned(), value.clone());
            }
        }
        Ok(())
    }
}

impl Args for SettingArgs {
    fn augment_args(mut command: clap::Command) -> clap::Command {
        for (heading, fields) in settings::groups(Algorithm::ALL) {
            for (field, readers) in fields {
                let arg = Arg::new(field.name)
                    .long(field.name.replace('_', "-"))
                    .value_name(field.name.to_uppercase())
                    .value_parser(field.parser())
                    .allow_hyphen_values(true)
                    .help_heading(heading)
                    .help(explain(field, &readers));
                command = command.arg(arg);
            }
        }
        command
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// A setting's line of `--help`: what it is, which algorithms read it, its default.
fn explain(field: &Field, readers: &[Algorithm]) -> String {
    let mut help = field.help.trim().to_owned();
    if readers.len() < Algorithm::ALL.len() {
        let names: Vec<_> = readers.iter().map(|reader| reader.name()).collect();
        help = format!("{help} ({})", names.join(", "));
    }
    let default = |reader| settings::shown(&settings::default_of(field, reader));
    let first = default(readers[0]);
    if first.is_empty() {
        return help;
    }
    let others = readers[1..]
        .iter()
        .filter(|&&other| default(other) != first);
    let others: Vec<_> = others
        .map(|&other| format!(", {other}: {}", default(other)))
        .collect();
    format!("{help} [default: {first}{}]", others.concat())
}
