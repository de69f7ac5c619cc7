//! `README.md` followed to the letter: a crate outside of the workspace is made of its files, built and run.
#![allow(clippy::unwrap_used, missing_docs)]

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::{Command, Output},
};

const README: &str = include_str!("../README.md");

/// The code block that follows `name` in the README.
fn file(name: &str) -> &'static str {
    let (_, section) = README.split_once("## In a crate of your own").unwrap();
    let (_, after) = section.split_once(&format!("`{name}`")).unwrap();
    let (_, block) = after.split_once("```").unwrap();
    let (code, _) = block.split_once("```").unwrap();
    code.split_once('\n').unwrap().1
}

/// The interpreter that this test was built against, `.venv/bin/python`.
fn venv() -> &'static Path {
    let python = Path::new(env!("PYTHON_SHIM_PYTHON"));
    python.parent().unwrap().parent().unwrap()
}

/// A folder for the crate that stays the same from run to run, so that only the first builds everything.
fn folder() -> PathBuf {
    let of_workspace = env!("CARGO_MANIFEST_DIR").replace('/', "-");
    env::temp_dir().join(format!("python_shim-readme{of_workspace}"))
}

/// A C++ compiler that hands out what the workspace's build has compiled of torch-sys already: else it takes a minute.
const COMPILER: &str = r#"#!/bin/sh
for word; do [ "$last" = -o ] && object=$word; last=$word; done
case $object in *torch_api*.o) made=$(ls -t "$BUILT"/*/build/torch-sys-*/out/"${object##*/}" | head -n 1) ;; esac
[ "$made" ] && exec cp "$made" "$object"
exec c++ "$@"
"#;

/// Runs a program that knows nothing of the workspace, nor of its Python.
fn run(command: &mut Command, variables: &[(&str, &Path)]) -> Output {
    let kept = ["HOME", "CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"];
    let kept = kept.map(|name| (name, env::var_os(name)));
    command.env_clear();
    for (name, value) in kept {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    // The Python of this PATH has neither torch nor numpy.
    let cargo = Path::new(env!("CARGO")).parent().unwrap().display();
    let no_python = folder().join("no-python");
    let path = format!("{}:{cargo}:/usr/bin:/bin", no_python.display());
    command.env("PATH", path);
    // Nobody looks into what it builds.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command.envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

#[test]
fn a_crate_outside_of_the_workspace_is_built_as_the_readme_says() {
    let folder = folder();
    for name in [
        "Cargo.toml",
        ".cargo/config.toml",
        "build.rs",
        "src/main.rs",
    ] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = file(name).replace("../atari/python_shim", env!("CARGO_MANIFEST_DIR"));
        let minor = fs::read_dir(venv().join("lib")).unwrap().next().unwrap();
        let minor = minor.unwrap().file_name();
        let text = text.replace("python3.11", minor.to_str().unwrap());
        if fs::read_to_string(&path).ok().as_ref() != Some(&text) {
            fs::write(path, text).unwrap();
        }
    }
    for name in ["no-python/python", "no-python/python3"] {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = symlink("/bin/false", path);
    }
    let _ = fs::remove_file(folder.join(".venv"));
    symlink(venv(), folder.join(".venv")).unwrap();
    // The versions of this workspace, which are on this machine already.
    let lock = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
    fs::copy(lock, folder.join("Cargo.lock")).unwrap();
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (target, compiler) = (temporary.join("readme"), folder.join("c++"));
    fs::write(&compiler, COMPILER).unwrap();
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o755)).unwrap();
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--offline", "--quiet", "--target-dir"])
        .arg(&target)
        .current_dir(&folder);
    run(
        &mut build,
        &[("CXX", &compiler), ("BUILT", temporary.parent().unwrap())],
    );
    let mut program = Command::new(target.join("debug/my_agent"));
    let output = run(program.current_dir("/"), &[]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "[4, 4]: reward 4\n"
    );
}
