//! The overview: what a row says that an update reads is what stands in the equations of this update, no more and no less.

use std::collections::BTreeSet;

use cavi_algebra::ArrayKind;
use cavi_algebra::print::{Format, Printed};

use crate::page::Page;
use crate::read::{Tree, read};
use crate::rows::Row;
use crate::tally::Tally;

/// What natural parameters and coefficients are called.
const NATURAL: [&str; 4] = ["eta", "lambda", "nu", "natural"];

impl Page<'_> {
    /// Each row against the equations that its factor, or its allocations, have on the page.
    pub(crate) fn check_overview(&self, tally: &mut Tally) -> Result<(), String> {
        for piece in self.derivation.printed(Format::Text) {
            let Printed::Table(rows) = piece else { continue };
            for row in &rows {
                let [factor, _, _, reads, cost] = row.as_slice() else {
                    return Err(format!("a row of the overview has {} cells", row.len()));
                };
                let factor = factor.concat();
                for own in cost {
                    read(own, self.symbols())?;
                }
                let mut told = BTreeSet::new();
                for own in reads {
                    self.collect(&read(own, self.symbols())?, &mut told);
                }
                let mut stands = BTreeSet::new();
                let equations: Vec<&Row> = self.rows.iter().filter(|own| is_of(own, &factor)).collect();
                equations.iter().for_each(|own| self.collect(&own.right, &mut stands));
                // A factor that keeps its start has no equations.
                if told != stands && !(equations.is_empty() && told.is_empty()) {
                    return Err(format!(
                        "the overview says that {factor} reads {told:?}, its equations have {stands:?}"
                    ));
                }
                tally.relations += 1;
            }
        }
        Ok(())
    }

    /// What a formula reads: expectations, allocations, auxiliary variables and values of points, without their subscripts.
    fn collect(&self, tree: &Tree, out: &mut BTreeSet<String>) {
        match tree {
            Tree::Call(name, inside) if ["E", "Var", "Cov"].contains(&name.as_str()) => {
                let shown = format!("{:?}", bare(tree));
                // A square of a sum is written out elsewhere.
                let squares = self.rows.iter().filter(|row| row.section == "Expected squares");
                match squares.into_iter().find(|row| format!("{:?}", bare(&row.left)) == shown) {
                    Some(row) => self.collect(&row.right, out),
                    None => {
                        out.insert(format!("{name}{:?}", inside.iter().map(bare).collect::<Vec<Tree>>()));
                    }
                }
            }
            Tree::Probability(..) => {
                out.insert(format!("{:?}", bare(tree)));
            }
            Tree::Name(name, _) => {
                let bare = name.trim_end_matches('~');
                let latent = self.symbols().find(bare);
                let latent = latent.is_some_and(|id| self.symbols().array(id).kind == ArrayKind::Latent);
                match self.defined.iter().find(|own| own.name == *name) {
                    Some(own) if own.share.is_none() && !own.squared => self.collect(&own.right, out),
                    Some(_) => {
                        out.insert(name.clone());
                    }
                    None if latent => {
                        out.insert(bare.to_owned());
                    }
                    None => {}
                }
            }
            Tree::Sum(_, inner) | Tree::Negated(inner) => self.collect(inner, out),
            Tree::Add(all) | Tree::Call(_, all) => all.iter().for_each(|own| self.collect(own, out)),
            Tree::Product(all) => all.iter().for_each(|(_, own)| self.collect(own, out)),
            Tree::Power(left, right) | Tree::Contraction(left, right, _) => {
                self.collect(left, out);
                self.collect(right, out);
            }
            Tree::Number(_) | Tree::Slice(_) | Tree::Size(..) | Tree::Count(_) | Tree::Indicator(_) => {}
        }
    }
}

/// Whether a row is an equation of the update of a factor, or states an allocation or the square of an auxiliary variable.
fn is_of(row: &Row, factor: &str) -> bool {
    let about = row.section == "Updates"
        && row.about.strip_prefix(factor).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', ',']));
    match &row.left {
        Tree::Call(name, _) if NATURAL.contains(&name.as_str()) || name.ends_with('\'') => about,
        Tree::Name(name, inside) if row.sign == "=" && inside.is_empty() => {
            about && ["L", "F", "objective"].contains(&name.as_str())
        }
        // Of several addends each has a number.
        Tree::Name(name, _) if row.sign == "∝" => {
            let number = name.strip_prefix(factor);
            about && factor.starts_with("q(")
                || number.is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit()))
        }
        Tree::Power(base, _) => matches!(&**base, Tree::Name(name, _) if name == factor),
        _ => false,
    }
}

/// A formula without its subscripts.
fn bare(tree: &Tree) -> Tree {
    let all = |trees: &[Tree]| trees.iter().map(bare).collect();
    let boxed = |tree: &Tree| Box::new(bare(tree));
    match tree {
        Tree::Name(name, _) => Tree::Name(name.clone(), Vec::new()),
        Tree::Sum(_, inner) => bare(inner),
        Tree::Add(inner) => Tree::Add(all(inner)),
        Tree::Negated(inner) => Tree::Negated(boxed(inner)),
        Tree::Product(inner) => Tree::Product(inner.iter().map(|(below, own)| (*below, bare(own))).collect()),
        Tree::Power(left, right) => Tree::Power(boxed(left), boxed(right)),
        Tree::Call(name, inner) => Tree::Call(name.clone(), all(inner)),
        Tree::Probability(element, _) => Tree::Probability(boxed(element), Box::new(Tree::Number(1.0))),
        Tree::Contraction(left, right, letter) => {
            Tree::Contraction(boxed(left), boxed(right), letter.as_ref().map(|_| Box::new(Tree::Number(0.0))))
        }
        Tree::Number(_) | Tree::Slice(_) | Tree::Size(..) | Tree::Count(_) | Tree::Indicator(_) => {
            tree.clone()
        }
    }
}
