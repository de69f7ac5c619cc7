use tch::{Device, Kind, Tensor};
use vec_env::{Dtype, ObsSpec};

use crate::{
    error::TrainerError,
    nn::{Body, BodyStyle, ParamsBuilder},
    random::seeded_rng,
    settings::{Net, NetSettings},
};

fn body(net: Net, shape: &[usize], dtype: Dtype) -> Result<(Body, Vec<String>), TrainerError> {
    let settings = NetSettings {
        net,
        ..NetSettings::default()
    };
    let spec = ObsSpec {
        shape: shape.to_vec(),
        dtype,
    };
    let mut rng = seeded_rng(1);
    let mut params = ParamsBuilder::new(&mut rng);
    let style = BodyStyle {
        rectified: true,
        layer_norm: true,
        last_layer: true,
    };
    let body = Body::new(&mut params, "first.", &spec, &settings, style)?;
    let params = params.finish(Device::Cpu);
    let names = params.named().map(|(name, _)| name.to_owned()).collect();
    Ok((body, names))
}

#[test]
fn the_features_are_as_many_as_it_says() {
    for (net, shape, dtype) in [
        (Net::Auto, [2, 40, 44].as_slice(), Dtype::Uint8),
        (Net::Nature, &[1, 36, 36], Dtype::Uint8),
        (Net::Impala, &[2, 40, 44], Dtype::Uint8),
        (Net::Impala, &[1, 1, 9], Dtype::Uint8),
        (Net::Auto, &[3], Dtype::Float32),
        (Net::Mlp, &[128], Dtype::Uint8),
    ] {
        let (body, names) = body(net, shape, dtype).unwrap();
        assert!(
            names.iter().all(|name| name.starts_with("first.")),
            "{names:?}"
        );
        let lengths = shape.iter().map(|length| *length as i64);
        let lengths: Vec<i64> = [5].into_iter().chain(lengths).collect();
        let kind = match dtype {
            Dtype::Uint8 => Kind::Uint8,
            Dtype::Float32 => Kind::Float,
        };
        let obs = Tensor::ones(&lengths[..], (kind, Device::Cpu));
        let features = body.forward(&obs, Kind::BFloat16);
        assert_eq!(features.size(), [5, body.features]);
        assert_eq!(features.kind(), Kind::BFloat16);
    }
}

#[test]
fn a_width_that_no_layer_has_is_refused() {
    let settings = NetSettings {
        mlp_width: 128,
        ..NetSettings::default()
    };
    let made = |shape: &[usize], dtype| {
        let shape = shape.to_vec();
        let mut rng = seeded_rng(1);
        let mut params = ParamsBuilder::new(&mut rng);
        let style = BodyStyle::ACTOR_CRITIC;
        Body::new(&mut params, "", &ObsSpec { shape, dtype }, &settings, style)
    };
    assert_eq!(made(&[4], Dtype::Float32).unwrap().features, 128);
    let error = made(&[4, 84, 84], Dtype::Uint8).unwrap_err().to_string();
    assert!(
        error.contains("mlp_width") && error.contains("is not read"),
        "{error}"
    );
}

#[test]
fn a_net_that_does_not_fit_the_observations_is_refused_by_name() {
    for (net, shape, dtype, words) in [
        (
            Net::Mlp,
            [4, 84, 84].as_slice(),
            Dtype::Uint8,
            "`net` = mlp cannot take",
        ),
        (
            Net::Nature,
            &[128],
            Dtype::Uint8,
            "`net` = nature cannot take",
        ),
        (
            Net::Impala,
            &[4],
            Dtype::Float32,
            "`net` = impala cannot take",
        ),
        (
            Net::Impala,
            &[4, 0, 84],
            Dtype::Uint8,
            "too small for the IMPALA network",
        ),
        (
            Net::Nature,
            &[4, 84, 84],
            Dtype::Float32,
            "`net` = nature cannot take",
        ),
        (
            Net::Auto,
            &[4, 84, 84],
            Dtype::Float32,
            "`net` = auto cannot take",
        ),
        (
            Net::Auto,
            &[7, 7],
            Dtype::Float32,
            "`net` = auto cannot take",
        ),
        (
            Net::Auto,
            &[1, 30, 84],
            Dtype::Uint8,
            "too small for the Nature CNN",
        ),
    ] {
        let message = body(net, shape, dtype).unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}
