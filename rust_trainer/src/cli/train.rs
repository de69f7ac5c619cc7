//! `train`: a new run, or one that goes on.

use std::{
    path::{Path, PathBuf},
    time::SystemTime,
};

use tch::Device;
use vec_env::VecEnv;

use super::{
    EXIT_OK, make_envs, say,
    setting_args::{self, SettingArgs},
    warn,
};
use crate::{
    device,
    envs::{self, Recording},
    error::TrainerError,
    run::{Counters, Outcome, Resume, Run, RunFolder, StopRequest, machine},
    settings::{EnvSettings, Precision, Preset, RunSettings, Settings},
};

#[derive(clap::Args)]
#[command(after_help = setting_args::presets())]
pub(super) struct TrainArgs {
    /// Published settings to start from, by name: see below; files and options win
    #[arg(value_name = "PRESET", value_parser = setting_args::preset_parser(),
          hide_possible_values = true)]
    preset: Option<Preset>,
    /// TOML file of settings, named as the options below with `_` for `-`; the command line wins
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Go on with the run in this folder from its newest checkpoint
    #[arg(long, value_name = "RUN", conflicts_with_all = ["config", "preset"])]
    resume: Option<PathBuf>,
    #[command(flatten)]
    settings: SettingArgs,
}

pub(super) fn train(args: &TrainArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let run = match &args.resume {
        Some(folder) => resume(folder, args, stop)?,
        None => start(args, stop)?,
    };
    let folder = run.folder().to_owned();
    let summary = run.train(stop)?;
    let Counters { step, seconds, .. } = summary.counters;
    match summary.mean_length.or(summary.mean_return) {
        Some((mean, games)) if summary.mean_length.is_some() => say(format_args!(
            "mean length of the last {games} games: {mean:.0} agent steps; how well they are played \
             `eval` and `versus` tell"
        )),
        Some((mean, 1)) => say(format_args!("raw return of the only game: {mean:.1}")),
        Some((mean, games)) => say(format_args!(
            "mean raw return of the last {games} games: {mean:.1}"
        )),
        None => say("no game ended"),
    }
    if let Some(best) = summary.best {
        say(format_args!(
            "best evaluation: {:.1} over {} games at agent step {}; play it by: eval '{}' --best",
            best.mean,
            best.episodes,
            best.step,
            folder.display()
        ));
    }
    match summary.worker_restarts {
        0 => {}
        1 => say("a worker failed once and was made anew"),
        times => say(format_args!(
            "workers failed {times} times and were made anew"
        )),
    }
    say(format_args!("learning curve: {}", summary.curve.display()));
    match summary.outcome {
        Outcome::Finished => {
            say(format_args!("done: {step} agent steps in {seconds:.0} s"));
            Ok(EXIT_OK)
        }
        Outcome::Stopped => {
            say(format_args!(
                "stopped at agent step {step}; go on by: train --resume '{}'",
                folder.display()
            ));
            Ok(stop.exit_status())
        }
    }
}

fn start(args: &TrainArgs, stop: &StopRequest) -> Result<Run, TrainerError> {
    let named = &args.settings.0;
    let mut settings = Settings::layered(args.preset.as_ref(), args.config.as_deref(), named)?;
    let name_is_asked_for = named.contains_key("run_name");
    if settings.run.run_name.is_empty() && !name_is_asked_for {
        let (env, seed) = (&settings.env.env_id, settings.run.seed);
        let (env, seed) = (envs::name_in_files(env), format!("seed{seed}"));
        settings.run.run_name = run_name(&settings, &env, &seed);
    }
    if !name_is_asked_for {
        settings.run.run_name = free_name(&settings);
    }
    RunFolder::check_free(&settings)?;
    let threads = device::set_torch_threads(settings.machine.torch_threads);
    let for_env = settings.clone();
    let env = make_envs(stop, move || envs::for_training(&for_env))?;
    let default = EnvSettings::default().env_timeout;
    let is_in_file = settings.env.env_timeout.to_bits() != default.to_bits();
    check_timeout(named.contains_key(TIMEOUT) || is_in_file, &settings, &*env)?;
    let for_evaluation = evaluation_envs(&settings, stop)?;
    let mut run = Run::create(settings, env, stop)?;
    announce(&run, threads)?;
    evaluate_in(&mut run, for_evaluation)?;
    Ok(run)
}

fn resume(folder: &Path, args: &TrainArgs, stop: &StopRequest) -> Result<Run, TrainerError> {
    let resume = Resume::open(folder, &args.settings.0)?;
    for notice in resume.notices() {
        warn(notice);
    }
    let threads = device::set_torch_threads(resume.settings.machine.torch_threads);
    let for_env = resume.settings.clone();
    let env = make_envs(stop, move || envs::for_training(&for_env))?;
    let is_named = args.settings.0.contains_key(TIMEOUT);
    check_timeout(is_named, &resume.settings, &*env)?;
    let for_evaluation = evaluation_envs(&resume.settings, stop)?;
    let mut run = Run::resume(resume, env, stop)?;
    for notice in run.notices() {
        warn(notice);
    }
    announce(&run, threads)?;
    evaluate_in(&mut run, for_evaluation)?;
    say(format_args!(
        "going on from agent step {}",
        run.counters().step
    ));
    Ok(run)
}

/// A timeout of worker processes. Where the backend is left to the environments, only they know whether
/// there are any.
const TIMEOUT: &str = "env_timeout";

/// Refuses a timeout that was named where there are no worker processes.
fn check_timeout(
    is_named: bool,
    settings: &Settings,
    env: &dyn VecEnv,
) -> Result<(), TrainerError> {
    match env.backend() {
        backend if is_named && backend != "async" => {
            let problem =
                format!("is not read: it needs `backend` = async, and auto chose {backend}");
            Err(TrainerError::setting(
                TIMEOUT,
                settings.env.env_timeout,
                problem,
            ))
        }
        _ => Ok(()),
    }
}

/// The environments to evaluate in while training, where the settings ask for it.
fn evaluation_envs(
    settings: &Settings,
    stop: &StopRequest,
) -> Result<Option<Box<dyn VecEnv>>, TrainerError> {
    let RunSettings {
        eval_every,
        eval_num_envs,
        eval_episodes,
        ..
    } = settings.run;
    let settings = settings.clone();
    let make = move || {
        let num_envs = eval_num_envs.min(eval_episodes);
        envs::for_evaluation(&settings, num_envs, &Recording::default())
    };
    (eval_every > 0).then(|| make_envs(stop, make)).transpose()
}

fn evaluate_in(run: &mut Run, env: Option<Box<dyn VecEnv>>) -> Result<(), TrainerError> {
    let Some(env) = env else {
        return Ok(());
    };
    let RunSettings {
        eval_every,
        eval_episodes,
        eval_greedy,
        ..
    } = run.settings().run;
    say(format_args!(
        "evaluation every {eval_every} agent steps: {eval_episodes} games, {}, {} environments {}",
        if eval_greedy {
            "the best actions"
        } else {
            "actions drawn"
        },
        env.num_envs(),
        stepped_by(
            env.backend(),
            envs::env_threads(run.settings()).min(env.num_envs() as i64)
        ),
    ));
    run.evaluate_in(env)
}

fn announce(run: &Run, torch_threads: i32) -> Result<(), TrainerError> {
    let settings = run.settings();
    let device = run.algorithm().device();
    let precision = device::precision(settings.machine.precision, device);
    if precision == Precision::Bf16 && device == Device::Cpu && !device::computes_in_bf16() {
        warn(
            "precision = bf16: this processor has no instructions for it; `fp32` takes half the time",
        );
    }
    let device = device::name(device);
    machine::record(run.folder(), &device, run.counters().step)?;
    say(format_args!(
        "{} with {}: {} {}; {} parameters on {device}, {}, {torch_threads} libtorch threads",
        settings.env.env_id,
        settings.algorithm.algorithm().name().to_uppercase(),
        environments(settings),
        stepped_by(run.env().backend(), envs::env_threads(settings)),
        run.algorithm().num_params(),
        match settings.machine.precision {
            Precision::Auto => format!("{precision} (auto)"),
            chosen => chosen.to_string(),
        },
    ));
    say(format_args!("run folder: {}", run.folder().display()));
    Ok(())
}

/// How many environments there are, and for whom.
fn environments(settings: &Settings) -> String {
    match settings.env.num_players {
        1 => format!("{} environments", settings.env.num_envs),
        players => format!(
            "self-play of {players} in {} environments",
            settings.env.num_envs
        ),
    }
}

/// Where environments run: the backend chosen is never a secret.
fn stepped_by(backend: &str, count: i64) -> String {
    match (backend, count) {
        ("ale", 1) => "on a thread (ale)".to_owned(),
        ("ale", _) => format!("on {count} threads (ale)"),
        ("async", 1) => "in a worker process (async)".to_owned(),
        ("async", _) => format!("in {count} worker processes (async)"),
        _ => format!("one after another ({backend})"),
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

/// The name in the settings, with a number behind it where there is a run of that name: a name that
/// nobody asked for on the command line, such as that of a settings file out of another run's folder.
fn free_name(settings: &Settings) -> String {
    let name = &settings.run.run_name;
    let free = RunFolder::free_name(&settings.run.runs_dir, name);
    if free == *name {
        return free;
    }
    say(format_args!(
        "there is a run `{name}` already: this one is `{free}`"
    ));
    free
}
