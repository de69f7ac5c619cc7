//! Published scores of games, to be drawn beside curves.
//!
//! `published.json` has mean raw returns at 10 million agent steps (40 million frames) and, where they are known, their
//! spreads, with their sources.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::report::human;

/// Agent steps of all of them.
const STEPS: u64 = 10_000_000;

/// A way of training, where its scores stand, and the score on each game: its mean and spread.
#[derive(Deserialize)]
struct Row {
    label: String,
    algorithm: String,
    source: String,
    scores: HashMap<String, Vec<f64>>,
}

fn rows() -> Vec<Row> {
    let rows = serde_json::from_str(include_str!("published.json"));
    rows.unwrap_or_else(|error| unreachable!("published.json: {error}"))
}

/// What is published of a game, and what a random player and a human score; nothing of other environments.
/// Of the scores those of `algorithms`.
pub(super) fn of(env_id: &str, algorithms: &[String]) -> Vec<Value> {
    let Some(game) = human::game(env_id) else {
        return Vec::new();
    };
    let of_row = |row: Row| {
        let is_asked = |asked: &String| asked.eq_ignore_ascii_case(&row.algorithm);
        algorithms.iter().find(|asked| is_asked(asked))?;
        let (label, source, value) = (row.label, row.source, row.scores.get(game)?[0]);
        Some(json!({ "label": label, "value": value, "steps": STEPS, "source": source }))
    };
    let mut found: Vec<Value> = rows().into_iter().filter_map(of_row).collect();
    if let Some((random, tester)) = human::scores(env_id) {
        const SOURCE: &str = "Wang et al. 2016";
        found.push(
            json!({ "label": "random play", "value": random, "steps": null, "source": SOURCE }),
        );
        found.push(json!({ "label": "human", "value": tester, "steps": null, "source": SOURCE }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn games_are_known_by_their_ids_and_others_have_nothing() {
        let only_ppo = ["ppo".to_owned()];
        let about_pong = of("PongNoFrameskip-v4", &only_ppo);
        assert_eq!(about_pong.len(), 5);
        assert_eq!(about_pong[3]["value"], -20.7);
        assert_eq!(of("ALE/Alien-v5", &only_ppo).len(), 2);
        assert!(of("CartPole-v1", &only_ppo).is_empty());
        let dqn = of("SpaceInvaders-v4", &["dqn".to_owned()]);
        assert_eq!(dqn[1]["label"], "Rainbow, CleanRL");
        for row in rows() {
            for (game, score) in row.scores {
                assert!(human::scores(&format!("{game}-v4")).is_some(), "{game}");
                assert!(matches!(score.len(), 1 | 2), "{game}");
            }
        }
    }
}
