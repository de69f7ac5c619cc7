//! `watch`: a run, live in the terminal; one summary where there is none.

use std::path::PathBuf;

use super::{
    output::{EXIT_OK, print},
    player::status_after,
};
use crate::{
    error::TrainerError,
    stop::{self, StopRequest},
    terminal, watch,
};

#[derive(clap::Args)]
pub(super) struct WatchArgs {
    /// Folders of runs, such as runs/NAME; a folder of `seeds`, or of several runs, stands for all of them
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Print one summary and end, also on a terminal
    #[arg(long)]
    once: bool,
}

pub(super) fn watch(args: &WatchArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let mut runs = watch::runs_in(&args.runs)?;
    if args.once || !terminal::is_there() {
        for run in &mut runs {
            run.read();
            print(watch::summary(run))?;
        }
        return Ok(EXIT_OK);
    }
    // A word on standard error would stand in the midst of the view.
    stop::be_quiet();
    watch::show(runs, stop)?;
    Ok(status_after(stop))
}
