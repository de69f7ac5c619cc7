//! `MountainCar` and `MountainCarContinuous` against what Gymnasium's play; `mountain_car.py` wrote their games down.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::HashMap;

use vec_env::{
    ActionBatch, Env,
    envs::{MountainCar, MountainCarContinuous},
};

#[derive(serde::Deserialize)]
struct Game {
    actions: Vec<f64>,
    /// Position and velocity: the first 60 and the last.
    states: Vec<[f64; 2]>,
    /// The first 59 and the last: of each state but the start.
    rewards: Vec<f64>,
    /// Terminated, truncated.
    ends: [bool; 2],
}

fn observed(obs: &[u8]) -> Vec<f64> {
    let numbers = obs.as_chunks().0.iter();
    numbers
        .map(|bytes| f64::from(f32::from_ne_bytes(*bytes)))
        .collect()
}

/// Plays the games of `id` in environments that `start` starts where Gymnasium's started.
fn plays<E: Env>(id: &str, start: fn([f64; 2]) -> E, action: fn(f64) -> ActionBatch) {
    let games = include_str!("mountain_car.json");
    let mut games: HashMap<String, Vec<Game>> = serde_json::from_str(games).unwrap();
    let games = games.remove(id).unwrap();
    let ends: Vec<_> = games.iter().map(|game| game.ends).collect();
    assert!(ends.contains(&[true, false]) && ends.contains(&[false, true]));
    for game in games {
        let (mut env, mut obs) = (start(game.states[0]), [0; 8]);
        let last = game.actions.len();
        for (step, &given) in (1..).zip(&game.actions) {
            let transition = env.step(action(given).as_actions(), &mut obs);
            let ends = [transition.terminated, transition.truncated];
            assert_eq!(ends, if step == last { game.ends } else { [false; 2] });
            let place = match step {
                step if step == last => game.states.len() - 1,
                step if step < 60 => step,
                _ => continue,
            };
            let off = f64::from(transition.reward) - game.rewards[place - 1];
            assert!(off.abs() < 1e-5, "{id}, step {step}");
            for (ours, theirs) in observed(&obs).into_iter().zip(game.states[place]) {
                assert!((ours - theirs).abs() < 1e-6, "{id}, step {step}: {ours}");
            }
        }
    }
}

#[test]
fn games_are_those_of_gymnasium() {
    plays(
        "MountainCar-v0",
        |[position, velocity]| {
            let mut env = MountainCar::new(0);
            env.start_at(position, velocity);
            env
        },
        |action| ActionBatch::Discrete(vec![action as i64]),
    );
    plays(
        "MountainCarContinuous-v0",
        |[position, velocity]| {
            let mut env = MountainCarContinuous::new(0);
            env.start_at(position, velocity);
            env
        },
        |action| ActionBatch::Continuous(vec![action as f32]),
    );
}

/// Where Gymnasium's position is the goal in float32, and no less.
#[test]
fn the_goal_is_one_of_float32() {
    let (mut env, mut obs) = (MountainCarContinuous::new(0), [0; 8]);
    env.start_at(0.369_641_942_453_042_27, 0.042_334_460_599_416_11);
    let mut step = |push| env.step(ActionBatch::Continuous(vec![push]).as_actions(), &mut obs);
    assert!(!step(-0.536_377_5).terminated);
    let last = step(0.241_042_08);
    assert!(
        last.terminated && (last.reward - 99.994_19).abs() < 1e-4,
        "{last:?}"
    );
}

#[test]
fn a_game_goes_on_from_its_saved_state() {
    let (mut env, mut other) = (MountainCar::new(1), MountainCar::new(2));
    let (mut obs, mut restored) = ([0; 8], [0; 8]);
    env.reset(None, &mut obs);
    let push = ActionBatch::Discrete(vec![2]);
    for _ in 0..150 {
        env.step(push.as_actions(), &mut obs);
    }
    let state = env.save_state().unwrap();
    assert!(!other.restore_state(&state[1..], &mut restored));
    let mut late = state.clone();
    late[16] = 201;
    assert!(
        !other.restore_state(&late, &mut restored),
        "beyond the limit"
    );
    assert!(other.restore_state(&state, &mut restored));
    for _ in 0..50 {
        assert_eq!(restored, obs);
        let ours = env.step(push.as_actions(), &mut obs);
        assert_eq!(other.step(push.as_actions(), &mut restored), ours);
    }
    env.reset(None, &mut obs);
    other.reset(None, &mut restored);
    assert_eq!(restored, obs, "random numbers go on alike");
}
