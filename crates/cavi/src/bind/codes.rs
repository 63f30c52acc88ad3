//! The labels of long tables to positions.

use std::collections::HashMap;

use cavi_algebra::{AxisId, Symbols};
use cavi_files::{Categories, Content};

use super::axes::Axes;
use super::data_error::DataError;
use super::pieces::Piece;

impl Axes {
    /// Where each label of a dimension of a long table is, if that follows from the label alone: not in a table that has a column for the
    /// groups of the dimension.
    pub fn codes(
        &self,
        symbols: &Symbols,
        piece: &Piece,
        dimension: usize,
    ) -> Result<Option<Vec<u32>>, DataError> {
        let Content::Long(long) = &piece.content else {
            unreachable!("only long tables have columns of labels")
        };
        let letter = symbols.letter(piece.letters[dimension]);
        if letter.parent.is_some_and(|above| piece.letters.contains(&above)) {
            return Ok(None);
        }
        let group = match (letter.parent, &piece.group, symbols.axis(letter.axis).parent) {
            (Some(_), Some(path), Some(parent)) => self.find_path(symbols, parent, path).unwrap_or(0),
            _ => 0,
        };
        let names = long.positions[dimension].names.iter().enumerate();
        let place = |(code, name): (usize, &String)| {
            let found = self.find(letter.axis, group, name);
            found.ok_or_else(|| self.lost(symbols, piece, dimension, code as u32, letter.axis))
        };
        names.map(place).collect::<Result<_, _>>().map(Some)
    }

    /// The positions that the entries of a long table have in one dimension.
    pub fn column(&self, symbols: &Symbols, piece: &Piece, dimension: usize) -> Result<Vec<u32>, DataError> {
        let Content::Long(long) = &piece.content else {
            unreachable!("only long tables have columns of labels")
        };
        let letter = symbols.letter(piece.letters[dimension]);
        let column: &Categories = &long.positions[dimension];
        if let Some(map) = self.codes(symbols, piece, dimension)? {
            return Ok(column.codes.iter().map(|code| map[*code as usize]).collect());
        }
        let above = piece.letters.iter().position(|own| Some(*own) == letter.parent);
        let parents = self.column(symbols, piece, above.expect("a table of groups has a column for them"))?;
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        let mut positions = Vec::with_capacity(parents.len());
        for (parent, code) in parents.iter().zip(&column.codes) {
            let position = match known.get(&(*parent, *code)) {
                Some(position) => *position,
                None => {
                    let name = &column.names[*code as usize];
                    let found = self.find(letter.axis, *parent as usize, name);
                    let position =
                        found.ok_or_else(|| self.lost(symbols, piece, dimension, *code, letter.axis))?;
                    known.insert((*parent, *code), position);
                    position
                }
            };
            positions.push(position);
        }
        Ok(positions)
    }

    /// A label of a file that is no label of its axis.
    fn lost(&self, symbols: &Symbols, piece: &Piece, dimension: usize, code: u32, axis: AxisId) -> DataError {
        let Content::Long(long) = &piece.content else { unreachable!("only long tables have codes") };
        let column = &long.positions[dimension];
        let entry = column.codes.iter().position(|other| *other == code).unwrap_or(0);
        let error = piece.content.error_at(
            &piece.file,
            entry,
            format!("the label `{}`", column.names[code as usize]),
            self.expected_label(symbols, axis),
        );
        DataError {
            help: Some(format!(
                "labels of `{}` are given; correct one of the two files",
                symbols.axis(axis).name
            )),
            ..error.into()
        }
    }
}
