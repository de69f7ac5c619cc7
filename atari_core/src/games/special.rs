//! Rules that take more than a line, and those that look back at earlier frames.

use super::ram::{Ram, bcd_of, signed};
use super::rules::Progress;

/// Beam Rider: a ship lost counts once the sector is cleared away.
pub(super) fn beam_rider_lives(ram: Ram, progress: &mut Progress) -> i32 {
    let ships = ram.at(0x85) + 1;
    if ships == progress.lives - 1 && ram.at(0x8c) != 1 {
        progress.lives
    } else {
        ships
    }
}

/// Blackjack: the chips, of which 200 are there at first; eleven in each digit is a blank.
pub(super) fn blackjack_chips(ram: Ram) -> i32 {
    if blackjack_is_broke(ram) {
        0
    } else {
        ram.bcd(&[0x86, 0x89])
    }
}

/// Blackjack: no chips are shown.
pub(super) fn blackjack_is_broke(ram: Ram) -> bool {
    ram.at(0x86) == 0x0b && ram.at(0x89) == 0xbb
}

/// Boxing: the points of a boxer; $c0 is a knockout.
pub(super) fn boxing_points(byte: i32) -> i32 {
    if byte == 0xc0 { 100 } else { bcd_of(byte) }
}

/// Casino: no money is shown while a hand of the games that are not poker is asked about.
fn casino_shows_no_money(ram: Ram) -> bool {
    ram.at(0xd4) != 3 && ram.at(0xd3) & 0x80 != 0
}

/// Casino: the money won or lost; ale-py gives the last of it again while none is shown.
pub(super) fn casino(ram: Ram, progress: &mut Progress) -> i32 {
    let won = progress.grow_to(ram.bcd(&[0x8c, 0x95]));
    if casino_shows_no_money(ram) {
        progress.reward
    } else {
        won
    }
}

/// Casino: no money is left, or none is shown any more.
pub(super) fn casino_is_over(ram: Ram, _: &Progress) -> bool {
    let is_lost = ram.bcd(&[0x8c, 0x95]) == 0 || casino_shows_no_money(ram) && ram.at(0x9e) != 0;
    ram.at(0xd4) != 3 && is_lost
}

/// Video Checkers: the player wins (1) or loses (-1) when one side has nothing left. $10 and $20 are the player's men and
/// kings, $90 and $a0 the console's; three bytes between the rows are no squares.
pub(super) fn checkers_result(ram: Ram) -> i32 {
    let squares = || (0x80..0xa3).filter(|square| !matches!(square, 0x88 | 0x91 | 0x9a));
    let has = |pieces: [i32; 2]| squares().any(|square| pieces.contains(&ram.at(square)));
    if has([0x10, 0x20]) {
        i32::from(!has([0x90, 0xa0]))
    } else {
        -1
    }
}

/// Dark Chambers: the score.
fn dark_chambers_score(ram: Ram) -> i32 {
    ram.bcd(&[0xcf, 0xcc]) * 10
}

/// Dark Chambers: what was found, but nothing in a frame that begins anew.
pub(super) fn dark_chambers(ram: Ram, progress: &mut Progress) -> i32 {
    if dark_chambers_begins_anew(ram, progress) {
        return 0;
    }
    progress.memory[0] = ram.at(0xd5);
    progress.grow_to(dark_chambers_score(ram))
}

/// Dark Chambers: the score or another count falls.
fn dark_chambers_begins_anew(ram: Ram, progress: &Progress) -> bool {
    dark_chambers_score(ram) < progress.score || ram.at(0xd5) < progress.memory[0]
}

/// Dark Chambers: no strength is left.
pub(super) fn dark_chambers_is_over(ram: Ram, progress: &Progress) -> bool {
    ram.at(0xca) & 0x1f == 0 || dark_chambers_begins_anew(ram, progress)
}

/// Demon Attack: before a game the digits hold $ab, $cd and $ea.
pub(super) fn demon_attack_score(ram: Ram) -> i32 {
    if [0x81, 0x83, 0x85].map(|address| ram.at(address)) == [0xab, 0xcd, 0xea] {
        0
    } else {
        ram.bcd(&[0x81, 0x83, 0x85])
    }
}

/// Enduro: the cars overtaken, of which 200 are due on the first day and 300 on each that follows.
pub(super) fn enduro_cars(ram: Ram) -> i32 {
    match ram.at(0xad) {
        0 => 0,
        day => 200 + (day - 1) * 300 - ram.bcd(&[0xac, 0xab]),
    }
}

/// Hangman: one, and what [`hangman_over`] looks back at.
pub(super) fn hangman_lives(ram: Ram, progress: &mut Progress) -> i32 {
    progress.memory[0] = ram.at(0xf1);
    1
}

/// Hangman: a word was won or lost, or the time is over: 0 after -1.
pub(super) fn hangman_over(ram: Ram, progress: &Progress) -> bool {
    ram.bcd(&[0xeb]) != ram.bcd(&[0xec]) || ram.at(0xf1) == 0 && progress.memory[0] == 0xff
}

/// Haunted House: the urn brought out is worth 100, and each match struck costs one.
pub(super) fn haunted_house(ram: Ram, progress: &mut Progress) -> i32 {
    let matches = ram.bcd(&[0x82]);
    let before = std::mem::replace(&mut progress.memory[0], matches);
    i32::from(ram.at(0x99) == 0x44) * 100 - i32::from(matches != before)
}

/// Klax: the score, which the cartridge's RAM holds.
pub(super) fn klax_score(ram: Ram) -> i32 {
    [0xb6, 0xb5, 0xb4].into_iter().fold(0, |number, address| {
        number * 100 + bcd_of(ram.in_cartridge(address))
    })
}

/// Klax: as many tiles were dropped as may be, the bin is full, or all waves are done. A place of the bin is empty where it
/// holds 0, 2, 6, 10 or 14.
pub(super) fn klax_is_over(ram: Ram, _: &Progress) -> bool {
    let [dropped, most] = [0xe9, 0xee].map(|address| ram.in_cartridge(address));
    let is_full = || (0xb3..=0xcb).all(|place| !matches!(ram.at(place), 0 | 2 | 6 | 10 | 14));
    most == dropped && most != 0 || ram.at(0xa8) == 4 && is_full() || ram.in_cartridge(0x9d) == 0x99
}

/// Q*bert: the byte counts the lives down, -1 for the last.
pub(super) fn qbert_lives(ram: Ram, progress: &mut Progress) -> i32 {
    let byte = ram.at(0x88);
    let before = std::mem::replace(&mut progress.memory[0], byte);
    if byte == (before - 1) & 0xff {
        progress.lives - 1
    } else {
        progress.lives
    }
}

/// Q*bert: -2, or 2 (a new game) right after -1.
pub(super) fn qbert_over(ram: Ram, progress: &Progress) -> bool {
    let byte = ram.at(0x88);
    byte == 0xfe || byte == 2 && progress.memory[0] == 0xff
}

/// River Raid: six bytes that point to the shapes of the digits, eight lines each; anything else shows as 0.
pub(super) fn river_raid_score(ram: Ram) -> i32 {
    [0xcd, 0xcf, 0xd1, 0xd3, 0xd5, 0xd7]
        .into_iter()
        .fold(0, |number, address| {
            let shape = ram.at(address);
            number * 10
                + if shape % 8 == 0 && shape <= 72 {
                    shape / 8
                } else {
                    0
                }
        })
}

/// River Raid: $58 shows four lives before the first is lost, $59 the last of them.
pub(super) fn river_raid_lives(ram: Ram, progress: &mut Progress) -> i32 {
    let byte = ram.at(0xc0);
    progress.memory[0] = byte;
    match byte {
        0x58 => 4,
        0x59 => 1,
        _ => (byte >> 3) + 1,
    }
}

/// River Raid: $58 after $59 is the title again.
pub(super) fn river_raid_over(ram: Ram, progress: &Progress) -> bool {
    progress.memory[0] == 0x59 && ram.at(0xc0) == 0x58
}

/// Star Gunner: five until the count of ships has shown five for the first time.
pub(super) fn star_gunner_lives(ram: Ram, progress: &mut Progress) -> i32 {
    let ships = ram.at(0x87) & 15;
    if ram.at(0x87) == 5 {
        progress.memory[0] = 1;
    }
    if progress.memory[0] == 1 { ships } else { 5 }
}

/// Tennis: a game won or lost counts before the points in it.
pub(super) fn tennis(ram: Ram, progress: &mut Progress) -> i32 {
    let points = ram.at(0xc5) - ram.at(0xc6);
    let games = ram.at(0xc7) - ram.at(0xc8);
    let [points_before, games_before] = std::mem::replace(&mut progress.memory, [points, games]);
    if games == games_before {
        points - points_before
    } else {
        games - games_before
    }
}

/// Tennis: six games with two ahead, or seven.
pub(super) fn tennis_is_over(mine: i32, theirs: i32) -> bool {
    mine >= 6 && mine - theirs >= 2 || theirs >= 6 && theirs - mine >= 2 || mine == 7 || theirs == 7
}

/// 3-D Tic-Tac-Toe: the console has four in a row.
pub(super) fn tic_tac_toe_is_lost(ram: Ram) -> bool {
    ram.at(0xfe) == 0x10 && ram.at(0xff) == 0xf3
}

/// Time Pilot: the count holds while a screen is played.
pub(super) fn time_pilot_lives(ram: Ram, progress: &mut Progress) -> i32 {
    if ram.at(0x80) & 15 == 2 {
        (ram.at(0x8b) & 7) + 1
    } else {
        progress.lives
    }
}

/// Video Cube: 51 cubes, each in three modes.
pub(super) const VIDEO_CUBE_MODES: [u32; 153] = {
    let mut modes = [0; 153];
    let mut index = 0;
    while index < 153 {
        modes[index as usize] = index / 3 * 100 + index % 3;
        index += 1;
    }
    modes
};

/// Video Cube: the sides of one colour, nine places each.
fn video_cube_sides(ram: Ram) -> i32 {
    let is_done = |first: u8| (first + 1..first + 9).all(|place| ram.at(place) == ram.at(first));
    (0xa0..0xd6)
        .step_by(9)
        .map(|side| i32::from(is_done(side)))
        .sum()
}

/// Video Cube: the time is over: 0 after -1.
fn video_cube_is_late(ram: Ram, progress: &Progress) -> bool {
    progress.memory[0] == 0xff && ram.at(0xdb) == 0
}

/// Video Cube: the sides done since the last frame, or -1 when the time is over.
pub(super) fn video_cube(ram: Ram, progress: &mut Progress) -> i32 {
    let is_late = video_cube_is_late(ram, progress);
    progress.memory[0] = ram.at(0xdb);
    let done = progress.grow_to(video_cube_sides(ram));
    if is_late { -1 } else { done }
}

/// Video Cube: all sides are done, or the time is over.
pub(super) fn video_cube_is_over(ram: Ram, progress: &Progress) -> bool {
    video_cube_sides(ram) == 6 || video_cube_is_late(ram, progress)
}

/// Wizard of Wor: a worrior lost counts once the next has left the cage.
pub(super) fn wizard_of_wor_lives(ram: Ram, progress: &mut Progress) -> i32 {
    if ram.at(0xd7) & 1 == 0 {
        ram.at(0x8d) & 15
    } else {
        progress.lives
    }
}

/// Wizard of Wor: the top bit of the score belongs to something else, and is taken off as 80 of its hundreds.
pub(super) fn wizard_of_wor_score(ram: Ram, digits: [u8; 2]) -> i32 {
    let score = ram.bcd(&digits) * 100;
    if score >= 800_000 {
        score - 800_000
    } else {
        score
    }
}

/// Word Zapper: one for each letter that is missing no more; ale-py gives the last reward again while no word is asked
/// for.
pub(super) fn word_zapper(ram: Ram, progress: &mut Progress) -> i32 {
    if ram.at(0xcf) == 0 {
        return progress.reward;
    }
    -progress.grow_to(signed(ram.at(0xdc)))
}
