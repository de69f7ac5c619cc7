//! The tables of games against what the sweep found.

use super::{Game, Progress, Ram, all, two};

/// What `scripts/atari_sweep --modes 1000` printed last.
const SWEEP: &str = include_str!("../../tests/sweep.txt");
/// The same with `--players 2`.
const SWEEP_TWO: &str = include_str!("../../tests/sweep-two.txt");

fn numbers(choices: &[u32]) -> String {
    let numbers: Vec<String> = choices.iter().map(u32::to_string).collect();
    numbers.join(" ")
}

fn check(game: &Game, sweep: &str) {
    let line = sweep
        .lines()
        .find(|line| line.split_whitespace().next() == Some(game.name));
    let (modes, difficulties) = (numbers(game.modes), numbers(game.difficulties));
    let proof = format!("exact; modes {modes}; difficulties {difficulties}");
    let proved = line.is_some_and(|line| line.ends_with(&proof));
    let frames = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    let (name, reason) = (game.name, game.unproved);
    assert_eq!(proved, reason.is_none(), "{name}: {reason:?}: {line:?}");
    assert!(!proved || frames >= Some(100_000), "{name}: {line:?}");
}

#[test]
fn a_game_is_proved_if_the_sweep_says_so_of_all_its_modes() {
    all().for_each(|game| check(game, SWEEP));
    two::all().for_each(|game| check(game, SWEEP_TWO));
}

#[test]
fn whoever_a_state_says_serves_in_tennis_is_one_of_two() {
    let tennis = two::all().find(|game| game.name == "tennis").unwrap();
    let rules = tennis.rules_for_two.unwrap();
    let memory = [0; 128].map(|_: u8| 1); // somebody serves
    for server in [-1, 2, 1 << 28] {
        let mut progress = Progress::default();
        progress.second.memory = [server, 179];
        (rules.after_frame)(Ram::new(&memory, &memory), 0, &mut progress);
        assert_eq!(progress.reward + progress.second.reward, -1);
    }
}
