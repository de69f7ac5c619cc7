//! `doctor::facts` tells what this process runs on.
#![allow(clippy::unwrap_used, missing_docs)]

use python_shim::doctor;

#[test]
fn facts_are_those_of_this_process() {
    let facts = doctor::facts();
    let python = facts.python.as_ref().unwrap();
    assert!(python.version.starts_with("3."), "{}", python.version);
    assert!(python.executable.starts_with(&python.prefix));
    for (name, version) in &python.packages {
        assert!(version.is_some(), "{name} is installed");
    }
    let libtorch = facts.libraries.torch.as_ref().unwrap();
    assert_eq!(
        libtorch.parent().unwrap().to_str(),
        Some(env!("PYTHON_SHIM_TORCH_LIB"))
    );
    let libpython = facts.libraries.python.as_ref().unwrap();
    assert_eq!(
        libpython.parent().unwrap().to_str(),
        Some(env!("PYTHON_SHIM_PYTHON_LIB"))
    );
    assert!(!facts.libraries.openmp.is_empty());
    assert!(facts.torch.num_threads >= 1 && facts.torch.matmul_speedup > 0.0);
    assert_eq!(
        facts.torch.num_threads,
        tch::get_num_threads() as usize,
        "the measurement changed it"
    );

    let text = facts.to_string();
    for fact in [
        &python.version,
        "atari_wrappers",
        libtorch.to_str().unwrap(),
        "cuda",
    ] {
        assert!(text.contains(fact), "{fact} is missing in {text}");
    }
    for problem in &facts.problems {
        assert!(text.contains(problem), "{problem} is missing in {text}");
    }
}
