//! Layers of settings: what a later one names wins over an earlier one. And what nothing reads.
//!
//! Some settings count for nothing unless another one asks for them ([`ReadIf`]). One that
//! is named all the same is refused. But a layer that switches something off takes with it what the
//! layers before said about it: nobody named that beside the switch.

use toml::{Table, Value};

use super::{
    algorithms::Algorithm,
    fields::{Field, ReadIf, shown},
    groups::{algorithm_of, default_of, fields},
};
use crate::error::TrainerError;

/// The settings of `below` with those that `above` names in their place.
pub(super) fn lay_over(below: Table, above: &Table) -> Result<Table, TrainerError> {
    let mut table = below;
    table.extend(above.clone());
    let algorithm = algorithm_of(&table)?;
    // What goes may be a switch itself.
    let mut changed: Vec<&str> = above.keys().map(String::as_str).collect();
    loop {
        let is_there = |name| table.contains_key(name) && !above.contains_key(name);
        let mut unread = unread(&table, algorithm).into_iter();
        let goes =
            unread.find(|(field, on, _)| changed.contains(&on.switch()) && is_there(field.name));
        let Some((field, ..)) = goes else {
            return Ok(table);
        };
        table.remove(field.name);
        changed.push(field.name);
    }
}

/// Refuses those settings of the table `all` that nothing reads and that were named: `is_named` is asked with
/// each and its value.
pub(super) fn check_read(
    all: &Table,
    algorithm: Algorithm,
    is_named: impl Fn(&Field, &Value) -> bool,
) -> Result<(), TrainerError> {
    for (field, condition, switch) in unread(all, algorithm) {
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

/// The settings that are not read where others are as `table` says, or at their defaults: each with its condition
/// that does not hold, and the value of the setting that decides.
pub(super) fn unread(table: &Table, algorithm: Algorithm) -> Vec<(&'static Field, ReadIf, Value)> {
    let with_reason = |field: &'static Field| {
        let (condition, switch) = unmet(field, |name| value_of(name, table, algorithm))?;
        Some((field, condition, switch))
    };
    fields(&[algorithm]).filter_map(with_reason).collect()
}

/// The condition of `field` that does not hold, and the value of the setting that decides.
fn unmet(field: &Field, value_of: impl Fn(&str) -> Option<Value>) -> Option<(ReadIf, Value)> {
    let condition = field.read_if?;
    let value = value_of(condition.switch())?;
    (!condition.holds(&value)).then_some((condition, value))
}

fn value_of(name: &str, table: &Table, algorithm: Algorithm) -> Option<Value> {
    let field = fields(&[algorithm]).find(|field| field.name == name)?;
    let named = table.get(name).cloned();
    Some(named.unwrap_or_else(|| default_of(field, algorithm)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::fields::settings;

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
            for (field, condition) in
                fields(&[algorithm]).filter_map(|field| Some((field, field.read_if?)))
            {
                let value = value_of(condition.switch(), &Table::new(), algorithm);
                assert!(value.is_some(), "{}: {condition}", field.name);
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
        let problem = unmet(atoms, |_| Some("none".into())).unwrap();
        assert_eq!(problem.0.to_string(), "`head` = c51 or quantile");
        assert_eq!(unmet(atoms, |_| Some("quantile".into())), None);
        assert_eq!((head.read_if, other.read_if), (None, None));
        let mut table = Table::new();
        Example::default().write_to(&mut table);
        assert_eq!(Example::from_table(&table).unwrap(), Example::default());
    }
}
