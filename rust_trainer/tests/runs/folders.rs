//! What checkpoints and run folders are good for, and what is refused.

use std::fs;

use super::*;

pub fn short(folder: &Path, name: &str) -> Settings {
    with(
        &settings(Algorithm::A2c, folder, name),
        "total_steps = 128\ncheckpoint_every = 64",
    )
}

pub fn files(settings: &Settings) -> Vec<PathBuf> {
    checkpoints::list(&folder_of(settings).join("checkpoints")).unwrap()
}

#[test]
fn old_checkpoints_go_and_the_newest_stay() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(
        &settings(Algorithm::A2c, folder.path(), "keep"),
        "keep_checkpoints = 2",
    );
    train(&settings, one_step()).unwrap();
    let kept = files(&settings);
    let names: Vec<_> = kept
        .iter()
        .map(|path| path.file_stem().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(names, ["step-000000005760", "step-000000006400"]);
}

#[test]
fn a_run_folder_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(Algorithm::A2c, folder.path(), "twice");
    create(&settings, one_step()).unwrap();
    let message = create(&settings, one_step()).err().unwrap().to_string();
    assert!(
        message.contains("twice") && message.contains("--resume"),
        "{message}"
    );
}

#[test]
fn a_run_goes_on_from_its_folder_and_no_checkpoint_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    train(&settings, one_step()).unwrap();
    let path = checkpoints::find(&folder_of(&settings)).unwrap().path;
    let found = checkpoints::find(&path).unwrap();
    assert_eq!(found.path, path, "to be evaluated");
    let before = fs::read(&path).unwrap();
    let message = resume(&path, one_step()).err().unwrap().to_string();
    let remedy = format!("`{}`", folder_of(&settings).display());
    assert!(message.contains(&remedy), "{message}");
    assert!(fs::read(&path).unwrap() == before);
}

#[test]
fn a_checkpoint_says_what_it_is_of() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    train(&settings, one_step()).unwrap();
    let read = newest(&settings);
    assert_eq!(read.settings, settings);
    assert_eq!((read.counters.step, read.counters.update), (128, 2));
    assert_eq!(read.obs_spec, one_step().spec.obs_spec);
    assert_eq!(read.action_space, one_step().spec.action_space);
    let bytes = fs::read(files(&settings).pop().unwrap()).unwrap();
    let length = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header = String::from_utf8_lossy(&bytes[8..8 + length]);
    for name in ["format_version", "made_by", "rust_trainer 0", "crc32:"] {
        assert!(header.contains(name), "{header}");
    }
}

/// Whatever happened to the file: cut short, a bit flipped in the numbers or in the metadata, emptied.
#[test]
fn a_damaged_checkpoint_is_named_and_an_older_one_taken() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    train(&settings, one_step()).unwrap();
    let paths = files(&settings);
    let [older, newest] = paths.as_slice() else {
        unreachable!("two checkpoints: {paths:?}")
    };
    let whole = fs::read(newest).unwrap();
    let flipped = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    let in_gamma = whole.windows(4).position(|text| text == b"0.99").unwrap() + 3;
    let damages = [
        whole[..whole.len() / 2].to_vec(),
        flipped(whole.len() - 5),
        flipped(in_gamma),
        flipped(3),
        Vec::new(),
    ];
    for bytes in damages {
        fs::write(newest, bytes).unwrap();
        let found = checkpoints::find(&folder_of(&settings)).unwrap();
        assert_eq!(found.path, *older);
        let message = found.damaged[0].to_string();
        assert!(message.contains("step-000000000128"), "{message}");
        let resume = RunStart::open(&folder_of(&settings), &toml::Table::new()).unwrap();
        let notices = resume.notices();
        assert!(notices[0].contains("an older one"), "{notices:?}");
    }
    let summary = resume(&folder_of(&settings), one_step()).unwrap();
    assert_eq!(summary.counters.step, 128);
    assert_eq!(
        checkpoints::find(&folder_of(&settings)).unwrap().path,
        *newest
    );

    for path in [older, newest] {
        fs::write(path, "{}").unwrap();
    }
    let message = resume(&folder_of(&settings), one_step()).err().unwrap();
    let message = message.to_string();
    assert!(message.contains("step-000000000128"), "{message}");
}

/// What cannot be read today, or by this version, may be whole: nothing older takes its place.
#[test]
fn a_checkpoint_that_cannot_be_read_is_no_damaged_one() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    train(&settings, one_step()).unwrap();
    let newest = files(&settings).pop().unwrap();
    let mut bytes = fs::read(&newest).unwrap();
    let name = b"\"format_version\":\"";
    let place = bytes.windows(name.len()).position(|text| text == name);
    bytes[place.unwrap() + name.len()] = b'9';
    fs::write(&newest, bytes).unwrap();
    let refused = |words: &str| {
        let open = RunStart::open(&folder_of(&settings), &toml::Table::new()).err();
        for error in [open, checkpoints::find(&folder_of(&settings)).err()] {
            let message = error.unwrap().to_string();
            assert!(
                message.contains("000128") && message.contains(words),
                "{message}"
            );
        }
    };
    refused("has format version 9, this program reads version");
    fs::remove_file(&newest).unwrap();
    fs::create_dir(&newest).unwrap(); // as a file of another user, which root could read
    refused("could not read");
    assert_eq!(files(&settings).len(), 2);
}

/// A damaged file of a later step does not pass for the newest, for whose sake others go.
#[test]
fn a_damaged_checkpoint_drives_out_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(
        &settings(Algorithm::A2c, folder.path(), "run"),
        "total_steps = 256\ncheckpoint_every = 64\nkeep_checkpoints = 2",
    );
    train(&settings, one_step()).unwrap();
    fs::write(files(&settings).pop().unwrap(), "").unwrap();
    let stop = StopRequest::never().with_grace_period(AFTER_UPDATES);
    stop.ask();
    let changes = toml::from_str("keep_checkpoints = 1\ntotal_steps = 100000").unwrap();
    let resume = RunStart::open(&folder_of(&settings), &changes).unwrap();
    let run = Run::start(resume, Box::new(one_step()), &stop).unwrap();
    assert_eq!(files(&settings).len(), 1);
    run.train(&stop).unwrap();
    assert_eq!(newest(&settings).counters.step, 256);
}

#[test]
fn weights_that_are_not_finite_are_refused_and_older_ones_taken() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    train(&settings, one_step()).unwrap();
    let mut spoiled = newest(&settings);
    let mut tensors = spoiled.state.tensors.iter_mut();
    let weights = tensors.find(|(name, _)| name.ends_with("weight"));
    let (name, tensor) = weights.unwrap();
    *tensor = tensor.zeros_like() + f64::NAN;
    let name = name.clone();
    let path = spoiled
        .save(&folder_of(&settings).join("checkpoints"))
        .unwrap();
    let found = checkpoints::find(&folder_of(&settings)).unwrap();
    assert_eq!(found.checkpoint.counters.step, 64);
    let read = Checkpoint::read(&path).unwrap();
    let refused = [
        found.damaged[0].to_string(),
        read.policy(Device::Cpu).err().unwrap().to_string(),
    ];
    for error in refused {
        assert!(
            error.contains("not finite") && error.contains(&name),
            "{error}"
        );
    }
    let resume = RunStart::open(&folder_of(&settings), &toml::Table::new()).unwrap();
    let notice = &resume.notices()[0];
    assert!(
        notice.contains("not finite") && notice.contains("step-000000000128"),
        "{notice}"
    );
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ours = short(folder.path(), "ours");
    let mut other = short(folder.path(), "other");
    other.env.env_id = "Other-v0".to_owned();
    for settings in [&ours, &other] {
        train(settings, one_step()).unwrap();
    }
    let copy = folder_of(&ours).join("checkpoints/step-000000000999.safetensors");
    fs::copy(files(&other).pop().unwrap(), copy).unwrap();
    let errors = [
        resume(&folder_of(&ours), one_step()).err().unwrap(),
        checkpoints::find(&folder_of(&ours)).unwrap_err(),
    ];
    for message in errors.map(|error| error.to_string()) {
        assert!(message.contains("step-000000000999"), "{message}");
        assert!(message.contains("another run"), "{message}");
    }
}

#[test]
fn a_run_that_ended_before_its_first_checkpoint_starts_again() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    drop(create(&settings, one_step()).unwrap());
    let summary = resume(&folder_of(&settings), one_step()).unwrap();
    assert_eq!(summary.outcome, Outcome::Finished);
    let resume = RunStart::open(&folder_of(&settings), &toml::Table::new()).unwrap();
    assert!(resume.notices().is_empty());

    let again = short(folder.path(), "again");
    drop(create(&again, one_step()).unwrap());
    let resume = RunStart::open(&folder_of(&again), &toml::Table::new()).unwrap();
    assert!(resume.notices()[0].contains("starting again"));
    assert_eq!(resume.settings, again);
}

#[test]
fn a_run_is_resumed_by_one_process_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    let running = create(&settings, one_step()).unwrap();
    let message = resume(&folder_of(&settings), one_step()).err().unwrap();
    assert!(message.to_string().contains("another process"), "{message}");
    running.train(&StopRequest::never()).unwrap();
    resume(&folder_of(&settings), one_step()).unwrap();
}

#[test]
fn a_run_that_cannot_start_leaves_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    // More memory for observations than there is.
    let mut huge = one_step();
    huge.spec.obs_spec.shape = vec![1 << 16];
    let settings = with(
        &short(folder.path(), "deep/run"),
        "run_name = 'run'\nnum_steps = 1000000",
    );
    let message = create(&settings, huge).err().unwrap().to_string();
    assert!(
        !message.contains('\n') && message.contains("memory"),
        "{message}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_run_whose_folder_is_removed_ends_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let settings = with(&short(folder.path(), "run"), "total_steps = 1000000000");
    let run = create(&settings, one_step()).unwrap();
    fs::remove_dir_all(folder_of(&settings)).unwrap();
    let message = run.train(&StopRequest::never()).err().unwrap().to_string();
    assert!(message.contains("was removed or replaced"), "{message}");
    assert!(!folder_of(&settings).exists(), "nothing is made anew");

    // What was learned stands beside it, as a run to go on with.
    let rescued = settings.run.runs_dir.join("run-rescued");
    let remedy = format!("--resume '{}'", rescued.display());
    assert!(message.contains(&remedy), "{message}");
    let learned = checkpoints::find(&rescued)
        .unwrap()
        .checkpoint
        .counters
        .step;
    assert!(learned > 0);
    let changes = toml::from_str(&format!("total_steps = {}", learned + 64)).unwrap();
    let resume = RunStart::open(&rescued, &changes).unwrap();
    let stop = StopRequest::never();
    let run = Run::start(resume, Box::new(one_step()), &stop).unwrap();
    assert_eq!(run.train(&stop).unwrap().counters.step, learned + 64);
}

/// Another run that has taken the name is not written into.
#[test]
fn a_run_whose_folder_is_replaced_does_not_write_into_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let longest = "x".repeat(230);
    let settings = with(&short(folder.path(), &longest), "total_steps = 1000000000");
    let run = create(&settings, one_step()).unwrap();
    fs::rename(folder_of(&settings), folder.path().join("moved")).unwrap();
    drop(create(&settings, one_step()).unwrap());
    let message = run.train(&StopRequest::never()).err().unwrap().to_string();
    assert!(message.contains(&format!("{longest}-rescued")), "{message}");
    assert!(!folder_of(&settings).join("checkpoints").exists());
}
