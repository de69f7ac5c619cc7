//! `play`: a trained agent to be watched, in a window, in the terminal, or in a file.

use std::{
    env,
    path::{Path, PathBuf},
};

use super::{
    output::print,
    player::{PlayArgs, make_envs, status_after},
};
use crate::{
    envs,
    error::TrainerError,
    play::{self, Controls, Cut, Ended, Filming, LiveGame, Target},
    report::human,
    stop::{self, StopRequest},
    terminal,
};

#[derive(clap::Args)]
pub(super) struct LivePlayArgs {
    #[command(flatten)]
    play: PlayArgs,
    /// Where to show it: window, terminal, FILE.mp4, FILE.gif, or FOLDER/ for a PNG of each frame [default: window where
    /// there is a display, else terminal]
    #[arg(long, value_name = "WHERE")]
    to: Option<PathBuf>,
    /// Games to play [default: 1 into a file, else until you leave]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    games: Option<u64>,
    /// Show value and action probabilities, or action values, beside the game
    #[arg(long)]
    values: bool,
    /// Begin with the stick in your hands: arrows and space; `h` hands it over at any time
    #[arg(long)]
    human: bool,
    /// Times as fast as the console
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    speed: f64,
    /// Another game, such as Breakout, or another environment's id
    #[arg(long)]
    game: Option<String>,
    /// Mode of the game instead of that of the run
    #[arg(long)]
    mode: Option<u32>,
    /// Difficulty of the game instead of that of the run
    #[arg(long)]
    difficulty: Option<u32>,
    /// Lines of a file's pictures for each of the console's; columns follow as on a television, 4 wide and 3 high; of
    /// an mp4 an even number [default: 2; a PNG has the console's own pixels, one for one]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=16))]
    scale: Option<u64>,
    /// First frame to show, counted over all games
    #[arg(long, value_name = "N", default_value_t = 0)]
    from_frame: u64,
    /// Seconds of the game to show [default: all]
    #[arg(long, value_parser = positive, allow_negative_numbers = true)]
    seconds: Option<f64>,
}

fn positive(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if number > 0.0 => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

fn speed(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(speed) if (0.0625..=64.0).contains(&speed) => Ok(speed),
        _ => Err("it must be a number from 0.0625 to 64".to_owned()),
    }
}

pub(super) fn play(args: &LivePlayArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let target = match &args.to {
        Some(to) => target(to)?,
        None => default_target()?,
    };
    if args.human && !target.is_live() {
        let problem = "--human needs a window or the terminal, where keys are heard";
        return Err(TrainerError::Usage(problem.to_owned()));
    }
    if args
        .play
        .how
        .remote
        .as_ref()
        .is_some_and(|address| !address.is_empty())
    {
        let problem = "--remote: what is watched is played here; `eval` plays on a server";
        return Err(TrainerError::Usage(problem.to_owned()));
    }
    let found = args.play.find()?;
    let checkpoint = &found.checkpoint;
    let mut settings = checkpoint.settings.clone();
    if let Some(game) = &args.game {
        settings.env.env_id = id_of(game, &settings.env.env_id);
    }
    let policy = args.play.how.load(&found)?;
    let (mode, difficulty) = (args.mode, args.difficulty);
    let powered_on = make_envs(1, stop, move || {
        let remedy = "`eval --video-dir` saves its games as mp4";
        envs::powered_on(&settings, (mode, difficulty), remedy)
    })?;
    let kinds = (&checkpoint.obs_spec, &checkpoint.action_space);
    let mut game = LiveGame::new(
        &*policy,
        &powered_on,
        kinds,
        args.play.how.seed,
        args.play.how.greedy,
    )?;
    let ended = show(args, &target, &mut game, stop)?;
    // A terminal that the game was shown in has room for words again.
    if target == Target::Terminal {
        ended.iter().try_for_each(tell)?;
    }
    Ok(status_after(stop))
}

/// Plays on a display, until that is given back.
fn show(
    args: &LivePlayArgs,
    target: &Target,
    game: &mut LiveGame<'_>,
    stop: &StopRequest,
) -> Result<Vec<Ended>, TrainerError> {
    if *target == Target::Terminal {
        stop::be_quiet();
    }
    let filming = Filming {
        scale: args.scale.map(|scale| scale as usize),
        speed: args.speed,
    };
    let cut = Cut::of(args.from_frame, args.seconds);
    let num_games = args.games.or((!target.is_live()).then_some(1));
    let mut controls = Controls::new(args.human, args.values, args.speed);
    let mut display = target.open(filming)?;
    let mut ended = Vec::new();
    let on_game = |game: &Ended| {
        ended.push(game.clone());
        if *target == Target::Terminal {
            Ok(())
        } else {
            tell(game)
        }
    };
    play::play(
        game,
        num_games,
        cut,
        &mut *display,
        &mut controls,
        stop,
        on_game,
    )?;
    match display.finish()? {
        Some(saved) => print(format_args!("saved {saved}"))?,
        None if target.is_live() || stop.is_asked() => {}
        None => {
            let problem = "nothing is saved: the games have no frame in the cut of --from-frame and --seconds";
            return Err(TrainerError::Usage(problem.to_owned()));
        }
    }
    Ok(ended)
}

fn tell(game: &Ended) -> Result<(), TrainerError> {
    let returns: Vec<String> = game.returns.iter().map(f64::to_string).collect();
    let by = if game.by_human {
        ", you had the stick"
    } else {
        ""
    };
    print(format_args!(
        "game {}: {} in {} steps, {} frames{by}",
        game.number,
        returns.join(" : "),
        game.steps,
        game.frames
    ))
}

/// What `--to` means.
fn target(to: &Path) -> Result<Target, TrainerError> {
    let text = to.to_string_lossy();
    let ending = to
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    match (&*text, ending.as_deref()) {
        ("window", _) => Ok(Target::Window),
        ("terminal", _) if terminal::is_there() => Ok(Target::Terminal),
        ("terminal", _) => Err(TrainerError::Usage(
            "standard output is no terminal; show it by --to FILE.mp4, FILE.gif or FOLDER/"
                .to_owned(),
        )),
        _ if text.ends_with('/') || to.is_dir() => Ok(Target::Pictures(to.to_owned())),
        (_, Some("mp4")) => Ok(Target::Video(to.to_owned())),
        (_, Some("gif")) => Ok(Target::Gif(to.to_owned())),
        _ => Err(TrainerError::Usage(format!(
            "--to `{text}`: name window, terminal, FILE.mp4, FILE.gif, or FOLDER/ with a slash at its end"
        ))),
    }
}

fn default_target() -> Result<Target, TrainerError> {
    let has_display = env::var_os("DISPLAY").is_some_and(|display| !display.is_empty());
    if has_display {
        Ok(Target::Window)
    } else if terminal::is_there() {
        Ok(Target::Terminal)
    } else {
        let remedy = "there is neither a display nor a terminal; show it by --to FILE.mp4, FILE.gif or FOLDER/";
        Err(TrainerError::Usage(remedy.to_owned()))
    }
}

/// The environment that `game` means: an id, or a game's name in an id such as that of the run.
fn id_of(game: &str, of_run: &str) -> String {
    match human::game(of_run) {
        Some(before) if !game.contains(['-', '/', ':']) => of_run.replacen(before, game, 1),
        _ => game.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_is_named_or_an_id() {
        let run = "SpaceInvadersNoFrameskip-v4";
        assert_eq!(id_of("Breakout", run), "BreakoutNoFrameskip-v4");
        assert_eq!(id_of("Breakout", "ALE/SpaceInvaders-v5"), "ALE/Breakout-v5");
        assert_eq!(id_of("ALE/Pong-v5", run), "ALE/Pong-v5");
        assert_eq!(id_of("CartPole-v1", run), "CartPole-v1");
    }

    #[test]
    fn names_say_what_is_written() {
        let of = |text: &str| target(Path::new(text)).ok();
        assert_eq!(of("window"), Some(Target::Window));
        assert_eq!(of("a/b.MP4"), Some(Target::Video("a/b.MP4".into())));
        assert_eq!(of("b.gif"), Some(Target::Gif("b.gif".into())));
        assert_eq!(of("frames/"), Some(Target::Pictures("frames/".into())));
        assert_eq!(of("/"), Some(Target::Pictures("/".into())));
        assert_eq!(of("windo"), None);
        assert_eq!(of("film.avi"), None);
    }
}
