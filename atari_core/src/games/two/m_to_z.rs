//! The games for two from M to Z.

use super::rules::{
    in_reserve, lives, maze_craze, othello, own_lives, own_scores, punish, punish_waiting,
    video_checkers, warlords, without_lives, zero_sum,
};
use crate::Action::{
    Down, DownFire, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire,
    UpLeft, UpRight,
};
use crate::Mapper;
use crate::games::odd::{tennis, tennis_is_over, wizard_of_wor_score_at};
use crate::games::rules::RulesForTwo;
use crate::games::{Controller, Game, bcd, game, paddles, pal, select};
use crate::input::PADDLE_MIDDLE;

pub(super) static GAMES: &[Game] = &[
    Game {
        select: Some(select(5, |ram, mode| ram.at(0x80) == mode - 1)),
        start: &[(Noop, 10), (Fire, 7)],
        modes: &[2, 4, 6, 8],
        lives_of_both: in_reserve,
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
        select: Some(select(2, |ram, mode| ram.at(0xbd) == mode)),
        modes: &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
            24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45,
            46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63,
        ],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 0,
            start: without_lives(),
            after_frame: maze_craze,
        }),
        proved: true,
        ..pal(
            "maze_craze",
            "ed2218b3075d15eaa34e3356025ccca3",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xde) == mode)),
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        modes: &[4],
        difficulties: &[0, 2],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: without_lives(),
            after_frame: othello,
        }),
        proved: true,
        ..game("othello", "113cd09c9771ac278544b7e90efe7df2", Mapper::Flat)
    },
    Game {
        controller: paddles(1, Some(PADDLE_MIDDLE)),
        select: Some(select(2, |ram, mode| ram.at(0x96) == mode - 1)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[
            3, 4, 9, 10, 13, 14, 19, 20, 23, 24, 25, 26, 27, 28, 35, 36, 39, 40, 43, 44, 45, 46,
        ],
        difficulties: &[0, 1, 2, 3],
        default_mode: Some(4),
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
        default_mode: Some(34),
        lives_of_both: |[shared, _]| shared + 1,
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
        select: Some(select(1, |ram, mode| ram.at(0xf6) == bcd(mode))),
        actions: &[Fire, UpRight, UpLeft, DownRight, DownLeft],
        modes: &[10],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 1,
            start: without_lives(),
            after_frame: video_checkers,
        }),
        proved: true,
        ..game(
            "video_checkers",
            "539d26b6e9df0da8e7465f0f5ad863b7",
            Mapper::Flat,
        )
    },
    Game {
        controller: paddles(0, Some(PADDLE_MIDDLE)),
        select: Some(select(1, |ram, mode| ram.at(0xd9) == mode - 1)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[3, 5, 8, 10, 13, 15, 18, 20, 23],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 4,
            start: without_lives(),
            after_frame: warlords,
        }),
        proved: true,
        ..game("warlords", "cbe5a166550a8129a5e6d374901dffad", Mapper::Flat)
    },
    Game {
        controller: Controller::RightJoystick,
        select: Some(select(1, |ram, mode| ram.at(0x81) == mode)),
        actions: &[
            Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
        ],
        modes: &[1],
        difficulties: &[0, 1],
        lives_of_both: in_reserve,
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
