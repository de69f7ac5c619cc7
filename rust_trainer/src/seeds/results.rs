//! What finished runs came to together: `results.json`, `results.csv`, a picture for each environment.
//!
//! The score of a run is the mean raw return of its last 100 true games (all lives, rewards not clipped),
//! the number that a run prints at its end.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{Plan, PlannedRun};
use crate::{
    envs,
    error::TrainerError,
    report::{
        Episode, band,
        bootstrap::{Interval, RESAMPLES, interquartile_mean, mean, stratified_bootstrap},
        human::normalized,
        read_episodes,
        running::{GAMES, GameWindow},
    },
    run::files,
};

/// Points of a mean curve, and resamples for each.
const POINTS: u64 = 200;
const RESAMPLES_OF_A_POINT: usize = 1_000;

/// A finished run.
#[derive(Debug)]
struct Scored {
    run: PlannedRun,
    step: u64,
    episodes: Vec<Episode>,
    score: f64,
}

/// A statistic over several runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Estimate {
    value: f64,
    /// None of a single seed: what it would have been with another one is not known.
    interval: Option<Interval>,
}

impl Estimate {
    fn of(scores: &[Vec<f64>], statistic: fn(&[f64]) -> f64) -> Self {
        let known = scores.iter().all(|of_env| of_env.len() > 1);
        Self {
            value: statistic(&scores.concat()),
            interval: known.then(|| stratified_bootstrap(scores, RESAMPLES, statistic)),
        }
    }

    fn json(&self) -> Value {
        let (low, high) = self.interval.map(|ends| (ends.low, ends.high)).unzip();
        json!({ "value": self.value, "low": low, "high": high })
    }

    /// The interval with this many `decimals`.
    fn shown(&self, decimals: usize) -> String {
        self.interval.map_or_else(
            || "none of a single seed".to_owned(),
            |Interval { low, high }| format!("{low:.decimals$} to {high:.decimals$}"),
        )
    }
}

/// The runs of a plan that are finished, and what they came to.
#[derive(Debug)]
pub struct Results {
    algorithm: &'static str,
    /// The environments in the order of the plan, each with its finished runs.
    envs: Vec<(String, Vec<Scored>)>,
    planned: usize,
}

impl Results {
    /// Reads what the finished runs of `plan` have written. A run in which no game ended has no score.
    ///
    /// # Errors
    /// A table that cannot be read.
    pub fn read(plan: &Plan) -> Result<Self, TrainerError> {
        let total = plan.settings.run.total_steps;
        let runs = plan.runs();
        let mut envs: Vec<(String, Vec<Scored>)> = plan
            .env_ids
            .iter()
            .map(|id| (id.clone(), Vec::new()))
            .collect();
        for run in runs.iter().filter(|run| run.is_finished(total)) {
            let episodes = read_episodes(&run.folder.join("episodes.csv"))?;
            let mut last = GameWindow::default();
            for game in &episodes {
                last.push(game.raw_return);
            }
            let of_env = envs.iter_mut().find(|(id, _)| *id == run.env_id);
            if let (Some(score), Some((_, scored))) = (last.mean(), of_env) {
                scored.push(Scored {
                    run: run.clone(),
                    step: run.step(),
                    episodes,
                    score,
                });
            }
        }
        Ok(Self {
            algorithm: plan.settings.algorithm.algorithm().name(),
            envs,
            planned: runs.len(),
        })
    }

    /// Finished runs that have a score.
    #[must_use]
    pub fn count(&self) -> usize {
        self.envs.iter().map(|(_, runs)| runs.len()).sum()
    }

    /// Writes the tables and the pictures into `folder`; returns the pictures.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
        let write = |name: &str, text: String| {
            let path = folder.join(name);
            files::replace(&path, text.as_bytes())
                .map_err(|source| TrainerError::io("write", &path, source))
        };
        write("results.json", format!("{:#}\n", self.json()))?;
        write("results.csv", self.csv())?;
        let mut pictures = Vec::new();
        for (env_id, runs) in self.scored_envs() {
            let path = folder.join(format!("curve-{}.png", envs::name_in_files(env_id)));
            let title = format!(
                "{env_id} · {} · {} seeds",
                self.algorithm.to_uppercase(),
                runs.len()
            );
            band::draw_band(&path, &title, &mean_curve(runs))?;
            pictures.push(path);
        }
        Ok(pictures)
    }

    fn scored_envs(&self) -> impl Iterator<Item = (&str, &[Scored])> {
        let envs = self.envs.iter();
        let envs = envs.map(|(env_id, runs)| (env_id.as_str(), runs.as_slice()));
        envs.filter(|(_, runs)| !runs.is_empty())
    }

    /// The statistics over several environments: of human-normalized scores where all have one, else of
    /// raw returns, and which.
    fn together(&self) -> Option<(bool, Vec<Vec<f64>>)> {
        if self.scored_envs().count() < 2 {
            return None;
        }
        let raw = self.scored_envs().map(|(_, runs)| scores(runs)).collect();
        let normal: Option<Vec<Vec<f64>>> = self
            .scored_envs()
            .map(|(id, runs)| runs.iter().map(|run| normalized(id, run.score)).collect())
            .collect();
        Some(normal.map_or((false, raw), |normal| (true, normal)))
    }

    fn json(&self) -> Value {
        let runs = self.scored_envs().flat_map(|(_, runs)| runs).map(|scored| {
            json!({
                "env_id": scored.run.env_id,
                "seed": scored.run.seed,
                "step": scored.step,
                "games": scored.episodes.len(),
                "score": scored.score,
                "human_normalized": normalized(&scored.run.env_id, scored.score),
            })
        });
        let envs = self.scored_envs().map(|(env_id, runs)| {
            json!({
                "env_id": env_id,
                "seeds": runs.len(),
                "mean": Estimate::of(&[scores(runs)], mean).json(),
            })
        });
        let together = self.together().map(|(is_normalized, scores)| {
            json!({
                "scores": if is_normalized { "human-normalized" } else { "raw returns" },
                "mean": Estimate::of(&scores, mean).json(),
                "interquartile_mean": Estimate::of(&scores, interquartile_mean).json(),
            })
        });
        json!({
            "score": format!("mean raw return of the last {GAMES} true games of a run"),
            "interval": format!("95 %, stratified bootstrap over seeds, {RESAMPLES} resamples"),
            "algorithm": self.algorithm,
            "planned_runs": self.planned,
            "runs": runs.collect::<Vec<_>>(),
            "envs": envs.collect::<Vec<_>>(),
            "together": together,
        })
    }

    fn csv(&self) -> String {
        let header = "env_id,seed,step,games,score\n".to_owned();
        let runs = self.scored_envs().flat_map(|(_, runs)| runs);
        let rows = runs.map(|scored| {
            let (run, games) = (&scored.run, scored.episodes.len());
            let (env_id, seed) = (&run.env_id, run.seed);
            format!("{env_id},{seed},{},{games},{}\n", scored.step, scored.score)
        });
        header + &rows.collect::<String>()
    }
}

/// The table that the command prints.
impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.scored_envs().map(|(id, _)| id.len()).max();
        let width = width.unwrap_or(0).max("environment".len());
        writeln!(
            f,
            "mean raw return of the last {GAMES} games of each run; 95 % interval over seeds by stratified bootstrap"
        )?;
        writeln!(
            f,
            "{:width$}  seeds        mean  95 % interval",
            "environment"
        )?;
        for (env_id, runs) in self.scored_envs() {
            let found = Estimate::of(&[scores(runs)], mean);
            let (seeds, value, interval) = (runs.len(), found.value, found.shown(2));
            writeln!(f, "{env_id:width$}  {seeds:5}  {value:10.2}  {interval}")?;
        }
        if let Some((is_normalized, scores)) = self.together() {
            let what = if is_normalized {
                "human-normalized scores"
            } else {
                "raw returns, not normalized: no human score is known for every environment"
            };
            writeln!(f, "all {} environments, {what}", scores.len())?;
            for (name, statistic) in [
                (
                    "interquartile mean",
                    interquartile_mean as fn(&[f64]) -> f64,
                ),
                ("mean", mean),
            ] {
                let found = Estimate::of(&scores, statistic);
                writeln!(f, "  {name}: {:.3}  ({})", found.value, found.shown(3))?;
            }
        }
        if self.count() < self.planned {
            let missing = self.planned - self.count();
            writeln!(
                f,
                "{missing} of {} runs are not in it: unfinished, or no game ended",
                self.planned
            )?;
        }
        Ok(())
    }
}

fn scores(runs: &[Scored]) -> Vec<f64> {
    runs.iter().map(|run| run.score).collect()
}

/// The mean over seeds of each run's mean of its last 100 games, with its 95 % interval; from where every
/// seed has ended a game.
fn mean_curve(runs: &[Scored]) -> Vec<band::Point> {
    let end = runs.iter().map(|run| run.step).max().unwrap_or(0);
    let mut windows: Vec<_> = runs.iter().map(|_| (GameWindow::default(), 0)).collect();
    let mut points = Vec::new();
    for place in 1..=POINTS {
        let step = end * place / POINTS;
        for (run, (window, seen)) in runs.iter().zip(&mut windows) {
            let new = run.episodes[*seen..].iter();
            for game in new.take_while(|game| game.step <= step) {
                window.push(game.raw_return);
                *seen += 1;
            }
        }
        let means: Option<Vec<f64>> = windows.iter().map(|(window, _)| window.mean()).collect();
        if let Some(means) = means {
            points.push(band::Point {
                step,
                mean: mean(&means),
                interval: stratified_bootstrap(&[means], RESAMPLES_OF_A_POINT, mean),
            });
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(env_id: &str, seed: u64, returns: &[f64]) -> Scored {
        let episodes = returns
            .iter()
            .enumerate()
            .map(|(number, &raw_return)| Episode {
                step: 100 * (number as u64 + 1),
                env: 0,
                raw_return,
                length: 1,
                frames: 1,
                seconds: 0.0,
            });
        Scored {
            run: PlannedRun {
                env_id: env_id.to_owned(),
                seed,
                name: String::new(),
                folder: PathBuf::new(),
            },
            step: 100 * returns.len() as u64,
            episodes: episodes.collect(),
            score: mean(returns),
        }
    }

    fn results(env_ids: [&str; 2]) -> Results {
        let envs = env_ids.map(|id| {
            let runs = [(1, 10.0), (2, 30.0)];
            let runs = runs.map(|(seed, value)| scored(id, seed, &[value, value]));
            (id.to_owned(), Vec::from(runs))
        });
        Results {
            algorithm: "ppo",
            envs: envs.into(),
            planned: 5,
        }
    }

    #[test]
    fn games_are_normalized_by_human_scores_and_others_are_not() {
        let games = results(["Breakout-v4", "PongNoFrameskip-v4"]).json();
        assert_eq!(games["together"]["scores"], "human-normalized");
        let breakout = (20.0 - 1.7) / (30.5 - 1.7);
        let pong = (20.0 + 20.7) / (14.6 + 20.7);
        let value = games["together"]["mean"]["value"].as_f64().unwrap();
        assert!((value - f64::midpoint(breakout, pong)).abs() < 1e-12);
        assert_eq!(
            games["envs"][0]["mean"],
            json!({ "value": 20.0, "low": 10.0, "high": 30.0 })
        );

        let others = results(["CartPole-v1", "Breakout-v4"]);
        assert_eq!(others.json()["together"]["scores"], "raw returns");
        let text = others.to_string();
        assert!(text.contains("raw returns, not normalized"), "{text}");
        assert!(text.contains("1 of 5 runs are not in it"), "{text}");
        assert_eq!(others.csv().lines().count(), 5);
    }

    #[test]
    fn a_single_seed_has_no_interval() {
        let mut results = results(["A-v1", "B-v1"]);
        results.envs[0].1.truncate(1);
        let json = results.json();
        let alone = json!({ "value": 10.0, "low": null, "high": null });
        assert_eq!(json["envs"][0]["mean"], alone);
        assert_eq!(json["envs"][1]["mean"]["low"], 10.0);
        assert!(json["together"]["mean"]["low"].is_null());
        let text = results.to_string();
        assert_eq!(text.matches("none of a single seed").count(), 3, "{text}");
    }

    #[test]
    fn files_hold_what_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        let pictures = results(["A-v1", "ALE/B-v1"]).write(folder.path()).unwrap();
        let names: Vec<_> = pictures
            .iter()
            .filter_map(|path| path.file_name())
            .collect();
        assert_eq!(names, ["curve-A-v1.png", "curve-ALE-B-v1.png"]);
        assert!(pictures.iter().all(|path| path.exists()));
    }

    #[test]
    fn the_mean_curve_begins_where_every_seed_has_ended_a_game() {
        let late = scored("A-v1", 2, &[4.0, 8.0]);
        let mut early = scored("A-v1", 1, &[0.0, 0.0, 0.0, 0.0]);
        early.episodes.truncate(3);
        let curve = mean_curve(&[early, late]);
        assert_eq!(curve[0].step, 100);
        assert!((curve[0].mean - 2.0).abs() < 1e-12);
        let last = curve.last().unwrap();
        assert_eq!((last.step, last.mean), (400, 3.0));
        assert_eq!((last.interval.low, last.interval.high), (0.0, 6.0));
    }
}
