//! Clips of play during training: every so many agent steps what is learned plays the beginning of a game, which goes to
//! `TensorBoard` and the tracker, and as a GIF into the run's folder.
//!
//! As in an evaluation nothing of the run's own is touched, so that it learns bit for bit what it would learn without.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use super::Run;
use crate::{error::TrainerError, files, policy::Policy, stop::StopRequest};

/// Plays with a policy and writes a GIF; `false` where a stop was asked for meanwhile, and there is none.
pub type Film = dyn FnMut(&dyn Policy, &Path, &StopRequest) -> Result<bool, TrainerError>;

/// What films, and how often.
pub(super) struct Clips {
    film: Box<Film>,
    every: u64,
    /// The agent step of the last one.
    last: u64,
}

impl Run {
    /// Has `film` make a clip every `video_every` agent steps.
    pub fn film_by(&mut self, film: Box<Film>) {
        self.clips = Some(Clips {
            film,
            every: self.settings.run.video_every,
            last: newest_in(&self.folder.clips(), self.learned.step),
        });
    }

    /// Makes a clip of what is learned, if it is time to; after a resumption also that which a stop came before.
    pub(super) fn film(&mut self, stop: &StopRequest) -> Result<(), TrainerError> {
        let learned = self.learned.step;
        let Some(clips) = &mut self.clips else {
            return Ok(());
        };
        if learned / clips.every == clips.last / clips.every {
            return Ok(());
        }
        clips.last = learned;
        let began = Instant::now();
        let path = self.folder.clips().join(format!("{learned:012}.gif"));
        // A run that goes on has lost what it had learned by then.
        let _was_there = fs::remove_file(&path);
        let filmed = (clips.film)(self.algorithm.policy(), &path, stop);
        self.report.pause(began.elapsed());
        match filmed {
            Ok(true) => self.report.clip(learned, &path),
            Ok(false) => Ok(()),
            Err(error) => {
                self.clips = None;
                self.report
                    .message(&format!("{error}; the run goes on without clips"));
                Ok(())
            }
        }
    }
}

/// The agent step of the newest clip in a folder, of those that a run had made by `step`; 0 if there is none.
fn newest_in(folder: &Path, step: u64) -> u64 {
    let step_of = |path: PathBuf| path.file_stem()?.to_str()?.parse().ok();
    let steps = files::list(folder).unwrap_or_default();
    let steps = steps.into_iter().filter_map(step_of);
    steps.filter(|&of| of <= step).max().unwrap_or(0)
}
