//! What a human and a random player score on the 57 Atari games of the literature.
//!
//! Mean returns of whole games begun with up to 30 no-ops, cut off after 108,000 frames: a professional
//! tester's and those of uniformly random actions, as in Wang et al. 2016 ("Dueling network
//! architectures") and in `dqn_zoo/atari_data.py` of the DQN Zoo, whence these numbers. A human-normalized
//! score is 0 where a random player's is, 1 where the human's is (Mnih et al. 2015).

/// Game as in the environments' ids, score of a random player, score of a human.
const SCORES: [(&str, f64, f64); 57] = [
    ("Alien", 227.8, 7127.7),
    ("Amidar", 5.8, 1719.5),
    ("Assault", 222.4, 742.0),
    ("Asterix", 210.0, 8503.3),
    ("Asteroids", 719.1, 47_388.7),
    ("Atlantis", 12_850.0, 29_028.1),
    ("BankHeist", 14.2, 753.1),
    ("BattleZone", 2360.0, 37_187.5),
    ("BeamRider", 363.9, 16_926.5),
    ("Berzerk", 123.7, 2630.4),
    ("Bowling", 23.1, 160.7),
    ("Boxing", 0.1, 12.1),
    ("Breakout", 1.7, 30.5),
    ("Centipede", 2090.9, 12_017.0),
    ("ChopperCommand", 811.0, 7387.8),
    ("CrazyClimber", 10_780.5, 35_829.4),
    ("Defender", 2874.5, 18_688.9),
    ("DemonAttack", 152.1, 1971.0),
    ("DoubleDunk", -18.6, -16.4),
    ("Enduro", 0.0, 860.5),
    ("FishingDerby", -91.7, -38.7),
    ("Freeway", 0.0, 29.6),
    ("Frostbite", 65.2, 4334.7),
    ("Gopher", 257.6, 2412.5),
    ("Gravitar", 173.0, 3351.4),
    ("Hero", 1027.0, 30_826.4),
    ("IceHockey", -11.2, 0.9),
    ("Jamesbond", 29.0, 302.8),
    ("Kangaroo", 52.0, 3035.0),
    ("Krull", 1598.0, 2665.5),
    ("KungFuMaster", 258.5, 22_736.3),
    ("MontezumaRevenge", 0.0, 4753.3),
    ("MsPacman", 307.3, 6951.6),
    ("NameThisGame", 2292.3, 8049.0),
    ("Phoenix", 761.4, 7242.6),
    ("Pitfall", -229.4, 6463.7),
    ("Pong", -20.7, 14.6),
    ("PrivateEye", 24.9, 69_571.3),
    ("Qbert", 163.9, 13_455.0),
    ("Riverraid", 1338.5, 17_118.0),
    ("RoadRunner", 11.5, 7845.0),
    ("Robotank", 2.2, 11.9),
    ("Seaquest", 68.4, 42_054.7),
    ("Skiing", -17_098.1, -4336.9),
    ("Solaris", 1236.3, 12_326.7),
    ("SpaceInvaders", 148.0, 1668.7),
    ("StarGunner", 664.0, 10_250.0),
    ("Surround", -10.0, 6.5),
    ("Tennis", -23.8, -8.3),
    ("TimePilot", 3568.0, 5229.2),
    ("Tutankham", 11.4, 167.6),
    ("UpNDown", 533.4, 11_693.2),
    ("Venture", 0.0, 1187.5),
    ("VideoPinball", 16_256.9, 17_667.9),
    ("WizardOfWor", 563.5, 4756.5),
    ("YarsRevenge", 3092.9, 54_576.9),
    ("Zaxxon", 32.5, 9173.3),
];

/// The human-normalized score of a raw return on this environment; `None` for one that is not among the
/// 57 games.
pub fn normalized(env_id: &str, raw_return: f64) -> Option<f64> {
    let (random, human) = scores(env_id)?;
    Some((raw_return - random) / (human - random))
}

/// The scores of a random player and of a human.
pub(crate) fn scores(env_id: &str) -> Option<(f64, f64)> {
    let game = game(env_id)?;
    let &(_, random, human) = SCORES.iter().find(|(name, _, _)| *name == game)?;
    Some((random, human))
}

/// The game of an id such as `PongNoFrameskip-v4`, `Pong-v4` or `ALE/Pong-v5`.
pub(crate) fn game(env_id: &str) -> Option<&str> {
    let name = env_id.strip_prefix("ALE/").unwrap_or(env_id);
    let (name, _version) = name.rsplit_once("-v")?;
    let name = name.strip_suffix("NoFrameskip").unwrap_or(name);
    Some(name.strip_suffix("Deterministic").unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_game_is_known_by_each_of_its_ids() {
        for id in [
            "PongNoFrameskip-v4",
            "Pong-v0",
            "PongDeterministic-v4",
            "ALE/Pong-v5",
        ] {
            assert_eq!(normalized(id, 14.6), Some(1.0), "{id}");
            assert_eq!(normalized(id, -20.7), Some(0.0), "{id}");
        }
        assert_eq!(normalized("CartPole-v1", 500.0), None);
        assert_eq!(normalized("Pong", 0.0), None);
    }

    #[test]
    fn humans_are_better_than_chance() {
        let mut names = Vec::new();
        for (name, random, human) in SCORES {
            assert!(human > random, "{name}");
            names.push(name);
        }
        assert!(names.is_sorted_by(|one, next| one < next));
    }
}
