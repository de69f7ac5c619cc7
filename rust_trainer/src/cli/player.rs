//! What commands share in which trained agents play: agents, their environments, their games.

use std::path::{Path, PathBuf};

use vec_env::VecEnv;

use super::output::{EXIT_OK, warn};
use crate::{
    device,
    envs::{self, Recording},
    error::TrainerError,
    policy::Policy,
    run::{
        aside,
        checkpoints::{self, Found},
        evaluate::{self, Game, Play},
    },
    settings::{DeviceChoice, Precision, Settings},
    stop::StopRequest,
};

/// Which agent plays, and how.
#[derive(clap::Args)]
pub(super) struct PlayArgs {
    /// A run's folder (its newest checkpoint is taken) or a checkpoint
    pub run: PathBuf,
    #[command(flatten)]
    pub how: HowArgs,
}

/// How agents play.
#[derive(clap::Args)]
pub(super) struct HowArgs {
    /// Seed of the games and of the policy's draws
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Take the checkpoint that did best in evaluations during training instead of the newest
    #[arg(long)]
    best: bool,
    /// Always take the most probable action instead of drawing from the policy
    #[arg(long)]
    pub greedy: bool,
    /// Where the network runs: auto, cpu, cuda or cuda:N
    #[arg(long, default_value = "auto")]
    device: DeviceChoice,
    /// Number format of the network [default: the run's]
    #[arg(long)]
    pub precision: Option<Precision>,
    /// Server that steps the games, HOST:PORT or unix:PATH; "" plays them here [default: the run's]
    #[arg(long, value_name = "ADDRESS")]
    pub remote: Option<String>,
}

impl PlayArgs {
    /// The checkpoint that the command line means, with the number format and the server that it says.
    pub fn find(&self) -> Result<Found, TrainerError> {
        self.how.find(&self.run)
    }
}

impl HowArgs {
    /// The checkpoint that `run` means, a run's folder or a checkpoint, with the number format and the server that
    /// are asked for.
    pub fn find(&self, run: &Path) -> Result<Found, TrainerError> {
        let found = match self.best {
            true if run.is_file() => Err(TrainerError::Usage(format!(
                "`{}` is a file; --best takes a run's folder",
                run.display()
            ))),
            true => checkpoints::find_best(run),
            false => checkpoints::find(run),
        };
        Ok(self.as_asked(found?))
    }

    /// `found` with the number format and the server that are asked for.
    pub fn as_asked(&self, mut found: Found) -> Found {
        let of_run = &mut found.checkpoint.settings;
        of_run.machine.precision = self.precision.unwrap_or(of_run.machine.precision);
        if let Some(remote) = &self.remote {
            of_run.env.remote.clone_from(remote);
        }
        found
    }

    /// The policy of a checkpoint, and a word about newer ones that are damaged.
    pub fn load(&self, found: &Found) -> Result<Box<dyn Policy>, TrainerError> {
        for error in &found.damaged {
            warn(format_args!("{error}; taking an older one"));
        }
        let device = device::select(self.device)?;
        if let Some(asked) = self.precision {
            device::check_precision(asked, device)?;
        }
        device::apply_precision(found.checkpoint.settings.machine.precision, device)?;
        found
            .checkpoint
            .policy(device)
            .map_err(|error| TrainerError::checkpoint(&found.path, error))
    }

    /// Lets `policy` play in `env`, and closes that.
    pub fn play(
        &self,
        policy: &dyn Policy,
        mut env: Box<dyn VecEnv>,
        num_episodes: u64,
        stop: &StopRequest,
        on_game: impl FnMut(&Game) -> Result<(), TrainerError>,
    ) -> Result<Vec<Game>, TrainerError> {
        let how = Play {
            num_episodes: num_episodes as usize,
            seed: self.seed,
            greedy: self.greedy,
        };
        let played = evaluate::play(policy, &mut *env, &how, stop, on_game)?;
        // What closing makes of it costs nothing of what was played.
        if let Some(problem) = aside::close(&mut env) {
            warn(problem);
        }
        Ok(played)
    }
}

/// Lets the best checkpoint of the run in `run` play a game, or the newest where none was evaluated, and records it in
/// `folder`, which is made. Returns the video and a line about the game.
pub(super) fn record_game(
    run: &Path,
    folder: &Path,
    stop: &StopRequest,
) -> Result<(PathBuf, String), TrainerError> {
    let args = PlayArgs {
        run: run.to_owned(),
        how: HowArgs {
            seed: 0,
            best: checkpoints::find_best(run).is_ok(),
            greedy: false,
            device: DeviceChoice::Auto,
            precision: None,
            // A server writes no films of its clients'.
            remote: Some(String::new()),
        },
    };
    let found = args.find()?;
    let (settings, made) = (&found.checkpoint.settings, found.checkpoint.counters.step);
    let policy = args.how.load(&found)?;
    let recording = Recording {
        video_dir: Some(folder.to_owned()),
        record_every: 1,
        ..Recording::default()
    };
    let env = make_envs_to_play(settings, 1, recording, stop)?;
    let played = args.how.play(&*policy, env, 1, stop, |_| Ok(()))?;
    let video = folder.join("env0-game0.mp4");
    match played.first() {
        Some(game) if video.is_file() => {
            let value = game.episode.raw_return;
            let line = format!("a game of {value} points after {made} agent steps");
            Ok((video, line))
        }
        _ if stop.is_asked() => Err(TrainerError::Stopped),
        _ => Err(TrainerError::Usage(format!(
            "`{}` cannot be recorded: no video came of its game",
            run.display()
        ))),
    }
}

/// Makes environments as `make` says, unless a stop is asked for meanwhile.
pub(super) fn make_envs<Envs: Send + 'static>(
    num_envs: usize,
    stop: &StopRequest,
    make: impl FnOnce() -> Result<Envs, TrainerError> + Send + 'static,
) -> Result<Envs, TrainerError> {
    // Python's main thread is the one that it starts in.
    python_shim::interpreter::start()?;
    let what = match num_envs {
        1 => "an environment is being made".to_owned(),
        _ => format!("{num_envs} environments are being made"),
    };
    stop.unless_asked(Some(&what), make)
        .ok_or(TrainerError::Stopped)?
}

/// Environments of whole games with raw rewards, as those of `settings`.
pub(super) fn make_envs_to_play(
    settings: &Settings,
    num_envs: usize,
    recording: Recording,
    stop: &StopRequest,
) -> Result<Box<dyn VecEnv>, TrainerError> {
    let settings = settings.clone();
    make_envs(num_envs, stop, move || {
        envs::for_evaluation(&settings, num_envs, &recording)
    })
}

/// The exit status of playing: whether it came to its end or was asked to stop.
pub(super) fn status_after(stop: &StopRequest) -> i32 {
    if stop.is_asked() {
        stop.exit_status()
    } else {
        EXIT_OK
    }
}
