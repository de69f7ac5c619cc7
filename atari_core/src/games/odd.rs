//! Rules that take more than a line, and those that look back at earlier frames.

use super::rules::{Progress, Ram};

/// Beam Rider: a ship lost counts once the sector is cleared away.
pub(super) fn beam_rider_lives(ram: Ram, progress: &mut Progress) -> i32 {
    let ships = ram.at(0x85) + 1;
    if ships == progress.lives - 1 && ram.at(0x8c) != 1 {
        progress.lives
    } else {
        ships
    }
}

/// Boxing: the points of a boxer; $c0 is a knockout.
pub(super) fn boxing_points(byte: i32) -> i32 {
    if byte == 0xc0 {
        100
    } else {
        (byte >> 4) * 10 + (byte & 15)
    }
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
    if ships == 5 {
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

/// Time Pilot: the count holds while a screen is played.
pub(super) fn time_pilot_lives(ram: Ram, progress: &mut Progress) -> i32 {
    if ram.at(0x80) & 15 == 2 {
        (ram.at(0x8b) & 7) + 1
    } else {
        progress.lives
    }
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
pub(super) fn wizard_of_wor_score(ram: Ram) -> i32 {
    let score = ram.bcd(&[0x88, 0x86]) * 100;
    if score >= 800_000 {
        score - 800_000
    } else {
        score
    }
}
