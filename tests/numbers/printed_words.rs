//! What pages of all levels say: relations that a full page has, and sentences in the words of the field.

use std::collections::BTreeSet;

use cavi_algebra::BlockId;
use cavi_algebra::print::{Derivation, Format, Level, Printed};
use cavi_tests::support::programs;

use crate::printed::derivation;

/// The relations of a page.
fn relations(pieces: &[Printed]) -> BTreeSet<String> {
    let shown = |piece: &Printed| match piece {
        Printed::Relation { left, sign, right, .. } => Some(format!("{left} {sign} {right}")),
        Printed::Heading(_) | Printed::Subheading(_) | Printed::Sentence(_) | Printed::Table(_) => None,
    };
    pieces.iter().filter_map(shown).collect()
}

/// Shorter and longer pages state nothing that `every_printed_relation_holds` does not read: all of their relations stand on
/// the full page or among the steps of a block.
#[test]
fn levels_state_no_relation_of_their_own() {
    for program in programs() {
        let full = derivation(&program);
        let at = |level| relations(&Derivation { level, ..full }.printed(Format::Text));
        let mut known = at(Level::Full);
        let (paper, lecture) = (at(Level::Paper), at(Level::Lecture));
        assert!(paper.is_subset(&known), "{}: {:?}", program.name, paper.difference(&known));
        assert!(known.is_subset(&lecture), "{}: {:?}", program.name, known.difference(&lecture));
        for id in (0..program.equations.blocks.len()).map(BlockId::from) {
            known.extend(relations(&full.printed_steps(id, Format::Text)));
        }
        assert!(lecture.is_subset(&known), "{}: {:?}", program.name, lecture.difference(&known));
    }
}

/// Sentences speak the words of the field: none that this project uses only within itself.
#[test]
fn sentences_hold_no_word_of_the_house() {
    let house = [
        "copies",
        " copy",
        "shares",
        "moves",
        "move ",
        "hold it",
        "holds it",
        "refresh",
        "raise no bound",
        "slopes",
    ];
    for program in programs() {
        let page = Derivation { level: Level::Lecture, ..derivation(&program) };
        for piece in page.printed(Format::Text) {
            let Printed::Sentence(line) = piece else { continue };
            // A variable may be called what it likes.
            let own = |word: &str| program.equations.symbols.find(word.trim()).is_some();
            let found = house.iter().find(|word| line.contains(**word) && !own(word));
            assert_eq!(found, None, "{}: {line}", program.name);
        }
    }
}
