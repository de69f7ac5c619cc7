//! `dump-frames`: every raw frame of whole games with a trained agent.

use std::path::PathBuf;

use super::{
    PlayArgs, close, find, load_policy, make_envs, print, recorded::Recorded, status_after,
};
use crate::{
    envs::{self, Recording},
    error::TrainerError,
    run::evaluate::{Game, play},
    stop::StopRequest,
};

#[derive(clap::Args)]
pub(super) struct DumpArgs {
    /// A run's folder (its newest checkpoint is taken) or a checkpoint
    run: PathBuf,
    /// Folder for the frames, `out<env>-<frame>.png`; made if it is not there
    img_dir: PathBuf,
    /// True games to play
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    #[command(flatten)]
    play: PlayArgs,
}

pub(super) fn dump_frames(args: &DumpArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let found = find(&args.run, args.play.best)?;
    let policy = load_policy(&found, &args.play)?;
    let frames = Recorded::new(&args.img_dir, ".png")?;
    let recording = Recording {
        img_dir: Some(frames.unfinished.clone()),
        ..Recording::default()
    };
    let for_env = found.checkpoint.settings.clone();
    let mut env = make_envs(1, stop, move || {
        envs::for_evaluation(&for_env, 1, &recording)
    })?;
    let on_game = |game: &Game| {
        let (value, frames) = (game.episode.raw_return, game.episode.frames);
        print(format_args!("game of {value} points in {frames} frames"))
    };
    let games = args.play.games(args.episodes);
    let played = play(&*policy, &mut *env, &games, stop, on_game)?;
    close(env);
    // What follows the last game are the first frames of one that nobody plays.
    let count: i64 = played.iter().map(|game| game.episode.frames).sum();
    let mut kept = 0;
    for name in frames.names()?.into_iter().take(count as usize) {
        let number = frames.first + kept;
        kept += usize::from(frames.keep(&name, &format!("out0-{number:05}.png"))?);
    }
    print(format_args!(
        "saved {kept} frames in {}",
        args.img_dir.display()
    ))?;
    Ok(status_after(stop))
}
