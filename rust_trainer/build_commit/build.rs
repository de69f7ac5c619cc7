//! Asks git for the commit of the sources: no more often than one of them changes, when the trainer is compiled
//! anew anyway. A commit that changes none of them asks for no build, and the name of the older one stays true.

use std::{env, path::Path, process::Command};

/// What the trainer is compiled from, in the root of the repository.
const SOURCES: [&str; 13] = [
    "Cargo.lock",
    "Cargo.toml",
    "vec_env/Cargo.toml",
    "vec_env/src",
    "atari_core/Cargo.toml",
    "atari_core/src",
    "python_shim/Cargo.toml",
    "python_shim/src",
    "rust_trainer/Cargo.toml",
    "rust_trainer/csrc",
    "rust_trainer/kernels/Cargo.toml",
    "rust_trainer/kernels/src",
    "rust_trainer/src",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let there: Vec<&str> = SOURCES
        .into_iter()
        .filter(|source| root.join(source).exists())
        .collect();
    for source in &there {
        println!("cargo::rerun-if-changed={}", root.join(source).display());
    }
    let version = env!("CARGO_PKG_VERSION");
    let version = match commit(&root, &there) {
        Some(commit) => format!("{version}+{commit}"),
        None => version.to_owned(),
    };
    println!("cargo::rustc-env=VERSION_WITH_COMMIT={version}");
}

/// The commit that the sources are those of; `None` where they were changed since, or lie in no repository of their
/// own, as out of an archive, or git is not there.
fn commit(root: &Path, sources: &[&str]) -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(root)
            .args(arguments)
            .env("GIT_OPTIONAL_LOCKS", "0");
        let output = git.output().ok()?;
        let text = output.status.success().then_some(output.stdout)?;
        Some(String::from_utf8(text).ok()?.trim().to_owned())
    };
    if !git(&["rev-parse", "--show-prefix"])?.is_empty() {
        return None; // the repository of somebody else, around it
    }
    let changes = git(&[&["status", "--porcelain", "--"], sources].concat())?;
    changes
        .is_empty()
        .then(|| git(&["rev-parse", "--short=10", "HEAD"]))?
}
