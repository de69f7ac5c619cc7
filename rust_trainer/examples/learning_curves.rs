//! What the games of several seeds come to, by the statistics of `seeds`, for the scripts of benchmarks.
//!
//! Reads a row `seed,step,raw_return` for each game from standard input; writes as JSON the score of each seed and its
//! mean of all games, the mean of both over seeds with its 95 % interval, and the mean curve up to the step that
//! the command line names.

#![allow(clippy::print_stdout, reason = "this is what it is for")]

use std::{collections::BTreeMap, env, error::Error, io};

use rust_trainer::{
    report::bootstrap::{mean, mean_of_envs},
    seeds::{Estimate, Games, mean_curve, score},
};
use serde_json::json;

fn main() -> Result<(), Box<dyn Error>> {
    let end = env::args().nth(1).ok_or("name the last step")?.parse()?;
    let mut seeds: BTreeMap<u64, Games> = BTreeMap::new();
    for row in csv::Reader::from_reader(io::stdin()).deserialize() {
        let (seed, step, raw_return) = row?;
        seeds.entry(seed).or_default().push((step, raw_return));
    }
    let ends: Vec<f64> = seeds.values().filter_map(score).collect();
    let of_all = |games: &Games| mean(&games.iter().map(|game| game.1).collect::<Vec<_>>());
    let wholes: Vec<f64> = seeds.values().map(of_all).collect();
    let curve = mean_curve(&seeds.values().collect::<Vec<_>>(), end);
    let points = curve.iter().map(|point| {
        let interval = point.interval;
        [point.step as f64, point.mean, interval.low, interval.high]
    });
    let summary = json!({
        "end": Estimate::of(std::slice::from_ref(&ends), mean_of_envs),
        "whole": Estimate::of(std::slice::from_ref(&wholes), mean_of_envs),
        "ends": ends,
        "wholes": wholes,
        "curve": points.collect::<Vec<_>>(),
    });
    println!("{summary}");
    Ok(())
}
