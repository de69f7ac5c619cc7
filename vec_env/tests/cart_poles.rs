//! `CartPoles` against Gymnasium's `CartPole`, pole by pole; `cart_pole.py` wrote its games down.
#![allow(clippy::unwrap_used, missing_docs)]

use vec_env::{
    Actions, Agent, EnvError, MultiAgentEnv, Transition,
    envs::{CartPole, CartPoles},
};

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

/// As many places for observations as there are poles.
fn places(poles: &CartPoles) -> Vec<Vec<u8>> {
    let places = poles.agents().iter();
    places
        .map(|agent| vec![0; agent.obs_spec.num_bytes()])
        .collect()
}

#[test]
fn each_pole_is_gymnasiums_and_ends_by_itself() {
    let games: Vec<Game> = serde_json::from_str(include_str!("cart_pole.json")).unwrap();
    let starts: Vec<_> = games.iter().map(|game| game.states[0]).collect();
    let mut poles = CartPoles::new(games.len(), 0);
    let names: Vec<_> = poles.agents().iter().map(|agent| &*agent.name).collect();
    assert_eq!(names, ["pole_0", "pole_1", "pole_2"]);
    poles.start_at(&starts);
    let mut obs = places(&poles);
    for step in 1.. {
        let given = |game: &Game| game.actions.get(step - 1).copied();
        let given: Vec<Option<i64>> = games.iter().map(given).collect();
        if given.iter().all(Option::is_none) {
            assert_eq!((step, poles.takes_part()), (501, &[false; 3][..]));
            break;
        }
        let actions: Vec<_> = given
            .iter()
            .map(Option::as_slice)
            .map(|action| (!action.is_empty()).then_some(Actions::Discrete(action)))
            .collect();
        Agent::check(poles.agents(), poles.takes_part(), &actions).unwrap();
        let before = obs.clone();
        let transitions = poles.step(&actions, &mut obs);
        for (index, game) in games.iter().enumerate() {
            let last = game.actions.len();
            let Some(transition) = transitions[index] else {
                assert!(step > last && obs[index] == before[index]);
                continue;
            };
            let ends = if step == last { game.ends } else { [false; 2] };
            let expected = Transition {
                reward: 1.0,
                terminated: ends[0],
                truncated: ends[1],
            };
            assert_eq!(transition, expected, "pole {index}, step {step}");
            let state = match step {
                step if step == last => game.states.last(),
                step => game.states.get(step).filter(|_| step < 60),
            };
            for (ours, theirs) in observed(&obs[index])
                .into_iter()
                .zip(state.into_iter().flatten())
            {
                assert!((f64::from(ours) - theirs).abs() < 1e-6, "step {step}");
            }
        }
    }
}

#[test]
fn actions_are_those_of_the_agents_that_take_part() {
    let mut poles = CartPoles::new(2, 0);
    let mut obs = places(&poles);
    poles.reset(Some(1), &mut obs);
    let right = Some(Actions::Discrete(&[1]));
    while poles.takes_part() == [true; 2] {
        poles.step(&[right, Some(Actions::Discrete(&[0]))], &mut obs);
    }
    poles.start_at(&[[9.0; 4], [0.0; 4]]);
    poles.step(&[right, right], &mut obs);
    assert_eq!(poles.takes_part(), [false, true]);
    let refused = |actions: &[_]| Agent::check(poles.agents(), poles.takes_part(), actions).err();
    let order = |problem: &str| Some(EnvError::Order(problem.to_owned()));
    assert_eq!(refused(&[None, right]), None);
    assert_eq!(
        refused(&[None, None]),
        order("step: agent `pole_1` needs an action")
    );
    assert_eq!(
        refused(&[right, right]),
        order("step: agent `pole_0` takes no part any more")
    );
    assert!(matches!(
        refused(&[right]),
        Some(EnvError::ActionCount { .. })
    ));
    assert!(matches!(
        refused(&[None, Some(Actions::Discrete(&[2]))]),
        Some(EnvError::ActionRange { env: 1, .. })
    ));
}

#[test]
fn poles_start_as_single_ones_and_go_on_from_saved_states() {
    let (mut poles, mut other) = (CartPoles::new(3, 0), CartPoles::new(3, 9));
    let (mut obs, mut shown) = (places(&poles), places(&other));
    poles.reset(Some(4), &mut obs);
    for (index, obs) in obs.iter().enumerate() {
        let mut single = [0; 16];
        let seed = 4 * 3 + index as u64;
        vec_env::Env::reset(&mut CartPole::new(0), Some(seed), &mut single);
        assert_eq!(obs[..], single);
    }
    let push = |places: &[bool]| -> Vec<Option<Actions<'static>>> {
        let right = Actions::Discrete(&[1]);
        places
            .iter()
            .map(|takes_part| takes_part.then_some(right))
            .collect()
    };
    poles.step(&push(&[true; 3]), &mut obs);
    let state = poles.save_state().unwrap();
    for bad in [&state[1..], &state[..98], &[&[2], &state[1..]].concat()] {
        assert!(!other.restore_state(bad, &mut shown));
    }
    assert!(
        shown.iter().flatten().all(|byte| *byte == 0),
        "nothing changed"
    );
    assert!(other.restore_state(&state, &mut shown));
    while poles.takes_part().contains(&true) {
        assert_eq!(shown, obs);
        let actions = push(poles.takes_part());
        assert_eq!(
            other.step(&actions, &mut shown),
            poles.step(&actions, &mut obs)
        );
    }
    assert_eq!(other.save_state(), poles.save_state());
}
