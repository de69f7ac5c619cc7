//! Files of a run that are others', have another's name, or are lost: told in a line, and nothing is written before.

use std::{fs, process::Command};

use super::{
    folders::{files, short},
    *,
};
use rust_trainer::run::EnvStates;

/// A run of two checkpoints, of agent steps 64 and 128.
fn run_in(folder: &Path) -> Settings {
    let settings = short(folder, "run");
    train(&settings, one_step()).unwrap();
    settings
}

/// The names and bytes of all files of a run.
fn contents(settings: &Settings) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for folder in [folder_of(settings), folder_of(settings).join("checkpoints")] {
        let paths = fs::read_dir(folder).unwrap();
        let paths = paths.map(|entry| entry.unwrap().path());
        let whole = paths.filter(|path| path.is_file());
        found.extend(whole.map(|path| (path.clone(), fs::read(path).unwrap())));
    }
    found.sort();
    found
}

/// The message that names what is wrong; nothing in the folder changes.
fn refused(settings: &Settings) -> String {
    let before = contents(settings);
    let to_play = checkpoints::find(&folder_of(settings))
        .unwrap_err()
        .to_string();
    let message = resume(&folder_of(settings), one_step()).err().unwrap();
    assert_eq!(message.to_string(), to_play);
    assert!(contents(settings) == before, "{to_play}");
    to_play
}

#[test]
fn a_foreign_file_among_the_checkpoints_is_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let settings = run_in(folder.path());
    let tensor = (0..64).collect::<Vec<u8>>();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![4, 4], &tensor);
    let foreign = safetensors::serialize([("weight", view.unwrap())], None).unwrap();
    let path = folder_of(&settings).join("checkpoints/step-000000000999.safetensors");
    for (bytes, problem) in [
        (foreign, "no checkpoint of this program"),
        (b"PK\x03\x04model/data.pkl".to_vec(), "pickle"),
        (b"\x80\x02]q\x00.".to_vec(), "pickle"),
    ] {
        fs::write(&path, bytes).unwrap();
        let of_file = checkpoints::find(&path).unwrap_err().to_string();
        for message in [refused(&settings), of_file] {
            let is_named = message.contains("000999") && message.contains(problem);
            assert!(is_named && !message.contains('\n'), "{message}");
        }
    }
    // What is nothing at all cannot be told from a damaged checkpoint.
    fs::write(&path, "step,mean\n1,2\n").unwrap();
    let found = checkpoints::find(&folder_of(&settings)).unwrap();
    assert_eq!(found.checkpoint.counters.step, 128);
    assert!(found.damaged[0].to_string().contains("damaged"));
}

/// The length of the header stands first: 640, 1152 and 1408 bytes begin as pickles do.
#[test]
fn a_checkpoint_whose_header_begins_as_a_pickle_does_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let settings = run_in(folder.path());
    let mut checkpoint = newest(&settings);
    let beside = folder.path().join("beside");
    fs::create_dir(&beside).unwrap();
    let mut save = |why: String| {
        checkpoint.envs = EnvStates::Missing(why);
        let path = checkpoint.save(&beside).unwrap();
        let length = fs::read(&path).unwrap().first_chunk().copied();
        (path, u64::from_le_bytes(length.unwrap()))
    };
    let (_, length) = save(String::new());
    let missing = (0x1_0280 - length) % 0x1_0000;
    let (path, length) = save("x".repeat(missing as usize));
    assert_eq!(length % 0x1_0000, 0x280);
    Checkpoint::read(&path).unwrap();
}

#[test]
fn a_checkpoint_under_the_name_of_another_step_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settings = run_in(folder.path());
    let newest = files(&settings).pop().unwrap();
    let renamed = newest.with_file_name("step-000000000999.safetensors");
    fs::rename(&newest, &renamed).unwrap();
    let message = refused(&settings);
    for words in [
        "000999",
        "agent step 128",
        "`step-000000000128.safetensors`",
    ] {
        assert!(message.contains(words), "{message}");
    }
    // Its user may call it what they like where they name it.
    checkpoints::find(&renamed).unwrap();
    // Copies of a user are none of the run's.
    fs::rename(
        &renamed,
        newest.with_file_name("step-128 of monday.safetensors"),
    )
    .unwrap();
    assert_eq!(files(&settings).len(), 1);
    let summary = resume(&folder_of(&settings), one_step()).unwrap();
    assert_eq!(summary.counters.step, 128);
}

/// Steps of more digits than names have come after those of fewer.
#[test]
fn checkpoints_are_in_the_order_of_their_steps() {
    let folder = tempfile::tempdir().unwrap();
    let names = ["step-999999999999", "step-1000000000000", "step-7"];
    for name in names {
        fs::write(folder.path().join(format!("{name}.safetensors")), "").unwrap();
    }
    let found = checkpoints::list(folder.path()).unwrap();
    let stems: Vec<_> = found.iter().map(|path| path.file_stem().unwrap()).collect();
    assert_eq!(stems, ["step-7", "step-999999999999", "step-1000000000000"]);
}

/// A FIFO keeps whoever reads it for ever.
#[test]
fn a_fifo_in_the_place_of_a_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let settings = run_in(folder.path());
    for name in ["checkpoints/step-000000000128.safetensors", "episodes.csv"] {
        let path = folder_of(&settings).join(name);
        let whole = fs::read(&path).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(
            Command::new("mkfifo")
                .arg(&path)
                .status()
                .unwrap()
                .success()
        );
        let error = resume(&folder_of(&settings), one_step()).err().unwrap();
        let source = std::error::Error::source(&error).map(ToString::to_string);
        let message = format!("{error}: {}", source.unwrap_or_default());
        let is_named = message.contains(name) && message.contains("no regular file");
        assert!(is_named, "{message}");
        fs::remove_file(&path).unwrap();
        fs::write(&path, whole).unwrap();
    }
}

#[test]
fn settings_that_are_lost_are_those_of_the_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let settings = run_in(folder.path());
    let path = folder_of(&settings).join("settings.toml");
    let text = fs::read_to_string(&path).unwrap();
    let damages: [&dyn Fn(); 2] = [&|| fs::remove_file(&path).unwrap(), &|| {
        fs::write(&path, "").unwrap();
    }];
    for lose in damages {
        lose();
        assert_eq!(
            checkpoints::find(&folder_of(&settings))
                .unwrap()
                .checkpoint
                .settings,
            settings
        );
        let resume = RunStart::open(&folder_of(&settings), &toml::Table::new()).unwrap();
        let notices = resume.notices();
        assert!(notices[0].contains("settings.toml was lost"), "{notices:?}");
        let stop = StopRequest::never();
        drop(Run::start(resume, Box::new(one_step()), &stop).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

/// While the run is on, each checkpoint looks for it.
#[test]
fn settings_that_are_lost_while_the_run_is_on_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let settings = short(folder.path(), "run");
    let run = create(&settings, one_step()).unwrap();
    let path = folder_of(&settings).join("settings.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    run.train(&StopRequest::never()).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn rows_that_are_lost_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let settings = run_in(folder.path());
    let notices = || {
        let resume = RunStart::open(&folder_of(&settings), &toml::Table::new()).unwrap();
        let run = Run::start(resume, Box::new(one_step()), &StopRequest::never()).unwrap();
        let notices = run.notices.iter();
        let of_rows = notices.filter(|notice| notice.contains(" rows "));
        of_rows.cloned().collect::<Vec<_>>()
    };
    let damage = |table: &str, damage: &dyn Fn(&str) -> String| {
        let path = folder_of(&settings).join(table);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, damage(&text)).unwrap();
        let notices = notices();
        fs::write(&path, text).unwrap();
        notices
    };
    assert_eq!(notices(), [""; 0]);
    let lost = |found: &[String], words: &str| {
        assert!(
            found.iter().any(|notice| notice.contains(words)),
            "{found:?}"
        );
    };
    // Its last row is torn, as where the machine stopped.
    let torn = damage("updates.csv", &|text| text[..text.len() - 3].to_owned());
    lost(
        &torn,
        "updates.csv` has 1 of its 2 rows up to agent step 128",
    );
    let emptied = damage("episodes.csv", &|_| String::new());
    lost(&emptied, "episodes.csv` has 0 of its 128 rows");
}
