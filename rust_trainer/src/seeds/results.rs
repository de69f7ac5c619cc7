//! What finished runs came to together: `results.json`, `results.csv`, a picture for each environment.
//!
//! The score of a run is the mean raw return of its last 100 true games (all lives, rewards not clipped),
//! the number that a run prints at its end.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use super::{
    plan::{Plan, PlannedRun},
    scores::{Estimate, Games, mean_curve, score},
};
use crate::{
    envs,
    error::TrainerError,
    files,
    report::{
        EPISODES, Episode, band,
        bootstrap::{RESAMPLES, interquartile_mean, mean_of_envs},
        human::normalized,
        read_rows,
        running::GAMES,
    },
};

const JSON: &str = "results.json";
const CSV: &str = "results.csv";
/// What the name of a picture begins with.
const CURVE: &str = "curve-";

/// A finished run.
#[derive(Debug)]
struct Scored {
    run: PlannedRun,
    step: u64,
    games: Games,
    score: f64,
}

/// The runs of a plan that are finished, and what they came to.
#[derive(Debug)]
pub struct Results {
    algorithm: &'static str,
    /// The environments in the order of the plan, each with its finished runs, at least one.
    envs: Vec<(String, Vec<Scored>)>,
    planned: usize,
    /// What is wrong with finished runs that are left out.
    pub damaged: Vec<TrainerError>,
}

impl Results {
    /// Reads what the finished runs of `plan` have written. A run in which no game ended has no score.
    #[must_use]
    pub fn read(plan: &Plan) -> Self {
        let mut damaged = Vec::new();
        let total = plan.settings.run.total_steps;
        let runs = plan.runs();
        let mut envs = Vec::new();
        for env_id in &plan.env_ids {
            let mut scored = Vec::new();
            let of_env = runs.iter().filter(|run| run.env_id == *env_id);
            for run in of_env.filter(|run| run.is_finished(total)) {
                let episodes = match read_rows::<Episode>(&run.folder.join(EPISODES)) {
                    Ok(episodes) => episodes,
                    Err(error) => {
                        damaged.push(error);
                        continue;
                    }
                };
                let games = episodes.iter().map(|game| (game.step, game.raw_return));
                let games: Games = games.filter(|game| game.1.is_finite()).collect();
                scored.extend(score(&games).map(|score| Scored {
                    run: run.clone(),
                    step: run.step(),
                    games,
                    score,
                }));
            }
            if !scored.is_empty() {
                envs.push((env_id.clone(), scored));
            }
        }
        Self {
            algorithm: plan.settings.algorithm.algorithm().name(),
            envs,
            planned: runs.len(),
            damaged,
        }
    }

    /// Finished runs that have a score.
    pub fn count(&self) -> usize {
        self.runs().count()
    }

    /// Writes the tables and the pictures into `folder`; returns the pictures.
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, TrainerError> {
        let write = |name: &str, text: String| files::write(&folder.join(name), text.as_bytes());
        write(JSON, format!("{:#}\n", self.json()))?;
        write(CSV, self.csv())?;
        let mut pictures = Vec::new();
        for (env_id, runs) in &self.envs {
            let path = folder.join(format!("{CURVE}{}.png", envs::name_in_files(env_id)));
            let algorithm = self.algorithm.to_uppercase();
            let seeds = if runs.len() == 1 { "seed" } else { "seeds" };
            let title = format!("{env_id} · {algorithm} · {} {seeds}", runs.len());
            let end = runs.iter().map(|run| run.step).max().unwrap_or(0);
            let games: Vec<&Games> = runs.iter().map(|run| &run.games).collect();
            band::draw_band(&path, &title, &mean_curve(&games, end))?;
            pictures.push(path);
        }
        Ok(pictures)
    }

    /// Removes what [`Self::write`] wrote into `folder`.
    pub fn remove(folder: &Path) -> Result<(), TrainerError> {
        for path in files::list(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name == JSON || name == CSV || (name.starts_with(CURVE) && name.ends_with(".png")) {
                fs::remove_file(&path).map_err(TrainerError::io("remove", path.as_path()))?;
            }
        }
        Ok(())
    }

    fn runs(&self) -> impl Iterator<Item = &Scored> {
        self.envs.iter().flat_map(|(_, runs)| runs)
    }

    /// The statistics over several environments: of human-normalized scores where all have one, else of
    /// raw returns, and which.
    fn together(&self) -> Option<(bool, Vec<Vec<f64>>)> {
        if self.envs.len() < 2 {
            return None;
        }
        let of_human = |(id, runs): &(String, Vec<Scored>)| -> Option<Vec<f64>> {
            runs.iter().map(|run| normalized(id, run.score)).collect()
        };
        let normal: Option<_> = self.envs.iter().map(of_human).collect();
        let raw = || self.envs.iter().map(|(_, runs)| scores(runs)).collect();
        Some(normal.map_or_else(|| (false, raw()), |normal| (true, normal)))
    }

    fn json(&self) -> Value {
        let runs = self.runs().map(|scored| {
            json!({
                "env_id": scored.run.env_id,
                "seed": scored.run.seed,
                "step": scored.step,
                "games": scored.games.len(),
                "score": scored.score,
                "human_normalized": normalized(&scored.run.env_id, scored.score),
            })
        });
        let envs = self.envs.iter().map(|(env_id, runs)| {
            json!({
                "env_id": env_id,
                "seeds": runs.len(),
                "mean": Estimate::of(&[scores(runs)], mean_of_envs),
            })
        });
        let together = self.together().map(|(is_normalized, scores)| {
            json!({
                "scores": if is_normalized { "human-normalized" } else { "raw returns" },
                "mean": Estimate::of(&scores, mean_of_envs),
                "interquartile_mean": Estimate::of(&scores, interquartile_mean),
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
        let rows = self.runs().map(|scored| {
            let (PlannedRun { env_id, seed, .. }, step) = (&scored.run, scored.step);
            let (games, score) = (scored.games.len(), scored.score);
            format!("{env_id},{seed},{step},{games},{score}\n")
        });
        header + &rows.collect::<String>()
    }
}

/// The table that the command prints.
impl fmt::Display for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.envs.iter().map(|(id, _)| id.len()).max();
        let width = width.unwrap_or(0).max("environment".len());
        writeln!(
            f,
            "mean raw return of the last {GAMES} games of each run; 95 % interval over seeds by stratified bootstrap\n\
             {:width$}  seeds        mean  95 % interval",
            "environment"
        )?;
        for (env_id, runs) in &self.envs {
            let found = Estimate::of(&[scores(runs)], mean_of_envs);
            let (seeds, value, interval) = (runs.len(), found.value, found.shown_interval(2));
            writeln!(f, "{env_id:width$}  {seeds:5}  {value:10.2}  {interval}")?;
        }
        if let Some((is_normalized, scores)) = self.together() {
            let what = if is_normalized {
                "human-normalized scores"
            } else {
                "raw returns, not normalized: no human score is known for every environment"
            };
            writeln!(f, "all {} environments, {what}", scores.len())?;
            let middle = Estimate::of(&scores, interquartile_mean);
            let all = Estimate::of(&scores, mean_of_envs);
            for (name, found) in [("interquartile mean", middle), ("mean", all)] {
                writeln!(
                    f,
                    "  {name}: {:.3}  ({})",
                    found.value,
                    found.shown_interval(3)
                )?;
            }
        }
        if self.count() < self.planned {
            let missing = self.planned - self.count();
            let planned = self.planned;
            writeln!(
                f,
                "{missing} of {planned} runs are not in it: unfinished, or no game ended"
            )?;
        }
        Ok(())
    }
}

fn scores(runs: &[Scored]) -> Vec<f64> {
    runs.iter().map(|run| run.score).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(env_id: &str, seed: u64, value: f64) -> Scored {
        let games = vec![(100, value), (200, value)];
        Scored {
            run: PlannedRun {
                env_id: env_id.to_owned(),
                seed,
                name: String::new(),
                folder: PathBuf::new(),
            },
            step: 200,
            score: score(&games).unwrap(),
            games,
        }
    }

    fn results(env_ids: [&str; 2]) -> Results {
        let envs = env_ids.map(|id| {
            let runs = [(1, 10.0), (2, 30.0)];
            let runs = runs.map(|(seed, value)| scored(id, seed, value));
            (id.to_owned(), Vec::from(runs))
        });
        Results {
            algorithm: "ppo",
            envs: envs.into(),
            planned: 5,
            damaged: Vec::new(),
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
}
