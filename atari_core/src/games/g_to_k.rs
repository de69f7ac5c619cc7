//! The games from G to K.

use super::odd::{hangman_lives, hangman_over, haunted_house, klax_is_over, klax_score};
use super::rules::{Progress, Rules, Score, no_lives, one_life};
use super::{Game, Held, Select, game, paddles, pal, select};
use crate::Action::{
    Down, DownFire, DownLeft, DownLeftFire, DownRight, DownRightFire, Fire, Left, LeftFire, Noop,
    Right, RightFire, Up, UpFire, UpLeft, UpLeftFire, UpRight, UpRightFire,
};
use crate::Mapper;

pub(super) static GAMES: &[Game] = &[
    Game {
        select: Some(select(1, |ram, mode| ram.at(0xb3) == mode)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[1, 2, 3, 4, 5, 6, 7, 8, 9],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Wraps(|ram| ram.bcd(&[0xac, 0xad, 0xae]), 1_000_000),
            lives: |ram, _| ram.at(0xb9) + 1,
            over: |ram, _| ram.at(0xbf) & 0x80 != 0,
        }),
        proved: true,
        ..game("galaxian", "211774f4c5739042618be8ff67351177", Mapper::F8)
    },
    Game {
        select: Some(Select::Switch {
            reset_frames: 8,
            idle_frames: 0,
            first_press: 0,
            held: Held::Frames(5),
            shows: |ram, mode| ram.at(0xd3) == mode,
        }),
        start: &[(Fire, 1)],
        actions: &[Noop, Fire, Up, Right, Left, UpFire, RightFire, LeftFire],
        modes: &[0, 2],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xb0, 0xb1, 0xb2])),
            lives: |ram, _| (ram.at(0xb4) & 7).count_ones().cast_signed(),
            over: |ram, _| ram.at(0xb4) & 7 == 0,
        }),
        proved: true,
        ..game("gopher", "c16c79aad6272baffb8aae9a7fff0864", Mapper::Flat)
    },
    Game {
        select: Some(select(10, |ram, mode| ram.at(0x80) == mode)),
        start: &[(Fire, 16)],
        modes: &[0, 1, 2, 3, 4],
        rules: Some(Rules {
            start: Progress::at_start(6, 0),
            score: Score::Of(|ram| ram.bcd(&[0x87, 0x88, 0x89])),
            lives: |ram, _| {
                if ram.at(0x81) == 0 {
                    6
                } else {
                    ram.at(0x84) + 1
                }
            },
            over: |ram, _| ram.at(0x81) == 1,
        }),
        proved: true,
        ..game("gravitar", "8ac18076d01a6b63acf6e2cab4968940", Mapper::F8)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xee) == mode)),
        modes: &[0, 1, 2, 3],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xeb]) - ram.bcd(&[0xec])),
            lives: hangman_lives,
            over: hangman_over,
        }),
        proved: true,
        ..game("hangman", "f16c709df0a6c52f47ff52b9d95b7d8d", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xcc) == mode)),
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(9, 0),
            score: Score::Rewards(haunted_house),
            lives: |ram, _| ram.at(0x96),
            over: |ram, _| ram.at(0x96) == 0 || ram.at(0x99) == 0x44,
        }),
        proved: true,
        ..game(
            "haunted_house",
            "f0a6e99f5875891246c3dbecbf2d2cea",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0x80) == mode)),
        modes: &[0, 1, 2, 3, 4],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xb7, 0xb8, 0xb9])),
            lives: |ram, _| ram.at(0xb3),
            over: |ram, _| ram.at(0xb3) == 0,
        }),
        proved: true,
        ..game("hero", "fca4a5be1251927027f2c24774a02160", Mapper::F8)
    },
    Game {
        select: Some(select(2, |ram, mode| {
            ram.at(0xb6) == mode + 1 && ram.at(0xb7) == 1
        })),
        modes: &[0, 1, 2, 3, 4, 5, 6, 7],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xb6])),
            lives: one_life,
            over: |ram, _| ram.at(0xb6) == 7 || ram.at(0xb7) == 7,
        }),
        proved: true,
        ..game(
            "human_cannonball",
            "7972e5101fa548b952d852db24ad6060",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x80) == mode)),
        modes: &[0, 2],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::AtMostOne(|ram| ram.bcd(&[0x8a]) - ram.bcd(&[0x8b])),
            lives: no_lives,
            over: |ram, _| ram.at(0x86) == 0 && ram.at(0x87) == 0,
        }),
        proved: true,
        ..game(
            "ice_hockey",
            "a4c08c4994eb9d24fb78be1793e82e26",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(20, |ram, mode| {
            ram.at(0x8c) == mode || ram.at(0x8c) == mode + 0x48
        })),
        modes: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(6, 0),
            score: Score::Of(|ram| ram.bcd(&[0xde, 0xdd, 0xdc])),
            lives: |ram, _| (ram.at(0x86) & 15) + 1,
            over: |ram, _| ram.at(0x8c) == 0x68 && ram.at(0x86) & 15 == 0,
        }),
        proved: true,
        ..game("jamesbond", "e51030251e440cffaab1ac63438b44ae", Mapper::E0)
    },
    Game {
        start: &[(Fire, 1)],
        height: 230,
        actions: &[
            Noop,
            Up,
            Right,
            Left,
            Down,
            UpRight,
            UpLeft,
            DownRight,
            DownLeft,
            RightFire,
            LeftFire,
            DownFire,
            UpRightFire,
            UpLeftFire,
            DownRightFire,
            DownLeftFire,
        ],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(0, 50000),
            score: Score::Of(|ram| ram.bcd(&[0x90, 0x91, 0x92])),
            lives: no_lives,
            over: |ram, _| ram.at(0x95) == 0 && ram.at(0x96) == 0,
        }),
        proved: true,
        ..game(
            "journey_escape",
            "718ae62c70af4e5fd8e932fee216948a",
            Mapper::Flat,
        )
    },
    Game {
        controller: paddles(0, None),
        start: &[(Fire, 1)],
        actions: &[Noop, Fire, Right, Left],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xa3, 0xa4, 0xa5])),
            lives: one_life,
            over: |ram, _| ram.at(0xa1) == 0,
        }),
        proved: true,
        ..game("kaboom", "5428cdfada281c569c74c7308c7f2c26", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xba) & 0x7f == mode)),
        modes: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xa7, 0xa8]) * 100),
            lives: |ram, _| (ram.at(0xad) & 7) + 1,
            over: |ram, _| ram.at(0xad) == 0xff,
        }),
        proved: true,
        ..game("kangaroo", "4326edb70ff20d0ee5ba58fa5cb09d60", Mapper::F8)
    },
    Game {
        reset_frames: 9,
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft, UpFire,
            RightFire, LeftFire, DownFire,
        ],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x9b, 0x9c])),
            lives: |ram, _| ram.at(0x96),
            over: |ram, _| ram.at(0x96) == 0 && ram.at(0x88) == 0,
        }),
        proved: true,
        ..pal(
            "keystone_kapers",
            "6c1f3f2e359dbf55df462ccbcdd2f6bf",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xec) == 2 * mode)),
        actions: &[Noop, Fire, Up, Right, Left, Down],
        modes: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x82, 0x83])),
            lives: |ram, _| ram.at(0xee),
            over: |ram, _| ram.at(0xee) == 0,
        }),
        proved: true,
        ..pal(
            "king_kong",
            "0dd4c69b5f9a7ae96a7a08329496779a",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.in_cartridge(0xea) == mode)),
        start: &[(Fire, 1), (Noop, 1)],
        modes: &[0, 1, 2],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(klax_score),
            lives: one_life,
            over: klax_is_over,
        }),
        proved: true,
        ..pal("klax", "eed9eaf1a0b6a2b9bc4c8032cb43e3fb", Mapper::F6Ram)
    },
    Game {
        actions: &[
            Noop, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.bcd(&[0x80, 0x81]) * 100),
            lives: no_lives,
            over: |ram, _| ram.at(0xd1) == 0x80,
        }),
        proved: true,
        ..game("koolaid", "534e23210dd1993c828d944c6ac4d9fb", Mapper::Flat)
    },
    Game {
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x9c, 0x9d, 0x9e])),
            lives: |ram, _| (ram.at(0x9f) & 7) + 1,
            over: |ram, _| ram.at(0x80) == 0x80 && ram.at(0x9f) == 0 && ram.at(0xa2) == 3,
        }),
        proved: true,
        ..game("krull", "4baada22435320d185c95b7dd2bcdb24", Mapper::F8)
    },
    Game {
        actions: &[
            Noop,
            Up,
            Right,
            Left,
            Down,
            DownRight,
            DownLeft,
            RightFire,
            LeftFire,
            DownFire,
            UpRightFire,
            UpLeftFire,
            DownRightFire,
            DownLeftFire,
        ],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0x98, 0x99, 0x9a])),
            lives: |ram, _| (ram.at(0x9d) & 7) + 1,
            over: |ram, _| ram.at(0x9d) == 0xff,
        }),
        proved: true,
        ..game(
            "kung_fu_master",
            "5b92a93b23523ff16e2789b820e2a4c5",
            Mapper::F8,
        )
    },
];
