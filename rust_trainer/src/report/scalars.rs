//! `updates.csv`: one row of named scalars a learner update, their names settled by the first row.

use std::path::Path;

use super::table::Table;
use crate::error::ReportError;

/// A table of named scalars as it is being written.
#[derive(Debug)]
pub struct ScalarTable {
    pub table: Table,
    cells: Vec<Option<String>>,
}

impl ScalarTable {
    /// Opens the table with the rows up to and including `at_step`, or a new one for `None`.
    pub fn open(path: &Path, at_step: Option<u64>) -> Result<Self, ReportError> {
        let table = Table::open(path, at_step)?;
        let cells = vec![None; table.columns.len()];
        Ok(Self { table, cells })
    }

    /// Appends one row. A column that `values` leaves out, and a `None`, become an empty cell; a
    /// name that the first row did not have is an error, since its values would have no place.
    pub fn write(&mut self, step: u64, values: &[(&str, Option<f64>)]) -> Result<(), ReportError> {
        if self.table.columns.is_empty() {
            let names = values.iter().map(|&(name, _)| name);
            let columns: Vec<&str> = std::iter::once("step").chain(names).collect();
            self.table.start(&columns)?;
            self.cells.resize(columns.len(), None);
        }
        self.cells.fill(None);
        self.cells[0] = Some(step.to_string());
        for &(name, value) in values {
            let columns = &self.table.columns;
            let column = columns.iter().position(|column| column == name);
            let column = column.ok_or_else(|| ReportError::UnknownColumn {
                path: self.table.path.clone(),
                column: name.into(),
                columns: columns.join(", "),
            })?;
            if self.cells[column].is_some() {
                return Err(ReportError::RepeatedColumn {
                    path: self.table.path.clone(),
                    column: name.into(),
                });
            }
            self.cells[column] = Some(value.map_or_else(String::new, digits));
        }
        self.table.row(&self.cells)
    }
}

/// The shortest digits that read back as the same number. Most values come from float32 tensors,
/// and `0.1_f32` should stand as `0.1`, not as `0.10000000149011612`.
fn digits(value: f64) -> String {
    let narrow = value as f32;
    if f64::from(narrow).to_bits() == value.to_bits() {
        narrow.to_string()
    } else {
        value.to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn scalars_keep_their_columns_over_a_resume() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("updates.csv");
        let mut table = ScalarTable::open(&path, None).unwrap();
        let loss = f64::from(0.1_f32);
        table
            .write(
                8,
                &[("loss", Some(loss)), ("update", Some(1.0)), ("mean", None)],
            )
            .unwrap();
        table
            .write(16, &[("loss", Some(1e-5)), ("mean", Some(f64::NAN))])
            .unwrap();
        drop(table);

        let mut table = ScalarTable::open(&path, Some(16)).unwrap();
        table
            .write(
                24,
                &[
                    ("update", Some(3.0)),
                    ("mean", Some(0.1)),
                    ("loss", Some(-2.0)),
                ],
            )
            .unwrap();
        let unknown = table.write(32, &[("los", Some(0.0))]).unwrap_err();
        assert!(unknown.to_string().contains("no column `los`"), "{unknown}");
        let repeated = table
            .write(32, &[("loss", None), ("loss", None)])
            .unwrap_err();
        assert!(repeated.to_string().contains("`loss` twice"), "{repeated}");
        drop(table);

        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "step,loss,update,mean\n8,0.1,1,\n16,0.00001,,NaN\n24,-2,3,0.1\n"
        );
    }
}
