//! The games from C to F.

use super::odd::{
    casino, casino_is_over, dark_chambers, dark_chambers_is_over, demon_attack_score, enduro_cars,
    signed,
};
use super::rules::{Progress, Rules, Score, no_lives, one_life};
use super::{Game, Select, game, paddles, select};
use crate::Action::{
    Down, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire, UpLeft,
    UpRight,
};
use crate::Mapper;

pub(super) static GAMES: &[Game] = &[
    Game {
        top: 26,
        height: 214,
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.bcd(&[0xad, 0xae]) * 10),
            lives: no_lives,
            over: |ram, _| ram.at(0x83) == 0,
        }),
        proved: true,
        ..game("carnival", "028024fb8e5e5f18ea586652f9799c96", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xd4) == mode)),
        controller: paddles(0, None),
        start: &[(Noop, 60), (Fire, 2)],
        actions: &[Noop, Fire, Up, Down],
        modes: &[0, 2, 3],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(1, 1000),
            score: Score::Rewards(casino),
            lives: one_life,
            over: casino_is_over,
        }),
        proved: true,
        ..game("casino", "b816296311019ab69a21cb9e9e235d12", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xa7) == mode)),
        modes: &[22, 86],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Gains(|ram| ram.bcd(&[0xf4, 0xf5, 0xf6])),
            lives: |ram, _| (ram.at(0xed) >> 4 & 7) + 1,
            over: |ram, _| ram.at(0xa6) & 0x40 != 0,
        }),
        proved: true,
        ..game("centipede", "91c2098e88a6b13f977af8c003e0bca5", Mapper::F8)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xe0) == mode)),
        modes: &[0, 2],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xec, 0xee]) * 100),
            lives: |ram, _| ram.at(0xe4) & 15,
            over: |ram, _| ram.at(0xe4) & 15 == 0,
        }),
        proved: true,
        ..game(
            "chopper_command",
            "c1cb228470a87beb5f36e90ac745da26",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x80) == mode)),
        actions: &[
            Noop, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        modes: &[0, 1, 2, 3],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Gains(|ram| {
                ram.at(0x82) * 100
                    + ram.at(0x83) * 1_000
                    + ram.at(0x84) * 10_000
                    + ram.at(0x85) * 100_000
            }),
            lives: |ram, _| ram.at(0xaa),
            over: |ram, _| ram.at(0xaa) == 0,
        }),
        proved: true,
        ..game(
            "crazy_climber",
            "55ef7b65066428367844342ed59f956c",
            Mapper::F8,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x8d) == mode + 1)),
        modes: &[0, 2, 4, 6],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0x8b, 0x8c, 0x8d])),
            lives: one_life,
            over: |ram, _| ram.at(0xe7) == 0x82,
        }),
        proved: true,
        ..game("crossbow", "8cd26dcf249456fe4aeb8db42d49df74", Mapper::F6)
    },
    Game {
        no_comb: true,
        start: &[(Noop, 486)],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Rewards(dark_chambers),
            lives: one_life,
            over: dark_chambers_is_over,
        }),
        proved: true,
        ..game(
            "darkchambers",
            "106855474c69d08c8ffa308d47337269",
            Mapper::F6Ram,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x9b) == mode)),
        modes: &[1, 2, 3, 4, 5, 6, 7, 8, 9, 16],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.digits(&[0xa1, 0xa0, 0x9f, 0x9e, 0x9d, 0x9c])),
            lives: |ram, _| ram.at(0xc2),
            over: |ram, _| ram.at(0xc2) == 0,
        }),
        proved: true,
        ..game("defender", "0f643c34e40e3f1daafd9c524d3ffe64", Mapper::Flat)
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0xea) == mode)),
        actions: &[Noop, Fire, Right, Left, RightFire, LeftFire],
        modes: &[1, 3, 5, 7],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(demon_attack_score),
            lives: |ram, _| ram.at(0xf2) + 1,
            over: |ram, _| ram.at(0xf1) == 0xbd && ram.at(0xf2) == 0,
        }),
        proved: true,
        ..game(
            "demon_attack",
            "f0e0addc07971561ab80d9abe1b8d333",
            Mapper::Flat,
        )
    },
    Game {
        rules: Some(Rules {
            start: Progress::at_start(2, 0),
            score: Score::Of(|ram| ram.bcd(&[0x87, 0x88]) * 100),
            lives: |ram, _| ram.at(0xa3),
            over: |ram, _| ram.at(0xa3) == 0 && ram.at(0x8b) == 0x1f && ram.at(0x8f) == 3,
        }),
        proved: true,
        ..game(
            "donkey_kong",
            "36b20c427975760cb9cf4a47e41369e4",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(Select::Menu {
            row: 0xb0,
            byte: 0x80,
            options: &[(2, 1, 0x08), (3, 2, 0x10), (4, 4, 0x04), (5, 8, 0x20)],
            then: Some(UpFire),
        }),
        reset_frames: 4,
        start: &[(UpFire, 1)],
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.bcd(&[0xf6]) - ram.bcd(&[0xf7])),
            lives: no_lives,
            over: |ram, _| {
                ram.at(0xfe) == 0xe7 && (ram.bcd(&[0xf6]) >= 24 || ram.bcd(&[0xf7]) >= 24)
            },
        }),
        proved: true,
        ..game(
            "double_dunk",
            "368d88a6c071caba60b4f778615aae94",
            Mapper::F6,
        )
    },
    Game {
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xa7])),
            lives: one_life,
            over: |ram, _| ram.bcd(&[0xa7]) == 10,
        }),
        proved: true,
        ..game("earthworld", "5aea9974b975a6a844e6df10d2b861c4", Mapper::F8)
    },
    Game {
        start: &[(Fire, 16)],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0x87, 0x88, 0x89])),
            lives: |ram, _| ram.at(0x83),
            over: |ram, _| ram.at(0x83) == 0 && ram.at(0x81) != 0,
        }),
        proved: true,
        ..game(
            "elevator_action",
            "71f8bacfbdca019113f3f0801849057e",
            Mapper::F8Ram,
        )
    },
    Game {
        start: &[(Fire, 1)],
        actions: &[
            Noop, Fire, Right, Left, Down, DownRight, DownLeft, RightFire, LeftFire,
        ],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(enduro_cars),
            lives: no_lives,
            over: |ram, _| ram.at(0xaf) == 0xff,
        }),
        proved: true,
        ..game("enduro", "94b92a882f6dbaa6993a46e2dcc58402", Mapper::Flat)
    },
    Game {
        start: &[(Fire, 1), (Noop, 5)],
        difficulties: &[0, 2],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.at(0xe3)),
            lives: one_life,
            over: |ram, _| ram.at(0xc7) & 3 == 0,
        }),
        proved: true,
        ..game("entombed", "6b683be69f92958abe0e2a9945157ad5", Mapper::Flat)
    },
    Game {
        select: Some(select(25, |ram, mode| ram.at(0xea) == mode + 1)),
        modes: &[0, 1, 2],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xdf, 0xe0, 0xe1])),
            lives: |ram, _| signed((ram.at(0xe5) + 1) & 0xff),
            over: |_, _| false,
        }),
        proved: true,
        ..game("et", "615a3bf251a38eb6638cdc7ffbde5480", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Of(|ram| ram.bcd(&[0xbd]) - ram.bcd(&[0xbe])),
            lives: no_lives,
            over: |ram, _| ram.at(0xbd) == 0x99 || ram.at(0xbe) == 0x99,
        }),
        proved: true,
        ..game(
            "fishing_derby",
            "b8865f05676e64f3bec72b9defdacfa7",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xd6) == mode)),
        modes: &[8, 9, 10],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Of(|ram| ram.bcd(&[0xea])),
            lives: one_life,
            over: |ram, _| ram.at(0xeb) == 0,
        }),
        proved: true,
        ..game(
            "flag_capture",
            "30512e0e83903fc05541d2f6a6a62654",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0x80) == mode)),
        actions: &[Noop, Up, Down],
        modes: &[0, 1, 2, 3, 4, 5, 6, 7],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Rises(|ram| ram.bcd(&[0xe7])),
            lives: no_lives,
            over: |ram, _| ram.at(0x96) == 1,
        }),
        proved: true,
        ..game("freeway", "8e0ab801b1705a740b476b7f588c6d16", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xdd) == 2 * mode + 1)),
        actions: &[Noop, Up, Right, Left, Down],
        modes: &[0, 1, 2],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xcc, 0xce])),
            lives: |ram, _| ram.at(0xd0),
            over: |ram, _| ram.at(0xd0) == 0xff,
        }),
        proved: true,
        ..game("frogger", "081e2c114c9c20b61acf25fc95c71bf4", Mapper::Flat)
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0x80) == mode)),
        modes: &[0, 2],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xc8, 0xc9, 0xca])),
            lives: |ram, _| (ram.at(0xcc) & 15) + 1,
            over: |ram, _| ram.at(0xf1) & 0x80 != 0 && ram.at(0xcc) & 15 == 0,
        }),
        proved: true,
        ..game(
            "frostbite",
            "4ca73eb959299471788f0b685c3ba0b5",
            Mapper::Flat,
        )
    },
];
