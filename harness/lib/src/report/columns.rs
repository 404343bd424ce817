//! Cells in columns, for a terminal.

/// A line for each row, its cells as wide as the widest of their column and two spaces apart.
pub fn columns<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let widest = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: [usize; N] = std::array::from_fn(|column| widest(column).unwrap_or(0));
    let line = |row: &[String; N]| {
        let cells: Vec<_> = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:<width$}"))
            .collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_in_characters() {
        let rows = [["NAME", "X"], ["\u{fc}ber", "1"], ["a", ""]].map(|row| row.map(str::to_owned));
        assert_eq!(columns(&rows), ["NAME  X", "\u{fc}ber  1", "a"]);
        assert_eq!(columns::<2>(&[]), [] as [String; 0]);
    }
}
