//! The games from T to Z.

use super::odd::{
    checkers_result, tennis, tennis_is_over, tic_tac_toe_is_lost, time_pilot_lives, video_cube,
    video_cube_is_over, wizard_of_wor_lives, wizard_of_wor_score, word_zapper,
};
use super::rules::{Progress, Rules, Score, no_lives, one_life};
use super::{Controller, Game, Held, Select, bcd, game, select};
use crate::Action::{
    Down, DownFire, DownLeft, DownRight, Fire, Left, LeftFire, Noop, Right, RightFire, Up, UpFire,
    UpLeft, UpRight,
};
use crate::Mapper;

pub(super) static GAMES: &[Game] = &[
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x80) == mode)),
        modes: &[0, 2],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Rewards(tennis),
            lives: no_lives,
            over: |ram, _| tennis_is_over(ram.at(0xc7), ram.at(0xc8)),
        }),
        proved: true,
        ..game("tennis", "42cdd6a9e42a3639e190722b8ea3fc51", Mapper::Flat)
    },
    Game {
        actions: &[Noop, Fire, Right, Left, Down],
        rules: Some(Rules {
            start: Progress::at_start(0, 0),
            score: Score::Gains(|ram| ram.bcd(&[0xf2, 0xf1])),
            lives: no_lives,
            over: |ram, _| ram.at(0xf3) & 0x80 != 0,
        }),
        proved: true,
        ..game("tetris", "b0e1ee07fbc73493eac5651a52f90f00", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0x88) == mode)),
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        difficulties: &[0, 2],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Rewards(|ram, _| -i32::from(tic_tac_toe_is_lost(ram))),
            lives: one_life,
            over: |ram, _| {
                tic_tac_toe_is_lost(ram) || (0x9a..0xda).all(|square| ram.at(square) != 0)
            },
        }),
        proved: true,
        ..game(
            "tic_tac_toe_3d",
            "0db4f4150fecf77e4ce72ca4d04c052f",
            Mapper::Flat,
        )
    },
    Game {
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
        ],
        difficulties: &[0, 1, 2],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| ram.bcd(&[0x8f, 0x8d]) * 100),
            lives: time_pilot_lives,
            over: |ram, _| ram.at(0xa0) != 0,
        }),
        proved: true,
        ..game("time_pilot", "fc2104dd2dadf9a6176c1c1c8f87ced9", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| ram.bcd(&[0xbd, 0xbe, 0xbf])),
            lives: |ram, _| 5 - ram.at(0xc8),
            over: |ram, _| ram.at(0xc8) == 5,
        }),
        proved: true,
        ..game("trondead", "fb27afe896e7c928089307b32e5642ee", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xea) == mode)),
        start: &[(Fire, 1)],
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft, RightFire,
            LeftFire,
        ],
        modes: &[0, 1, 2, 3, 4, 5, 6, 7, 8],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| (ram.bcd(&[0x8a, 0x89]) + ram.at(0xd3)) * 10),
            lives: |ram, _| ram.at(0xb9),
            over: |ram, _| ram.at(0xb9) == 0 && ram.at(0xc5) == 1,
        }),
        proved: true,
        ..game("turmoil", "7a5463545dfb2dcfdafa6074b2f2c15e", Mapper::Flat)
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xab) == mode)),
        actions: &[Noop, Up, Right, Left, Down, UpFire, RightFire, LeftFire],
        modes: &[0, 4, 8, 12],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0x9a, 0x9c])),
            lives: |ram, _| ram.at(0x9e) & 3,
            over: |ram, _| ram.at(0x9e) == 0 && ram.at(0x81) != 0x84,
        }),
        proved: true,
        ..game("tutankham", "085322bae40d904f53bdcc56df0593fc", Mapper::E0)
    },
    Game {
        start: &[(Fire, 1)],
        top: 30,
        actions: &[Noop, Fire, Up, Down, UpFire, DownFire],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| ram.bcd(&[0x80, 0x81, 0x82])),
            lives: |ram, _| (ram.at(0x86) & 15) + 1,
            over: |ram, _| ram.at(0x94) > 0x40 && ram.at(0x86) & 15 == 0,
        }),
        proved: true,
        ..game("up_n_down", "a499d720e7ee35c62424de882a3351b6", Mapper::F8)
    },
    Game {
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xc7, 0xc8]) * 100),
            lives: |ram, _| (ram.at(0xc6) & 7) + 1,
            over: |ram, _| ram.at(0xcd) == 0xff && ram.at(0xbf) & 0x80 != 0 && ram.at(0xc6) == 0,
        }),
        proved: true,
        ..game("venture", "3e899eba0ca8cd2972da1ae5479b4f0d", Mapper::Flat)
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0xf6) == bcd(mode))),
        actions: &[Fire, UpRight, UpLeft, DownRight, DownLeft],
        modes: &[
            1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19,
        ],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Rewards(|ram, _| checkers_result(ram)),
            lives: one_life,
            over: |ram, _| checkers_result(ram) != 0,
        }),
        proved: true,
        ..game(
            "video_checkers",
            "539d26b6e9df0da8e7465f0f5ad863b7",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(1, |ram, mode| ram.at(0xea) == mode)),
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpRight, UpLeft, DownRight, DownLeft,
        ],
        modes: &[0, 1, 2, 3, 4],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Rewards(|ram, _| match (ram.at(0xe1), ram.at(0xee)) {
                (0x82, 0) => 1,
                (0x82, 1) => -1,
                _ => 0,
            }),
            lives: one_life,
            over: |ram, _| ram.at(0xe1) == 0x82 && ram.at(0xee) < 2,
        }),
        proved: true,
        ..game(
            "video_chess",
            "f0b7db930ca0e548c41a97160b9f6275",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(Select::Stick {
            select_frames: 2,
            shows: |ram, mode| ram.at(0xfb) & 31 == [0, 2, 8][(mode % 100).clamp(0, 2) as usize],
            points: |ram, mode| ram.bcd(&[0x9f]) == (mode / 100).max(1),
        }),
        reset_frames: 4,
        start: &[(Noop, 61), (Fire, 1), (Noop, 2)],
        modes: &[
            0, 1, 2, 100, 101, 102, 200, 201, 202, 300, 301, 302, 400, 401, 402, 500, 501, 502,
            600, 601, 602, 700, 701, 702, 800, 801, 802, 900, 901, 902, 1000, 1001, 1002, 1100,
            1101, 1102, 1200, 1201, 1202, 1300, 1301, 1302, 1400, 1401, 1402, 1500, 1501, 1502,
            1600, 1601, 1602, 1700, 1701, 1702, 1800, 1801, 1802, 1900, 1901, 1902, 2000, 2001,
            2002, 2100, 2101, 2102, 2200, 2201, 2202, 2300, 2301, 2302, 2400, 2401, 2402, 2500,
            2501, 2502, 2600, 2601, 2602, 2700, 2701, 2702, 2800, 2801, 2802, 2900, 2901, 2902,
            3000, 3001, 3002, 3100, 3101, 3102, 3200, 3201, 3202, 3300, 3301, 3302, 3400, 3401,
            3402, 3500, 3501, 3502, 3600, 3601, 3602, 3700, 3701, 3702, 3800, 3801, 3802, 3900,
            3901, 3902, 4000, 4001, 4002, 4100, 4101, 4102, 4200, 4201, 4202, 4300, 4301, 4302,
            4400, 4401, 4402, 4500, 4501, 4502, 4600, 4601, 4602, 4700, 4701, 4702, 4800, 4801,
            4802, 4900, 4901, 4902, 5000, 5001, 5002,
        ],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(1, 0),
            score: Score::Rewards(video_cube),
            lives: one_life,
            over: video_cube_is_over,
        }),
        proved: true,
        ..game(
            "video_cube",
            "3f540a30fdee0b20aed7288e4a5ea528",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xc1) == mode)),
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire,
        ],
        modes: &[0, 2],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(|ram| ram.bcd(&[0xb4, 0xb2, 0xb0])),
            lives: |ram, _| 4 - (ram.at(0x99) & 7) + (ram.at(0xa8) & 1),
            over: |ram, _| ram.at(0xaf) & 1 != 0,
        }),
        proved: true,
        ..game(
            "video_pinball",
            "107cc025334211e6d29da0b6be46aec7",
            Mapper::Flat,
        )
    },
    Game {
        controller: Controller::RightJoystick,
        actions: &[
            Noop, Fire, Up, Right, Left, Down, UpFire, RightFire, LeftFire, DownFire,
        ],
        difficulties: &[0, 1],
        rules: Some(Rules {
            start: Progress::at_start(3, 0),
            score: Score::Of(wizard_of_wor_score),
            lives: wizard_of_wor_lives,
            over: |ram, _| ram.at(0x8d) & 15 == 0 && ram.at(0xf4) == 0xf8,
        }),
        proved: true,
        ..game(
            "wizard_of_wor",
            "7e8aa18bc9502eb57daaf5e7c1e94da7",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(2, |ram, mode| ram.at(0xdb) == mode)),
        start: &[(Noop, 486), (Fire, 1), (Noop, 2)],
        modes: &[
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
        ],
        difficulties: &[0, 1, 2, 3],
        rules: Some(Rules {
            start: Progress::at_start(1, 2),
            score: Score::Rewards(word_zapper),
            lives: one_life,
            over: |ram, _| ram.at(0xcf) != 0 && (ram.at(0xdc) == 0xff || ram.at(0xde) == 0),
        }),
        proved: true,
        ..game(
            "word_zapper",
            "ec3beb6d8b5689e867bafb5d5f507491",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(Select::Switch {
            reset_frames: 4,
            idle_frames: 0,
            first_press: 2,
            held: Held::Frames(1),
            shows: |ram, mode| ram.at(0xe3) == mode,
        }),
        start: &[(Fire, 1)],
        modes: &[0, 32, 64, 96],
        rules: Some(Rules {
            start: Progress::at_start(4, 0),
            score: Score::Of(|ram| ram.bcd(&[0xe0, 0xe1, 0xe2])),
            lives: |ram, _| ram.at(0x9e) >> 4,
            over: |ram, _| ram.at(0x9e) >> 4 == 0,
        }),
        difficulties: &[0, 1],
        proved: true,
        ..game(
            "yars_revenge",
            "c5930d0e8cdae3e037349bfa08e871be",
            Mapper::Flat,
        )
    },
    Game {
        select: Some(select(10, |ram, mode| ram.at(0x82) == mode)),
        modes: &[0, 8, 16, 24],
        rules: Some(Rules {
            start: Progress::at_start(5, 0),
            score: Score::Of(|ram| ram.bcd(&[0xe8, 0xe9]) * 100),
            lives: |ram, _| ram.at(0xea) & 7,
            over: |ram, _| ram.at(0xea) & 7 == 0,
        }),
        proved: true,
        ..game("zaxxon", "eea0da9b987d661264cce69a7c13c3bd", Mapper::F8)
    },
];
