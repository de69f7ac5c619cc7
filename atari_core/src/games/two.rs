//! The games for two players, as `multi_agent_ale_py` 0.1.12 (the ALE behind `PettingZoo`) plays them: modes of ROMs that
//! have others for one, and ROMs that have no others.
//!
//! Rules and starts were read out of it as those of the games for one out of ale-py, and differ from them: modes have other
//! numbers, both players have points, and in some games who waits is punished.

use super::odd::{boxing_points, signed, tennis, tennis_is_over, wizard_of_wor_score_at};
use super::rules::{Progress, Ram, RulesForTwo, Second};
use super::{Controller, Game, bcd, game, paddles, pal, select};
use crate::Action::{
    Down, DownFire, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire,
    UpLeft, UpRight,
};
use crate::Mapper;
use crate::input::PADDLE_MIDDLE;

pub(super) static GAMES: &[Game] = &[
    Game {
        select: Some(select(1, |ram, mode| ram.at(0x92) == mode)),
        modes: &[2],
        difficulties: &[0, 1, 2, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                let [first, second] = [0x92, 0x93].map(|address| boxing_points(ram.at(address)));
                zero_sum(first - second, progress);
                let time_is_over = ram.at(0x90) >> 4 == 0 && ram.at(0x91) == 0;
                progress.over = first == 100 || second == 100 || time_is_over;
            },
        }),
        proved: true,
        ..game("boxing", "c3ef5c4653212088eda54dc91d787870", Mapper::Flat)
    },
    Game {
        top: 39,
        height: 256,
        select: Some(select(1, |ram, mode| ram.at(0x80) == mode - 1)),
        modes: &[
            1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24,
            25, 26, 27,
        ],
        difficulties: &[0, 1, 2, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                zero_sum(ram.bcd(&[0xa1]) - ram.bcd(&[0xa2]), progress);
                progress.over = ram.at(0x88) == 0 || ram.at(0xa1) == 0x99 || ram.at(0xa2) == 0x99;
            },
        }),
        differs: Some("one byte of RAM, in a frame of 65,000"),
        ..pal("combat", "0ef64cdbecccb7049752a3de0b7ade14", Mapper::Flat)
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0xf4) == i32::from(mode == 1))),
        start: &[(Fire, 1), (Noop, 5)],
        modes: &[2, 3],
        difficulties: &[0, 2],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: lives(3),
            after_frame: entombed,
        }),
        proved: true,
        ..game("entombed", "6b683be69f92958abe0e2a9945157ad5", Mapper::Flat)
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0x80) == mode - 1)),
        modes: &[2],
        difficulties: &[0, 1, 2, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                zero_sum(ram.bcd(&[0xbd]) - ram.bcd(&[0xbe]), progress);
                progress.over = ram.at(0xbd) == 0x99 || ram.at(0xbe) == 0x99;
            },
        }),
        proved: true,
        ..game(
            "fishing_derby",
            "b8865f05676e64f3bec72b9defdacfa7",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(10, |ram, mode| ram.at(0xd6) == mode)),
        start: &[(Fire, 10)],
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        modes: &[1, 2, 3, 4],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 8,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                own_scores([ram.bcd(&[0xab]), ram.bcd(&[0xeb])], progress);
                progress.over = ram.at(0xab) == 0x99 || ram.at(0xeb) == 0x99;
            },
        }),
        proved: true,
        ..game(
            "flag_capture",
            "30512e0e83903fc05541d2f6a6a62654",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x80) == mode)),
        modes: &[1, 3],
        difficulties: &[0, 1, 2, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 0,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                zero_sum(ram.bcd(&[0x8a]) - ram.bcd(&[0x8b]), progress);
                progress.over = ram.at(0x86) == 0 && ram.at(0x87) == 0;
            },
        }),
        proved: true,
        ..game(
            "ice_hockey",
            "a4c08c4994eb9d24fb78be1793e82e26",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0xf8) == mode)),
        modes: &[1, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 0,
            start: lives(4),
            after_frame: |ram, _, progress| {
                own_scores(
                    [ram.bcd(&[0x83, 0x85, 0x87]), ram.bcd(&[0x84, 0x86, 0x88])],
                    progress,
                );
                own_lives(
                    [0x81, 0x82].map(|address| signed(ram.at(address))),
                    progress,
                );
                let are_lost = [progress.lives, progress.second.lives] == [-1; 2];
                progress.over = are_lost || progress.score.max(progress.second.score) >= 990_000;
            },
        }),
        proved: true,
        ..game("joust", "3276c777cbe97cdd2b4a63ffc16b7151", Mapper::F8)
    },
    Game {
        select: Some(select(5, |ram, mode| ram.at(0x80) == mode - 1)),
        start: &[(Noop, 10), (Fire, 7)],
        modes: &[2, 4, 6, 8],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: lives(4),
            after_frame: |ram, _, progress| {
                own_scores(
                    [ram.bcd(&[0x89, 0x8a]) * 100, ram.bcd(&[0x8b, 0x8c]) * 100],
                    progress,
                );
                own_lives([0x87, 0x88].map(|address| ram.at(address) - 1), progress);
                progress.over = progress.lives < 0 && progress.second.lives < 0;
            },
        }),
        proved: true,
        ..game("mario_bros", "e908611d99890733be31733a979c62d8", Mapper::F8)
    },
    Game {
        controller: paddles(1, Some(PADDLE_MIDDLE)),
        select: Some(select(2, |ram, mode| ram.at(0x96) == mode - 1)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[
            3, 4, 9, 10, 13, 14, 19, 20, 23, 24, 25, 26, 27, 28, 35, 36, 39, 40, 43, 44, 45, 46,
        ],
        difficulties: &[0, 1, 2, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                zero_sum(ram.at(0x8e) - ram.at(0x8d), progress);
                let serves = ram.at(0x8c) & 0xf0 == 0;
                punish_waiting(
                    serves.then(|| usize::from(ram.at(0x92) == 0)),
                    120,
                    progress,
                );
                progress.over = ram.at(0x8d) == 21 || ram.at(0x8e) == 21;
            },
        }),
        proved: true,
        ..game("pong", "60e0ea3cbe0913d39803477945e9e5ec", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xdc) == mode - 1)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[
            33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54,
            55, 56, 57, 58, 59, 60, 61, 62, 63, 64,
        ],
        difficulties: &[0, 1],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: lives(2),
            after_frame: |ram, _, progress| {
                own_scores([ram.bcd(&[0xe6, 0xe8]), ram.bcd(&[0xe7, 0xe9])], progress);
                for reward in [&mut progress.reward, &mut progress.second.reward] {
                    // The counter of four digits begins anew.
                    *reward += if *reward < 0 { 10_000 } else { 0 };
                }
                own_lives([ram.at(0xc9) - 1; 2], progress);
                progress.over = ram.at(0x98) & 0x80 != 0 || ram.at(0xc9) == 0;
            },
        }),
        proved: true,
        ..game(
            "space_invaders",
            "72ffbef6504b75e69ee1045af9075f66",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xa7) == bcd(mode))),
        modes: &[1, 2, 3, 4, 5],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 6,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                let [first, second] = [0xa7, 0xa8].map(|address| ram.bcd(&[address]));
                zero_sum(first - second, progress);
                progress.over = ram.at(0x80) == 0 || first == 10 || second == 10;
            },
        }),
        proved: true,
        ..pal(
            "space_war",
            "b702641d698c60bcdc922dbd8c9dd49c",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xf9) == mode - 1)),
        controller: Controller::RightJoystick,
        actions: &[Noop, Up, Right, Left, Down],
        modes: &[1, 5, 6, 7, 8, 9, 10, 11, 12],
        difficulties: &[0, 1, 2, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 2,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                let [first, second] = [0xf7, 0xf6].map(|address| ram.bcd(&[address]));
                zero_sum(first - second, progress);
                progress.over = first == 10 || second == 10;
            },
        }),
        proved: true,
        ..game("surround", "4d7517ae69f95cfbc053be01312b7dba", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x80) == mode - 1)),
        modes: &[2, 4],
        difficulties: &[0, 1, 2, 3],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: without_lives(),
            after_frame: |ram, _, progress| {
                let games = progress.memory[1];
                progress.reward = tennis(ram, progress);
                progress.second.reward = -progress.reward;
                // Who serves changes with each game.
                let [server, waited] = &mut progress.second.memory;
                *server ^= i32::from(progress.memory[1] != games);
                let serves = ram.at(0xcc) != 0;
                *waited = if serves { *waited + 1 } else { 1 };
                if *waited == 180 {
                    *waited = 0;
                    let server = *server as usize;
                    punish(server, progress);
                }
                progress.over = tennis_is_over(ram.at(0xc7), ram.at(0xc8));
            },
        }),
        proved: true,
        ..game("tennis", "42cdd6a9e42a3639e190722b8ea3fc51", Mapper::Flat)
    },
    Game {
        controller: Controller::RightJoystick,
        select: Some(select(1, |ram, mode| ram.at(0x81) == mode)),
        actions: &[
            Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
        ],
        modes: &[1],
        difficulties: &[0, 1],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 0,
            start: lives(2),
            after_frame: |ram, _, progress| {
                own_scores(
                    [[0x88, 0x86], [0x87, 0x85]].map(|digits| wizard_of_wor_score_at(ram, digits)),
                    progress,
                );
                let left = [0x8d, 0x8c].map(|address| ram.at(address) & 15);
                // A worrior lost counts once the next has left the cage.
                if ram.at(0xd7) & 1 == 0 {
                    progress.lives = left[0] - 1;
                }
                if ram.at(0xd6) & 1 == 0 {
                    progress.second.lives = left[1] - 1;
                }
                progress.over = left == [0; 2] && ram.at(0xf4) == 0xf8;
            },
        }),
        proved: true,
        ..game(
            "wizard_of_wor",
            "7e8aa18bc9502eb57daaf5e7c1e94da7",
            Mapper::Flat,
        )
    },
];

/// Before the first frame of a game without lives.
const fn without_lives() -> Progress {
    Progress::at_start(0, 0)
}

/// Before the first frame of a game in which both have so many.
const fn lives(each: i32) -> Progress {
    let start = Progress::at_start(each, 0);
    Progress {
        second: Second {
            lives: each,
            ..start.second
        },
        ..start
    }
}

/// What one player gains the other loses.
fn zero_sum(lead: i32, progress: &mut Progress) {
    progress.reward = lead - std::mem::replace(&mut progress.score, lead);
    progress.second.reward = -progress.reward;
}

/// Each is rewarded by what the own score grew.
fn own_scores([first, second]: [i32; 2], progress: &mut Progress) {
    progress.reward = first - std::mem::replace(&mut progress.score, first);
    let of_second = &mut progress.second;
    of_second.reward = second - std::mem::replace(&mut of_second.score, second);
}

fn own_lives(lives: [i32; 2], progress: &mut Progress) {
    [progress.lives, progress.second.lives] = lives;
}

/// A point is taken from the player for whom all have waited so many frames, if for any.
fn punish_waiting(player: Option<usize>, frames: i32, progress: &mut Progress) {
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
fn punish(player: usize, progress: &mut Progress) {
    let rewards = [&mut progress.reward, &mut progress.second.reward];
    *rewards[player] -= 1;
}

/// Entombed: lives are two bits each; in mode 2 who loses one gives a point to the other, in mode 3 both have one for each
/// part of the maze that lies behind them.
fn entombed(ram: Ram, mode: u32, progress: &mut Progress) {
    let lives = [ram.at(0xc7) & 3, ram.at(0xc7) >> 4 & 3];
    if mode == 2 {
        zero_sum(lives[0] - lives[1], progress);
    } else {
        let way = ram.at(0xef);
        let rises = i32::from(way > std::mem::replace(&mut progress.score, way));
        progress.reward = rises;
        progress.second.reward = rises;
    }
    own_lives(lives, progress);
    progress.over = lives.contains(&0);
}

/// Every game for two, in alphabetical order.
pub fn all() -> impl Iterator<Item = &'static Game> {
    GAMES.iter()
}

/// The game for two whose ROM has this MD5.
#[must_use]
pub fn by_md5(md5: &str) -> Option<&'static Game> {
    all().find(|game| game.md5 == md5)
}

/// The game for two of a name: "pong".
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Game> {
    all().find(|game| game.name == name)
}
