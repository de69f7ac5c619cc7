//! `report`: one page of HTML about runs.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use super::{
    output::{EXIT_OK, print, say, warn},
    player::record_game,
    recorded::Recorded,
};
use crate::{
    error::TrainerError,
    files,
    page::{self, RunFiles, Video, open_all},
    stop::StopRequest,
};

/// Larger recordings in a run's folder are left out.
const LARGEST_VIDEO: u64 = 20 << 20;

#[derive(clap::Args)]
pub(super) struct ReportArgs {
    /// Folders of runs, folders of `seeds`, or folders that hold runs
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// File to write [default: report.html in the folder, or here where several are named]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Take runs of one algorithm and length on an environment as seeds of one, whatever other settings differ
    #[arg(long)]
    together: bool,
    /// Let the best checkpoint of each run play a game, and show it
    #[arg(long)]
    video: bool,
}

pub(super) fn report(args: &ReportArgs, stop: &StopRequest) -> Result<i32, TrainerError> {
    let (runs, damaged) = open_all(&args.runs)?;
    for error in damaged {
        warn(format_args!("{error}; the page is without that run"));
    }
    let path = match (&args.output, args.runs.as_slice()) {
        (Some(path), _) => path.clone(),
        (None, [folder]) => folder.join("report.html"),
        (None, _) => PathBuf::from("report.html"),
    };
    check_output(&path)?;
    // Recordings are made beside the page, and go once they are in it.
    let recorded = args.video.then(|| Recorded::new(folder_of(&path), ".mp4"));
    let recorded = recorded.transpose()?;
    let into = recorded
        .as_ref()
        .map(|recorded| recorded.unfinished.as_path());
    let videos = videos(&runs, into, stop)?;
    let page = page::page(&runs, args.together, &videos)?;
    drop(recorded);
    files::write(&path, page.as_bytes())?;
    let (count, size) = (runs.len(), page.len() as f64 / 1e6);
    let runs = if count == 1 { "run" } else { "runs" };
    print(format_args!(
        "{}: {count} {runs}, {size:.1} MB",
        path.display()
    ))?;
    Ok(EXIT_OK)
}

fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Refuses a place where no file can be before the work is done.
fn check_output(path: &Path) -> Result<(), TrainerError> {
    let problem = if path.is_dir() {
        "is a folder; name a file, such as report.html"
    } else if !folder_of(path).is_dir() {
        "is in a folder that does not exist"
    } else {
        return Ok(());
    };
    Err(TrainerError::Usage(format!(
        "`{}` {problem}",
        path.display()
    )))
}

/// A video's name, or, of a clip that was made while the run learned, when that was.
fn what_it_shows(path: &Path) -> String {
    let name = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    match name(path.file_stem()).parse::<u64>() {
        Ok(step) => format!("a game after {step} agent steps"),
        Err(_) => name(path.file_name()),
    }
}

/// The recordings that lie in the runs' folders, and, where there is a folder to record `into`, a new one of each run
/// that has a checkpoint.
fn videos(
    runs: &[RunFiles],
    into: Option<&Path>,
    stop: &StopRequest,
) -> Result<Vec<Video>, TrainerError> {
    let mut videos = Vec::new();
    for run in runs {
        for path in run.videos()? {
            if path
                .metadata()
                .is_ok_and(|about| about.len() <= LARGEST_VIDEO)
            {
                videos.push(Video {
                    run: run.name.clone(),
                    what: what_it_shows(&path),
                    path,
                });
            } else {
                let limit = LARGEST_VIDEO >> 20;
                warn(format_args!(
                    "`{}` is left out: it has more than {limit} MiB",
                    path.display()
                ));
            }
        }
    }
    let Some(folder) = into else {
        return Ok(videos);
    };
    for run in runs {
        if !run.folder.join("checkpoints").is_dir() {
            warn(format_args!(
                "`{}` has no checkpoint that could play",
                run.folder.display()
            ));
            continue;
        }
        say(format_args!("{} plays a game", run.name));
        let into = folder.join(videos.len().to_string());
        let (path, game) = match record_game(&run.folder, &into, stop) {
            Err(TrainerError::Stopped) => return Err(TrainerError::Stopped),
            // The page is worth no less without it.
            Err(error) => {
                warn(format_args!("{error}; the page is without a video of it"));
                continue;
            }
            Ok(recorded) => recorded,
        };
        let mean = run.score();
        let mean = mean.map(|mean| format!("; mean of its last games {mean:.1}"));
        videos.push(Video {
            run: run.name.clone(),
            what: format!("{game}{}", mean.unwrap_or_default()),
            path,
        });
    }
    Ok(videos)
}
