//! What a program is about: its opening comment, and a line for each quantity, with what it may be.

use crate::expression::Subscript;
use crate::symbols::{Array, ArrayId, ArrayKind, Support};

use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Item, Span, words};

impl Derivation<'_> {
    /// The words of the program about itself.
    pub(super) fn about_the_program(&self) -> Vec<Item> {
        let said = self.about.join(" ");
        if said.is_empty() { Vec::new() } else { vec![Item::Paragraph(vec![words(said)])] }
    }

    /// Data, latent variables and constants, each with its range, and constants with their values.
    pub(super) fn quantities(&self) -> Vec<Item> {
        let mut lines = Vec::new();
        for (kind, called) in
            [(ArrayKind::Data, "data"), (ArrayKind::Latent, "latent"), (ArrayKind::Constant, "constant")]
        {
            let arrays = self.symbols().arrays.iter().enumerate();
            let kind_of = |index: usize, array: &Array| match self.is_partly_observed(ArrayId::from(index)) {
                true => ArrayKind::Data,
                false => array.kind,
            };
            let own = arrays
                .filter(|(index, array)| kind_of(*index, array) == kind && self.is_declared(*index, array));
            lines.extend(own.map(|(index, array)| self.quantity(ArrayId::from(index), array, called)));
        }
        if lines.is_empty() { Vec::new() } else { vec![Item::Heading("Quantities"), Item::List(lines)] }
    }

    /// Whether the program names it: numbers of the text and matrices that the derivation makes are arrays, too.
    fn is_declared(&self, index: usize, array: &Array) -> bool {
        let id = ArrayId::from(index);
        let named = array.name.starts_with(|c: char| c.is_alphabetic())
            && array.name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let stated = || self.equations.statements.iter().any(|statement| statement.target == id);
        named && (array.kind != ArrayKind::Latent || stated())
    }

    /// `n[d,v]: data, a count`
    fn quantity(&self, id: ArrayId, array: &Array, called: &str) -> Vec<Span> {
        let subscripts: Vec<Subscript> =
            array.letters.iter().map(|letter| Subscript::Letter(*letter)).collect();
        let mut builder = Builder::new(self.scope(), &array.letters);
        let mut line = vec![Span::Math(builder.element(id, &subscripts))];
        if let (Some(value), ArrayKind::Constant) = (&array.value, array.kind) {
            line.extend([words(" = "), Span::Math(builder.expression(value))]);
        }
        // Of a number that is shown nothing more is to be said.
        if array.value.is_some() && array.kind == ArrayKind::Constant && array.support == Support::Real {
            line.push(words(format!(": {called}")));
            return line;
        }
        line.push(words(format!(": {called}, ")));
        match array.support {
            Support::Real => line.push(words("a real number")),
            Support::Positive => line.push(words("greater than 0")),
            Support::Nonnegative => line.push(words("0 or greater")),
            Support::Unit => line.push(words("from 0 to 1")),
            Support::Count => line.push(words("a count")),
            Support::Binary => line.push(words("0 or 1")),
            Support::Simplex => {
                let slices = array.letters.iter().zip(&array.slice).filter(|(_, slice)| **slice);
                let over: Vec<_> = slices.map(|(letter, _)| *letter).collect();
                line.push(words("a probability"));
                if !over.is_empty() {
                    line.push(words("; over "));
                    line.extend(separated(builder.letters_of(&over).into_iter().map(Span::Math).collect()));
                    line.push(words(" these sum to 1"));
                }
            }
            Support::Index(axis) => {
                line.push(words(format!("a position on {}", self.symbols().axis(axis).name)));
            }
            Support::Multiplicity => line.push(words("how often a row counts, 0 or greater")),
            Support::PositiveDefinite => line.push(words("a symmetric positive definite matrix")),
        }
        let absent = match (array.kind, array.absent.zero, array.absent.missing) {
            _ if self.is_partly_observed(id) => ", latent where not observed",
            (ArrayKind::Data, true, false) => ", 0 where not listed",
            (ArrayKind::Data, false, true) => ", not observed where not listed",
            (ArrayKind::Data, true, true) => ", 0 where not listed, some not observed",
            _ => "",
        };
        line.push(words(absent));
        line
    }
}
