//! `Pendulum` against what Gymnasium's plays; `pendulum.py` wrote its games down.
#![allow(clippy::unwrap_used, missing_docs)]

use vec_env::{Actions, Env, envs::Pendulum};

#[derive(serde::Deserialize)]
struct Game {
    torques: Vec<f32>,
    /// Angle and speed: the first 60 and the last.
    states: Vec<[f64; 2]>,
    rewards: Vec<f64>,
}

fn observed(obs: &[u8]) -> Vec<f32> {
    let numbers = obs.as_chunks().0.iter();
    numbers.map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

#[test]
fn games_are_those_of_gymnasium() {
    let games: Vec<Game> = serde_json::from_str(include_str!("pendulum.json")).unwrap();
    for game in games {
        let mut env = Pendulum::new(0);
        let mut obs = [0; 12];
        let [angle, speed] = game.states[0];
        env.start_at(angle, speed);
        let last = game.torques.len();
        assert!(game.torques.iter().any(|torque| torque.abs() > 2.0));
        for (step, torque) in (1..).zip(&game.torques) {
            let transition = env.step(Actions::Continuous(&[*torque]), &mut obs);
            assert!(!transition.terminated);
            assert_eq!(transition.truncated, step == last, "step {step}");
            let off = f64::from(transition.reward) - game.rewards[step - 1];
            assert!(off.abs() < 1e-5, "step {step}");
            let state = if step == last {
                game.states.last()
            } else {
                game.states.get(step).filter(|_| step < 60)
            };
            if let Some(&[angle, speed]) = state {
                let theirs = [angle.cos(), angle.sin(), speed];
                for (ours, theirs) in observed(&obs).into_iter().zip(theirs) {
                    assert!((f64::from(ours) - theirs).abs() < 1e-5, "step {step}");
                }
            }
        }
    }
}

#[test]
fn a_game_goes_on_from_its_saved_state() {
    let (mut env, mut other) = (Pendulum::new(1), Pendulum::new(2));
    let mut obs = [0; 12];
    env.reset(None, &mut obs);
    for step in 0..150 {
        env.step(Actions::Continuous(&[(step % 5) as f32 - 2.0]), &mut obs);
    }
    let state = env.save_state().unwrap();
    let mut restored = [0; 12];
    assert!(!other.restore_state(&state[1..], &mut restored));
    assert!(other.restore_state(&state, &mut restored));
    assert_eq!(restored, obs);
    for _ in 0..2 {
        loop {
            let ours = env.step(Actions::Continuous(&[1.5]), &mut obs);
            assert_eq!(other.step(Actions::Continuous(&[1.5]), &mut restored), ours);
            assert_eq!(restored, obs);
            if ours.truncated {
                break;
            }
        }
        env.reset(None, &mut obs);
        other.reset(None, &mut restored);
        assert_eq!(restored, obs, "random numbers go on alike");
    }
}
