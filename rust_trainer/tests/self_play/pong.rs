//! What training sees of Pong for two is what `atari_wrappers.make_vec` shows, byte for byte.

use python_shim::{MakeOptions, VecGymEnv, interpreter};
use rust_trainer::{
    envs::{self, EnvRequest},
    settings::{Algorithm, Settings},
};
use vec_env::{Actions, StepBatch, VecEnv, env::Random};

const PONG: &str = "PongNoFrameskip-v4";
const NUM_GAMES: usize = 2;
/// Four stacked frames.
const SEEN: usize = 4 * 84 * 84;
const INDICATOR: usize = 84 * 84;

#[test]
fn rows_of_pong_are_those_of_make_vec_for_the_same_seed_and_actions() {
    interpreter::start().unwrap();
    for (backend, chosen) in [("sync", "sync"), ("auto", "native")] {
        rows_are_those_of_make_vec(backend, chosen);
    }
}

fn rows_are_those_of_make_vec(backend: &str, chosen: &str) {
    let changes = format!(
        "env_id = '{PONG}'\nnum_envs = {NUM_GAMES}\nnum_players = 2\nbackend = '{backend}'\n\
         max_episode_frames = 600"
    );
    let settings = Settings::defaults(Algorithm::Ppo);
    let settings = settings.with(&toml::from_str(&changes).unwrap()).unwrap();
    let request = EnvRequest::for_training(&settings);
    let mut rows = envs::for_training(&request, &envs::PastSelves::default(), 0)
        .unwrap()
        .env;
    assert_eq!(rows.backend(), chosen);
    let options = MakeOptions::new()
        .with("num_players", 2)
        .with("backend", "sync")
        .with("max_episode_frames", 600);
    let made = VecGymEnv::make_vec(PONG, NUM_GAMES, &options).unwrap();
    let mut games: Box<dyn VecEnv> = Box::new(made);

    let mut row_obs = vec![0; 2 * NUM_GAMES * (SEEN + INDICATOR)];
    let mut game_obs = vec![0; 2 * NUM_GAMES * SEEN];
    let (mut row_step, mut game_step) = (StepBatch::default(), StepBatch::default());
    rows.reset(Some(7), &mut row_obs).unwrap();
    games.reset(Some(7), &mut game_obs).unwrap();
    assert_rows(&row_obs, &game_obs);
    let (mut random, mut ends, mut points) = (Random::new(3), 0, [0; 2]);
    for _ in 0..500 {
        let actions: Vec<i64> = (0..2 * NUM_GAMES).map(|_| random.below(6) as i64).collect();
        let actions = Actions::Discrete(&actions);
        rows.step(actions, &mut row_obs, &mut row_step).unwrap();
        games.step(actions, &mut game_obs, &mut game_step).unwrap();
        assert_rows(&row_obs, &game_obs);
        assert_eq!(row_step.reward, game_step.reward);
        assert_eq!(row_step.raw_reward, game_step.raw_reward);
        for row in 0..2 * NUM_GAMES {
            assert_eq!(row_step.terminated[row], game_step.terminated[row / 2]);
            assert_eq!(row_step.truncated[row], game_step.truncated[row / 2]);
            points[row % 2] += usize::from(row_step.raw_reward[row] > 0.0);
        }
        for (game, seen) in &game_step.final_obs {
            ends += 1;
            let last = row_step
                .final_obs
                .iter()
                .filter(|(row, _)| row / 2 == *game);
            let last: Vec<u8> = last.flat_map(|(_, row)| row.clone()).collect();
            assert_rows(&last, seen);
        }
    }
    assert!(ends >= 4, "{ends} games ended");
    assert!(
        points[0] > 0 && points[1] > 0,
        "{points:?}: neither side's points are missing"
    );
    rows.close().unwrap();
    games.close().unwrap();
}

/// Each row is the frames of its player, and an indicator of 0 or 255.
fn assert_rows(rows: &[u8], games: &[u8]) {
    let both = rows
        .chunks_exact(SEEN + INDICATOR)
        .zip(games.chunks_exact(SEEN));
    for (index, (row, seen)) in both.enumerate() {
        assert!(row[..SEEN] == *seen, "row {index} shows something else");
        let indicator = [0, 255][index % 2];
        assert!(
            row[SEEN..].iter().all(|&byte| byte == indicator),
            "row {index}"
        );
    }
    assert_eq!(rows.len() / (SEEN + INDICATOR), games.len() / SEEN);
}
