//! `eval`: whole games with a trained agent.

use std::{collections::HashMap, path::PathBuf};

use serde_json::json;

use super::{
    output::print,
    player::{PlayArgs, make_envs_to_play, status_after},
    recorded::Recorded,
};
use crate::{
    envs::Recording,
    error::TrainerError,
    listener,
    policy::{Policy, RandomPolicy},
    report::{
        Evaluation,
        format::{of_agents, of_games},
    },
    run::evaluate::{Game, evaluation_of},
    stop::StopRequest,
};

#[derive(clap::Args)]
pub(super) struct EvalArgs {
    #[command(flatten)]
    play: PlayArgs,
    /// True games to play
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    episodes: u64,
    /// Play at random instead of by the policy: what its score is to be seen beside
    #[arg(long, conflicts_with = "greedy")]
    random: bool,
    /// Environments played at once
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=1_048_576))]
    num_envs: u64,
    /// Folder for games as mp4, `env<env>-game<n>.mp4`; created if it is missing
    #[arg(long, value_name = "FOLDER")]
    video_dir: Option<PathBuf>,
    /// Of each environment's games, save the first and every n-th after it
    #[arg(long, value_name = "N", default_value_t = 1, requires = "video_dir",
          value_parser = clap::value_parser!(u64).range(1..))]
    record_every: u64,
}

pub(super) fn eval(args: &EvalArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let found = args.play.find()?;
    let (settings, counters) = (&found.checkpoint.settings, found.checkpoint.counters);
    let policy: Box<dyn Policy> = if args.random {
        Box::new(RandomPolicy(found.checkpoint.action_space.clone()))
    } else {
        args.play.how.load(&found)?
    };
    let agents = settings.env.num_agents.max(1);
    let video_dir = args.video_dir.as_deref();
    let videos = video_dir.map(|folder| Recorded::new(folder, ".mp4"));
    let videos = videos.transpose()?;
    let recording = Recording {
        video_dir: videos.as_ref().map(|videos| videos.unfinished.clone()),
        record_every: args.record_every,
        ..Recording::default()
    };
    let num_envs = args.num_envs.min(args.episodes) as usize;
    let env = make_envs_to_play(settings, num_envs, recording, stop)?;
    found.checkpoint.check_spaces(&found.path, &*env)?;
    let asked = args
        .play
        .how
        .precision
        .map(|format| format!(" in {format}"));
    let (asked, games) = (asked.unwrap_or_default(), args.episodes);
    let who = if args.random {
        "at random".to_owned()
    } else {
        format!("at agent step {}", counters.step)
    };
    let env_id = &settings.env.env_id;
    print(format_args!("{env_id} {who}, {}{asked}", of_games(games)))?;
    // Of each game's agents the one that ends first gives it the next number.
    let mut numbers = HashMap::new();
    let on_game = |game: &Game| {
        let episode = &game.episode;
        let next = numbers.len() + 1;
        let number = *numbers
            .entry((episode.env / agents, game.number))
            .or_insert(next);
        let (value, steps) = (episode.raw_return, episode.length);
        listener::tell(|| json!({"event": "game", "raw_return": value, "length": steps}));
        let agent = match agents {
            1 => String::new(),
            _ => format!(", agent {}", episode.env % agents),
        };
        let shown = (value * 100.0).round() / 100.0 + 0.0; // and no -0
        let line = format!("game {number}{agent}: {shown} in {steps} steps");
        match &videos {
            Some(videos) if (game.number as u64).is_multiple_of(args.record_every) => {
                print(format_args!("{line}, {}", video_name(game, videos.first)))
            }
            _ => print(line),
        }
    };
    let played = args
        .play
        .how
        .play(&*policy, env, games * agents as u64, stop, on_game)?;
    if !played.is_empty() {
        let evaluation = evaluation_of(&played, counters.step, 0.0);
        listener::tell(|| json!({"event": "evaluation", "scalars": evaluation}));
        let Evaluation { mean, std, .. } = evaluation;
        print(format_args!(
            "mean {mean:.2} ± {std:.2} (standard deviation) over {}{}",
            of_games((played.len() / agents) as u64),
            of_agents(mean, agents)
        ))?;
    }
    if let (Some(videos), Some(folder)) = (videos, video_dir) {
        let is_filmed = |game: &&Game| (game.number as u64).is_multiple_of(args.record_every);
        let (mut filmed, mut kept) = (0, 0);
        for game in played.iter().filter(is_filmed) {
            filmed += 1;
            let is_kept = videos.keep(&video_name(game, 0), &video_name(game, videos.first))?;
            kept += usize::from(is_kept);
        }
        if kept < filmed {
            let problem = format!("{kept} of {filmed} videos are saved; the others are lost");
            return Err(TrainerError::Report(problem));
        }
        print(format_args!("videos are in {}", folder.display()))?;
    }
    Ok(status_after(stop))
}

/// The video of a game, where the numbers of games begin at `first`.
fn video_name(game: &Game, first: usize) -> String {
    format!("env{}-game{}.mp4", game.episode.env, first + game.number)
}
