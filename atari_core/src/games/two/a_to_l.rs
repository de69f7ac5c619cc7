//! The games for two from A to L.

use super::rules::{
    double_dunk, entombed, in_reserve, lives, own_lives, own_scores, without_lives, zero_sum,
};
use crate::Action::{
    Down, DownLeft, DownRight, Fire, Left, Noop, Right, Up, UpFire, UpLeft, UpRight,
};
use crate::Mapper;
use crate::games::odd::{boxing_points, signed};
use crate::games::rules::RulesForTwo;
use crate::games::{Game, Select, game, pal, select};

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
        proved: true,
        ..pal("combat", "0ef64cdbecccb7049752a3de0b7ade14", Mapper::Flat)
    },
    Game {
        select: Some(Select::Menu {
            row: 0xb0,
            byte: 0x80,
            options: &[
                (0, 16, 0x40),
                (2, 1, 0x08),
                (3, 2, 0x10),
                (4, 4, 0x04),
                (5, 8, 0x20),
            ],
            then: None,
        }),
        reset_frames: 4,
        start: &[(UpFire, 1)],
        modes: &[
            16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
        ],
        rules_for_two: Some(RulesForTwo {
            loaded_mode: 0,
            start: without_lives(),
            after_frame: double_dunk,
        }),
        proved: true,
        ..game(
            "double_dunk",
            "368d88a6c071caba60b4f778615aae94",
            Mapper::F6,
        )
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
        lives_of_both: in_reserve,
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
];
