//! Layers of settings: what a later one names wins over an earlier one. And what nothing reads.
//!
//! Some settings count for nothing unless another one asks for them ([`ReadIf`]). One that
//! is named all the same is refused. But a layer that switches something off takes with it what the
//! layers before said about it: nobody named that beside the switch.

use toml::{Table, Value};

use super::{ALGORITHM, Algorithm, Field, ReadIf, Settings, default_of, groups, read, shown};
use crate::error::TrainerError;

/// The settings of `below` with those that `above` names in their place.
///
/// # Errors
/// An unknown algorithm.
pub(super) fn lay_over(below: Table, above: &Table) -> Result<Table, TrainerError> {
    let mut table = below;
    table.extend(above.clone());
    let algorithm = read(Some(&ALGORITHM), &table, Algorithm::Ppo)?;
    for field in conditional(algorithm) {
        let switched_here = |field: &Field| {
            let switch = field.read_if.map(ReadIf::switch);
            switch.is_some_and(|switch| above.contains_key(switch))
        };
        let is_read = unmet(field, &|name| value_of(name, &table, algorithm)).is_none();
        if !is_read && switched_here(field) && !above.contains_key(field.name) {
            table.remove(field.name);
        }
    }
    Ok(table)
}

/// Refuses those of `settings` that nothing reads and that were named: `is_named` is asked with each and
/// its value.
///
/// # Errors
/// [`TrainerError::Setting`].
pub(super) fn check_read(
    settings: &Settings,
    is_named: impl Fn(&Field, &Value) -> bool,
) -> Result<(), TrainerError> {
    let all = settings.table();
    for (field, condition, switch) in unread(settings) {
        let value = &all[field.name];
        if is_named(field, value) {
            let problem = format!(
                "is not read: it needs {condition}, and `{}` is {}",
                condition.switch(),
                shown(&switch)
            );
            return Err(TrainerError::setting(field.name, shown(value), problem));
        }
    }
    Ok(())
}

/// The settings of a run that it does not read, each with its condition that does not hold, and the value
/// of the setting that decides.
pub(super) fn unread(settings: &Settings) -> Vec<(&'static Field, ReadIf, Value)> {
    let algorithm = settings.algorithm.algorithm();
    let all = settings.table();
    let with_reason = |field: &'static Field| {
        let (condition, switch) = unmet(field, &|name| value_of(name, &all, algorithm))?;
        Some((field, condition, switch))
    };
    conditional(algorithm).filter_map(with_reason).collect()
}

/// The settings that are read under a condition only.
fn conditional(algorithm: Algorithm) -> impl Iterator<Item = &'static Field> {
    let groups = groups(&[algorithm]).into_iter();
    let fields = groups.flat_map(|(_, fields)| fields);
    let fields = fields.map(|(field, _)| field);
    fields.filter(|field| field.read_if.is_some())
}

/// The condition of `field` that does not hold, and the value of the setting that decides.
fn unmet(field: &Field, value_of: &dyn Fn(&str) -> Option<Value>) -> Option<(ReadIf, Value)> {
    let condition = field.read_if?;
    let value = value_of(condition.switch())?;
    (!condition.holds(&value)).then_some((condition, value))
}

fn value_of(name: &str, table: &Table, algorithm: Algorithm) -> Option<Value> {
    let groups = groups(&[algorithm]);
    let mut fields = groups.iter().flat_map(|(_, fields)| fields);
    let (field, _) = fields.find(|(field, _)| field.name == name)?;
    let named = table.get(name).cloned();
    Some(named.unwrap_or_else(|| default_of(field, algorithm)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::settings;

    settings! {
        struct Example {
            /// Which head
            head: String = "none".to_owned(), Any,
            /// Atoms of the head
            atoms: i64 = 51, Positive, if OneOf("head", &["c51", "quantile"]),
            /// Something else
            other: f64 = 0.5, Any,
        }
    }

    #[test]
    fn a_condition_names_a_setting_that_is_there() {
        for &algorithm in Algorithm::ALL {
            for field in conditional(algorithm) {
                let switch = field.read_if.map(ReadIf::switch).unwrap();
                let value = value_of(switch, &Table::new(), algorithm);
                assert!(value.is_some(), "{}: `{switch}`", field.name);
            }
        }
    }

    #[test]
    fn a_condition_holds_for_what_it_names() {
        for (value, on) in [
            (Value::from(true), true),
            (false.into(), false),
            (3.into(), true),
            (0.into(), false),
            (0.5.into(), true),
            (0.0.into(), false),
        ] {
            assert_eq!(ReadIf::On("x").holds(&value), on, "{value}");
        }
        let [head, atoms, other] = Example::FIELDS else {
            unreachable!("three settings are named")
        };
        let problem = unmet(atoms, &|_| Some("none".into())).unwrap();
        assert_eq!(problem.0.to_string(), "`head` = c51 or quantile");
        assert_eq!(unmet(atoms, &|_| Some("quantile".into())), None);
        assert_eq!((head.read_if, other.read_if), (None, None));
        let mut table = Table::new();
        Example::default().write_to(&mut table);
        assert_eq!(Example::from_table(&table).unwrap(), Example::default());
    }
}
