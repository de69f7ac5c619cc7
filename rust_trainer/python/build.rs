//! Links the module against the libtorch of the process that loads it.

fn main() {
    // By it the module reaches libtorch's CUDA half, where there is one; see csrc/cuda.cpp of the trainer.
    println!("cargo::rustc-link-arg=-Wl,--push-state,--no-as-needed,-ltorch,--pop-state");
}
