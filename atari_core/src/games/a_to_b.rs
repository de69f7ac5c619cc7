//! The games from A to B.

use super::odd::{beam_rider_lives, blackjack_chips, blackjack_is_broke, boxing_points};
use super::rules::{Progress, Rules, Score, no_lives, one_life};
use super::{Controller, Game, Held, Select, game, paddles, pal, select};
use crate::Action::{
    Down, DownFire, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire,
    UpLeft, UpLeftFire, UpRight, UpRightFire,
};
use crate::Mapper;
use crate::input::{BLACKJACK_PADDLE_MAX, LONGEST_PADDLE_MAX};

pub(super) static GAMES: &[Game] = &[
    Game {
        select: Some(Select::Switch {
            reset_frames: 4,
            idle_frames: 0,
            first_press: 0,
            held: Held::Random,
            shows: |ram, mode| ram.at(0xdd) >> 1 & 3 == mode,
        }),
        modes: &[0, 1, 2],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Quest(|ram| ram.at(0xb9) == 0x12),
            lives: one_life,
            over: |ram, _| ram.at(0xe0) == 2 || ram.at(0xb9) == 0x12,
        }),
        proved: true,
        ..pal(
            "adventure",
            "4b27f5397c442d25f0c418ccdacf1926",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(Select::Switch {
            reset_frames: 4,
            idle_frames: 0,
            first_press: 20,
            held: Held::Frames(10),
            shows: |ram, mode| ram.at(0xaa) == mode,
        }),
        start: &[(Fire, 1)],
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[1, 2, 3, 4, 5, 6, 7, 8],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xa8, 0xa9, 0xaa])),
            lives: one_life,
            over: |ram, _| ram.at(0xa7) == 0xff,
        }),
        proved: true,
        ..pal("air_raid", "35be55426c1fec32dfb503b4f0651572", Mapper::Flat)
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0x81) == mode)),
        modes: &[0, 1, 2, 3],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.shapes(&[0x83, 0x85, 0x87, 0x89, 0x8b]) * 10),
            lives: |ram, _| ram.at(0xc0) & 15,
            over: |ram, _| ram.at(0xc0) & 15 == 0,
        }),
        proved: true,
        ..game("alien", "f1a0a23e6464d954e3a9579c4ccd01c8", Mapper::Flat)
    },
    Game {
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
        ],
        difficulties: &[0, 3],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.bcd(&[0xdb, 0xda, 0xd9])),
            lives: |ram, _| ram.at(0xd6) & 15,
            over: |ram, _| ram.at(0xd6) == 0x80,
        }),
        proved: true,
        ..game("amidar", "acb7750b4d0c4bd34969802a7deb2990", Mapper::Flat)
    },
    Game {
        actions: &[Noop, Fire, Up, Right, Left, RightFire, LeftFire],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0x80, 0x81, 0x82])),
            lives: |ram, _| ram.at(0xe5),
            over: |ram, _| ram.at(0xe5) == 0,
        }),
        proved: true,
        ..game("assault", "de78b3a064d374390ac0710f95edde92", Mapper::Flat)
    },
    Game {
        start: &[(Fire, 1)],
        actions: &[
            Noop, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xde, 0xdf, 0xe0])),
            lives: |ram, _| ram.at(0xd3) & 15,
            over: |ram, _| ram.at(0xc7) == 1 && ram.at(0xd3) & 15 == 1,
        }),
        proved: true,
        ..game("asterix", "89a68746eff7f266bbf08de2483abe55", Mapper::F8)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x80) == mode)),
        no_comb: true,
        actions: &[
            Noop,
            Fire,
            Up,
            Right,
            Left,
            Down,
            UpRight,
            UpLeft,
            UpFire,
            RightFire,
            LeftFire,
            DownFire,
            UpRightFire,
            UpLeftFire,
        ],
        modes: &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
            24, 25, 26, 27, 28, 29, 30, 31, 128,
        ],
        difficulties: &[0, 3],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Wraps(|ram| ram.bcd(&[0xbd, 0xbe]) * 10, 100_000),
            lives: |ram, _| ram.at(0xbc) >> 4,
            over: |ram, _| ram.at(0xbc) >> 4 == 0,
        }),
        proved: true,
        ..game("asteroids", "ccbd36746ed4525821a8083b0d6d2c2c", Mapper::F8)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x8d) == mode)),
        actions: &[Noop, Fire, RightFire, LeftFire],
        modes: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(6, 0),
            score: Score::UntilOver(|ram| ram.bcd(&[0xa1, 0xa3, 0xa2]) * 100),
            lives: |ram, _| ram.at(0xf1),
            over: |ram, _| ram.at(0xf1) == 0xff,
        }),
        proved: true,
        ..game("atlantis", "9ad36e699ef6f45d9eb6c4cf90475c9f", Mapper::Flat)
    },
    Game {
        actions: &[Noop, Fire, RightFire, LeftFire],
        rules: Some(Rules {
            start: Progress::at_start(6, 0),
            score: Score::UntilOver(|ram| ram.bcd(&[0xa3, 0xa2, 0xa1])),
            lives: |ram, _| ram.at(0xf1),
            over: |ram, _| ram.at(0xf1) == 0xff,
        }),
        proved: true,
        ..game(
            "atlantis2",
            "826481f6fc53ea47c9f272f7050eedf7",
            Mapper::Flat,
        )
    },
    Game {
        controller: Controller::Paddles {
            player: 0,
            others: None,
            max: LONGEST_PADDLE_MAX,
        },
        select: Some(select(1, |ram, _| ram.at(0xdc) == 3)),
        actions: &[Fire, Right, Left],
        difficulties: &[0, 3],
        differs: Some("how its reward follows from RAM"),
        ..game(
            "backgammon",
            "8556b42aa05f94bc29ff39c39b11bff4",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0x80) == mode)),
        modes: &[0, 4, 8, 12, 16, 20, 24, 28],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xd8, 0xd9, 0xda])),
            lives: |ram, _| ram.at(0xd5),
            over: |ram, _| ram.at(0xce) == 1 && ram.at(0xd5) == 0,
        }),
        proved: true,
        ..game(
            "bank_heist",
            "00ce0bdd43aed84a983bef38fe7f5ee3",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xc5) == mode)),
        actions: &[Noop, Fire, Up, Right, Left, Down],
        modes: &[5, 6, 7, 8],
        difficulties: &[0, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0x84])),
            lives: one_life,
            over: |ram, _| ram.at(0x86) != 0,
        }),
        proved: true,
        ..game(
            "basic_math",
            "819aeeb9a2e11deb54e6de334f843894",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xa1) == mode)),
        no_comb: true,
        modes: &[1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| {
                ram.digit(ram.at(0x9d) >> 4) * 1_000
                    + ram.digit(ram.at(0x9e) & 15) * 10_000
                    + ram.digit(ram.at(0x9e) >> 4) * 100_000
            }),
            lives: |ram, _| ram.at(0xba) & 15,
            over: |ram, _| ram.at(0xba) & 15 == 0,
        }),
        proved: true,
        ..game(
            "battle_zone",
            "41f252a66c6301f1e8ab3612c19bc5d4",
            Mapper::F8,
        )
    },
    Game {
        start: &[(Right, 1)],
        actions: &[
            Noop, Fire, Up, Right, Left, UpRight, UpLeft, RightFire, LeftFire,
        ],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x8b, 0x8a, 0x89])),
            lives: beam_rider_lives,
            over: |ram, _| ram.at(0x85) == 0xff,
        }),
        proved: true,
        ..game("beam_rider", "79ab4123a83dc11d468fb2108ea09e2e", Mapper::F8)
    },
    Game {
        select: Some(Select::Switch {
            reset_frames: 4,
            idle_frames: 20,
            first_press: 0,
            held: Held::Frames(2),
            shows: |ram, mode| ram.at(0x80) == mode,
        }),
        modes: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 18],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xdd, 0xde, 0xdf])),
            lives: |ram, _| ram.at(0xda) + 1,
            over: |ram, _| ram.at(0xda) == 0xff,
        }),
        proved: true,
        ..game("berzerk", "136f75c4dd02c29283752b7e5799f978", Mapper::Flat)
    },
    Game {
        controller: Controller::Paddles {
            player: 0,
            others: None,
            max: BLACKJACK_PADDLE_MAX,
        },
        actions: &[Noop, Fire, Up, Down],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(1, 200),
            score: Score::Of(blackjack_chips),
            lives: one_life,
            over: |ram, _| blackjack_chips(ram) >= 1000 || blackjack_is_broke(ram),
        }),
        proved: true,
        ..game(
            "blackjack",
            "0a981c03204ac2b278ba392674682560",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x82) == mode)),
        actions: &[Noop, Fire, Up, Down, UpFire, DownFire],
        modes: &[0, 2, 4],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.bcd(&[0xa6, 0xa1])),
            lives: no_lives,
            over: |ram, _| ram.at(0xa4) > 0x10,
        }),
        proved: true,
        ..game("bowling", "c9b7afad3bfd922e006a6bfc1d4f3fe7", Mapper::Flat)
    },
    Game {
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| boxing_points(ram.at(0x92)) - boxing_points(ram.at(0x93))),
            lives: no_lives,
            over: |ram, _| {
                boxing_points(ram.at(0x92)) == 100
                    || boxing_points(ram.at(0x93)) == 100
                    || ram.at(0x90) >> 4 == 0 && ram.at(0x91) == 0
            },
        }),
        proved: true,
        ..game("boxing", "c3ef5c4653212088eda54dc91d787870", Mapper::Flat)
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0xb2) == mode)),
        controller: paddles(0, None),
        actions: &[Noop, Fire, Right, Left],
        modes: &[0, 4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| (ram.at(0xcc) & 15) * 100 + ram.bcd(&[0xcd])),
            lives: |ram, _| ram.at(0xb9),
            over: |ram, _| ram.at(0xb9) == 0,
        }),
        proved: true,
        ..game("breakout", "f34f08e5eb96e500e851a80be3277a56", Mapper::Flat)
    },
];
