//! What the commands print, and the exit statuses that say how they ended.

use std::{
    fmt::Display,
    io::{self, Write},
};

use serde_json::json;

use crate::{error::TrainerError, listener};

pub(super) const EXIT_OK: i32 = 0;
pub(super) const EXIT_ERROR: i32 = 1;

/// Prints a line that says what is done; whether anybody reads it makes no difference.
pub(super) fn say(line: impl Display) {
    if !listener::tell_line(&line) {
        let _ = writeln!(io::stdout(), "{line}");
    }
}

/// Prints a line on standard error.
pub(super) fn warn(line: impl Display) {
    if listener::tell(|| json!({"event": "warning", "text": line.to_string()})) {
        return;
    }
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints a line of the result. A reader that went away has what it wanted; a full disk is an error.
pub(super) fn print(line: impl Display) -> Result<(), TrainerError> {
    if listener::tell_line(&line) {
        return Ok(());
    }
    let mut out = io::stdout();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(TrainerError::io("write", "standard output")(error))
        }
        _ => Ok(()),
    }
}
