//! What the rules of games for two have in common, and those that take more than a line.

use crate::games::ram::Ram;
use crate::games::rules::Progress;
use crate::games::special::checkers_result;

/// What one player gains the other loses.
pub(super) fn zero_sum(lead: i32, progress: &mut Progress) {
    progress.reward = progress.grow_to(lead);
    progress.second.reward = -progress.reward;
}

/// Each is rewarded by what the own score grew.
pub(super) fn own_scores([first, second]: [i32; 2], progress: &mut Progress) {
    progress.reward = progress.grow_to(first);
    let of_second = &mut progress.second;
    of_second.reward = second - std::mem::replace(&mut of_second.score, second);
}

/// Lives of which each player has one more in play, until -1 are left.
pub(super) fn in_reserve([first, second]: [i32; 2]) -> i32 {
    first + second + 2
}

pub(super) fn own_lives(lives: [i32; 2], progress: &mut Progress) {
    [progress.lives, progress.second.lives] = lives;
}

/// A point is taken from the player for whom all have waited so many frames, if for any.
pub(super) fn punish_waiting(player: Option<usize>, frames: i32, progress: &mut Progress) {
    let waited = &mut progress.memory[0];
    *waited = if player.is_some() { *waited + 1 } else { 0 };
    if let Some(player) = player
        && *waited == frames
    {
        *waited = 0;
        punish(player, progress);
    }
}

/// Takes a point from a player.
pub(super) fn punish(player: usize, progress: &mut Progress) {
    let rewards = [&mut progress.reward, &mut progress.second.reward];
    *rewards[player] -= 1;
}

/// Double Dunk: the lead. Bits 7 and 6 of a byte say who has a play to choose, and nothing at all that both have; who has not
/// chosen after 120 frames loses a point in place of what the frame gave.
pub(super) fn double_dunk(ram: Ram, _: u32, progress: &mut Progress) {
    let points = [0xf6, 0xf7].map(|address| ram.bcd(&[address]));
    zero_sum(points[0] - points[1], progress);
    progress.over = ram.at(0xfe) == 0xe7 && points.iter().any(|&points| points >= 24);
    let choose = match ram.at(0x89) {
        0 => [1, 1],
        byte if byte & 0x40 != 0 => [0, 1],
        byte => [byte >> 7, 0],
    };
    let waited = &mut progress.memory[0];
    *waited = if choose == [0; 2] { 1 } else { *waited + 1 };
    if *waited == 121 {
        *waited = 0;
        [progress.reward, progress.second.reward] = choose.map(|player| -player);
    }
}

/// Entombed: lives are two bits each; in mode 2 who loses one gives a point to the other, in mode 3 both have one for each
/// part of the maze that lies behind them.
pub(super) fn entombed(ram: Ram, mode: u32, progress: &mut Progress) {
    let lives = [ram.at(0xc7) & 3, ram.at(0xc7) >> 4 & 3];
    if mode == 2 {
        zero_sum(lives[0] - lives[1], progress);
    } else {
        let rises = i32::from(progress.grow_to(ram.at(0xef)) > 0);
        [progress.reward, progress.second.reward] = [rises; 2];
    }
    own_lives(lives, progress);
    progress.over = lives.contains(&0);
}

/// Maze Craze: who is caught loses a point and stays caught, -1 lives. Who leaves the maze first wins a point and the other
/// loses one; but who is caught does not win, and loses no second point.
pub(super) fn maze_craze(ram: Ram, _: u32, progress: &mut Progress) {
    let before = [progress.lives, progress.second.lives];
    let are_caught = [(0xea, before[0]), (0xeb, before[1])]
        .map(|(address, lives)| lives < 0 || ram.at(address) & 0x40 != 0);
    let have_left = [0xec, 0xed].map(|address| ram.at(address) == 0xff);
    let someone_leaves = have_left[0] != have_left[1];
    let winner = match are_caught {
        [true, _] => 1,
        [_, true] => 0,
        _ => usize::from(have_left[1]),
    };
    let rewards = [0, 1].map(|player: usize| {
        let has_lost = if someone_leaves {
            player != winner
        } else {
            are_caught[player]
        };
        match (someone_leaves && player == winner, has_lost) {
            (true, _) => 1,
            (_, true) if before[player] == 0 => -1,
            _ => 0,
        }
    });
    [progress.reward, progress.second.reward] = rewards;
    own_lives(are_caught.map(|is_caught| -i32::from(is_caught)), progress);
    progress.over = someone_leaves || are_caught == [true; 2];
}

/// Video Checkers: who has nothing left loses. Who does not move for 601 frames loses a point.
pub(super) fn video_checkers(ram: Ram, _: u32, progress: &mut Progress) {
    let result = checkers_result(ram);
    [progress.reward, progress.second.reward] = [result, -result];
    progress.over = result != 0;
    let to_move = i32::from(ram.at(0xc0) & 0xf0 != 0);
    let before = std::mem::replace(&mut progress.second.memory[0], to_move);
    if to_move != before {
        progress.memory[0] = 0;
    }
    punish_waiting(Some(to_move as usize), 601, progress);
}

/// Warlords: bits 7 to 4 say whose king is dead, those of the players first. A dead king costs a point, and whose king is
/// alive when three are dead wins one.
pub(super) fn warlords(ram: Ram, _: u32, progress: &mut Progress) {
    let dead = ram.at(0xee) >> 4;
    progress.over = dead.count_ones() >= 3;
    let before = [progress.lives, progress.second.lives];
    let lives = [-(dead >> 3), -(dead >> 2 & 1)];
    let reward = |player: usize| {
        let wins = progress.over && lives[player] == 0;
        i32::from(wins) - i32::from(lives[player] < before[player])
    };
    [progress.reward, progress.second.reward] = [reward(0), reward(1)];
    own_lives(lives, progress);
}

/// Othello: the lead on the board. Who does not move for 600 frames loses a point, and a move that turns nothing is none; the
/// game is over when nobody has been to move for 76 frames.
pub(super) fn othello(ram: Ram, _: u32, progress: &mut Progress) {
    let before = progress.score;
    zero_sum(ram.bcd(&[0xce]) - ram.bcd(&[0xd0]), progress);
    let [waited, idle] = &mut progress.memory;
    if progress.score != before {
        *waited = 0;
    }
    let to_move = ram.at(0xc0);
    *idle = if to_move == 0 { *idle + 1 } else { 0 };
    progress.over = *idle > 75;
    punish_waiting(Some(usize::from(to_move != 0xff)), 600, progress);
}
