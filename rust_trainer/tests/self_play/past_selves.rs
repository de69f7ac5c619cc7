//! In some games past selves play the other side.

use std::{
    ops::Range,
    sync::{Arc, Mutex},
};

use rand::RngExt;
use rand_pcg::Pcg64;
use rust_trainer::{
    envs::{AgainstOpponent, DrawnOpponents, Opponent, PastSelves, Score, SelfPlay},
    nn::Memory,
    policy::{Outlook, Policy},
    settings::{EnvSettings, OpponentDraw},
};
use tch::{Device, Tensor};
use vec_env::{ActionBatch, Actions, StepBatch, VecEnv};

use super::{
    ROW_BYTES,
    duel::{Duel, NUM_GAMES},
    row,
};

/// Draws action `0` or `1` above twice its number; and writes down how many games it is asked for at once.
struct Numbered(i64, Arc<Mutex<Vec<(i64, i64)>>>);

impl Policy for Numbered {
    fn device(&self) -> Device {
        Device::Cpu
    }

    fn act(&self, obs: &Tensor, _: &mut Memory, rng: &mut Pcg64, _: bool) -> ActionBatch {
        let count = obs.size()[0];
        self.1.lock().unwrap().push((self.0, count));
        let draws = (0..count).map(|_| 2 * self.0 + i64::from(rng.random::<bool>()));
        ActionBatch::Discrete(draws.collect())
    }

    fn outlook(&self, _: &Tensor, _: &Memory) -> Outlook {
        unimplemented!("nobody looks")
    }
}

/// What the past selves were asked for: who, in how many games.
type Calls = Arc<Mutex<Vec<(i64, i64)>>>;

/// Past selves of steps 0 and 1, which play actions 0 and 1, and 2 and 3.
fn past_selves() -> (PastSelves, Calls) {
    let (past_selves, calls) = (PastSelves::default(), Calls::default());
    for step in [0, 1] {
        let policy = Numbered(step, Arc::clone(&calls));
        past_selves.add(step.unsigned_abs(), Box::new(policy), 2);
    }
    (past_selves, calls)
}

fn against(past_selves: &PastSelves, how: OpponentDraw, games: Range<usize>) -> AgainstOpponent {
    let players = SelfPlay::new(Box::new(Duel::new())).unwrap();
    let settings = EnvSettings {
        opponent_pool: 2,
        opponent_draw: how,
        ..EnvSettings::default()
    };
    let spec = players.obs_spec().clone();
    let opponents = DrawnOpponents::new(past_selves.clone(), &settings, spec, games.len());
    AgainstOpponent::in_some(Box::new(players), Box::new(opponents), games)
}

#[test]
fn both_players_of_the_other_games_learn_and_one_of_those_against_past_selves() {
    let mut env = against(&past_selves().0, OpponentDraw::Latest, 0..2);
    // Game 0 for two, game 1 as the first player, game 2 as the second.
    let players = [(0, 0), (0, 1), (1, 0), (2, 1)];
    let mut obs = vec![0; players.len() * ROW_BYTES];
    let mut step = StepBatch::default();
    assert_eq!(env.num_envs(), players.len());
    let scores = env.scores();
    env.reset(Some(1), &mut obs).unwrap();
    let shown = |at: [(i64, i64); NUM_GAMES]| {
        let rows = players.iter().map(|&(game, player)| {
            let (steps, games) = at[game];
            row(game, player, steps, games)
        });
        rows.collect::<Vec<_>>().concat()
    };
    assert_eq!(obs, shown([(0, 0); NUM_GAMES]));
    let actions = Actions::Discrete(&[3, 1, 0, 0]);
    env.step(actions, &mut obs, &mut step).unwrap();
    assert_eq!(obs, shown([(1, 0); NUM_GAMES]));
    assert_eq!(step.raw_reward[..2], [2.0, -2.0]);
    // The newest plays 2 or 3; the second player pays a penalty for its 0.
    assert!([-2.0, -3.0].contains(&step.raw_reward[2]), "{step:?}");
    assert!([-3.0, -4.0].contains(&step.raw_reward[3]), "{step:?}");
    for _ in 0..3 {
        env.step(actions, &mut obs, &mut step).unwrap();
    }
    // Game 2 ended after four steps, game 0 for the second time: each of its players has an episode.
    let ended: Vec<_> = step.episodes.iter().map(|episode| episode.env).collect();
    assert_eq!(ended, [0, 1, 3]);
    let scores = scores.take();
    let envs: Vec<_> = scores.iter().map(|score| score.env).collect();
    assert_eq!(envs, [2, 3]);
    assert!(scores.iter().all(|score| score.points[0] < score.points[1]));
}

#[test]
fn sides_take_turns_over_all_batches_of_a_run() {
    // The second and third game against past selves: game 1 as the second player, game 2 as the first.
    let mut env = against(&past_selves().0, OpponentDraw::Latest, 1..3);
    let players = [(0, 0), (0, 1), (1, 1), (2, 0)];
    let mut obs = vec![0; players.len() * ROW_BYTES];
    env.reset(Some(1), &mut obs).unwrap();
    let rows = players.map(|(game, player)| row(game, player, 0, 0));
    assert_eq!(obs, rows.concat());
}

#[test]
fn games_go_on_from_their_states_against_whom_they_were_played() {
    let (past_selves, calls) = past_selves();
    let (mut env, mut again) = (
        against(&past_selves, OpponentDraw::Prioritized, 0..3),
        against(&past_selves, OpponentDraw::Prioritized, 0..3),
    );
    let mut obs = vec![0; NUM_GAMES * ROW_BYTES];
    let (mut step, mut other) = (StepBatch::default(), StepBatch::default());
    let actions = Actions::Discrete(&[3, 0, 2]);
    env.reset(Some(5), &mut obs).unwrap();
    for _ in 0..7 {
        env.step(actions, &mut obs, &mut step).unwrap();
    }
    let states = env.save_state().unwrap();
    let mut seen = vec![0; obs.len()];
    again.reset(Some(6), &mut seen).unwrap();
    again.restore_state(&states, &mut seen).unwrap();
    assert_eq!(seen, obs);
    let (scores, others) = (env.scores(), again.scores());
    for _ in 0..20 {
        env.step(actions, &mut obs, &mut step).unwrap();
        again.step(actions, &mut seen, &mut other).unwrap();
        assert_eq!(seen, obs);
        assert_eq!(other.raw_reward, step.raw_reward);
    }
    let points = |scores: Vec<Score>| -> Vec<_> {
        scores
            .iter()
            .map(|score| (score.env, score.points))
            .collect()
    };
    assert_eq!(points(scores.take()), points(others.take()));
    let calls = calls.lock().unwrap();
    let asked = |who: i64| calls.iter().any(|&(asked, _)| asked == who);
    assert!(asked(0) && asked(1));
    assert!(
        calls.iter().any(|&(_, count)| count > 1),
        "games of one are one batch"
    );

    // A state of the games without opponents is refused, and so is one whose past self is gone.
    let refused = again.restore_state(&states[..2], &mut seen).unwrap_err();
    assert!(refused.to_string().contains("3, not 2"), "{refused}");
    let foreign = vec![vec![1, 0]; 3];
    let refused = again.restore_state(&foreign, &mut seen).unwrap_err();
    assert!(
        refused.to_string().contains("no game against an opponent"),
        "{refused}"
    );
    let mut alone = against(&PastSelves::default(), OpponentDraw::Uniform, 0..3);
    alone.reset(None, &mut seen).unwrap();
    let refused = alone.restore_state(&states, &mut seen).unwrap_err();
    assert!(refused.to_string().contains("is missing"), "{refused}");
    let refused = alone.step(actions, &mut seen, &mut other).unwrap_err();
    assert_eq!(refused.to_string(), "there is no past self yet");
}

#[test]
fn an_old_one_plays_its_game_to_the_end() {
    let (past_selves, calls) = past_selves();
    let settings = EnvSettings {
        opponent_pool: 1,
        opponent_draw: OpponentDraw::Latest,
        ..EnvSettings::default()
    };
    let players = SelfPlay::new(Box::new(Duel::new())).unwrap();
    let spec = players.obs_spec().clone();
    let obs = vec![0; 2 * spec.num_bytes()];
    let mut opponents = DrawnOpponents::new(past_selves.clone(), &settings, spec, 2);
    opponents.act(&obs, &[true, true]).unwrap();
    past_selves.add(7, Box::new(Numbered(7, Arc::clone(&calls))), 1);
    assert_eq!(past_selves.newest(9), [1, 7], "0 plays no game");
    opponents.act(&obs, &[false, true]).unwrap();
    assert_eq!(*calls.lock().unwrap(), [(1, 2), (1, 1), (7, 1)]);
    opponents.act(&obs, &[true, false]).unwrap();
    past_selves.add(8, Box::new(Numbered(8, calls)), 1);
    assert_eq!(past_selves.newest(9), [7, 8]);
}
