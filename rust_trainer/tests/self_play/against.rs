//! One side of each game is an opponent's.

use std::sync::{Arc, Mutex};

use rust_trainer::envs::{AgainstOpponent, Opponent, RandomOpponent, Score, SelfPlay};
use vec_env::{Actions, EnvError, StepBatch, VecEnv};

use super::{
    ROW_BYTES,
    duel::{Duel, NUM_GAMES},
    row,
};

/// What an opponent saw and was told, call by call.
type Calls = Arc<Mutex<Vec<(Vec<u8>, Vec<bool>)>>>;

/// Plays 0, 1, 2 in the games, and writes down what it is shown.
struct Scripted(Calls);

impl Opponent for Scripted {
    fn reset(&mut self, _seed: Option<u64>) {}

    fn act(&mut self, obs: &[u8], began: &[bool]) -> Result<Vec<i64>, EnvError> {
        self.0.lock().unwrap().push((obs.to_vec(), began.to_vec()));
        Ok(vec![0, 1, 2])
    }
}

fn games(opponent: impl Opponent + 'static) -> AgainstOpponent {
    let players = SelfPlay::new(Box::new(Duel::new())).unwrap();
    AgainstOpponent::new(Box::new(players), Box::new(opponent))
}

/// In games 0 and 2 the opponent is the second player, in game 1 the first.
fn ours(at: [(i64, i64); NUM_GAMES]) -> Vec<u8> {
    let rows = [0, 1, 0].iter().zip(at).enumerate();
    rows.flat_map(|(game, (&player, (steps, games)))| row(game, player, steps, games))
        .collect()
}

fn theirs(at: [(i64, i64); NUM_GAMES]) -> Vec<u8> {
    let rows = [1, 0, 1].iter().zip(at).enumerate();
    rows.flat_map(|(game, (&player, (steps, games)))| row(game, player, steps, games))
        .collect()
}

#[test]
fn sides_take_turns_and_the_opponent_sees_its_own() {
    let calls = Calls::default();
    let mut env = games(Scripted(Arc::clone(&calls)));
    assert_eq!((env.num_envs(), env.num_players()), (NUM_GAMES, 1));
    let mut obs = vec![0; NUM_GAMES * ROW_BYTES];
    let mut batch = StepBatch::default();
    env.reset(Some(0), &mut obs).unwrap();
    assert_eq!(obs, ours([(0, 0); NUM_GAMES]));

    env.step(Actions::Discrete(&[3, 3, 3]), &mut obs, &mut batch)
        .unwrap();
    assert_eq!(obs, ours([(1, 0); NUM_GAMES]));
    // 3 against 0 and its penalty, 3 as the second player against 1, 3 against 2.
    assert_eq!(batch.raw_reward, [3.0, 2.0, 1.0]);
    assert_eq!(batch.env_ids, [0, 1, 2]);
    env.step(Actions::Discrete(&[3, 0, 0]), &mut obs, &mut batch)
        .unwrap();
    assert_eq!(obs, ours([(0, 1), (2, 0), (2, 0)]));
    assert_eq!(batch.raw_reward, [3.0, -2.0, -2.0]);
    assert_eq!(batch.terminated, [true, false, false]);
    assert_eq!(batch.final_obs, [(0, row(0, 0, 2, 0))]);
    assert_eq!((batch.episodes.len(), batch.episodes[0].env), (1, 0));
    assert_eq!(batch.episodes[0].raw_return, 6.0);
    env.step(Actions::Discrete(&[0, 0, 3]), &mut obs, &mut batch)
        .unwrap();
    assert_eq!(
        (batch.episodes[0].env, batch.episodes[0].raw_return),
        (1, -2.0)
    );
    assert_eq!(batch.final_obs, [(1, row(1, 1, 3, 0))]);
    assert_eq!(batch.final_lives, [4]);

    let calls = calls.lock().unwrap();
    let seen = [
        (theirs([(0, 0); NUM_GAMES]), vec![true; NUM_GAMES]),
        (theirs([(1, 0); NUM_GAMES]), vec![false; NUM_GAMES]),
        (theirs([(0, 1), (2, 0), (2, 0)]), vec![true, false, false]),
    ];
    assert_eq!(*calls, seen);
}

#[test]
fn scores_are_points_made_and_returns_of_both_sides() {
    let mut env = games(Scripted(Calls::default()));
    let scores = env.scores();
    let mut obs = vec![0; NUM_GAMES * ROW_BYTES];
    let mut batch = StepBatch::default();
    env.reset(None, &mut obs).unwrap();
    for actions in [[3, 3, 3], [3, 0, 0], [0, 0, 3]] {
        env.step(Actions::Discrete(&actions), &mut obs, &mut batch)
            .unwrap();
    }
    let expected = [
        // Game 0: 3 and 3 points; the opponent pays a penalty each time.
        Score {
            env: 0,
            points: [6.0, 0.0],
            returns: [6.0, -8.0],
        },
        // Game 1, as the second player: +2, then 0 against 1 and the penalty, twice.
        Score {
            env: 1,
            points: [2.0, 2.0],
            returns: [-2.0, 0.0],
        },
    ];
    assert_eq!(scores.take(), expected);
    assert!(scores.take().is_empty());
    env.step(Actions::Discrete(&[3, 3, 3]), &mut obs, &mut batch)
        .unwrap();
    // Game 0 began anew: nothing of the one before counts.
    assert_eq!(scores.take()[0].points, [3.0, 0.0]);
}

#[test]
fn a_random_opponent_follows_its_seed_and_leaves_no_action_out() {
    let draws = |seed| {
        let mut opponent = RandomOpponent::new(3);
        opponent.reset(Some(seed));
        opponent.act(&[], &[false; 300]).unwrap()
    };
    assert_eq!(draws(1), draws(1));
    assert_ne!(draws(1), draws(2));
    for action in 0..3 {
        let count = draws(1).iter().filter(|&&drawn| drawn == action).count();
        assert!((70..130).contains(&count), "{action}: {count} of 300");
    }
}

#[test]
fn bad_actions_are_refused_before_the_opponent_acts() {
    let calls = Calls::default();
    let mut env = games(Scripted(Arc::clone(&calls)));
    let mut obs = vec![0; NUM_GAMES * ROW_BYTES];
    env.reset(None, &mut obs).unwrap();
    let mut batch = StepBatch::default();
    let refused = env.step(Actions::Discrete(&[0, 9, 0]), &mut obs, &mut batch);
    assert!(matches!(
        refused,
        Err(EnvError::ActionRange {
            env: 1,
            action: 9,
            ..
        })
    ));
    assert!(calls.lock().unwrap().is_empty());
}
