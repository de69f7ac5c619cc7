//! What a server cannot have made.

use super::spec;
use crate::messages::{Array, Box as BoxSpace, Discrete, Space, Welcome, space::Kind};

fn welcome(num_players: u32, shape: Vec<u64>) -> Welcome {
    let bound = Array {
        dtype: "<f4".to_owned(),
        shape,
        ..Array::default()
    };
    let observed = BoxSpace {
        low: Some(bound.clone()),
        high: Some(bound),
    };
    let acted = Discrete {
        n: 2,
        dtype: "<i8".to_owned(),
        ..Discrete::default()
    };
    let space = |kind| Some(Space { kind: Some(kind) });
    Welcome {
        num_envs: 1,
        batch_size: 1,
        num_players,
        autoreset: "same-step".to_owned(),
        observation_space: space(Kind::Box(observed)),
        action_space: space(Kind::Discrete(acted)),
        ..Welcome::default()
    }
}

#[test]
fn players_and_observations_that_cannot_be_are_named() {
    for (num_players, shape, told) in [
        (0, vec![4], "of 0 players"),
        (3, vec![4], "of 3 players"),
        (u32::MAX, vec![4], "of 4294967295 players"),
        (1, vec![2, 0], "of shape [2, 0]"),
        (1, vec![1 << 41], "of shape [2199023255552]"),
        (
            1,
            vec![1 << 40, 1 << 40],
            "of shape [1099511627776, 1099511627776]",
        ),
    ] {
        let problem = spec(&welcome(num_players, shape)).unwrap_err();
        assert!(problem.contains(told), "{problem}");
    }
    for (num_players, shape) in [(1, vec![]), (2, vec![3, 5])] {
        let (made, ..) = spec(&welcome(num_players, shape)).unwrap();
        assert_eq!(made.num_players, num_players as usize);
    }
}
