//! What is said of a command line that is wrong, and of what went wrong later: a line that names the mistake
//! and what was probably meant.

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write},
};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;

use crate::{
    alike::most_alike,
    error::{TrainerError, brief, brief_quotes},
    listener,
    settings::Preset,
};

/// The command that is meant where none is named.
const DEFAULT: &str = "train";

/// `args` with the command `train` where the first word is none of the `commands` but an option of it or a
/// preset.
pub(super) fn with_command(command: &clap::Command, args: Vec<OsString>) -> Vec<OsString> {
    let is_of_train = |word: &OsStr| {
        let word = word.to_string_lossy();
        let is_own = ["-h", "--help", "-V", "--version"].contains(&&*word);
        let is_option = word.starts_with('-') && !is_own;
        is_option || Preset::named(&word).is_some()
    };
    let mut args = args;
    let first = args.get(1).filter(|word| is_of_train(word));
    if first.is_some_and(|word| command.find_subcommand(word).is_none()) {
        args.insert(1, DEFAULT.into());
    }
    args
}

/// Prints what is wrong with a command line in one line, or the help that was asked for; returns the exit
/// status.
pub(super) fn explain(mut error: clap::Error, command: &clap::Command, args: &[OsString]) -> i32 {
    let is_mistake =
        error.use_stderr() && error.kind() != ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if !is_mistake {
        let _ = error.print();
        return error.exit_code();
    }
    suggest(&mut error, command, args);
    shorten(&mut error);
    let text = error.render().to_string();
    let parts = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage"));
    let parts: Vec<_> = parts
        .filter(|line| !line.is_empty() && !line.starts_with("For more"))
        .collect();
    let line = parts.join("; ").replace(":;", ":"); // where a list begins
    let is_heard = listener::tell(|| {
        let said = line.trim_start_matches("error: ");
        json!({"event": "error", "is_usage": true, "text": said, "details": null})
    });
    if !is_heard {
        let list = match error.kind() {
            ErrorKind::InvalidSubcommand => "help lists all, and --help what train takes",
            _ => "--help lists all",
        };
        let _ = writeln!(io::stderr(), "{line} ({list})");
    }
    error.exit_code()
}

/// Prints an error and its causes in a line; behind it the details of an environment's own exception.
pub(super) fn fail(error: &TrainerError) {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        let reason = source.to_string();
        if !text.contains(&reason) {
            text = format!("{text}: {reason}");
        }
        cause = source.source();
    }
    let text = brief_quotes(&text);
    let is_heard = listener::tell(|| {
        let is_usage = matches!(error, TrainerError::Setting(_) | TrainerError::Usage(_));
        json!({"event": "error", "is_usage": is_usage, "text": text, "details": error.details()})
    });
    if is_heard {
        return;
    }
    let _ = writeln!(io::stderr(), "error: {text}");
    if let Some(details) = error.details() {
        let _ = writeln!(io::stderr(), "\n{details}");
    }
}

/// Puts names that are like the unknown one in the place of clap's, which compares letter by letter: to it
/// `--enviroment-id` is like `--env-timeout`.
fn suggest(error: &mut clap::Error, command: &clap::Command, args: &[OsString]) {
    let used = args.get(1).and_then(|name| command.find_subcommand(name));
    let (about, place, dashes, names): (_, _, _, Vec<String>) = match error.kind() {
        ErrorKind::UnknownArgument => {
            let options = used.into_iter().flat_map(clap::Command::get_arguments);
            let options = options.filter(|option| !option.is_hide_set());
            let names = options.filter_map(|option| option.get_long().map(str::to_owned));
            let (about, place) = (ContextKind::InvalidArg, ContextKind::SuggestedArg);
            (about, place, "--", names.collect())
        }
        ErrorKind::InvalidSubcommand => {
            let commands = command.get_subcommands().map(clap::Command::get_name);
            let names = commands.chain(Preset::ALL.iter().map(|preset| preset.name));
            let about = ContextKind::InvalidSubcommand;
            let place = ContextKind::SuggestedSubcommand;
            (about, place, "", names.map(str::to_owned).collect())
        }
        _ => return,
    };
    let Some(ContextValue::String(unknown)) = error.get(about) else {
        return;
    };
    let name = unknown.trim_start_matches('-').to_owned();
    error.remove(place);
    error.remove(ContextKind::Suggested);
    let alike = most_alike(&name, names.iter().map(String::as_str));
    if !alike.is_empty() {
        let alike = alike.into_iter().map(|name| format!("{dashes}{name}"));
        error.insert(place, ContextValue::Strings(alike.collect()));
        return;
    }
    let mut positionals = used.into_iter().flat_map(clap::Command::get_positionals);
    if let (Some(used), Some(_)) = (used, positionals.find(|one| one.get_id() == name.as_str())) {
        let (command, value) = (used.get_name(), name.to_uppercase());
        let tip = format!("it is named without an option, `{command} {value}`");
        let tip = ContextValue::StyledStrs(vec![tip.into()]);
        error.insert(ContextKind::Suggested, tip);
    }
}

/// Cuts what the user wrote where it is long.
fn shorten(error: &mut clap::Error) {
    for kind in [
        ContextKind::InvalidArg,
        ContextKind::InvalidValue,
        ContextKind::InvalidSubcommand,
    ] {
        if let Some(ContextValue::String(text)) = error.get(kind) {
            let text = ContextValue::String(brief(text));
            error.insert(kind, text);
        }
    }
}
