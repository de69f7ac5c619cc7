//! A page of HTML about runs: curves with bands over seeds, what differs between runs, scores, speed. It is one file
//! that needs neither a server nor a network.
//!
//! What stands in the page is computed here, by the same functions as every other number of the trainer; its script
//! draws it, and computes nothing.

mod groups;
mod numbers;
mod published;
mod run_files;
mod tables;

use std::path::{Path, PathBuf};

use base64::prelude::{BASE64_STANDARD, Engine};
use serde_json::{Value, json};

use crate::{error::TrainerError, files};
use groups::groups;
pub(crate) use run_files::{RunFiles, open_all};

/// The chart library, <https://github.com/leeoniya/uPlot>: MIT, 120 kB, bands and a cursor made for long series.
/// plotly has more, in 4.5 MB, and would be most of every page; `Chart.js` and `ECharts` draw no band
/// between two lines by themselves. The file is the one of the package `uplot-python` on `PyPI`, as it is.
const UPLOT: &str = include_str!("assets/uPlot.iife.js");
const UPLOT_STYLE: &str = include_str!("assets/uPlot.min.css");
const UPLOT_LICENCE: &str = include_str!("assets/uPlot.LICENSE.txt");
const PAGE: &str = include_str!("assets/page.html");
const STYLE: &str = include_str!("assets/page.css");
/// In the order in which they are put together.
const SCRIPTS: [&str; 4] = [
    include_str!("assets/chart.js"),
    include_str!("assets/curves.js"),
    include_str!("assets/tables.js"),
    include_str!("assets/page.js"),
];

/// A recording of a game, to be seen in the page.
pub(crate) struct Video {
    /// The name of the run that plays.
    pub run: String,
    /// What it shows.
    pub what: String,
    /// An mp4 or a GIF.
    pub path: PathBuf,
}

/// The page about `runs`, of which there is at least one. Runs that differ by their seeds are taken together, and those
/// that differ otherwise only where `together` says so.
pub(crate) fn page(
    runs: &[RunFiles],
    together: bool,
    videos: &[Video],
) -> Result<String, TrainerError> {
    let groups = groups(runs, together);
    let videos = videos.iter().map(video).collect::<Result<Vec<_>, _>>()?;
    let data = json!({
        "program": build_commit::VERSION,
        "windows": numbers::WINDOWS,
        "envs": numbers::envs(&groups),
        "groups": groups.iter().map(numbers::group).collect::<Vec<_>>(),
        "settings": tables::settings(&groups),
        "profiles": numbers::profiles(&groups),
        "videos": videos,
    });
    let is_one_env = groups.iter().all(|group| group.env_id == groups[0].env_id);
    let title = match runs {
        [one] => one.name.clone(),
        several if is_one_env => format!("{}, {} runs", groups[0].env_id, several.len()),
        several => format!("{} runs", several.len()),
    };
    // Texts of runs may hold anything; nothing in a script element ends it but `</`.
    let data = data.to_string().replace('<', "\\u003c");
    let parts = [
        ("{{title}}", escaped(&title)),
        ("{{licence}}", UPLOT_LICENCE.replace("--", "- -")),
        ("{{style}}", format!("{UPLOT_STYLE}\n{STYLE}")),
        ("{{uplot}}", UPLOT.to_owned()),
        ("{{script}}", SCRIPTS.concat()),
        ("{{data}}", data),
    ];
    Ok(fill(PAGE, &parts))
}

/// `template` with each part in its place. What a part holds is never taken for a place.
fn fill(template: &str, parts: &[(&str, String)]) -> String {
    let found = parts
        .iter()
        .filter_map(|(name, text)| Some((template.find(name)?, name, text)));
    let Some((at, name, text)) = found.min_by_key(|(at, ..)| *at) else {
        return template.to_owned();
    };
    let rest = fill(&template[at + name.len()..], parts);
    format!("{}{text}{rest}", &template[..at])
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('"', "&quot;")
}

fn video(video: &Video) -> Result<Value, TrainerError> {
    let bytes = files::read(&video.path).map_err(TrainerError::io("read", &video.path))?;
    let is_gif = is_gif(&video.path);
    let kind = if is_gif { "image/gif" } else { "video/mp4" };
    Ok(json!({
        "run": video.run,
        "what": video.what,
        "is_gif": is_gif,
        "data": format!("data:{kind};base64,{}", BASE64_STANDARD.encode(&bytes)),
    }))
}

fn is_gif(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("gif"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_names_a_place_stays_as_it_is() {
        let parts = [("{{a}}", "{{b}}".to_owned()), ("{{b}}", "2".to_owned())];
        assert_eq!(fill("<{{a}}|{{b}}>", &parts), "<{{b}}|2>");
    }
}
