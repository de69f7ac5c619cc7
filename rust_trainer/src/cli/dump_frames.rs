//! `dump-frames`: every raw frame of whole games with a trained agent.

use std::path::PathBuf;

use super::{
    output::print,
    player::{PlayArgs, make_envs_to_play, status_after},
    recorded::Recorded,
};
use crate::{envs::Recording, error::TrainerError, run::evaluate::Game, stop::StopRequest};

#[derive(clap::Args)]
pub(super) struct DumpArgs {
    #[command(flatten)]
    play: PlayArgs,
    /// Folder for the frames, `out<env>-<frame>.png`; created if it is missing
    img_dir: PathBuf,
    /// True games to play
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
}

pub(super) fn dump_frames(args: &DumpArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let found = args.play.find()?;
    let policy = args.play.how.load(&found)?;
    let frames = Recorded::new(&args.img_dir, ".png")?;
    let recording = Recording {
        img_dir: Some(frames.unfinished.clone()),
        ..Recording::default()
    };
    let env = make_envs_to_play(&found.checkpoint.settings, 1, recording, stop)?;
    let on_game = |game: &Game| {
        let (value, frames) = (game.episode.raw_return, game.episode.frames);
        print(format_args!("game of {value} points in {frames} frames"))
    };
    let played = args
        .play
        .how
        .play(&*policy, env, args.episodes, stop, on_game)?;
    // What follows the last game are the first frames of one that nobody plays.
    let count: i64 = played.iter().map(|game| game.episode.frames).sum();
    let mut kept = 0;
    for name in frames.names()?.into_iter().take(count as usize) {
        let number = frames.first + kept;
        kept += usize::from(frames.keep(&name, &format!("out0-{number:05}.png"))?);
    }
    let (count, folder) = (count as usize, args.img_dir.display());
    if kept < count {
        let problem = format!("saved {kept} of {count} frames in {folder}; the others are lost");
        return Err(TrainerError::Report(problem));
    }
    print(format_args!("saved {kept} frames in {folder}"))?;
    Ok(status_after(stop))
}
