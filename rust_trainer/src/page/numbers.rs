//! The numbers of a page: curves, scores, shares of time, and the statistics over seeds. Each comes from the function
//! that computes it everywhere else in the trainer.

use std::iter;

use serde_json::{Map, Value, json};

use super::{
    groups::{Group, is_same},
    published,
    run_files::{RunFiles, Update, number},
};
use crate::{
    report::{
        band::Point,
        bootstrap::{interquartile_mean, mean_of_envs},
        format::{duration, short},
        human,
        running::GAMES,
    },
    seeds::{Estimate, Games, improvement, mean_curve_of_last, profile},
};

/// Games in the mean that a curve shows, as the reader chooses: few show more, many show less noise.
pub(super) const WINDOWS: [usize; 3] = [10, GAMES, 500];
/// Points of a curve of an update's numbers, at most.
const POINTS: usize = 200;
/// What the time of an update goes into.
const PHASES: [&str; 3] = ["seconds_acting", "seconds_stepping", "seconds_learning"];

/// Each environment once, and once more in self-play: what its curves show, and what is known of it beside them.
pub(super) fn envs(groups: &[Group<'_>]) -> Vec<Value> {
    let of_group = |group: &Group<'_>| (group.env_id.clone(), group.is_self_play());
    let mut ids: Vec<(String, bool)> = Vec::new();
    for group in groups {
        if !ids.contains(&of_group(group)) {
            ids.push(of_group(group));
        }
    }
    let about = |(id, is_self_play): (String, bool)| {
        let of_env = |group: &&Group<'_>| of_group(group) == (id.clone(), is_self_play);
        let of_env: Vec<_> = groups.iter().filter(of_env).collect();
        let runs = || of_env.iter().flat_map(|group| &group.runs);
        let algorithms = of_env
            .iter()
            .map(|group| group.runs[0].setting("algorithm"));
        let mut published = published::of(&id, &algorithms.collect::<Vec<_>>());
        let mut axis = "raw return";
        if is_self_play {
            axis = "length of a game (agent steps)";
            published.clear();
        }
        let steps = runs().map(|run| run.steps()).max();
        json!({ "id": id, "self_play": is_self_play, "axis": axis, "steps": steps, "published": published })
    };
    ids.into_iter().map(about).collect()
}

/// A group: its curves, its score, its runs.
pub(super) fn group(group: &Group<'_>) -> Value {
    let scores = scores(group);
    let seeds = match (scores.len(), group.runs.len()) {
        (some, all) if 0 < some && some < all => format!("{some} of {all}"),
        (_, all) => all.to_string(),
    };
    let estimate = (!scores.is_empty()).then(|| Estimate::of(&[scores], mean_of_envs));
    json!({
        "label": group.label,
        "name": group.name_in_env(),
        "env": group.env_id,
        "self_play": group.is_self_play(),
        "algorithm": group.runs[0].setting("algorithm"),
        "score": estimate,
        "seeds": seeds,
        "steps": curves(&group.runs, RunFiles::over_steps, 1.0),
        "time": curves(&group.runs, RunFiles::over_time, 1e-3),
        "runs": group.runs.iter().map(|one| run(one)).collect::<Vec<_>>(),
    })
}

/// The curve for each window: `x` in units of `unit` steps, mean, and the ends of the band where there are several
/// runs. As in [`scores`], beside finished runs others have no part in it; where none is finished it ends where the first
/// of them does.
fn curves(runs: &[&RunFiles], games: fn(&RunFiles) -> Games, unit: f64) -> Map<String, Value> {
    // Nor has a run that has only begun.
    let begun = |run: &&RunFiles| !run.games.is_empty();
    let is_one_finished = runs.iter().any(|run| begun(run) && run.is_finished());
    let counted = |run: &&RunFiles| begun(run) && (run.is_finished() || !is_one_finished);
    let all: Vec<Games> = (runs.iter().copied().filter(counted)).map(games).collect();
    let games: Vec<&Games> = all.iter().collect();
    let ends = games.iter().filter_map(|games| Some(games.last()?.0));
    let end = if is_one_finished {
        ends.max()
    } else {
        ends.min()
    };
    let end = end.unwrap_or(0);
    let of = |window: usize| {
        let points = mean_curve_of_last(window, &games, end);
        let column = |value: &dyn Fn(&Point) -> f64| column(&points, value);
        let mut curve = json!({
            "x": column(&|point| point.step as f64 * unit),
            "mean": column(&|point| point.mean),
        });
        if games.len() > 1 {
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
        "shown_steps": shown_steps(steps, run.setting("total_steps").parse().ok()),
        "seconds": seconds,
        "time": duration(seconds),
        "games": run.games.len(),
        "score": run.score(),
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

/// How far a run is: `2.1M of 10M` where steps are left to do.
fn shown_steps(steps: u64, total: Option<u64>) -> String {
    let done = short(steps as f64);
    match total.map(|total| (total, short(total as f64))) {
        Some((total, all)) if steps < total && all != done => format!("{done} of {all}"),
        _ => done,
    }
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

/// The scores of the finished runs; of all where none is finished.
fn scores(group: &Group<'_>) -> Vec<f64> {
    let is_one_finished = group.runs.iter().any(|run| run.is_finished());
    let runs = group.runs.iter();
    let runs = runs.filter(|run| run.is_finished() || !is_one_finished);
    runs.filter_map(|run| run.score()).collect()
}

/// Ways of training with the scores of several seeds or environments, beside one another: a performance profile of
/// each, and how probably each does better than each other. On several environments scores are human-normalized;
/// ways with a single score are left out. Where there are several seeds and yet nothing to show, that is said as `missing`.
pub(super) fn profiles(groups: &[Group<'_>]) -> Value {
    let Some((ids, ways)) = ways(groups) else {
        let has_seeds = groups.iter().any(|group| scores(group).len() > 1);
        let missing = json!({
            "missing": "Over several environments scores are compared where a human's is known for each and a way of \
                        training has runs on all. Name the runs of one environment to see them."
        });
        return if has_seeds { missing } else { Value::Null };
    };
    let all = ways.iter().flat_map(|way| way.scores.concat());
    let thresholds = thresholds(all.collect());
    let curves = ways.iter().map(
        |Way {
             place,
             name,
             scores,
         }| {
            let points = profile(scores, &thresholds);
            // The interval of a single seed is not known.
            let is_known = scores.iter().all(|of_env| of_env.len() > 1);
            json!({
                "label": name,
                "group": place,
                "scores": scores.iter().map(Vec::len).sum::<usize>(),
                "part": column(&points, |(part, _)| *part),
                "low": is_known.then(|| column(&points, |(_, ends)| ends.low)),
                "high": is_known.then(|| column(&points, |(_, ends)| ends.high)),
                "interquartile_mean": Estimate::of(scores, interquartile_mean),
                "mean": Estimate::of(scores, mean_of_envs),
            })
        },
    );
    let curves: Vec<_> = curves.collect();
    let pairs = ways.iter().enumerate().flat_map(|(place, ours)| {
        ways[place + 1..].iter().map(move |theirs| {
            let probability = improvement(&ours.scores, &theirs.scores);
            json!({ "of": ours.name, "over": theirs.name, "probability": probability })
        })
    });
    json!({
        "envs": ids,
        "score": if ids.len() > 1 { "human-normalized score" } else { "score (raw return)" },
        "thresholds": column(&thresholds, |&threshold| threshold),
        "curves": curves,
        "improvement": pairs.collect::<Vec<_>>(),
    })
}

/// Where profiles of these scores, at least one, change, which is at each score; and a place before and behind them.
fn thresholds(mut scores: Vec<f64>) -> Vec<f64> {
    scores.sort_by(f64::total_cmp);
    scores.dedup();
    let (low, high) = (scores[0], scores[scores.len() - 1]);
    let room = 0.05 * (high - low).max(1e-9);
    [&[low - room], &scores[..], &[high + room]].concat()
}

/// A way of training on all environments.
struct Way {
    /// That of the first of its groups.
    place: usize,
    name: String,
    /// On each environment.
    scores: Vec<Vec<f64>>,
}

/// The environments that are compared, and every way of training that has scores on all.
fn ways(groups: &[Group<'_>]) -> Option<(Vec<String>, Vec<Way>)> {
    let mut ids: Vec<String> = groups.iter().map(|group| group.env_id.clone()).collect();
    ids.sort();
    ids.dedup();
    let of_human = |id: &str, score: f64| match ids.len() {
        1 => Some(score),
        _ => human::normalized(id, score),
    };
    let mut ways: Vec<Way> = Vec::new();
    for (place, group) in groups.iter().enumerate() {
        // On one environment it is the same way once more, with the same seeds.
        let is_counted = groups[..place]
            .iter()
            .any(|before| before.env_id != group.env_id && is_same(&before.way, &group.way));
        if is_counted {
            continue;
        }
        let on = |id: &String| {
            let mut others = iter::once(group).chain(groups);
            let same =
                others.find(|other| other.env_id == *id && is_same(&other.way, &group.way))?;
            let scores: Option<Vec<f64>> = scores(same)
                .into_iter()
                .map(|one| of_human(id, one))
                .collect();
            scores.filter(|scores| !scores.is_empty())
        };
        let scores = ids.iter().map(on).collect::<Option<Vec<_>>>();
        if let Some(scores) = scores.filter(|scores| scores.concat().len() > 1) {
            ways.push(Way {
                place,
                name: if ids.len() > 1 {
                    group.name_in_env()
                } else {
                    group.label.clone()
                },
                scores,
            });
        }
    }
    (!ways.is_empty()).then_some((ids, ways))
}

/// What stands in each point of a curve.
fn column<Point>(points: &[Point], value: impl Fn(&Point) -> f64) -> Vec<f64> {
    points.iter().map(|point| rounded(value(point))).collect()
}

/// A number with seven digits, as many as are ever seen: pages are half as long.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.6e}").parse().unwrap_or(value)
}
