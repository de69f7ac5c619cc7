//! The games from L to Q.

use super::odd::{qbert_lives, qbert_over};
use super::rules::{Progress, Rules, Score, no_lives, one_life};
use super::{Game, Held, Select, game, paddles, pal, select};
use crate::Action::{
    Down, DownFire, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire,
    UpLeft, UpRight,
};
use crate::{Action, Mapper};

pub(super) static GAMES: &[Game] = &[
    Game {
        reset_frames: 9,
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.bcd(&[0x80, 0x81, 0x82])),
            lives: no_lives,
            over: |ram, _| ram.at(0x83) == 0,
        }),
        proved: true,
        ..pal(
            "laser_gates",
            "8e4cd60d93fcde8065c1a2b972a26377",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x94) == 3 * mode + 1)),
        no_button: true,
        start: &[(Fire, 1)],
        actions: &Action::WITHOUT_FIRE,
        modes: &[0, 1],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x94, 0x95, 0x96])),
            lives: |ram, _| ram.at(0xca),
            over: |ram, _| {
                ram.at(0xca) == 0 && ram.at(0xc8) == 10 && ram.at(0xa9) == 0 && ram.at(0xa5) == 0
            },
        }),
        proved: true,
        ..game(
            "lost_luggage",
            "2d76c5d1aad506442b9e9fb67765e051",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(5, |ram, mode| ram.at(0x80) == mode)),
        start: &[(Noop, 10), (Fire, 7)],
        modes: &[0, 2, 4, 6],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| ram.bcd(&[0x89, 0x8a]) * 100),
            lives: |ram, _| ram.at(0x87),
            over: |ram, _| ram.at(0x87) == 0,
        }),
        proved: true,
        ..game("mario_bros", "e908611d99890733be31733a979c62d8", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1],
        ..game(
            "miniature_golf",
            "df62a658496ac98a3aa4a6ee5719c251",
            Mapper::Flat,
        )
    },
    Game {
        rules: Some(Rules {
            start: Progress::at_start(6, 0),
            score: Score::Of(|ram| ram.bcd(&[0x93, 0x94, 0x95])),
            lives: |ram, _| (ram.at(0xba) & 7) + 1,
            over: |ram, _| ram.at(0xba) == 0 && ram.at(0xfe) == 0x60,
        }),
        proved: true,
        ..game(
            "montezuma_revenge",
            "3347a6dd59049b15a38394aa2dafa585",
            Mapper::E0,
        )
    },
    Game {
        select: Some(select(5, |ram, mode| ram.at(0x80) == mode)),
        start: &[(Fire, 1)],
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
        ],
        modes: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0x83, 0x82]) * 10),
            lives: |ram, _| ram.at(0xdb),
            over: |ram, _| ram.at(0xda) == 0x40,
        }),
        proved: true,
        ..pal("mr_do", "aa7bb54d2c189a31bb1fa20099e42859", Mapper::F8)
    },
    Game {
        select: Some(select(10, |ram, mode| {
            ram.at(0x99) == mode.max(1) && ram.at(0xa1) == i32::from(mode == 0)
        })),
        no_comb: true,
        actions: &[
            Noop, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        modes: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xfa, 0xf9, 0xf8])),
            lives: |ram, _| (ram.at(0xfb) & 7) + 1,
            over: |ram, _| ram.at(0xa7) == 0x53 && ram.at(0xfb) & 15 == 0,
        }),
        proved: true,
        ..game("ms_pacman", "87e79cd41ce136fd4f72cc6e2c161bee", Mapper::F8)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xde) == mode)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[8, 24, 40],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xc4, 0xc5, 0xc6])),
            lives: |ram, _| ram.at(0xc7) & 7,
            over: |ram, _| ram.at(0xc7) & 7 == 0,
        }),
        difficulties: &[0, 1],
        proved: true,
        ..game(
            "name_this_game",
            "36306070f0c90a72461551a7a4f3a209",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xde) == mode + 1)),
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        modes: &[0, 1, 2],
        difficulties: &[0, 2],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xce]) - ram.bcd(&[0xd0])),
            lives: one_life,
            over: |_, _| false,
        }),
        proved: true,
        ..game("othello", "113cd09c9771ac278544b7e90efe7df2", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| {
            ram.at(0xcc) == mode + 1 && ram.at(0xe6) == 0
        })),
        actions: &[Noop, Up, Right, Left, Down],
        modes: &[0, 1, 2, 3, 4, 5, 6, 7],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xd0, 0xce, 0xcc])),
            lives: |ram, _| ram.at(0x98) + 1,
            over: |ram, _| ram.at(0x98) == 0 && ram.at(0xe4) == 0x3f,
        }),
        proved: true,
        ..pal("pacman", "fc2233fc116faef0d3c31541717ca2db", Mapper::Flat)
    },
    Game {
        actions: &[Noop, Fire, Right, Left, Down, RightFire, LeftFire, DownFire],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| ram.bcd(&[0xc9, 0xc8]) * 100 + (ram.at(0xc7) >> 4) * 10),
            lives: |ram, _| ram.at(0xcb) & 7,
            over: |ram, _| ram.at(0xcc) == 0x80,
        }),
        proved: true,
        ..game("phoenix", "7e52a95074a66640fcfde124fffd491a", Mapper::F8)
    },
    Game {
        start: &[(Up, 1)],
        rules: Some(Rules {
            start: Progress::at_start(3, 2000),
            score: Score::Of(|ram| ram.bcd(&[0xd5, 0xd6, 0xd7])),
            lives: |ram, _| match ram.at(0x80) >> 4 {
                0xa => 3,
                0x8 => 2,
                _ => 1,
            },
            over: |ram, _| ram.at(0x9e) != 0 && ram.at(0x80) >> 4 == 0,
        }),
        proved: true,
        ..game("pitfall", "3e90cf23106f2e08b2781e41299de556", Mapper::Flat)
    },
    Game {
        start: &[(Up, 1)],
        rules: Some(Rules {
            start: Progress::at_start(1, 4000),
            score: Score::Of(|ram| ram.bcd(&[0xc7, 0xc8, 0xc9])),
            lives: one_life,
            over: |_, _| false,
        }),
        proved: true,
        ..game("pitfall2", "6d842c96d5a01967be9680080dd5be54", Mapper::Dpc)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x96) == mode)),
        controller: paddles(1, Some(0)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[0, 1],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.at(0x8e) - ram.at(0x8d)),
            lives: no_lives,
            over: |ram, _| ram.at(0x8d) == 21 || ram.at(0x8e) == 21,
        }),
        proved: true,
        ..game("pong", "60e0ea3cbe0913d39803477945e9e5ec", Mapper::Flat)
    },
    Game {
        select: Some(Select::Switch {
            reset_frames: 4,
            idle_frames: 0,
            first_press: 2,
            held: Held::Frames(2),
            shows: |ram, mode| ram.at(0xbd) == mode,
        }),
        top: 26,
        height: 220,
        actions: &[Noop, Fire, Up, Down, UpFire, DownFire],
        modes: &[10, 30, 50, 70],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x88, 0x89, 0x8a])),
            lives: |ram, _| (ram.at(0x96) & 7) + 1,
            over: |ram, _| ram.at(0x98) == 5 && ram.at(0x96) == 0,
        }),
        proved: true,
        ..game("pooyan", "4799a40b6e889370b7ee55c17ba65141", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x80) == mode)),
        start: &[(Up, 1)],
        modes: &[0, 1, 2, 3, 4],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(0, 1000),
            score: Score::Of(|ram| ram.bcd(&[0xc8, 0xc9, 0xca])),
            lives: no_lives,
            over: |ram, _| ram.at(0xc2) > 1,
        }),
        proved: true,
        ..game(
            "private_eye",
            "ef3a4f64b6494ba770862768caf04b86",
            Mapper::F8,
        )
    },
    Game {
        top: 40,
        actions: &[Noop, Fire, Up, Right, Left, Down],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::UntilOver(|ram| ram.bcd(&[0xd9, 0xda, 0xdb])),
            lives: qbert_lives,
            over: qbert_over,
        }),
        proved: true,
        ..game("qbert", "484b0076816a104875e00467d431c2d2", Mapper::Flat)
    },
];
