//! Tables and paragraphs of text that fit the terminal.

use unicode_width::UnicodeWidthStr;

/// One printed table: a heading row and rows of equally many cells.
pub struct TextTable {
    /// Headings.
    pub head: Vec<String>,
    /// Whether each column holds numbers, which align right.
    pub numeric: Vec<bool>,
    /// Rows.
    pub rows: Vec<Vec<String>>,
}

impl TextTable {
    fn width_of(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells
            .chain(self.head.get(column))
            .map(|text| text.width())
            .max()
            .unwrap_or(0)
    }

    /// The lines of the table, none wider than `width`. Columns that do not fit go into further blocks, which repeat the first
    /// column; a last text column that alone is too wide is wrapped.
    pub fn lines(&self, width: usize) -> Vec<String> {
        let widths: Vec<usize> = (0..self.head.len()).map(|c| self.width_of(c)).collect();
        let mut lines = Vec::new();
        let mut next = usize::from(self.head.len() > 1);
        loop {
            let mut block = vec![0];
            let mut used = widths.first().copied().unwrap_or(0);
            while next < widths.len() {
                let last_text = next + 1 == widths.len() && !self.numeric[next];
                let needed = if last_text {
                    widths[next].min(24)
                } else {
                    widths[next]
                };
                if used + 2 + needed > width && block.len() > 1 {
                    break;
                }
                used += 2 + needed;
                block.push(next);
                next += 1;
            }
            if !lines.is_empty() {
                lines.push(String::new());
            }
            self.block(&block, &widths, width, &mut lines);
            if next >= widths.len() {
                return lines;
            }
        }
    }

    fn block(&self, columns: &[usize], widths: &[usize], width: usize, lines: &mut Vec<String>) {
        let before: usize = columns.iter().rev().skip(1).map(|&c| widths[c] + 2).sum();
        let room = width.saturating_sub(before).max(16);
        let rule: Vec<String> = columns
            .iter()
            .map(|&c| "─".repeat(widths[c].min(room)))
            .collect();
        self.row(&self.head, columns, widths, room, lines);
        lines.push(rule.join("  "));
        for row in &self.rows {
            self.row(row, columns, widths, room, lines);
        }
    }

    fn row(
        &self,
        row: &[String],
        columns: &[usize],
        widths: &[usize],
        room: usize,
        lines: &mut Vec<String>,
    ) {
        let mut line = String::new();
        let mut indent = 0;
        let mut rest = Vec::new();
        for (i, &c) in columns.iter().enumerate() {
            let text = row.get(c).map_or("", String::as_str);
            let last = i + 1 == columns.len();
            let gap = " ".repeat(widths[c].saturating_sub(text.width()));
            if last && !self.numeric[c] {
                let mut wrapped = wrap(text, room).into_iter();
                line.push_str(&wrapped.next().unwrap_or_default());
                rest = wrapped.collect();
            } else if self.numeric[c] {
                line.push_str(&gap);
                line.push_str(text);
            } else {
                line.push_str(text);
                line.push_str(&gap);
            }
            if !last {
                line.push_str("  ");
                indent = line.width();
            }
        }
        lines.push(line.trim_end().to_string());
        lines.extend(
            rest.into_iter()
                .map(|text| format!("{}{text}", " ".repeat(indent))),
        );
    }
}

/// Breaks text at spaces into lines of at most `width` columns; a longer word stands alone.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if line.is_empty() {
            line.push_str(word);
        } else if line.width() + 1 + word.width() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: usize, cell: &str) -> TextTable {
        TextTable {
            head: (0..columns).map(|c| format!("c{c}")).collect(),
            numeric: vec![true; columns],
            rows: vec![vec![cell.to_string(); columns]; 2],
        }
    }

    #[test]
    fn wide_tables_break_into_blocks_that_repeat_the_first_column() {
        let lines = table(9, "123.4 ms ±5%").lines(80);
        assert!(lines.iter().all(|l| l.width() <= 80), "{lines:#?}");
        assert_eq!(
            lines
                .iter()
                .filter(|l| l.trim_start().starts_with("c0"))
                .count(),
            2,
            "{lines:#?}"
        );
        for c in 0..9 {
            assert!(lines.iter().any(|l| l.contains(&format!("c{c}"))));
        }
    }

    #[test]
    fn the_last_column_of_words_wraps() {
        let words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen";
        let t = TextTable {
            head: vec!["step".into(), "seen".into()],
            numeric: vec![false, false],
            rows: vec![vec!["driver".into(), words.into()]],
        };
        let lines = t.lines(60);
        assert!(lines.iter().all(|l| l.width() <= 60), "{lines:#?}");
        assert!(
            lines[3].starts_with("        ") && lines.last().unwrap().ends_with("sixteen"),
            "{lines:#?}"
        );
    }
}
