//! What `train` says of a run before its first step and behind its last one.

use std::path::Path;

use serde_json::{Value, json};
use tch::{Device, Kind};
use vec_env::{ActionSpace, VecEnv};

use super::output::{EXIT_OK, say, warn};
use crate::{
    device, envs,
    error::{TrainerError, quoted},
    listener,
    parallel::Threads,
    processor,
    ranks::Ranks,
    report::format::{of_agents, of_games},
    run::{Counters, Outcome, Run, Summary, machine},
    settings::{AlgorithmSettings, Precision, RunSettings, Settings},
    stop::StopRequest,
};

/// How the run begins: who steps what, and what learns where.
pub(super) fn announce(
    ranks: &Ranks,
    run: &Run,
    why_not_native: Option<String>,
) -> Result<(), TrainerError> {
    let settings = &run.settings;
    let device = run.algorithm.policy().device();
    let threads = Threads::new(&settings.machine, device).count();
    let precision = device::precision(settings.machine.precision, device);
    if precision == Precision::Bf16 && device == Device::Cpu && !processor::is_faster_in_bf16() {
        warn("precision = bf16: this processor is faster in `fp32` (`doctor` measures both)");
    }
    let name = device::name(device);
    machine::record(run.folder.path(), &name, run.learned.step, ranks.hosts())?;
    say(format_args!(
        "{} with {}: {} {}; {} parameters on {name}, {}{}",
        settings.env.env_id,
        settings.algorithm.algorithm().name().to_uppercase(),
        environments(settings),
        stepped_by(
            run.env.backend(),
            settings.env.num_envs,
            envs::env_threads(settings)
        ),
        run.algorithm.num_params(),
        computed_in(settings, precision, device, run),
        match (device, threads) {
            (Device::Cpu, 1) => ", learning on a thread".to_owned(),
            (Device::Cpu, threads) => format!(", learning on {threads} threads"),
            _ => String::new(),
        },
    ));
    if let Some(why) = why_not_native {
        say(why);
    }
    if !ranks.is_alone() {
        say(format_args!(
            "{} ranks, each with {} of the environments",
            ranks.count(),
            settings.env.num_envs / ranks.count()
        ));
        if ranks.goes_by_host() && run.algorithm.policy().device().is_cuda() {
            say("ranks share a GPU, which NCCL refuses: gradients go by way of the host's memory");
        }
    }
    say(format_args!("run folder: {}", run.folder.path().display()));
    Ok(())
}

/// The number format, and what convolves images in it.
fn computed_in(settings: &Settings, precision: Precision, device: Device, run: &Run) -> String {
    let name = match settings.machine.precision {
        Precision::Auto => format!("{precision} (auto)"),
        chosen => chosen.to_string(),
    };
    if device == Device::Cpu && run.env.obs_spec().is_image() {
        let is_bf16 = precision == Precision::Bf16;
        let kind = if is_bf16 { Kind::BFloat16 } else { Kind::Float };
        return format!("{name} by {}", processor::name(kind));
    }
    name
}

/// How many environments there are, and for whom.
fn environments(settings: &Settings) -> String {
    match settings.env.num_players {
        1 if settings.env.num_agents > 1 => format!(
            "{} agents in each of {} environments",
            settings.env.num_agents, settings.env.num_envs
        ),
        1 => counted(settings.env.num_envs),
        players => {
            let count = settings.env.num_envs;
            let of_all = format!("self-play of {players} in {count} environments");
            match settings.env.opponent_games {
                0 => of_all,
                games => format!("{of_all}, {games} of them against past selves"),
            }
        }
    }
}

fn counted(environments: usize) -> String {
    match environments {
        1 => "1 environment".to_owned(),
        count => format!("{count} environments"),
    }
}

/// Where so many environments run: the backend chosen is never a secret.
fn stepped_by(backend: &str, environments: usize, threads: i64) -> String {
    match (backend, threads) {
        ("ale" | "native", 1) => format!("on a thread ({backend})"),
        ("ale" | "native", _) => format!("on {threads} threads ({backend})"),
        ("async", 1) => "in a worker process (async)".to_owned(),
        ("async", _) => format!("in {threads} worker processes (async)"),
        ("remote", _) => "on a server (remote)".to_owned(),
        _ if environments == 1 => format!("in this process ({backend})"),
        _ => format!("one after another ({backend})"),
    }
}

/// Has the run evaluated in `env`, if there is any, and says how.
pub(super) fn evaluate_in(run: &mut Run, env: Option<Box<dyn VecEnv>>) -> Result<(), TrainerError> {
    let Some(env) = env else {
        return Ok(());
    };
    let RunSettings {
        eval_every,
        eval_episodes,
        eval_greedy,
        ..
    } = run.settings.run;
    let num_envs = env.num_envs() / env.spec().num_agents;
    let is_continuous = matches!(env.action_space(), ActionSpace::Box { .. });
    say(format_args!(
        "evaluation every {eval_every} agent steps: {}, {}, {} {}",
        of_games(eval_episodes as u64),
        match &run.settings.algorithm {
            algorithm if is_continuous && algorithm.ddpg().is_some() => "the policy's actions",
            AlgorithmSettings::Dqn(dqn) if dqn.eval_e <= 0.0 => "the best actions",
            AlgorithmSettings::Pqn(pqn) if pqn.end_e <= 0.0 => "the best actions",
            _ if eval_greedy => "the best actions",
            _ => "actions drawn",
        },
        counted(num_envs),
        stepped_by(
            env.backend(),
            num_envs,
            envs::env_threads(&run.settings).min(num_envs as i64)
        ),
    ));
    run.evaluate_in(env)
}

/// A summary as a [`listener`] hears of it.
fn told(summary: &Summary, folder: &Path) -> Value {
    let (mean, length) = (summary.mean_return, summary.mean_length);
    json!({
        "event": "end",
        "is_finished": summary.outcome == Outcome::Finished,
        "step": summary.counters.step,
        "updates": summary.counters.update,
        "seconds": summary.counters.seconds,
        "mean_return": mean.map(|(mean, _)| mean),
        "mean_length": length.map(|(mean, _)| mean),
        "games": mean.map_or(0, |(_, games)| games),
        "best": summary.best,
        "folder": folder,
    })
}

/// How the run, which went on from `begun_at`, ended; returns the exit status.
pub(super) fn end(summary: &Summary, begun_at: u64, folder: &Path, stop: &StopRequest) -> i32 {
    listener::tell(|| told(summary, folder));
    let Counters { step, seconds, .. } = summary.counters;
    match summary.mean_length.or(summary.mean_return) {
        Some((mean, games)) if summary.mean_length.is_some() => say(format_args!(
            "mean length of the last {games} games: {mean:.0} agent steps; how well they are played \
             `eval` and `versus` tell"
        )),
        Some((mean, 1)) => say(format_args!("raw return of the only game: {mean:.1}")),
        Some((mean, games)) => say(format_args!(
            "mean raw return of the last {games} games: {mean:.1}{}",
            of_agents(mean, summary.num_agents)
        )),
        None => say("no game ended"),
    }
    if let Some(best) = summary.best {
        say(format_args!(
            "best evaluation: {:.1}{} over {} at agent step {}; play it by: eval {} --best",
            best.mean,
            of_agents(best.mean, summary.num_agents),
            of_games((best.episodes / summary.num_agents) as u64),
            best.step,
            quoted(folder)
        ));
    }
    match summary.worker_restarts {
        0 => {}
        1 => say("workers failed in one step and were restarted"),
        steps => say(format_args!(
            "workers failed in {steps} steps and were restarted"
        )),
    }
    say(format_args!("learning curve: {}", summary.curve.display()));
    match summary.outcome {
        Outcome::Finished if begun_at == step => {
            say(format_args!(
                "nothing was left to do: the run has had its {step} agent steps; for more: train --resume {} \
                 --total-steps {}",
                quoted(folder),
                step.saturating_mul(2)
            ));
            EXIT_OK
        }
        Outcome::Finished => {
            say(format_args!("done: {step} agent steps in {seconds:.0} s"));
            EXIT_OK
        }
        Outcome::Stopped => {
            say(format_args!(
                "stopped at agent step {step}; go on by: train --resume {}",
                quoted(folder)
            ));
            stop.exit_status()
        }
    }
}
