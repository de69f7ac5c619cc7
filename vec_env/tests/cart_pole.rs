//! `CartPole` against what Gymnasium's plays; `cart_pole.py` wrote its games down.
#![allow(clippy::unwrap_used, missing_docs)]

use vec_env::{Actions, Env, envs::CartPole};

#[derive(serde::Deserialize)]
struct Game {
    actions: Vec<i64>,
    /// The first 60 and the last.
    states: Vec<[f64; 4]>,
    /// Terminated, truncated.
    ends: [bool; 2],
}

fn observed(obs: &[u8]) -> Vec<f32> {
    let numbers = obs.as_chunks().0.iter();
    numbers.map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

#[test]
fn games_are_those_of_gymnasium() {
    let games: Vec<Game> = serde_json::from_str(include_str!("cart_pole.json")).unwrap();
    let ends: Vec<_> = games.iter().map(|game| game.ends).collect();
    assert!(ends.contains(&[true, false]) && ends.contains(&[false, true]));
    for game in games {
        let mut env = CartPole::new(0);
        let mut obs = [0; 16];
        env.start_at(game.states[0]);
        let last = game.actions.len();
        for (step, action) in (1..).zip(&game.actions) {
            let transition = env.step(Actions::Discrete(&[*action]), &mut obs);
            let ends = [transition.terminated, transition.truncated];
            let is_last = step == last;
            assert_eq!(ends, if is_last { game.ends } else { [false; 2] }, "{step}");
            let state = if is_last {
                game.states.last()
            } else {
                game.states.get(step).filter(|_| step < 60)
            };
            if let Some(state) = state {
                for (ours, theirs) in observed(&obs).into_iter().zip(state) {
                    assert!((f64::from(ours) - theirs).abs() < 1e-6, "step {step}");
                }
            }
            assert!((transition.reward - 1.0).abs() < f32::EPSILON);
        }
    }
}
