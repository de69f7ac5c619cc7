//! The numbers of a page: curves, scores, shares of time, and the statistics over seeds. Each comes from the function
//! that computes it everywhere else in the trainer.

use serde_json::{Map, Value, json};

use super::{
    groups::{Group, is_same},
    published,
    run_files::{RunFiles, Update, number},
};
use crate::{
    report::{
        bootstrap::{interquartile_mean, mean},
        format::{duration, short},
        human,
        running::GAMES,
    },
    seeds::{Estimate, Games, improvement, mean_curve_of_last, profile, score},
};

/// Games in the mean that a curve shows, as the reader chooses: few show more, many show less noise.
pub(super) const WINDOWS: [usize; 3] = [10, GAMES, 500];
/// Points of a curve of an update's numbers, at most.
const POINTS: usize = 200;
/// Thresholds of a performance profile.
const THRESHOLDS: usize = 60;
/// What the time of an update goes into.
const PHASES: [&str; 3] = ["seconds_acting", "seconds_stepping", "seconds_learning"];

/// Each environment once: what its curves show, and what is known of it beside them.
pub(super) fn envs(groups: &[Group<'_>]) -> Vec<Value> {
    let mut ids: Vec<&str> = groups.iter().map(|group| group.env_id.as_str()).collect();
    let mut seen = Vec::new();
    ids.retain(|id| {
        !seen.contains(id) && {
            seen.push(*id);
            true
        }
    });
    ids.into_iter()
        .map(|id| {
            let of_env = groups.iter().filter(|group| group.env_id == id);
            let mut runs = of_env.clone().flat_map(|group| &group.runs);
            let is_self_play = runs.any(|run| run.is_self_play());
            let algorithms = of_env
                .clone()
                .map(|group| group.runs[0].setting("algorithm"));
            let algorithms: Vec<_> = algorithms.collect();
            let steps = of_env.flat_map(|group| group.runs.iter().map(|run| run.steps()));
            let published = if is_self_play {
                Vec::new()
            } else {
                published::of(id, &algorithms)
            };
            json!({
                "id": id,
                "axis": if is_self_play { "length of a game (agent steps)" } else { "raw return" },
                "steps": steps.max(),
                "published": published,
            })
        })
        .collect()
}

/// A group: its curves, its score, its runs.
pub(super) fn group(group: &Group<'_>) -> Value {
    let scores = scores(group);
    let estimate = (!scores.is_empty()).then(|| Estimate::of(&[scores], mean));
    json!({
        "label": group.label,
        "env": group.env_id,
        "algorithm": group.runs[0].setting("algorithm"),
        "score": estimate,
        "steps": curves(&group.runs, RunFiles::over_steps, 1.0),
        "time": curves(&group.runs, RunFiles::over_time, 1e-3),
        "runs": group.runs.iter().map(|one| run(one)).collect::<Vec<_>>(),
    })
}

/// The curve for each window: `x` in units of `unit` steps, mean, and the ends of the band where there are several
/// runs.
fn curves(runs: &[&RunFiles], games: fn(&RunFiles) -> Games, unit: f64) -> Map<String, Value> {
    let games: Vec<Games> = runs.iter().map(|run| games(run)).collect();
    let games: Vec<&Games> = games.iter().collect();
    let ends = games.iter().filter_map(|games| Some(games.last()?.0));
    let end = ends.max().unwrap_or(0);
    let of = |window: usize| {
        let points = mean_curve_of_last(window, &games, end);
        let column = |value: &dyn Fn(&crate::report::band::Point) -> f64| {
            points
                .iter()
                .map(|point| rounded(value(point)))
                .collect::<Vec<_>>()
        };
        let mut curve = json!({
            "x": column(&|point| point.step as f64 * unit),
            "mean": column(&|point| point.mean),
        });
        if runs.len() > 1 {
            curve["low"] = column(&|point| point.interval.low).into();
            curve["high"] = column(&|point| point.interval.high).into();
        }
        (window.to_string(), curve)
    };
    WINDOWS.map(of).into_iter().collect()
}

fn run(run: &RunFiles) -> Value {
    let (steps, seconds) = (run.steps(), run.seconds());
    let evaluations = run.evaluations.iter();
    let best = evaluations.max_by(|one, other| one.mean.total_cmp(&other.mean));
    let alone = [run];
    json!({
        "name": run.name,
        "seed": run.setting("seed"),
        "steps": steps,
        "shown_steps": short(steps as f64),
        "seconds": seconds,
        "time": duration(seconds),
        "games": run.games.len(),
        "score": score(&run.over_steps()),
        "steps_per_second": (seconds > 0.0).then(|| steps as f64 / seconds),
        "best": best,
        "evaluations": run.evaluations,
        "over_steps": curves(&alone, RunFiles::over_steps, 1.0),
        "over_time": curves(&alone, RunFiles::over_time, 1e-3),
        "phases": phases(&run.updates),
        "updates": updates(&run.updates),
        "machine": machine(&run.machine),
    })
}

/// Seconds that went into each part of an update, over all updates in the table, and what is left of the run's.
fn phases(updates: &[Update]) -> Value {
    let sum = |name: &str| -> f64 { updates.iter().filter_map(|row| number(row, name)).sum() };
    let sums = PHASES.map(sum);
    let known: f64 = sums.iter().sum();
    if known <= 0.0 {
        return Value::Null;
    }
    let mut phases = Map::new();
    for (name, seconds) in PHASES.iter().zip(sums) {
        phases.insert(name.replace("seconds_", ""), json!(rounded(seconds)));
    }
    // Where only some of the updates are there, what went into none of these is not known.
    let places: Vec<_> = updates
        .iter()
        .filter_map(|row| number(row, "update"))
        .collect();
    let is_whole = places
        .last()
        .is_some_and(|last| *last as usize == places.len());
    let all = updates.last().and_then(|row| number(row, "seconds"));
    if let (true, Some(all)) = (is_whole, all) {
        phases.insert("other".to_owned(), json!(rounded((all - known).max(0.0))));
    }
    phases.into()
}

/// The numbers of the updates by name, thinned to the last of each so many.
fn updates(updates: &[Update]) -> Value {
    let spacing = updates.len().div_ceil(POINTS).max(1);
    let kept: Vec<&Update> = updates.chunks(spacing).filter_map(<[_]>::last).collect();
    let names = updates.last().into_iter().flat_map(Update::keys);
    let columns = names.map(|name| {
        let column = kept.iter().map(|row| number(row, name).map(rounded));
        (name.clone(), json!(column.collect::<Vec<_>>()))
    });
    columns.collect::<Map<_, _>>().into()
}

/// What a run ran on, in a line.
fn machine(machine: &Value) -> Value {
    let text = |name: &str| machine[name].as_str().map(str::to_owned);
    let cores = machine["cores"].as_u64();
    let cores = cores.map(|cores| format!("{cores} cores"));
    let torch = machine["packages"]["torch"].as_str();
    let parts = [
        text("device").filter(|device| device != "cpu"),
        text("cpu"),
        cores,
        torch.map(|version| format!("torch {version}")),
        text("rust_trainer").map(|version| format!("rust_trainer {version}")),
    ];
    parts
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
        .into()
}

fn scores(group: &Group<'_>) -> Vec<f64> {
    let runs = group.runs.iter();
    runs.filter_map(|run| score(&run.over_steps())).collect()
}

/// Ways of training with the scores of several seeds or environments, beside one another: a performance profile of
/// each, and how probably each does better than each other. On several environments scores are human-normalized;
/// ways with a single score are left out.
pub(super) fn profiles(groups: &[Group<'_>]) -> Value {
    let Some((ids, ways)) = ways(groups) else {
        return Value::Null;
    };
    let all: Vec<f64> = ways
        .iter()
        .flat_map(|(_, scores)| scores.concat())
        .collect();
    let (low, high) = all
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &one| {
            (low.min(one), high.max(one))
        });
    let room = 0.05 * (high - low).max(1e-9);
    let step = (high - low + 2.0 * room) / (THRESHOLDS - 1) as f64;
    let thresholds: Vec<f64> = (0..THRESHOLDS)
        .map(|place| low - room + place as f64 * step)
        .collect();
    let curves = ways.iter().map(|(label, scores)| {
        let points = profile(scores, &thresholds);
        json!({
            "label": label,
            "scores": scores.iter().map(Vec::len).sum::<usize>(),
            "part": points.iter().map(|(part, _)| rounded(*part)).collect::<Vec<_>>(),
            "low": points.iter().map(|(_, ends)| rounded(ends.low)).collect::<Vec<_>>(),
            "high": points.iter().map(|(_, ends)| rounded(ends.high)).collect::<Vec<_>>(),
            "interquartile_mean": Estimate::of(scores, interquartile_mean),
            "mean": Estimate::of(scores, mean),
        })
    });
    let curves: Vec<_> = curves.collect();
    let pairs = ways.iter().enumerate().flat_map(|(place, (ours, better))| {
        ways[place + 1..].iter().map(move |(theirs, other)| {
            json!({ "of": ours, "over": theirs, "probability": improvement(better, other) })
        })
    });
    json!({
        "envs": ids,
        "score": if ids.len() > 1 { "human-normalized score" } else { "score (raw return)" },
        "thresholds": thresholds.into_iter().map(rounded).collect::<Vec<_>>(),
        "curves": curves,
        "improvement": pairs.collect::<Vec<_>>(),
    })
}

/// The environments that are compared, and the scores on each of every way of training that has some on all.
type Ways = (Vec<String>, Vec<(String, Vec<Vec<f64>>)>);

fn ways(groups: &[Group<'_>]) -> Option<Ways> {
    let mut ids: Vec<String> = groups.iter().map(|group| group.env_id.clone()).collect();
    ids.sort();
    ids.dedup();
    let of_human = |id: &str, score: f64| match ids.len() {
        1 => Some(score),
        _ => human::normalized(id, score),
    };
    let mut ways: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        if groups[..place]
            .iter()
            .any(|before| is_same(&before.way, &group.way))
        {
            continue;
        }
        let on = |id: &String| {
            let same = groups
                .iter()
                .find(|other| other.env_id == *id && is_same(&other.way, &group.way))?;
            let scores: Option<Vec<f64>> = scores(same)
                .into_iter()
                .map(|one| of_human(id, one))
                .collect();
            scores.filter(|scores| !scores.is_empty())
        };
        let scores = ids.iter().map(on).collect::<Option<Vec<_>>>();
        if let Some(scores) = scores.filter(|scores| scores.concat().len() > 1) {
            ways.push((group.label.clone(), scores));
        }
    }
    (!ways.is_empty()).then_some((ids, ways))
}

/// A number with seven digits, as many as are ever seen: pages are half as long.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
