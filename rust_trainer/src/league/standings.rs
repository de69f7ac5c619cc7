//! The table of a league, best player first, and the matrix of points behind it.

use serde::Serialize;

use super::elo::Scores;
use crate::error::TrainerError;

/// Wins, draws and losses of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub wins: usize,
    pub draws: usize,
    pub losses: usize,
}

/// A line of the table: columns of the CSV file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Standing {
    /// From 1.
    pub rank: usize,
    /// The run's name, or `random`.
    pub player: String,
    /// Agent steps that it learned from.
    pub player_step: Option<u64>,
    pub elo: f64,
    /// The ends of its 95 % interval; both are the rating of the player whose rating is fixed.
    pub elo_low: f64,
    pub elo_high: f64,
    pub games: usize,
    pub wins: usize,
    pub draws: usize,
    pub losses: usize,
    /// Points for each game: a win is one, a draw half of one.
    pub score: f64,
    /// Its place among the players as they were named.
    #[serde(skip)]
    pub index: usize,
}

/// The table of `players`, their names and steps, with the records of their games and the ratings that the `scores`
/// come to, the `anchor`'s being 0.
pub(crate) fn standings(
    players: &[(String, Option<u64>)],
    records: &[Record],
    scores: &Scores,
    anchor: usize,
) -> Result<Vec<Standing>, TrainerError> {
    let ratings = scores.ratings(anchor)?;
    let rows = players.iter().zip(records).zip(ratings).enumerate();
    let mut standings: Vec<Standing> = rows
        .map(|(index, (((player, step), record), rating))| {
            let games = record.wins + record.draws + record.losses;
            Standing {
                rank: 0,
                player: player.clone(),
                player_step: *step,
                elo: rating.elo,
                elo_low: rating.elo - rating.half_width,
                elo_high: rating.elo + rating.half_width,
                games,
                wins: record.wins,
                draws: record.draws,
                losses: record.losses,
                score: (record.wins as f64 + record.draws as f64 / 2.0) / games as f64,
                index,
            }
        })
        .collect();
    standings.sort_by(|one, other| other.elo.total_cmp(&one.elo));
    for (index, standing) in standings.iter_mut().enumerate() {
        standing.rank = index + 1;
    }
    Ok(standings)
}

impl Standing {
    fn name(&self) -> String {
        name(&self.player, self.player_step)
    }
}

/// A player as it is called in tables.
pub(crate) fn name(player: &str, step: Option<u64>) -> String {
    match step {
        Some(step) => format!("{player} at agent step {step}"),
        None => player.to_owned(),
    }
}

fn width(standings: &[Standing]) -> usize {
    let widths = standings
        .iter()
        .map(|standing| standing.name().chars().count());
    widths.max().unwrap_or_default().max("player".len())
}

/// The lines of the table.
pub(crate) fn table(standings: &[Standing]) -> Vec<String> {
    let width = width(standings);
    let mut lines = vec![format!(
        "rank  {:width$}    elo  95 %   games  wins  draws  losses   score",
        "player"
    )];
    lines.extend(standings.iter().map(|standing| {
        let half_width = match standing.elo_high - standing.elo {
            0.0 => "fixed".to_owned(),
            half_width => format!("±{half_width:>4.0}"),
        };
        format!(
            "{:>4}  {:width$}  {:>+5.0}  {half_width}  {:>5}  {:>4}  {:>5}  {:>6}  {:>4.1} %",
            standing.rank,
            standing.name(),
            standing.elo.round() + 0.0, // and no -0
            standing.games,
            standing.wins,
            standing.draws,
            standing.losses,
            100.0 * standing.score,
        )
    }));
    lines
}

/// The lines of the matrix: the points of each player, a row, against each, a column, in the order of the table.
pub(crate) fn matrix(standings: &[Standing], scores: &Scores) -> Vec<String> {
    let width = width(standings);
    let ranks = standings
        .iter()
        .map(|standing| format!("{:>6}", standing.rank));
    let mut lines = vec![format!(
        "rank  {:width$}{}",
        "points against",
        ranks.collect::<String>()
    )];
    lines.extend(standings.iter().map(|row| {
        let cells = standings.iter().map(|column| {
            if row.index == column.index {
                format!("{:>6}", "-")
            } else {
                format!("{:>6}", scores.points(row.index, column.index))
            }
        });
        let cells: String = cells.collect();
        format!("{:>4}  {:width$}{cells}", row.rank, row.name())
    }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_player_comes_first_and_columns_are_in_line() {
        let mut scores = Scores::new(3);
        scores.add((1, 0), [3.0, 1.0]);
        scores.add((1, 2), [3.5, 0.5]);
        scores.add((2, 0), [2.0, 2.0]);
        let record = |wins, draws, losses| Record {
            wins,
            draws,
            losses,
        };
        let records = [record(2, 2, 4), record(6, 1, 1), record(2, 1, 5)];
        let players = [("random", None), ("pong", Some(2048)), ("pong", Some(64))];
        let players = players.map(|(name, step)| (name.to_owned(), step));
        let standings = standings(&players, &records, &scores, 0).unwrap();
        let order: Vec<_> = standings.iter().map(|row| (row.rank, row.index)).collect();
        assert_eq!(order[0], (1, 1));
        assert!((standings[0].score - 6.5 / 8.0).abs() < 1e-12);
        let lines = table(&standings);
        let ends = |part: &str| lines[0].find(part).unwrap() + part.len();
        for line in &lines[1..] {
            assert_eq!(line.chars().count(), lines[0].chars().count(), "{lines:#?}");
            let until: String = line.chars().take(ends("elo")).collect();
            assert!(
                until.ends_with(|last: char| last.is_ascii_digit()),
                "{lines:#?}"
            );
        }
        assert!(
            lines
                .iter()
                .any(|line| line.contains("random") && line.contains("+0  fixed"))
        );
        let lines = matrix(&standings, &scores);
        let cells: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(cells[..2], ["1", "pong"]);
        assert_eq!(cells[6], "-");
        assert_eq!(lines[1].chars().count(), lines[0].chars().count());
    }
}
