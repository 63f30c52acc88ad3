//! The names of letters in one printed expression, no two of which have the same name.

use std::collections::{BTreeMap, BTreeSet};

use crate::expression::Subscript;
use crate::sum_of_products::{Atom, Sum};
use crate::symbols::{LetterId, Symbols};

use super::Scope;
use super::node::Node;

/// The letters that have a name at a place of an expression.
#[derive(Clone, Debug, Default)]
pub(crate) struct Letters {
    /// The letter as shown, behind its ancestors.
    shown: BTreeMap<LetterId, Vec<Node>>,
    /// The letters that stand anywhere in the expression.
    present: BTreeSet<LetterId>,
}

impl Letters {
    /// Notes which letters an expression holds, and names those that are free in it, the declared ones first.
    pub fn survey(&mut self, scope: Scope<'_>, sum: &Sum) {
        let mut free = BTreeSet::new();
        survey(scope, sum, &mut Vec::new(), &mut free, &mut self.present);
        for letter in free {
            self.name(scope.symbols, letter);
        }
    }

    /// Names letters, and their ancestors before them.
    pub fn declare(&mut self, symbols: &Symbols, letters: &[LetterId]) {
        self.present.extend(letters);
        for letter in letters {
            self.name(symbols, *letter);
        }
    }

    /// The letter as shown, behind its ancestors.
    pub fn lineage(&mut self, symbols: &Symbols, letter: LetterId) -> Vec<Node> {
        self.name(symbols, letter);
        self.shown[&letter].clone()
    }

    /// Lets a letter, ancestors included, be shown as something else.
    pub fn replace(&mut self, symbols: &Symbols, letter: LetterId, by: &[Node]) {
        for (depth, id) in symbols.lineage(letter).into_iter().enumerate() {
            if let Some(length) = by.len().checked_sub(depth)
                && length > 0
            {
                self.shown.insert(id, by[..length].to_vec());
            }
        }
    }

    /// Names letters that a sum binds here, whatever they were called outside.
    pub fn bind(&mut self, symbols: &Symbols, letters: &[LetterId]) -> Vec<Node> {
        for letter in letters {
            self.shown.remove(letter);
        }
        let own = |letter: &LetterId| {
            let mut lineage = self.lineage(symbols, *letter);
            lineage.pop().expect("a letter has a name")
        };
        letters.iter().map(own).collect()
    }

    fn name(&mut self, symbols: &Symbols, letter: LetterId) {
        if self.shown.contains_key(&letter) {
            return;
        }
        let mut lineage = match symbols.letter(letter).parent {
            Some(parent) => self.lineage(symbols, parent),
            None => Vec::new(),
        };
        lineage.push(Node::Letter(self.choose(symbols, letter)));
        self.shown.insert(letter, lineage);
    }

    /// Its own name; else another letter of the axis that stands nowhere else; else its own with primes.
    fn choose(&self, symbols: &Symbols, letter: LetterId) -> String {
        let free = |name: &str| {
            !self.shown.values().flatten().any(|node| matches!(node, Node::Letter(other) if other == name))
        };
        let own = &symbols.letter(letter).name;
        if free(own) {
            return own.clone();
        }
        for other in &symbols.axis(symbols.letter(letter).axis).letters {
            let name = &symbols.letter(*other).name;
            if !self.present.contains(other) && free(name) {
                return name.clone();
            }
        }
        let mut primed = format!("{own}'");
        while !free(&primed) {
            primed.push('\'');
        }
        primed
    }
}

/// Collects the letters that a sum binds, and those that are free in it with the ancestors they are shown behind.
fn survey(
    scope: Scope<'_>,
    sum: &Sum,
    bound: &mut Vec<LetterId>,
    free: &mut BTreeSet<LetterId>,
    present: &mut BTreeSet<LetterId>,
) {
    for term in &sum.terms {
        let outside = bound.len();
        bound.extend(&term.sums);
        let mut letters = term.sums.clone();
        for factor in &term.factors {
            for inner in factor.atom.nested() {
                survey(scope, inner, bound, free, present);
            }
            letters.extend(own_letters(&factor.atom));
            if let Atom::LogPartition { site, .. } = &factor.atom
                && let Some(site) = scope.sites.get(site.index())
            {
                present.extend(site.addends.iter().flat_map(|addend| &addend.letters));
            }
        }
        for letter in letters.into_iter().flat_map(|letter| scope.symbols.lineage(letter)) {
            present.insert(letter);
            if !bound.contains(&letter) {
                free.insert(letter);
            }
        }
        bound.truncate(outside);
    }
}

/// The letters in the subscripts of an atom, those of nested sums apart.
fn own_letters(atom: &Atom) -> Vec<LetterId> {
    let mut letters = Vec::new();
    if atom.nested().is_empty() {
        atom.visit_subscripts(&mut |subscript: &Subscript| subscript.letters(&mut letters));
    }
    letters
}
