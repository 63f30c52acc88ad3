//! Data of which some entries are not observed, where these stand on a right-hand side too: what a page says of the entries that are.
//!
//! Only an entry that is not observed has a factor of q. An observed one is a point mass at its value: wherever the page has an expectation
//! of it, that is its value, its variance is 0, and it has no entropy. A page is derived before any data are read. It states the factor,
//! and says for which entries it is one.

use crate::equations::Block;
use crate::symbols::{ArrayId, ArrayKind};

use super::build::Builder;
use super::derivation::{Derivation, separated};
use super::document::{Span, words};
use super::node::Node;

impl Derivation<'_> {
    /// Whether an array is data of which some entries may be latent.
    pub(super) fn is_partly_observed(&self, id: ArrayId) -> bool {
        let array = self.symbols().array(id);
        array.kind == ArrayKind::Latent && array.absent.missing
    }

    /// The elements of the factor of a block that may be data: `x[n]`.
    fn elements_of_data(&self, block: &Block) -> Vec<Node> {
        let mut builder = Builder::new(self.scope(), &block.plates);
        let members = block.members.iter().enumerate().filter(|(_, own)| self.is_partly_observed(**own));
        members.map(|(number, _)| builder.member(block, number)).collect()
    }

    /// `, where x[n] is not observed`; of pairs `, where i < j and x[i,j] is not observed`
    pub(super) fn where_not_observed(&self, block: &Block) -> Vec<Span> {
        let own = self.elements_of_data(block);
        if own.is_empty() {
            return Vec::new();
        }
        let verb = if own.len() == 1 { " is not observed" } else { " are not observed" };
        let mut line = vec![words(", where ")];
        if let Some(atom) = &block.exists {
            let condition = Builder::new(self.scope(), &block.plates).condition(atom);
            line.push(words(format!("{condition} and ")));
        }
        line.extend(separated(own.into_iter().map(Span::Math).collect()));
        line.push(words(verb));
        line
    }

    /// What becomes of the entries that are observed.
    pub(super) fn observed_stay(&self, block: &Block) -> Option<Vec<Span>> {
        let own = self.elements_of_data(block);
        if own.is_empty() {
            return None;
        }
        let verb = if own.len() == 1 { " is observed it stays" } else { " are observed they stay" };
        let mut line = vec![words("Where ")];
        line.extend(separated(own.into_iter().map(Span::Math).collect()));
        line.push(words(format!(
            "{verb} at the value: no update is made there, expectations are those of a point mass, and its entropy counts as 0."
        )));
        Some(line)
    }

    /// What the bound has of the entries that are observed.
    pub(super) fn observed_in_bound(&self) -> Option<Vec<Span>> {
        let blocks = || self.equations.blocks.iter();
        let members = blocks().flat_map(|block| block.members.iter().map(move |own| (block, *own)));
        let own: Vec<(&Block, ArrayId)> = members.filter(|(_, own)| self.is_partly_observed(*own)).collect();
        if own.is_empty() {
            return None;
        }
        let names = own.iter().map(|(_, id)| Span::Math(self.name(*id))).collect();
        let mut line = vec![words("Of the entries of ")];
        line.extend(separated(names));
        line.push(words(" that are observed the bound has the log-density at the value, and no entropy"));
        if own.iter().any(|(block, _)| self.standard.paired(block.family)) {
            line.push(words(": the sums of natural parameters and log-normalisers go over the others"));
        }
        line.push(words("."));
        Some(line)
    }
}
