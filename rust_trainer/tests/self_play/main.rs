//! Games for two: each player as an environment of its own, and one side given to an opponent.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::float_cmp, reason = "what is scripted comes back exactly")]

mod against;
mod duel;
mod learning;
mod past_selves;
mod pong;

use duel::{Duel, NUM_ACTIONS, NUM_GAMES};
use rust_trainer::envs::SelfPlay;
use vec_env::{
    ActionSpace, Actions, Dtype, EnvError, Episode, ObsBuffer, ObsSpec, StepBatch, VecEnv,
};

const NUM_ROWS: usize = 2 * NUM_GAMES;
/// `[3, 3]`: two frames of three bytes, and the indicator.
const ROW_BYTES: usize = 9;

/// What a row shows: its player's frames, and who that is.
fn row(game: usize, player: usize, steps: i64, games: i64) -> Vec<u8> {
    let indicator = [0, 255][player];
    [
        &Duel::shown(game, player, steps, games),
        [indicator; 3].as_slice(),
    ]
    .concat()
}

/// All rows, of games that have taken `at` steps after so many games.
fn rows(at: [(i64, i64); NUM_GAMES]) -> Vec<u8> {
    let games = at.iter().enumerate();
    let players =
        games.map(|(game, &(steps, games))| [0, 1].map(|player| row(game, player, steps, games)));
    players.flatten().flatten().collect()
}

fn step(env: &mut SelfPlay, actions: &[i64; NUM_ROWS], batch: &mut StepBatch) -> Vec<u8> {
    let mut obs = vec![0; NUM_ROWS * ROW_BYTES];
    env.step(Actions::Discrete(actions), &mut obs, batch)
        .unwrap();
    obs
}

fn started() -> (SelfPlay, StepBatch) {
    let mut env = SelfPlay::new(Box::new(Duel::new())).unwrap();
    let mut obs = vec![0; NUM_ROWS * ROW_BYTES];
    env.reset(Some(1), &mut obs).unwrap();
    assert_eq!(obs, rows([(0, 0); NUM_GAMES]));
    (env, StepBatch::default())
}

#[test]
fn each_player_is_a_row_with_its_own_observation_reward_and_end() {
    let (mut env, mut batch) = started();
    assert_eq!((env.num_envs(), env.num_players()), (NUM_ROWS, 1));
    assert_eq!(env.obs_spec().shape, [3, 3]);
    assert_eq!(
        *env.action_space(),
        ActionSpace::Discrete { n: NUM_ACTIONS }
    );

    let obs = step(&mut env, &[3, 1, 0, 2, 1, 1], &mut batch);
    assert_eq!(obs, rows([(1, 0); NUM_GAMES]));
    assert_eq!(batch.env_ids, [0, 1, 2, 3, 4, 5]);
    assert_eq!(batch.raw_reward, [2.0, -2.0, -2.0, 2.0, 0.0, 0.0]);
    assert_eq!(batch.reward, [1.0, -1.0, -1.0, 1.0, 0.0, 0.0]);
    assert_eq!(batch.episode_return, [2.0, -2.0, -2.0, 2.0, 0.0, 0.0]);
    assert_eq!(batch.lives, [5, 5, 4, 4, 3, 3]);
    assert!(!(0..NUM_ROWS).any(|row| batch.is_done(row)));
    assert!(batch.episodes.is_empty() && batch.final_obs.is_empty());

    // The second step ends game 0, the third cuts game 1 off.
    let obs = step(&mut env, &[1, 0, 0, 0, 2, 3], &mut batch);
    assert_eq!(obs, rows([(0, 1), (2, 0), (2, 0)]));
    assert_eq!(batch.terminated, [true, true, false, false, false, false]);
    assert_eq!(batch.game_terminated, batch.terminated);
    assert_eq!(batch.truncated, [false; NUM_ROWS]);
    assert_eq!(batch.episode_length, [2; NUM_ROWS]);
    let last = |env, raw_return, length| Episode {
        env,
        raw_return,
        length,
        frames: 4 * length,
    };
    assert_eq!(batch.episodes, [last(0, 3.0, 2), last(1, -4.0, 2)]);
    assert_eq!(
        batch.final_obs,
        [0, 1].map(|player| (player, row(0, player, 2, 0)))
    );
    assert_eq!(batch.final_lives, [5, 5]);
    assert_eq!(batch.raw_reward[..2], [1.0, -2.0]);
    assert_eq!(batch.episode_return[..2], [3.0, -4.0]);

    let obs = step(&mut env, &[0, 3, 3, 0, 0, 3], &mut batch);
    assert_eq!(obs, rows([(1, 1), (0, 1), (3, 0)]));
    assert_eq!(batch.truncated, [false, false, true, true, false, false]);
    assert_eq!(batch.episodes, [last(2, 1.0, 3), last(3, -3.0, 3)]);
    assert_eq!(
        batch.final_obs,
        [0, 1].map(|player| (2 + player, row(1, player, 3, 0)))
    );
}

#[test]
fn players_of_flat_observations_are_told_apart_too() {
    let floats = ObsSpec {
        shape: vec![2, 2],
        dtype: Dtype::Float32,
    };
    let space = ActionSpace::MultiDiscrete { nvec: vec![2, 2] };
    let mut env = SelfPlay::new(Box::new(Duel::with(floats, space))).unwrap();
    assert_eq!(env.obs_spec().shape, [3]);
    let mut obs = vec![0; NUM_ROWS * 12];
    env.reset(None, &mut obs).unwrap();
    let indicators = obs
        .chunks_exact(12)
        .map(|row| f32::from_ne_bytes(row[8..].try_into().unwrap()));
    assert_eq!(
        indicators.collect::<Vec<_>>(),
        [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    );
}

#[test]
fn a_step_goes_on_after_trouble_and_ends_in_its_slot() {
    let mut duel = Duel::new();
    duel.troubles = vec![
        EnvError::Worker {
            env_indices: vec![2],
            doing: "step".to_owned(),
            message: "it died".to_owned(),
            details: None,
        },
        EnvError::Timeout,
    ];
    let mut env = SelfPlay::new(Box::new(duel)).unwrap();
    let mut batch = StepBatch::default();
    let buffer = ObsBuffer::new(NUM_ROWS * ROW_BYTES);
    env.reset(None, &mut buffer.slot()).unwrap();
    env.send(Actions::Discrete(&[0; NUM_ROWS]), buffer.slot())
        .unwrap();
    assert_eq!(env.recv(&mut batch), Err(EnvError::Timeout));
    let Err(EnvError::Worker { env_indices, .. }) = env.recv(&mut batch) else {
        panic!("the worker's death is passed on")
    };
    assert_eq!(env_indices, [4, 5]);
    assert_eq!(env.restart_workers().unwrap(), [2, 3, 4, 5]);
    env.recv(&mut batch).unwrap();
    assert_eq!(buffer.take(), rows([(1, 0); NUM_GAMES]));
    assert!(matches!(env.recv(&mut batch), Err(EnvError::Order(_))));
}

#[test]
fn a_reset_drops_a_step_in_flight_and_bad_calls_change_nothing() {
    let (mut env, mut batch) = started();
    let buffer = ObsBuffer::new(NUM_ROWS * ROW_BYTES);
    env.send(Actions::Discrete(&[0; NUM_ROWS]), buffer.slot())
        .unwrap();
    let again = ObsBuffer::new(NUM_ROWS * ROW_BYTES);
    let twice = env.send(Actions::Discrete(&[0; NUM_ROWS]), again.slot());
    assert!(matches!(twice, Err(EnvError::Order(_))), "{twice:?}");
    let mut obs = vec![0; NUM_ROWS * ROW_BYTES];
    env.reset(None, &mut obs).unwrap();
    assert_eq!(
        buffer.take().len(),
        NUM_ROWS * ROW_BYTES,
        "the slot is given back"
    );

    let out_of_range = env.send(
        Actions::Discrete(&[0, 0, 0, NUM_ACTIONS, 0, 0]),
        again.slot(),
    );
    let expected = EnvError::ActionRange {
        env: 3,
        action: NUM_ACTIONS,
        num_actions: NUM_ACTIONS,
    };
    assert_eq!(out_of_range, Err(expected));
    let short = env.send(Actions::Discrete(&[0; NUM_GAMES]), again.slot());
    assert!(matches!(
        short,
        Err(EnvError::ActionCount {
            expected: NUM_ROWS,
            got: NUM_GAMES,
            ..
        })
    ));
    assert_eq!(
        step(&mut env, &[1; NUM_ROWS], &mut batch),
        rows([(1, 0); NUM_GAMES])
    );
}

#[test]
fn states_are_those_of_the_games() {
    let (mut env, mut batch) = started();
    step(&mut env, &[1; NUM_ROWS], &mut batch);
    step(&mut env, &[1; NUM_ROWS], &mut batch);
    let states = env.save_state().unwrap();
    assert_eq!(states.len(), NUM_GAMES);
    let (mut other, _) = started();
    let mut obs = vec![0; NUM_ROWS * ROW_BYTES];
    other.restore_state(&states, &mut obs).unwrap();
    assert_eq!(obs, rows([(0, 1), (2, 0), (2, 0)]));
}

#[test]
fn other_games_are_refused_by_what_is_wrong_with_them() {
    let spec = || ObsSpec {
        shape: vec![2, 2, 3],
        dtype: Dtype::Uint8,
    };
    let pairs = |nvec: &[i64]| ActionSpace::MultiDiscrete {
        nvec: nvec.to_vec(),
    };
    let mut alone = Duel::new();
    alone.spec.num_players = 1;
    let mut partial = Duel::new();
    partial.spec.batch_size = 1;
    let flat = ObsSpec {
        shape: vec![2],
        dtype: Dtype::Float32,
    };
    let cases = [
        ("not for 1", alone),
        ("all 3 games are needed at once, not 1", partial),
        (
            "the same actions, not [2, 3]",
            Duel::with(spec(), pairs(&[2, 3])),
        ),
        (
            "the same actions, not [2, 2, 2]",
            Duel::with(spec(), pairs(&[2, 2, 2])),
        ),
        (
            "discrete actions, not Discrete { n: 2 }",
            Duel::with(spec(), ActionSpace::Discrete { n: 2 }),
        ),
        ("not the shape [2]", Duel::with(flat, pairs(&[2, 2]))),
    ];
    for (words, games) in cases {
        let message = SelfPlay::new(Box::new(games)).err().unwrap().to_string();
        assert!(message.contains(words), "{message}");
    }
}
