//! The evidence lower bound, all constants included: `sum E log p + entropies`, allocations at their optimum.

use cavi_algebra::canonical::canonical;
use cavi_algebra::{Auxiliary, Block, BlockId, Elbo, StatementId, Sum};
use cavi_families::posterior;

use crate::blocks::{Draft, block_of};
use crate::bounds::Bounded;
use crate::conjugate::opened;
use crate::derive::Derivation;
use crate::expect::{expect, expect_term};
use crate::explain;

/// The bound of the program.
pub fn elbo(derivation: &mut Derivation, drafts: &[Draft], blocks: &[Block], bounded: &Bounded) -> Elbo {
    let mut elbo = Elbo::default();
    for (index, statement) in bounded.statements.iter().enumerate() {
        let id = StatementId::from(index);
        let target = derivation.model.statements[index].target;
        let paired = block_of(drafts, target).filter(|block| is_paired(&blocks[block.index()]));
        let tight = expected(derivation, drafts, id, paired, &statement.tight);
        elbo.terms.push((id, tight));
        if let Some(shared) = &statement.shared {
            elbo.shared.push((id, expected(derivation, drafts, id, paired, shared)));
        }
    }
    answered(derivation, drafts, blocks, &bounded.auxiliaries, &elbo);
    elbo
}

/// The expectation of the terms of a statement, without what is linear in the statistics of a paired block: that stands in
/// its prior.
fn expected(
    derivation: &mut Derivation,
    drafts: &[Draft],
    id: StatementId,
    paired: Option<BlockId>,
    whole: &Sum,
) -> Sum {
    let mut sum = Sum::zero();
    for term in &whole.terms {
        let rest = match paired {
            Some(block) => {
                let draft = &drafts[block.index()];
                let open = opened(&mut derivation.symbols, draft, block, term, true);
                let mut open = open.unwrap_or_else(|_| Sum::term(term.clone()));
                open.terms.retain(|term| !draft.members.iter().any(|member| term.mentions(*member)));
                open
            }
            None => Sum::term(term.clone()),
        };
        for term in &rest.terms {
            match expect_term(&mut derivation.symbols, drafts, term) {
                Ok(expected) => sum = sum.plus(expected),
                Err(leftover) => {
                    let block = leftover.block;
                    let diagnostic = explain::leftover(derivation, drafts, block, &[(id, leftover)]);
                    derivation.complain(diagnostic, Some(&drafts[block.index()]), Some(id));
                }
            }
        }
    }
    canonical(&mut derivation.symbols, &sum)
}

fn is_paired(block: &Block) -> bool {
    !block.is_point() && posterior(block.family).paired()
}

/// Takes the expectations of a site's weight and log weights, and of the squares of tangents.
pub fn expect_sites(derivation: &mut Derivation, drafts: &[Draft], bounded: &mut Bounded) {
    for own in &mut bounded.auxiliaries {
        let statement = own.statement;
        for sum in [&mut own.weight, &mut own.square] {
            match expect(&mut derivation.symbols, drafts, sum) {
                Ok(expected) => *sum = expected,
                Err(leftover) => {
                    let block = leftover.block;
                    let diagnostic = explain::leftover(derivation, drafts, block, &[(statement, leftover)]);
                    derivation.complain(diagnostic, Some(&drafts[block.index()]), Some(statement));
                }
            }
        }
    }
    for site in &mut bounded.sites {
        let statement = site.statement;
        let mut take = |sum: &Sum| match expect(&mut derivation.symbols, drafts, sum) {
            Ok(expected) => Some(expected),
            Err(leftover) => {
                let block = leftover.block;
                let diagnostic = explain::leftover(derivation, drafts, block, &[(statement, leftover)]);
                derivation.complain(diagnostic, Some(&drafts[block.index()]), Some(statement));
                None
            }
        };
        if let Some(weight) = take(&site.weight) {
            site.weight = weight;
        }
        for addend in &mut site.addends {
            if let Some(log_weight) = take(&addend.log_weight) {
                addend.log_weight = log_weight;
            }
        }
    }
}

/// Every expectation that the equations need is one that its block's family answers.
fn answered(
    derivation: &mut Derivation,
    drafts: &[Draft],
    blocks: &[Block],
    auxiliaries: &[Auxiliary],
    elbo: &Elbo,
) {
    let mut missing = Vec::new();
    let mut look = |sum: &Sum| explain::unanswered(blocks, sum, &mut missing);
    elbo.terms.iter().for_each(|(_, sum)| look(sum));
    auxiliaries.iter().for_each(|own| look(&own.square));
    for block in blocks {
        block.update().for_each(&mut look);
    }
    for (block, statistic) in missing {
        let diagnostic =
            explain::no_expectation(derivation, drafts, BlockId::from(block), blocks, &statistic);
        derivation.complain(diagnostic, Some(&drafts[block]), None);
    }
}
