//! `seeds`: several runs with one command, and what they came to together.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use serde_json::json;

use super::{
    output::{EXIT_ERROR, EXIT_OK, print, say, warn},
    setting_args::{self, LayerArgs},
    train::run_name,
};
use crate::{
    envs::{self, EnvRequest},
    error::{TrainerError, quoted},
    seeds::{self, Division, Plan, Results},
    stop::StopRequest,
};

/// More than this many seeds are a typing mistake.
const MOST_SEEDS: u64 = 1000;
const TOTAL_STEPS: &str = "total_steps";

#[derive(clap::Args)]
#[command(after_help = setting_args::presets())]
pub(super) struct SeedsArgs {
    #[command(flatten)]
    layers: LayerArgs,
    /// Seeds of the runs, such as 1-3 or 1,5,9
    #[arg(long, value_name = "SEEDS", value_parser = parse_seeds, required_unless_present = "resume")]
    seeds: Option<Seeds>,
    /// Environments, each played with every seed [default: the one of --env-id]
    #[arg(
        long,
        value_name = "ID,ID,…",
        value_delimiter = ',',
        conflicts_with = "env_id"
    )]
    env_ids: Vec<String>,
    /// Runs at a time [default: as many as the cores allow]
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1024))]
    jobs: Option<usize>,
    /// Continue the unfinished runs in this folder
    #[arg(long, value_name = "FOLDER",
          conflicts_with_all = ["config", "preset", "seeds", "env_ids"])]
    resume: Option<PathBuf>,
    /// Start nothing: make the plan, and print the command of each unfinished run, a JSON list of words a line, for
    /// another program to start (`scripts/ray_sweep`); report on the finished ones
    #[arg(long)]
    print_commands: bool,
}

/// The seeds of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seeds(Vec<u64>);

fn parse_seeds(text: &str) -> Result<Seeds, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<u64>().ok();
        let number = number.filter(|&seed| i64::try_from(seed).is_ok()); // as TOML has them
        number.ok_or_else(|| {
            format!(
                "`{text}` is no seed; name them as 1-3 or 1,5,9, up to {}",
                i64::MAX
            )
        })
    };
    let mut seeds = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        };
        if first > last || last - first >= MOST_SEEDS {
            return Err(format!(
                "`{part}` must name 1 to {MOST_SEEDS} seeds, the lowest first"
            ));
        }
        seeds.extend(first..=last);
    }
    Ok(Seeds(seeds))
}

pub(super) fn seeds(args: &SeedsArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let named = &args.layers.named.0;
    let mut plan = match &args.resume {
        Some(folder) => {
            if let Some(name) = named.keys().find(|name| *name != TOTAL_STEPS) {
                return Err(TrainerError::Usage(format!(
                    "`{name}` cannot change when several runs go on; `{TOTAL_STEPS}` can"
                )));
            }
            Plan::open(folder)?
        }
        None => start(args)?,
    };
    let _lock = plan.lock()?;
    let total = named.get(TOTAL_STEPS).and_then(toml::Value::as_integer);
    let asked = total.filter(|_| args.resume.is_some());
    if let Some(total) = asked
        && plan.extend(total.unsigned_abs())?
    {
        Results::remove(&plan.folder)?; // they would be taken for those of the longer runs
    }
    let total = plan.settings.run.total_steps;
    let runs = plan.runs();
    let unfinished = runs.iter().filter(|run| !run.is_finished(total)).count();
    let division = Division::of(&plan.settings, unfinished, args.jobs);
    if args.print_commands {
        for command in seeds::commands(&plan, &division)? {
            print(json!(command))?;
        }
        let results = read(&plan);
        if results.count() > 0 {
            results.write(&plan.folder)?;
        }
        return Ok(EXIT_OK);
    }
    say(format_args!(
        "{} on {}: {unfinished} of {} runs to do, {division}",
        plan.settings.algorithm.algorithm().name().to_uppercase(),
        plan.env_ids.join(", "),
        runs.len(),
    ));
    say(format_args!("folder: {}", plan.folder.display()));
    let trained = seeds::train(&plan, &division, stop)?;
    let results = read(&plan);
    if results.count() > 0 {
        let pictures = results.write(&plan.folder)?;
        print(format_args!("{}", results.to_string().trim_end()))?;
        for picture in pictures {
            say(format_args!("mean curve: {}", picture.display()));
        }
    }
    let go_on = format!("go on by: seeds --resume {}", quoted(&plan.folder));
    for (run, words) in &trained.failed {
        warn(format_args!("{run} failed: {words}"));
    }
    if trained.stopped {
        say(format_args!("stopped; {go_on}"));
        return Ok(stop.exit_status());
    }
    if trained.failed.is_empty() {
        return Ok(if results.damaged.is_empty() {
            EXIT_OK
        } else {
            EXIT_ERROR
        });
    }
    warn(format_args!(
        "{} of {} runs failed; {go_on}",
        trained.failed.len(),
        runs.len()
    ));
    Ok(EXIT_ERROR)
}

/// The results of a plan; runs that cannot be read are left out with a warning.
fn read(plan: &Plan) -> Results {
    let results = Results::read(plan);
    for error in &results.damaged {
        warn(format_args!("{error}; the results are without that run"));
    }
    results
}

fn start(args: &SeedsArgs) -> Result<Plan, TrainerError> {
    let named = &args.layers.named.0;
    if named.contains_key("seed") {
        let remedy = "name the seeds by --seeds, such as --seeds 1-3".to_owned();
        return Err(TrainerError::Usage(remedy));
    }
    let mut settings = args.layers.settings()?;
    let env_ids = match args.env_ids.as_slice() {
        [] => vec![settings.env.env_id.clone()],
        several => several.to_vec(),
    };
    // A run that fails by its name alone would do so hours later.
    for env_id in &env_ids {
        let mut of_run = settings.clone();
        of_run.env.env_id.clone_from(env_id);
        EnvRequest::for_training(&of_run).check_id()?;
    }
    let seeds = args.seeds.clone().map(|seeds| seeds.0).unwrap_or_default();
    let is_named = named.contains_key("run_name");
    if !is_named {
        let envs = match env_ids.as_slice() {
            [one] => envs::name_in_files(one),
            several => format!("{}-envs", several.len()),
        };
        settings.run.run_name = run_name(&settings, &envs, &format!("{}-seeds", seeds.len()));
    }
    let runs = seeds.len() * env_ids.len();
    Division::of(&settings, runs, args.jobs).fix_threads(&mut settings);
    Plan::create(settings, seeds, env_ids, is_named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_named_in_ranges_and_lists() {
        let seeds = |text: &str| parse_seeds(text).map(|seeds| seeds.0);
        assert_eq!(seeds("1-3"), Ok(vec![1, 2, 3]));
        assert_eq!(seeds("7"), Ok(vec![7]));
        assert_eq!(seeds("1,5-6, 9"), Ok(vec![1, 5, 6, 9]));
        for wrong in ["", "a", "3-1", "-2", "1-", "0-1000", "1,,2"] {
            assert!(seeds(wrong).is_err(), "{wrong}");
        }
    }
}
