//! `train`: a new run, or one that goes on.

use std::{
    iter,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use atari_core::rl::game::PoweredOn;
use vec_env::VecEnv;

use super::{
    announce::{announce, end, evaluate_in},
    output::{EXIT_OK, say, warn},
    player::{make_envs, make_envs_to_play},
    setting_args::{self, LayerArgs},
};
use crate::{
    algorithms,
    envs::{self, EnvRequest, Recording, TrainingEnvs},
    error::TrainerError,
    play::{self, LiveGame},
    ranks::{Launch, Ranks},
    report::tracking,
    run::{Outcome, Run, RunFolder, RunStart, clips::Film},
    settings::{CHANGEABLE, EnvSettings, RunSettings, Settings, Track, fields::shown},
    stop::{self, StopRequest},
};

#[derive(clap::Args)]
#[command(after_help = setting_args::presets())]
pub(super) struct TrainArgs {
    #[command(flatten)]
    layers: LayerArgs,
    /// Continue the run in this folder from its newest checkpoint
    #[arg(long, value_name = "RUN", conflicts_with_all = ["config", "preset"])]
    resume: Option<PathBuf>,
    /// Seconds after which a rank of several gives up waiting for the others (torchrun)
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = seconds)]
    rank_timeout: f64,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(seconds) if (0.1..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("must be a number of seconds from 0.1 to 86400".to_owned()),
    }
}

pub(super) fn train(args: &TrainArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let Some(launch) = Launch::from_env()? else {
        return train_at(&Ranks::alone(), 0, args, stop);
    };
    if launch.rank > 0 {
        stop::be_quiet();
    }
    let ranks = launch.join(Duration::from_secs_f64(args.rank_timeout), stop)?;
    let trained = train_at(&ranks, launch.restarts, args, stop);
    match trained {
        Ok(_) => ranks.leave(),
        Err(TrainerError::Stopped) => {}
        Err(error) => return Err(ranks.explain(error)),
    }
    trained
}

/// Trains at one of the `ranks`, which have been restarted so many times.
fn train_at(
    ranks: &Ranks,
    restarts: u64,
    args: &TrainArgs,
    stop: &StopRequest,
) -> Result<i32, TrainerError> {
    if !ranks.is_alone() {
        ranks.check_alike(&facts(args)?)?;
    }
    // Where torchrun has restarted the ranks, the run that has a name goes on; rank 0 sees its folder.
    let begun = if restarts > 0 && args.resume.is_none() {
        begun_run(args, ranks)?
    } else {
        None
    };
    let start = match args.resume.as_ref().or(begun.as_ref()) {
        Some(folder) => {
            let mut changes = args.layers.named.0.clone();
            if args.resume.is_none() {
                // What began the run is in its settings.
                changes.retain(|name, _| CHANGEABLE.contains(&name));
            }
            let start = RunStart::open_at_first(folder, &changes, ranks)?;
            if args.resume.is_none() {
                check_is_asked_for(&start.settings, args, folder)?;
            }
            if ranks.is_first() {
                start.notices().iter().for_each(warn);
            }
            start
        }
        None => new_run(ranks, args)?,
    };
    let run = make_run(start, ranks, args, stop)?;
    let (folder, begun_at) = (run.folder.path().to_owned(), run.learned.step);
    let summary = run.train(stop)?;
    if ranks.is_first() {
        return Ok(end(&summary, begun_at, &folder, stop));
    }
    Ok(match summary.outcome {
        Outcome::Finished => EXIT_OK,
        Outcome::Stopped => stop.exit_status(),
    })
}

/// What must be the same at all ranks: the program, the packages that decide what it computes, and what it was
/// told to do.
fn facts(args: &TrainArgs) -> Result<Vec<(String, String)>, TrainerError> {
    let preset = args.layers.preset.as_ref();
    let preset = preset.map_or("none", |preset| preset.name);
    let mut facts = vec![
        ("rust_trainer".to_owned(), build_commit::VERSION.to_owned()),
        ("preset".to_owned(), preset.to_owned()),
    ];
    let named = args.layers.named.0.iter();
    facts.extend(named.map(|(name, value)| (name.clone(), shown(value))));
    for (name, version) in python_shim::doctor::python_facts()?.packages {
        let version = version.unwrap_or_else(|| "missing".to_owned());
        facts.push((name.to_owned(), version));
    }
    Ok(facts)
}

/// The folder of the run that has the name in the settings, if it has begun: of a name that nobody asked for on the command
/// line, that with the highest number behind it.
fn begun_run(args: &TrainArgs, ranks: &Ranks) -> Result<Option<PathBuf>, TrainerError> {
    let RunSettings {
        runs_dir, run_name, ..
    } = args.layers.settings()?.run;
    let mut begun = None;
    if ranks.is_first() && !run_name.is_empty() {
        let numbered = (2..).map(|number| format!("{run_name}-{number}"));
        let is_numbered = !args.layers.named.0.contains_key("run_name");
        let names = iter::once(run_name.clone()).chain(numbered.take_while(|_| is_numbered));
        let folders = names.map(|name| runs_dir.join(name));
        let begun_ones = folders.take_while(|folder| folder.exists());
        begun = begun_ones
            .last()
            .filter(|folder| RunFolder::has_run(folder));
    }
    let is_begun = ranks.any(begun.is_some())?;
    let name = begun.as_ref().and_then(|folder| folder.file_name());
    let name = name.unwrap_or_default().as_encoded_bytes();
    let name = String::from_utf8_lossy(&ranks.of_first(name)?).into_owned();
    Ok(is_begun.then(|| runs_dir.join(name)))
}

/// Refuses a run of the same name that other settings began.
fn check_is_asked_for(own: &Settings, args: &TrainArgs, folder: &Path) -> Result<(), TrainerError> {
    // Environments of several agents say how many they have.
    const MAY_DIFFER: [&str; 2] = ["run_name", "num_agents"];
    let asked = args.layers.settings()?;
    let Some((name, its, asked)) = own.difference(&asked, &MAY_DIFFER) else {
        return Ok(());
    };
    Err(TrainerError::Usage(format!(
        "`{}` is another run: its `{name}` is {}, and {} is asked for; choose another --run-name",
        folder.display(),
        shown(&its),
        shown(&asked)
    )))
}

fn new_run(ranks: &Ranks, args: &TrainArgs) -> Result<RunStart, TrainerError> {
    let mut settings = args.layers.settings()?;
    let table = settings.table().into_iter();
    let table: Vec<_> = table.map(|(name, value)| (name, shown(&value))).collect();
    ranks.check_alike(&table)?;
    own_share(&settings, ranks)?;
    let name_is_asked_for = args.layers.named.0.contains_key("run_name");
    if settings.run.run_name.is_empty() && !name_is_asked_for {
        let (env, seed) = (&settings.env.env_id, settings.run.seed);
        let (env, seed) = (envs::name_in_files(env), format!("seed{seed}"));
        settings.run.run_name = run_name(&settings, &env, &seed);
    }
    let folder = if !ranks.is_first() {
        None
    } else if name_is_asked_for {
        Some(RunFolder::reserve(&settings)?)
    } else {
        Some(reserve_free(&mut settings)?)
    };
    let name = ranks.of_first(settings.run.run_name.as_bytes())?;
    settings.run.run_name = String::from_utf8_lossy(&name).into_owned();
    let folder = folder.unwrap_or_else(|| {
        RunFolder::of_another_rank(settings.run.runs_dir.join(&settings.run.run_name))
    });
    Ok(RunStart::anew(folder, settings, ranks.clone()))
}

/// Makes the environments and what learns in them, and says what they are.
fn make_run(
    start: RunStart,
    ranks: &Ranks,
    args: &TrainArgs,
    stop: &StopRequest,
) -> Result<Run, TrainerError> {
    let (is_new, settings) = (start.is_new, start.settings.clone());
    if settings.run.track != Track::None && ranks.is_first() {
        tracking::check(settings.run.track.name())?;
    }
    let own = own_share(&settings, ranks)?;
    let (past_selves, rank) = (start.past_selves.clone(), ranks.rank());
    let TrainingEnvs {
        env,
        why_not_native,
    } = make_envs(own.env.num_envs, stop, move || {
        let request = EnvRequest::for_training(&own);
        if is_new {
            request.check_recipe()?;
        }
        envs::for_training(&request, &past_selves, rank)
    })?;
    check_timeout(is_new, args, &settings, &*env)?;
    let run = &settings.run;
    let for_evaluation = if run.eval_every > 0 && ranks.is_first() {
        let num_envs = run.eval_num_envs.min(run.eval_episodes);
        let recording = Recording::default();
        Some(make_envs_to_play(&settings, num_envs, recording, stop)?)
    } else {
        None
    };
    let has_clips = settings.run.video_every > 0 && ranks.is_first();
    let of_clips = has_clips.then(|| console_of_clips(&settings, stop));
    let of_clips = of_clips.transpose()?;
    let mut run = Run::start(start, env, stop)?;
    if ranks.is_first() {
        run.notices.iter().for_each(warn);
        announce(ranks, &run, why_not_native)?;
        evaluate_in(&mut run, for_evaluation)?;
        if let Some(powered_on) = of_clips {
            run.film_by(film_on(powered_on, &run));
        }
        if !is_new {
            let from = run.learned.step;
            say(format_args!("going on from agent step {from}"));
        }
    }
    Ok(run)
}

/// The console that clips are made on; what cannot be played there is refused.
fn console_of_clips(settings: &Settings, stop: &StopRequest) -> Result<PoweredOn, TrainerError> {
    let settings = settings.clone();
    make_envs(1, stop, move || {
        let remedy = "`video_every` = 0 trains without clips";
        envs::powered_on(&settings, (None, None), remedy)
    })
}

/// What films the policy of a run: always the beginning of the same game.
fn film_on(powered_on: PoweredOn, run: &Run) -> Box<Film> {
    const SECONDS: f64 = 15.0;
    let kinds = (run.env.obs_spec().clone(), run.env.action_space().clone());
    let seed = run.settings.run.seed;
    Box::new(move |policy, path, stop| {
        let kinds = (&kinds.0, &kinds.1);
        let mut game = LiveGame::new(policy, &powered_on, kinds, seed, false)?;
        play::clip(&mut game, SECONDS, path, stop)
    })
}

/// The settings with this rank's share of the environments.
fn own_share(settings: &Settings, ranks: &Ranks) -> Result<Settings, TrainerError> {
    algorithms::check_ranks(settings, ranks)?;
    let (num_envs, count) = (settings.env.num_envs, ranks.count());
    if !num_envs.is_multiple_of(count) {
        let problem = format!("is not divided by the {count} ranks, which take equally many each");
        return Err(TrainerError::setting("num_envs", num_envs, problem));
    }
    let (of_rank, groups) = (num_envs / count, settings.env.env_groups);
    if !of_rank.is_multiple_of(groups) {
        let problem =
            format!("does not divide the {of_rank} environments of each of {count} ranks");
        return Err(TrainerError::setting("env_groups", groups, problem));
    }
    if count > 1 && !settings.run.img_dir.as_os_str().is_empty() {
        let problem =
            format!("must be empty with {count} ranks: their files would have the same names");
        let folder = settings.run.img_dir.display();
        return Err(TrainerError::setting("img_dir", folder, problem));
    }
    let against = settings.env.opponent_games;
    if !against.is_multiple_of(count * groups) {
        let problem = format!(
            "is not divided by the {count} ranks and their groups, which take equally many each"
        );
        return Err(TrainerError::setting("opponent_games", against, problem));
    }
    let mut own = settings.clone();
    own.env.num_envs = of_rank;
    own.env.opponent_games = against / count;
    Ok(own)
}

/// Refuses a timeout of worker processes that was named where there are none. Where the backend is left to the
/// environments, only they know that.
fn check_timeout(
    is_new: bool,
    args: &TrainArgs,
    settings: &Settings,
    env: &dyn VecEnv,
) -> Result<(), TrainerError> {
    let (name, timeout) = ("env_timeout", settings.env.env_timeout);
    let is_default = timeout.to_bits() == EnvSettings::default().env_timeout.to_bits();
    let is_named = args.layers.named.0.contains_key(name) || is_new && !is_default;
    match env.backend() {
        backend if is_named && !["async", "remote"].contains(&backend) => {
            let problem =
                format!("is not read: it needs `backend` = async, and auto chose {backend}");
            Err(TrainerError::setting(name, timeout, problem))
        }
        _ => Ok(()),
    }
}

/// `<environments>-<algorithm>-<seeds>-<time>`.
pub(super) fn run_name(settings: &Settings, envs: &str, seeds: &str) -> String {
    let time = humantime::format_rfc3339_seconds(SystemTime::now())
        .to_string()
        .replace(['-', ':', 'Z'], "")
        .replace('T', "-");
    format!("{envs}-{}-{seeds}-{time}", settings.algorithm.algorithm())
}

/// A folder of the name in the settings, with a number behind it where there is a run of that name: a name that
/// nobody asked for on the command line, such as that of a settings file out of another run's folder.
fn reserve_free(settings: &mut Settings) -> Result<RunFolder, TrainerError> {
    let name = settings.run.run_name.clone();
    let folder = RunFolder::reserve_free(settings)?;
    let free = &settings.run.run_name;
    if *free != name {
        say(format_args!(
            "there is a run `{name}` already: this one is `{free}`"
        ));
    }
    Ok(folder)
}
