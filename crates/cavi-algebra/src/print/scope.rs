//! What printing may look up, and the names it gives to what has none.

use crate::equations::{Auxiliary, Block, Equations, Site};
use crate::expression::{Expression, MatrixFunction};
use crate::symbols::{ArrayId, AuxiliaryId, AxisId, LetterId, SiteId, Symbols};

use super::named::Named;
use super::words::{letter, plain};

/// What the names of an expression stand for.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'a> {
    /// Axes, letters and arrays.
    pub symbols: &'a Symbols,
    /// The blocks that moments belong to; none are needed before expectations.
    pub blocks: &'a [Block],
    /// The sites that allocations belong to.
    pub sites: &'a [Site],
    /// The tangents that auxiliary variables belong to.
    pub auxiliaries: &'a [Auxiliary],
    /// Further names of the page, deterministic ones and chosen symbols: nothing else is called as they are.
    pub taken: &'a [String],
    /// Deterministic names, in which formulas are shown.
    pub named: &'a [Named],
}

/// What allocations are called, as long as no variable is.
const ALLOCATIONS: [&str; 5] = ["phi", "chi", "omega", "zeta", "xi"];
/// What auxiliary variables of tangents are called, as long as nothing else is.
const AUXILIARIES: [&str; 4] = ["xi", "zeta", "omega", "auxiliary"];
/// What natural parameters are called, as long as no variable is.
pub(super) const NATURAL: [&str; 4] = ["eta", "lambda", "nu", "natural"];

/// What the curvature of the tangent bound is called, as long as nothing else is.
const CURVATURES: [&str; 3] = ["omega", "kappa", "curvature"];

/// What the number pi is called where something else without subscripts is pi.
pub(super) const PI: [&str; 2] = ["PI", "PI_number"];

/// What the objective of a point is called, as long as no variable is.
const OBJECTIVE: [&str; 3] = ["L", "F", "objective"];

impl<'a> Scope<'a> {
    /// For expressions before expectations: they mention no block.
    pub fn before(symbols: &'a Symbols) -> Scope<'a> {
        Scope { symbols, blocks: &[], sites: &[], auxiliaries: &[], taken: &[], named: &[] }
    }

    /// For everything in a derivation.
    pub fn of(equations: &'a Equations) -> Scope<'a> {
        Scope {
            symbols: &equations.symbols,
            blocks: &equations.blocks,
            sites: &equations.sites,
            auxiliaries: &equations.auxiliaries,
            taken: &[],
            named: &[],
        }
    }

    /// The names of the program: arrays, and deterministic names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let arrays = self.symbols.arrays.iter().map(|array| array.name.as_str());
        arrays.chain(self.taken.iter().map(String::as_str))
    }

    /// Whether a variable, a deterministic name or a letter is called so, numbers behind it left out.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        let stem = |own: &str| plain(own).trim_end_matches(|c: char| c.is_ascii_digit() || c == '_') == name;
        self.names().any(stem) || self.symbols.letters.iter().any(|letter| stem(&letter.name))
    }

    /// The capitals that stand for sizes of axes.
    pub(super) fn capitals(&self) -> impl Iterator<Item = String> {
        (0..self.symbols.axes.len()).filter_map(|axis| self.capital(AxisId::from(axis)))
    }

    /// Whether a variable, a deterministic name or a letter looks like a symbol where it is typeset: `x1` looks like `x_1`.
    pub(super) fn looks_taken(&self, symbol: &str) -> bool {
        let shown = letter(symbol);
        let mut letters = self.symbols.letters.iter().map(|own| own.name.as_str());
        letters.any(|own| letter(own) == shown) || self.names().any(|own| letter(own) == shown)
    }

    /// What the number pi is called, where something else without subscripts is called so.
    pub(super) fn number_pi(&self) -> Option<&'static str> {
        let is_pi = |own: &str| letter(own) == letter("pi");
        let arrays = self.symbols.arrays.iter().filter(|own| own.letters.is_empty()).map(|own| &own.name);
        let letters = self.symbols.letters.iter().map(|own| &own.name);
        let taken = arrays.chain(letters).chain(self.taken).any(|own| is_pi(own));
        taken.then(|| PI.into_iter().find(|own| !self.looks_taken(own)).unwrap_or(PI[1]))
    }

    /// The first symbol of a process that looks like nothing else: `K_d`, else `Sigma_d`.
    fn of_process(&self, symbols: [&str; 3], variable: &str) -> String {
        let known = symbols.iter().map(|own| format!("{own}_{variable}"));
        let further = (2..).map(|number| format!("{}_{variable}_{number}", symbols[2]));
        known.chain(further).find(|own| !self.looks_taken(own)).expect("not all numbers are taken")
    }

    /// What the covariance of a Gaussian process is called.
    pub(crate) fn covariance(&self, variable: &str) -> String {
        self.of_process(["K", "Sigma", "cov"], variable)
    }

    /// What the matrix is called whose square the covariance of a Gaussian process is.
    pub(crate) fn root(&self, variable: &str) -> String {
        self.of_process(["C", "R", "root"], variable)
    }

    /// What the variables are called in which a Gaussian process is standard normal.
    pub(crate) fn whitened(&self, variable: &str) -> String {
        self.of_process(["delta", "epsilon", "white"], variable)
    }

    /// The name of an array on the page: its own, and of a matrix that the derivation itself makes, the inverse of a transposed
    /// [`Scope::root`], one that looks like nothing else.
    pub(crate) fn name_of(&self, array: ArrayId) -> String {
        let own = self.symbols.array(array);
        match (&own.value, own.name.strip_prefix("C_").and_then(|rest| rest.strip_suffix("'^-1"))) {
            (Some(Expression::OfMatrix(MatrixFunction::Whitening, ..)), Some(variable)) => {
                format!("{}'^-1", self.root(variable))
            }
            _ => own.name.clone(),
        }
    }

    fn first_free(&self, names: &[&'static str], count: usize) -> Vec<String> {
        let free: Vec<&str> = names.iter().copied().filter(|name| !self.is_taken(name)).collect();
        if count <= free.len() {
            return free[..count].iter().map(|name| (*name).to_owned()).collect();
        }
        let base = free.first().copied().unwrap_or("share");
        (1..=count).map(|number| format!("{base}_{number}")).collect()
    }

    /// What the allocation of a site is called.
    pub(crate) fn allocation(&self, site: SiteId) -> String {
        // Shares that another rule starts from are named after the allocations of their site.
        let starts = |own: &Site| own.collapsed.as_ref().is_some_and(|own| own.shares == site);
        if let Some(of) = self.sites.iter().position(starts) {
            return format!("{}_bar", self.allocation(SiteId::from(of)));
        }
        let shares = self.sites.iter().filter(|own| own.collapsed.is_some()).count();
        let names = self.first_free(&ALLOCATIONS, self.sites.len().saturating_sub(shares).max(1));
        names.get(site.index()).cloned().unwrap_or_else(|| format!("phi_{}", site.index() + 1))
    }

    /// What the argument of a bound is called: as the bound has it, as long as no variable is.
    pub(crate) fn argument(&self, stated: &str) -> String {
        let names = [stated, "y", "s", "f", "argument"];
        names.into_iter().find(|name| !self.is_taken(name)).unwrap_or("argument").to_owned()
    }

    /// What the auxiliary variable of a tangent is called.
    pub(crate) fn auxiliary(&self, id: AuxiliaryId) -> String {
        let base = self.auxiliary_base();
        if self.auxiliaries.len() > 1 { format!("{base}_{}", id.index() + 1) } else { base }
    }

    /// The name that auxiliary variables share.
    pub(crate) fn auxiliary_base(&self) -> String {
        let shares: Vec<String> =
            (0..self.sites.len()).map(|site| self.allocation(SiteId::from(site))).collect();
        let free = AUXILIARIES
            .into_iter()
            .find(|name| !self.is_taken(name) && !shares.contains(&(*name).to_owned()));
        free.unwrap_or("auxiliary").to_owned()
    }

    /// What the curvature of the tangent bound is called: omega of Polson, Scott and Windle, unless something else is.
    pub(crate) fn curvature(&self) -> String {
        let shares = (0..self.sites.len()).map(|site| self.allocation(SiteId::from(site)));
        let others: Vec<String> = shares.chain([self.auxiliary_base(), self.natural()]).collect();
        let free = |name: &&str| !self.is_taken(name) && !others.iter().any(|own| own == name);
        CURVATURES.into_iter().find(free).unwrap_or("curvature").to_owned()
    }

    /// What natural parameters are called.
    pub(crate) fn natural(&self) -> String {
        self.first_free(&NATURAL, 1).remove(0)
    }

    /// What a standard parameter is called: a variable or a letter of the same name keeps it, and the parameter is that of q.
    pub(crate) fn standard(&self, name: &str) -> String {
        let mut shown = name.to_owned();
        let is_letter = |shown: &str| self.symbols.letters.iter().any(|own| own.name == shown);
        while self.names().any(|own| plain(own) == shown) || is_letter(&shown) {
            shown.push_str("_q");
        }
        shown
    }

    /// What the objective of a point is called.
    pub(crate) fn objective(&self) -> String {
        let free = |name: &&str| !self.is_taken(name) && self.capitals().all(|own| own != *name);
        OBJECTIVE.into_iter().find(free).unwrap_or("objective").to_owned()
    }

    /// What log-normalisers are called: a letter that is neither a variable nor the size of an axis.
    pub(crate) fn normaliser(&self) -> String {
        let free = |name: &&str| !self.is_taken(name) && self.capitals().all(|own| own != *name);
        ["A", "B", "G"].into_iter().find(free).unwrap_or("log_normaliser").to_owned()
    }

    /// The capital of an axis's first letter, where nothing else could be meant by it.
    pub(crate) fn capital(&self, axis: AxisId) -> Option<String> {
        let capital_of = |axis: AxisId| {
            let letter: LetterId = *self.symbols.axis(axis).letters.first()?;
            let mut chars = self.symbols.letter(letter).name.chars();
            let first = chars.next().filter(char::is_ascii_lowercase)?;
            chars.next().is_none().then(|| first.to_ascii_uppercase().to_string())
        };
        let capital = capital_of(axis)?;
        let alone = (0..self.symbols.axes.len()).map(AxisId::from).all(|other| {
            other == axis
                || capital_of(other).as_ref() != Some(&capital) && self.symbols.axis(other).name != capital
        });
        let unused = self.names().all(|own| own != capital)
            && self.symbols.letters.iter().all(|letter| letter.name != capital);
        // E is the expectation, H the entropy.
        (alone && unused && capital != "E" && capital != "H").then_some(capital)
    }
}
