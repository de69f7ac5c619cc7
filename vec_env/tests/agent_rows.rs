//! `AgentRows`: each row beside the single environment that it is, what rows show, who is absent, saved states.
#![allow(clippy::unwrap_used, missing_docs)]

use vec_env::{
    ActionSpace, Actions, Agent, AgentRows, Dtype, EnvError, MultiAgentEnv, ObsSpec, RowLayout,
    StepBatch, SyncVecEnv, Transition, VecEnv,
    envs::{CartPole, CartPoles, Push, SimpleSpread},
};

const PLAIN: RowLayout = RowLayout {
    others: false,
    agent: false,
};
const BYTES: usize = 16;

fn numbers(obs: &[u8]) -> Vec<f32> {
    let numbers = obs.as_chunks().0.iter();
    numbers.map(|bytes| f32::from_ne_bytes(*bytes)).collect()
}

/// Two environments of three poles, and as many single ones, with the same seeds.
fn poles(layout: RowLayout) -> AgentRows<CartPoles> {
    AgentRows::new(2, layout, |index| CartPoles::new(3, index as u64)).unwrap()
}

/// An action for each row, the same each time, by which poles fall at different times.
fn actions(step: usize) -> Vec<i64> {
    (0..6).map(|row| ((step / (1 + row)) % 2) as i64).collect()
}

#[test]
fn a_row_is_its_agents_episode_and_absent_behind_its_end() {
    let mut rows = poles(PLAIN);
    assert_eq!((rows.num_envs(), rows.spec().num_agents), (6, 3));
    let (mut obs, mut step) = (vec![0; 6 * BYTES], StepBatch::default());
    rows.reset(Some(5), &mut obs).unwrap();
    // Pole i of environment e starts with the seed (5 + e) * 3 + i, which no other pole has.
    let mut single: Vec<_> = (0..6)
        .map(|row| {
            let mut env = SyncVecEnv::new(1, |_| CartPole::new(0)).unwrap();
            let mut obs = vec![0; BYTES];
            env.reset(Some((5 + row / 3) as u64 * 3 + (row % 3) as u64), &mut obs)
                .unwrap();
            (env, obs)
        })
        .collect();
    let (mut ended, mut begun_anew, mut num_absent) = ([false; 6], [false; 2], 0);
    for number in 0..400 {
        for (row, (_, expected)) in single.iter().enumerate() {
            if begun_anew[row / 3] {
                continue;
            }
            let seen = &obs[row * BYTES..][..BYTES];
            if ended[row] {
                assert_eq!(seen, [0; BYTES], "an absent agent sees nothing");
            } else {
                assert_eq!(seen, expected, "step {number}, row {row}");
            }
        }
        let actions = actions(number);
        rows.step(Actions::Discrete(&actions), &mut obs, &mut step)
            .unwrap();
        for (row, (env, seen)) in single.iter_mut().enumerate() {
            if begun_anew[row / 3] {
                continue;
            }
            assert_eq!(step.is_absent(row), ended[row]);
            if ended[row] {
                num_absent += 1;
                assert!(step.is_done(row));
                assert_eq!(step.reward[row..=row], [0.0]);
                continue;
            }
            let mut own = StepBatch::default();
            env.step(Actions::Discrete(&actions[row..=row]), seen, &mut own)
                .unwrap();
            assert_eq!(step.reward[row..=row], own.reward[..]);
            assert_eq!(step.terminated[row], own.terminated[0]);
            assert_eq!(step.episode_return[row..=row], own.episode_return[..]);
            ended[row] = own.is_done(0);
            let last = step.final_obs.iter().find(|(place, _)| *place == row);
            assert_eq!(
                last.map(|(_, obs)| obs),
                own.final_obs.first().map(|(_, obs)| obs)
            );
            let episode = step.episodes.iter().find(|episode| episode.env == row);
            assert_eq!(
                episode.map(|episode| episode.length),
                own.episodes.first().map(|it| it.length)
            );
        }
        for env in 0..2 {
            if ended[3 * env..][..3] != [true; 3] || begun_anew[env] {
                continue;
            }
            begun_anew[env] = true;
            let first = numbers(&obs[3 * env * BYTES..][..3 * BYTES]);
            let is_first = |number: &f32| number.abs() <= 0.05 && *number != 0.0;
            assert!(first.iter().all(is_first), "it starts anew");
        }
        if begun_anew == [true; 2] {
            assert!(num_absent > 10);
            return;
        }
    }
    unreachable!("poles fall");
}

#[test]
fn rows_that_cannot_be_are_refused() {
    let others = RowLayout {
        others: true,
        ..PLAIN
    };
    for (shape, layout, told) in [
        (vec![], others, "observations without an axis cannot be"),
        (vec![0], PLAIN, "observations of shape [0] have no numbers"),
    ] {
        let own = ObsSpec {
            shape,
            dtype: Dtype::Float32,
        };
        let refused = layout.obs_spec(&own, 2).unwrap_err().to_string();
        assert!(refused.starts_with(told), "{refused}");
    }
}

#[test]
fn rows_show_the_others_and_who_it_is() {
    let layout = RowLayout {
        others: true,
        agent: true,
    };
    let make = |index| SimpleSpread::new(3, Push::Discrete, index as u64);
    let [mut plain, mut full] =
        [PLAIN, layout].map(|layout| AgentRows::new(2, layout, make).unwrap());
    assert_eq!(full.obs_spec().shape, [3 * 18 + 3]);
    let mut own = vec![0; plain.spec().obs_bytes()];
    let mut all = vec![0; full.spec().obs_bytes()];
    let mut steps = [StepBatch::default(), StepBatch::default()];
    plain.reset(Some(1), &mut own).unwrap();
    full.reset(Some(1), &mut all).unwrap();
    for number in 0..60 {
        let (of_own, of_all) = (numbers(&own), numbers(&all));
        for (row, shown) in of_all.chunks(57).enumerate() {
            let (env, agent) = (row / 3, row % 3);
            for behind in 0..3 {
                let seen = &of_own[(3 * env + (agent + behind) % 3) * 18..][..18];
                assert_eq!(
                    shown[18 * behind..][..18],
                    *seen,
                    "step {number}, row {row}"
                );
            }
            let mut which = [0.0; 3];
            which[agent] = 1.0;
            assert_eq!(shown[54..], which);
        }
        let actions = [1, 2, 3, 4, 0, 1].map(|action| (action + number) % 5);
        plain
            .step(Actions::Discrete(&actions), &mut own, &mut steps[0])
            .unwrap();
        full.step(Actions::Discrete(&actions), &mut all, &mut steps[1])
            .unwrap();
        assert_eq!(steps[0].reward, steps[1].reward);
        assert_eq!(
            steps[1].final_obs.len(),
            if (number + 1) % 25 == 0 { 6 } else { 0 }
        );
        assert!(
            steps[1]
                .final_obs
                .iter()
                .all(|(_, row)| row.len() == 4 * 57)
        );
    }
}

#[test]
fn saved_states_go_on_and_others_are_refused() {
    let play = |rows: &mut AgentRows<CartPoles>, from: usize, until: usize| {
        let (mut obs, mut step) = (vec![0; 6 * BYTES], StepBatch::default());
        let brought = (from..until).map(|number| {
            rows.step(Actions::Discrete(&actions(number)), &mut obs, &mut step)
                .unwrap();
            (obs.clone(), step.clone())
        });
        brought.collect::<Vec<_>>()
    };
    let [mut rows, mut other] = [poles(PLAIN), poles(PLAIN)];
    let mut obs = vec![0; 6 * BYTES];
    rows.reset(Some(5), &mut obs).unwrap();
    let mut before = play(&mut rows, 0, 20);
    while !before.last().unwrap().1.absent.contains(&true) {
        before = play(&mut rows, 20, 21);
    }
    let states = rows.save_state().unwrap();
    assert_eq!(states.len(), 2, "one for each environment");
    let mut shown = vec![0; 6 * BYTES];
    other.restore_state(&states, &mut shown).unwrap();
    assert_eq!(shown, before.last().unwrap().0);
    let damaged = [states[0].clone(), states[1][1..].to_vec()];
    for refused in [&damaged[..], &states[..1]] {
        let refused = other.restore_state(refused, &mut shown);
        assert!(matches!(refused, Err(EnvError::State(_))), "{refused:?}");
    }
    assert_eq!(play(&mut rows, 40, 90), play(&mut other, 40, 90));
}

/// Two agents, one of which has another space of actions.
#[derive(Debug)]
struct Unlike([Agent; 2]);

impl MultiAgentEnv for Unlike {
    fn agents(&self) -> &[Agent] {
        &self.0
    }

    fn takes_part(&self) -> &[bool] {
        &[true; 2]
    }

    fn reset(&mut self, _seed: Option<u64>, _obs: &mut [Vec<u8>]) {}

    fn step(&mut self, _: &[Option<Actions<'_>>], _: &mut [Vec<u8>]) -> Vec<Option<Transition>> {
        Vec::new()
    }
}

#[test]
fn wrong_calls_are_refused() {
    let mut unlike = CartPoles::new(2, 0).agents().to_vec();
    unlike[1].action_space = ActionSpace::Discrete { n: 3 };
    let unlike: [Agent; 2] = unlike.try_into().unwrap();
    let refused = AgentRows::new(1, PLAIN, |_| Unlike(unlike.clone())).unwrap_err();
    assert!(
        refused
            .to_string()
            .contains("`pole_0` and `pole_1` have different spaces"),
        "{refused}"
    );
    assert!(AgentRows::new(0, PLAIN, |_| CartPoles::new(1, 0)).is_err());

    let mut rows = poles(PLAIN);
    let (mut obs, mut step) = (vec![0; 6 * BYTES], StepBatch::default());
    let early = rows.step(Actions::Discrete(&[0; 6]), &mut obs, &mut step);
    assert!(matches!(early, Err(EnvError::Order(_))));
    assert!(matches!(
        rows.reset(None, &mut obs[1..]),
        Err(EnvError::BufferSize { .. })
    ));
    rows.reset(None, &mut obs).unwrap();
    let few = rows.step(Actions::Discrete(&[0; 2]), &mut obs, &mut step);
    assert!(
        matches!(few, Err(EnvError::ActionCount { expected: 6, .. })),
        "{few:?}"
    );
    let wrong = rows.step(Actions::Discrete(&[0, 0, 0, 0, 2, 0]), &mut obs, &mut step);
    assert!(
        matches!(wrong, Err(EnvError::ActionRange { env: 4, .. })),
        "{wrong:?}"
    );
    assert!(matches!(rows.recv(&mut step), Err(EnvError::Order(_))));
    rows.close().unwrap();
    assert!(matches!(rows.reset(None, &mut obs), Err(EnvError::Closed)));
}
