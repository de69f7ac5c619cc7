//! Which name was probably meant by one that does not exist.

/// Names as unlike as this are no suggestion.
const ALIKE: f64 = 0.7;
/// One name begins the other: `env` and `environment`.
const BEGINS: f64 = 0.95;

/// The names that are most like `name`, if any is like it.
pub(crate) fn most_alike<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let with_likeness = names.map(|other| (likeness(name, other), other));
    let alike: Vec<_> = with_likeness
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .collect();
    let highest = alike
        .iter()
        .fold(0.0_f64, |highest, (likeness, _)| highest.max(*likeness));
    let most = alike
        .iter()
        .filter(|(likeness, _)| *likeness > highest - 0.01);
    most.map(|&(_, name)| name).collect()
}

/// How alike two names are, from 0 to 1: word by word, in whatever order, or as if they were one word.
fn likeness(one: &str, other: &str) -> f64 {
    let words = |name: &str| {
        name.split(['-', '_'])
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let of_all = |words: &[String], among: &[String]| -> f64 {
        let nearest = words.iter().map(|word| {
            let likenesses = among.iter().map(|other| of_words(word, other));
            likenesses.fold(0.0, f64::max)
        });
        nearest.sum()
    };
    let (ours, theirs) = (words(one), words(other));
    let both = of_all(&ours, &theirs) + of_all(&theirs, &ours);
    let by_word = both / (ours.len() + theirs.len()) as f64;
    by_word.max(strsim::normalized_damerau_levenshtein(
        &ours.concat(),
        &theirs.concat(),
    ))
}

fn of_words(one: &str, other: &str) -> f64 {
    let begins =
        one.len().min(other.len()) >= 3 && (one.starts_with(other) || other.starts_with(one));
    if one == other {
        1.0
    } else if begins {
        BEGINS
    } else {
        strsim::normalized_damerau_levenshtein(one, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_found_word_by_word() {
        let names = [
            "env-id",
            "env-timeout",
            "env-threads",
            "resume",
            "num-envs",
            "gamma",
        ];
        for (wrong, meant) in [
            ("enviroment-id", Some("env-id")),
            ("environment_id", Some("env-id")),
            ("envid", Some("env-id")),
            ("env-num", Some("num-envs")),
            ("gama", Some("gamma")),
            ("resmue", Some("resume")),
            ("preset", None),
            ("colour", None),
        ] {
            let found = most_alike(wrong, names.into_iter());
            assert_eq!(found, meant.as_slice(), "{wrong}");
        }
    }
}
