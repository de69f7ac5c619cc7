//! `SimpleSpread` against whole games of MPE2's `simple_spread_v3`; `simple_spread.py` wrote them down.
#![allow(clippy::unwrap_used, missing_docs)]

use vec_env::{
    ActionBatch, MultiAgentEnv,
    envs::{Push, SimpleSpread},
};

#[derive(serde::Deserialize)]
struct Game {
    continuous: bool,
    places: Vec<[f64; 2]>,
    landmarks: Vec<[f64; 2]>,
    /// Step by step, agent by agent.
    actions: Vec<Vec<Vec<f32>>>,
    obs: Vec<Vec<Vec<f32>>>,
    rewards: Vec<Vec<f32>>,
}

fn observed(obs: &[u8]) -> Vec<f32> {
    let numbers = obs.as_chunks().0.iter();
    numbers.map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

fn room(env: &SimpleSpread) -> Vec<Vec<u8>> {
    let agents = env.agents().iter();
    agents
        .map(|agent| vec![0; agent.obs_spec.num_bytes()])
        .collect()
}

fn push(continuous: bool) -> Push {
    if continuous {
        Push::Continuous
    } else {
        Push::Discrete
    }
}

fn action(numbers: &[f32]) -> ActionBatch {
    match numbers {
        [choice] => ActionBatch::Discrete(vec![*choice as i64]),
        numbers => ActionBatch::Continuous(numbers.to_vec()),
    }
}

#[test]
fn whole_games_are_those_of_mpe2() {
    let games: Vec<Game> = serde_json::from_str(include_str!("simple_spread.json")).unwrap();
    let mut num_collisions = 0;
    for (number, game) in games.iter().enumerate() {
        let mut env = SimpleSpread::new(game.places.len(), push(game.continuous), 0);
        let mut obs = room(&env);
        env.start_at(&game.places, &game.landmarks);
        for (step, actions) in game.actions.iter().enumerate() {
            assert!(env.takes_part().iter().all(|takes_part| *takes_part));
            let actions: Vec<ActionBatch> = actions.iter().map(|numbers| action(numbers)).collect();
            let given: Vec<_> = actions
                .iter()
                .map(|action| Some(action.as_actions()))
                .collect();
            let transitions = env.step(&given, &mut obs);
            for (agent, transition) in transitions.into_iter().enumerate() {
                let transition = transition.unwrap();
                assert!(!transition.terminated);
                assert_eq!(transition.truncated, step + 1 == game.actions.len());
                let reward = game.rewards[step][agent];
                num_collisions += usize::from((reward - game.rewards[step][0]).abs() > 0.1);
                let ours = observed(&obs[agent]).into_iter().chain([transition.reward]);
                let theirs = game.obs[step][agent].iter().chain([&reward]);
                assert_eq!(ours.clone().count(), theirs.clone().count());
                for (ours, theirs) in ours.zip(theirs) {
                    assert!(
                        (ours - theirs).abs() < 1e-5,
                        "game {number}, step {step}, agent {agent}: {ours} and not {theirs}"
                    );
                }
            }
        }
        assert!(!env.takes_part().contains(&true));
        assert!(
            env.step(&vec![None; obs.len()], &mut obs)
                .iter()
                .all(Option::is_none)
        );
    }
    assert!(num_collisions > 5, "{num_collisions}");
}

#[test]
fn seeds_start_alike_and_a_saved_state_goes_on() {
    let play = |env: &mut SimpleSpread, obs: &mut [Vec<u8>]| {
        let action = ActionBatch::Discrete(vec![2]);
        let rewards = env.step(&[Some(action.as_actions()); 3], obs);
        (rewards, obs.to_vec())
    };
    let [mut env, mut twin] = [1, 2].map(|seed| SimpleSpread::new(3, Push::Discrete, seed));
    let (mut obs, mut of_twin) = (room(&env), room(&twin));
    env.reset(Some(7), &mut obs);
    twin.reset(Some(8), &mut of_twin);
    assert_ne!(obs, of_twin);
    twin.reset(Some(7), &mut of_twin);
    assert_eq!(obs, of_twin);
    play(&mut env, &mut obs);
    let state = env.save_state().unwrap();
    assert!(!twin.restore_state(&state[1..], &mut of_twin));
    assert!(twin.restore_state(&state, &mut of_twin));
    assert_eq!(obs, of_twin);
    assert_eq!(play(&mut env, &mut obs), play(&mut twin, &mut of_twin));
    env.reset(None, &mut obs);
    twin.reset(None, &mut of_twin);
    assert_eq!(obs, of_twin, "random numbers go on, too");
}
