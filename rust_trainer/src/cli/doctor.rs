//! `doctor`: what this program runs on, and what is wrong with it.

use super::output::{EXIT_ERROR, EXIT_OK, say};
use crate::{
    cuda::HAS_GRAPHS,
    device,
    nn::speed::{self, IMAGES, Way},
    settings::Precision,
};
use tch::Device;

/// How much shorter another way has to take before it is called the faster one: the machine may be busy.
const MARGIN: f64 = 0.8;

/// Prints the facts; the exit status tells whether there are problems.
pub(super) fn doctor() -> i32 {
    let facts = python_shim::doctor::facts();
    say(format_args!(
        "{:<24}{}",
        "rust_trainer",
        build_commit::VERSION
    ));
    say(facts.to_string().trim_end());
    say(format_args!(
        "CUDA graphs: {}",
        if HAS_GRAPHS {
            "built in"
        } else {
            "not built in: CUDA's headers were not there (nvidia-cuda-crt)"
        }
    ));
    match speed::ways() {
        Ok(ways) => say_ways(&ways),
        Err(error) => say(format_args!(
            "the processor's speed was not measured: {error}"
        )),
    }
    if facts.problems.is_empty() {
        say("no problem found");
        EXIT_OK
    } else {
        EXIT_ERROR
    }
}

/// What the processor computes with, what that takes, and what would take less.
fn say_ways(ways: &[Way]) {
    say(format_args!(
        "{IMAGES} images forward and backward through the Nature CNN, CPU time of a thread:"
    ));
    for way in ways {
        let Way {
            precision,
            by,
            milliseconds,
        } = way;
        say(format_args!(
            "  {:<6}{by:<16}{milliseconds:6.1} ms",
            precision.name()
        ));
    }
    let auto = device::precision(Precision::Auto, Device::Cpu);
    say(format_args!("--precision auto is {auto} here"));
    for note in notes(ways, auto) {
        say(format_args!("note: {note}"));
    }
}

/// Where what is chosen is not the fastest. Of each number format the chosen way comes first.
fn notes(ways: &[Way], auto: Precision) -> Vec<String> {
    let mut notes = Vec::new();
    let chosen = |precision| ways.iter().find(|way| way.precision == precision);
    for other in ways {
        let Some(chosen) = chosen(other.precision) else {
            continue;
        };
        if other.milliseconds < MARGIN * chosen.milliseconds {
            notes.push(format!(
                "in {} {} is faster than {}, which is chosen: please report this processor",
                other.precision, other.by, chosen.by
            ));
        }
    }
    let others = ways.iter().filter(|way| way.precision != auto);
    let fastest = others.min_by(|one, other| one.milliseconds.total_cmp(&other.milliseconds));
    if let (Some(fastest), Some(auto)) = (fastest, chosen(auto))
        && fastest.milliseconds < MARGIN * auto.milliseconds
    {
        notes.push(format!(
            "`--precision {}` is faster than auto here",
            fastest.precision
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_faster_than_the_choice_is_named() {
        let way = |precision, by, milliseconds| Way {
            precision,
            by,
            milliseconds,
        };
        let mut ways = [
            way(Precision::Fp32, "AVX2", 10.0),
            way(Precision::Fp32, "libtorch", 9.0),
            way(Precision::Bf16, "libtorch", 20.0),
        ];
        assert!(notes(&ways, Precision::Fp32).is_empty());
        ways[1].milliseconds = 7.0;
        assert_eq!(
            notes(&ways, Precision::Fp32),
            ["in fp32 libtorch is faster than AVX2, which is chosen: please report this processor"]
        );
        ways[2].milliseconds = 5.0;
        let said = notes(&ways, Precision::Fp32);
        assert_eq!(said[1], "`--precision bf16` is faster than auto here");
        assert_eq!(notes(&ways, Precision::Bf16).len(), 1);
    }
}
