//! How ε falls.

use crate::settings::DqnSettings;

#[test]
fn epsilon_falls_linearly_and_stays() {
    let settings = DqnSettings {
        start_e: 1.0,
        end_e: 0.1,
        exploration_fraction: 0.5,
        ..DqnSettings::default()
    };
    let never = DqnSettings {
        exploration_fraction: 0.0,
        ..settings.clone()
    };
    let noisy = DqnSettings {
        noisy: true,
        ..settings.clone()
    };
    for (settings, steps, expected) in [
        (&settings, 0, 1.0),
        (&settings, 10, 0.82),
        (&settings, 40, 0.28),
        (&settings, 50, 0.1),
        (&settings, 99, 0.1),
        (&settings, 200, 0.1),
        (&never, 0, 0.1),
        (&noisy, 0, 0.0),
        (&noisy, 99, 0.0),
    ] {
        let epsilon = settings.epsilon(steps, 100);
        assert!((epsilon - expected).abs() < 1e-12, "{steps}: {epsilon}");
    }
}
