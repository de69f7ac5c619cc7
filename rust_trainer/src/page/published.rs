//! Published scores of games, to be drawn beside curves.
//!
//! Mean raw returns at 10 million agent steps (40 million frames). Sources: (1) `CleanRL`'s
//! `docs/benchmark/ppo_atari_envpool_xla_jax.md`, with `OpenAI` Baselines run again, three seeds each; (2) `CleanRL`'s
//! `docs/rl-algorithms/`; (3) rl-baselines3-zoo's `benchmark.md`, one model each; (4) Baselines'
//! `benchmarks_atari10M.htm` of 2018: the ends of its curves.

use serde_json::{Value, json};

use crate::report::human;

/// Agent steps of all of them.
const STEPS: u64 = 10_000_000;

/// A way of training, where its scores stand, and the score on each game.
type Row = (&'static str, &'static str, &'static [(&'static str, f64)]);

const SCORES: [Row; 8] = [
    (
        "PPO, Baselines run again",
        "CleanRL, docs/benchmark/ppo_atari_envpool_xla_jax.md",
        &[
            ("SpaceInvaders", 1019.8),
            ("Breakout", 405.7),
            ("Pong", 20.5),
            ("Qbert", 15_228.0),
            ("BeamRider", 2836.0),
            ("Seaquest", 1518.0),
        ],
    ),
    (
        "PPO, CleanRL",
        "CleanRL, docs/benchmark/ppo_atari_envpool_xla_jax.md",
        &[
            ("SpaceInvaders", 1188.8),
            ("Breakout", 430.1),
            ("Pong", 20.4),
            ("Qbert", 17_246.0),
            ("BeamRider", 2478.0),
            ("Seaquest", 1240.0),
        ],
    ),
    (
        "PPO, stable-baselines3",
        "rl-baselines3-zoo, benchmark.md",
        &[
            ("SpaceInvaders", 960.0),
            ("Breakout", 398.0),
            ("Pong", 21.0),
            ("Qbert", 15_627.0),
            ("BeamRider", 3397.0),
            ("Seaquest", 1784.0),
        ],
    ),
    (
        "PPO, Baselines 2018",
        "OpenAI Baselines, benchmarks_atari10M.htm, the end of its curve",
        &[("SpaceInvaders", 768.0)],
    ),
    (
        "A2C, Baselines 2018",
        "OpenAI Baselines, benchmarks_atari10M.htm, the end of its curve",
        &[("SpaceInvaders", 688.0)],
    ),
    (
        "PQN, CleanRL",
        "CleanRL, docs/rl-algorithms/pqn.md",
        &[
            ("SpaceInvaders", 1325.0),
            ("Breakout", 385.0),
            ("Pong", 20.5),
            ("BeamRider", 5753.0),
        ],
    ),
    (
        "DQN, CleanRL",
        "CleanRL, docs/rl-algorithms/rainbow.md",
        &[
            ("SpaceInvaders", 1442.0),
            ("Breakout", 367.0),
            ("Pong", 20.3),
            ("BeamRider", 6673.0),
        ],
    ),
    (
        "Rainbow, CleanRL",
        "CleanRL, docs/rl-algorithms/rainbow.md",
        &[("SpaceInvaders", 1836.0)],
    ),
];

/// What is published of a game, and what a random player and a human score; nothing of other environments.
/// Of the scores those of `algorithms`.
pub(super) fn of(env_id: &str, algorithms: &[String]) -> Vec<Value> {
    let Some(game) = human::game(env_id) else {
        return Vec::new();
    };
    let row = |&(label, source, scores): &Row| {
        let (way, _) = label.split_once(", ")?;
        // Rainbow is DQN with everything on.
        let algorithm = if way == "Rainbow" { "DQN" } else { way };
        algorithms
            .iter()
            .find(|asked| asked.eq_ignore_ascii_case(algorithm))?;
        let (_, value) = scores.iter().find(|(name, _)| *name == game)?;
        Some(json!({ "label": label, "value": value, "steps": STEPS, "source": source }))
    };
    let mut found: Vec<Value> = SCORES.iter().filter_map(row).collect();
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
        for (_, _, scores) in SCORES {
            assert!(
                scores
                    .iter()
                    .all(|(game, _)| human::scores(&format!("{game}-v4")).is_some())
            );
        }
    }
}
