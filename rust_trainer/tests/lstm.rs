//! The LSTM layer against `torch.nn.LSTM` (`lstm.py`): outputs, states and gradients of sequences with
//! episode starts inside.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{collections::HashMap, path::Path, process::Command};

use rust_trainer::{
    nn::{Lstm, ParamsBuilder},
    random::seeded_rng,
};
use tch::{Device, Kind, Tensor, no_grad};

#[test]
fn the_layer_is_that_of_torch_with_resets_at_episode_starts() {
    let folder = tempfile::tempdir().unwrap();
    let python = std::env::var("VIRTUAL_ENV").expect("run the tests by ./scripts/test");
    let status = Command::new(python + "/bin/python")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lstm.py"))
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    let theirs = Tensor::read_safetensors(folder.path().join("lstm.safetensors")).unwrap();
    let theirs: HashMap<String, Tensor> = theirs.into_iter().collect();
    let of = |name: &str| &theirs[name];

    let (inputs, size) = (of("x").size()[2], of("state").size()[2]);
    let mut rng = seeded_rng(1);
    let mut params = ParamsBuilder::new(&mut rng);
    let lstm = Lstm::new(&mut params, "lstm", inputs, size);
    let params = params.finish(Device::Cpu);
    no_grad(|| {
        for (name, tensor) in params.named() {
            tensor.shallow_clone().copy_(of(name));
        }
    });
    let x = of("x").set_requires_grad(true);
    let state = of("state").set_requires_grad(true);
    let starts = Vec::<bool>::try_from(of("starts").flatten(0, -1)).unwrap();
    let (output, last) = lstm.forward(&x, &state, &starts);
    let loss = (&output * of("weighing.output")).sum(Kind::Float)
        + (&last * of("weighing.last")).sum(Kind::Float);
    loss.backward();

    let mut ours = vec![
        ("output", output.detach()),
        ("last", last.detach()),
        ("gradient.x", x.grad()),
        ("gradient.state", state.grad()),
    ];
    let names: Vec<String> = params
        .named()
        .map(|(name, _)| format!("gradient.{name}"))
        .collect();
    let gradients = params.named().map(|(_, tensor)| tensor.grad());
    ours.extend(names.iter().map(String::as_str).zip(gradients));
    assert_eq!(ours.len(), 8);
    for (name, ours) in ours {
        let largest = of(name).abs().max().double_value(&[]);
        let difference = (ours - of(name)).abs().max().double_value(&[]);
        assert!(
            difference < 1e-6 * largest.max(1.0),
            "{name}, of at most {largest}, differs by {difference:e}"
        );
    }
}
