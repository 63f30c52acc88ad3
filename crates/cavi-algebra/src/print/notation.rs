//! The symbols of a page: those of the literature for the parameters of q, unless the program says otherwise.
//!
//! A page is built with the names of the program, and with words (`shape`, `concentration`) for the parameters of q. Here
//! its symbols are put in their place: in LaTeX and Markdown all of them, in text those that the program asks for. No symbol
//! stands for two things. A letter that the program, an index or the size of an axis has taken wears a hat where a parameter
//! would have it, and one that several factors of q have shows its variable above. What looks like a function of the page is set word for
//! word.

use std::collections::{BTreeMap, BTreeSet};

use crate::equations::Block;
use crate::expression::{Expression, Function};
use crate::symbols::SiteId;

use super::Format;
use super::derivation::Derivation;
use super::document::Item;
use super::meanings::{each_node, inside};
use super::model::Defined;
use super::node::{Call, Element, Node};
use super::scope::NATURAL;
use super::words::{Name, letter, name, plain};

/// A symbol that the program chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The variable, or a deterministic name.
    pub variable: String,
    /// The parameter of its factor of q; `None` for the variable itself.
    pub parameter: Option<String>,
    /// The symbol, as a name: `gamma`, `sigma^2`.
    pub symbol: String,
}

/// What a program says about its symbols.
#[derive(Clone, Debug, Default)]
pub struct Notation {
    /// Its choices.
    pub chosen: Vec<Chosen>,
    /// Names beside those of arrays that nothing else may be called by.
    pub taken: Vec<String>,
}

impl Notation {
    /// The choices of a program that has these deterministic names.
    pub fn new(chosen: Vec<Chosen>, defined: &[Defined]) -> Notation {
        let symbols = chosen.iter().map(|own| own.symbol.trim_end_matches("^2").to_owned());
        let taken = defined.iter().map(|own| own.name().to_owned()).chain(symbols).collect();
        Notation { chosen, taken }
    }
}

/// A parameter as it stands in the nodes of a page: whose it is, where that is shown, and its word.
type Key = (Option<Vec<String>>, String);

/// A symbol for a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Symbol {
    name: String,
    /// Whether its variable is shown.
    of: bool,
}

impl Derivation<'_> {
    /// Puts the symbols of a format in the place of words and names.
    pub(super) fn in_notation(&self, items: &mut [Item], format: Format) {
        let parameters = self.symbols_of_parameters(format);
        let functions = functions_of(items);
        let variables = match format {
            Format::Text => BTreeMap::new(),
            Format::Latex | Format::Markdown => self.symbols_of_variables(&functions),
        };
        let natural = self.scope().natural();
        let other = self.natural_beside(&parameters).filter(|_| format != Format::Text);
        each_node(items, &mut |node| match node {
            Node::Element(element) => {
                set(element, &parameters, &variables);
            }
            Node::Size { capital, .. } => without_function(capital, &functions),
            Node::Call(Call::Named(name), _) if *name == natural => {
                if let Some(other) = other {
                    *name = other.to_owned();
                }
            }
            _ => {}
        });
    }

    /// Whether a parameter of a block has a symbol in print.
    pub(super) fn has_symbol(&self, block: &Block, parameter: &str) -> bool {
        let key = (self.owner(block), self.scope().standard(parameter));
        self.symbols_of_parameters(Format::Latex).contains_key(&key)
    }

    /// The symbols of variables: those that are chosen, a square for `sigma2` where it is a variance, and the name word for word of
    /// what would look like something else, a function of the page among it.
    fn symbols_of_variables(&self, functions: &[&str]) -> BTreeMap<String, String> {
        let own = self.notation.chosen.iter().filter(|own| own.parameter.is_none());
        let mut all: BTreeMap<String, String> =
            own.map(|own| (own.variable.clone(), own.symbol.clone())).collect();
        // The mean of data has a bar over their symbol.
        for (variable, symbol) in all.clone().into_iter().filter(|(_, symbol)| !symbol.contains('^')) {
            let mean = format!("{variable}_bar");
            if !self.scope().names().any(|own| own == mean) {
                all.insert(mean, format!("{symbol}_bar"));
            }
        }
        for argument in self.stated.iter().flat_map(|stated| {
            let own = stated.arguments.iter().filter(|own| own.name == Some("var"));
            own.map(move |own| (stated, &own.value))
        }) {
            let (stated, Expression::Value(array, _)) = argument else { continue };
            let variable = &stated.symbols.array(*array).name;
            let Some(stem) = variable.strip_suffix('2') else { continue };
            let numbered =
                |own: &str| own != variable && own.trim_end_matches(|c: char| c.is_ascii_digit()) == stem;
            let others = self.scope().names().any(|own| own == stem || numbered(own));
            if stem.ends_with(char::is_alphabetic) && !others && !self.is_used(stem) {
                all.entry(variable.clone()).or_insert_with(|| format!("{stem}^2"));
            }
        }
        self.tell_apart(functions, &mut all);
        all
    }

    /// Names that are set alike: one of them keeps the symbol, the others are set word for word.
    fn tell_apart(&self, functions: &[&str], all: &mut BTreeMap<String, String>) {
        let is_symbol =
            |own: &str| self.notation.chosen.iter().any(|chosen| chosen.symbol.trim_end_matches("^2") == own);
        let known = self.symbols().letters.iter().map(|own| own.name.as_str());
        let known = known.chain(all.values().map(String::as_str)).chain(functions.iter().copied());
        let scope = self.scope();
        let names = scope.names().filter(|own| !is_symbol(own) && !all.contains_key(*own));
        for (own, word) in names_apart(known, names) {
            let mean = format!("{own}_bar");
            if !scope.names().any(|other| other == mean) {
                all.insert(mean, format!("{word}_bar"));
            }
            all.insert(own, word);
        }
    }

    /// The same in one formula, which else keeps the names of the program.
    pub(super) fn tell_apart_in(&self, node: &mut Node) {
        let mut names = BTreeMap::new();
        let mut found = Vec::new();
        inside(node, &mut |node| found.extend(function_of(node)));
        self.tell_apart(&found, &mut names);
        inside(node, &mut |node| match node {
            Node::Element(element) => set(element, &BTreeMap::new(), &names),
            Node::Size { capital, .. } => without_function(capital, &found),
            _ => {}
        });
    }

    /// The first of some symbols that stands for nothing else on the page.
    pub(super) fn free_symbol(&self, symbols: [&'static str; 3]) -> &'static str {
        let parameters = self.symbols_of_parameters(Format::Latex);
        let taken = |own: &str| {
            self.is_used(own) || parameters.values().any(|other| letter(&other.name) == letter(own))
        };
        symbols.into_iter().find(|own| !taken(own)).unwrap_or(symbols[2])
    }

    /// The symbols of the parameters of q.
    fn symbols_of_parameters(&self, format: Format) -> BTreeMap<Key, Symbol> {
        let mut all: Vec<(Key, Symbol)> = Vec::new();
        let mut used: Vec<&'static [&'static str]> = Vec::new();
        for block in &self.equations.blocks {
            let words = self.parameters_of(block);
            if words.is_empty() {
                continue;
            }
            let alternatives = match format {
                Format::Text => &[],
                Format::Latex | Format::Markdown => self.standard.symbols(block.family),
            };
            let (symbols, hats) = self.alternative(alternatives, words.len(), &used);
            if !symbols.is_empty() && !hats {
                used.push(symbols);
            }
            for (place, word) in words.iter().enumerate() {
                let key = (self.owner(block), self.scope().standard(word.name));
                let is_member = |variable: &str| {
                    block.members.iter().any(|member| self.symbols().array(*member).name == variable)
                };
                let chosen = self
                    .notation
                    .chosen
                    .iter()
                    .find(|own| own.parameter.as_deref() == Some(word.name) && is_member(&own.variable));
                if let Some(own) = chosen {
                    all.push((key, Symbol { name: own.symbol.clone(), of: false }));
                } else if let Some(symbol) = symbols.get(place) {
                    let name = if hats { format!("{symbol}_hat") } else { (*symbol).to_owned() };
                    all.push((key, Symbol { name, of: true }));
                }
            }
        }
        // A symbol that one factor alone has needs no variable above it.
        let shared = |symbol: &Symbol| all.iter().filter(|(_, other)| other.name == symbol.name).count() > 1;
        all.iter()
            .map(|(key, symbol)| (key.clone(), Symbol { of: symbol.of && shared(symbol), ..symbol.clone() }))
            .collect()
    }

    /// The first alternative whose first `count` symbols are free and no other factor's, else the first that is free, else the first
    /// with hats.
    fn alternative(
        &self,
        alternatives: &'static [&'static [&'static str]],
        count: usize,
        used: &[&'static [&'static str]],
    ) -> (&'static [&'static str], bool) {
        let alternatives = || alternatives.iter().map(|own| &own[..count.min(own.len())]);
        let free = |own: &&'static [&'static str]| own.iter().all(|symbol| !self.is_used(symbol));
        let apart = |own: &&'static [&'static str]| {
            free(own) && own.iter().all(|symbol| !used.iter().any(|other| other.contains(symbol)))
        };
        let found = alternatives().find(apart).or_else(|| alternatives().find(free));
        if let Some(own) = found {
            return (own, false);
        }
        let with_hats = alternatives().next().unwrap_or_default();
        let clear = with_hats.iter().all(|symbol| !self.is_used(&format!("{symbol}_hat")));
        if clear { (with_hats, true) } else { (&[], false) }
    }

    /// Whether something else on the page is called so. `a_tau` takes `a`, since `a` with an index could not be told from it;
    /// `a0` does not.
    fn is_used(&self, symbol: &str) -> bool {
        let scope = self.scope();
        let Name { base, .. } = name(symbol);
        let clashes = |own: &str| {
            let other = name(own);
            plain(own) == plain(symbol)
                || other.base == base
                    && (other.subscripts.is_empty()
                        || other.subscripts.iter().any(|part| part.chars().any(|c| !c.is_ascii_digit())))
        };
        let sites = (0..self.equations.sites.len()).map(|site| scope.allocation(SiteId::from(site)));
        let bound = (!self.equations.auxiliaries.is_empty()).then(|| scope.auxiliary_base());
        let curvature = (!self.equations.auxiliaries.is_empty()).then(|| scope.curvature());
        let derived = sites.chain(scope.capitals()).chain(bound).chain(curvature);
        let derived = derived.chain([scope.normaliser(), scope.objective()]);
        let fixed = ["E", "H", "q", "p", "psi", "phi"];
        scope.names().any(clashes)
            || self.symbols().letters.iter().any(|letter| clashes(&letter.name))
            || derived.into_iter().any(|own| clashes(&own))
            || fixed.contains(&plain(symbol).as_str())
    }

    /// Another symbol for natural parameters, where a parameter has taken theirs.
    fn natural_beside(&self, parameters: &BTreeMap<Key, Symbol>) -> Option<&'static str> {
        let taken = |symbol: &str| parameters.values().any(|own| own.name == symbol);
        if !taken(&self.scope().natural()) {
            return None;
        }
        NATURAL.into_iter().find(|symbol| !taken(symbol) && !self.scope().is_taken(symbol))
    }
}

/// The symbols of the functions of a page that a variable or the size of an axis may have too.
fn functions_of(items: &mut [Item]) -> Vec<&'static str> {
    let mut found = Vec::new();
    each_node(items, &mut |node| found.extend(function_of(node)));
    found
}

/// The symbol that a function has in print, where it is one of a variable, too.
fn function_of(node: &Node) -> Option<&'static str> {
    let Node::Call(call, _) = node else { return None };
    match call {
        // The digamma function is told to be the derivative of the log of the Gamma function.
        Call::Digamma
        | Call::MultivariateDigamma
        | Call::Function(Function::LogGamma | Function::Digamma | Function::LogMultivariateGamma) => {
            Some("Gamma")
        }
        Call::Function(
            Function::Phi
            | Function::InversePhi
            | Function::StandardNormalLogCdf
            | Function::StandardNormalLogCcdf
            | Function::StandardNormalLogQf,
        ) => Some("Phi"),
        Call::LogBesselKInOrder | Call::Function(Function::LogBesselK) => Some("K"),
        _ => None,
    }
}

/// Takes the capital from a size where a function has it.
fn without_function(capital: &mut Option<String>, functions: &[&str]) {
    capital.take_if(|own| functions.contains(&own.as_str()));
}

/// Names that are set alike, as `x1` and `x_1` are or `beta` and `β`, and those that are set as something known: the first keeps the symbol,
/// the others are set word for word. Each of these with how it is written for that.
pub(super) fn names_apart<'n>(
    known: impl Iterator<Item = &'n str>,
    names: impl Iterator<Item = &'n str>,
) -> BTreeMap<String, String> {
    let is_name = |own: &&str| {
        own.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && own.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let mut known: BTreeSet<String> = known.map(letter).collect();
    let mut all: Vec<&str> = Vec::new();
    for own in names.filter(is_name) {
        if !all.contains(&own) {
            all.push(own);
        }
    }
    // A Greek character looks the same in a word.
    all.sort_by_key(|own| own.is_ascii());
    let apart = all.into_iter().filter(|own| !known.insert(letter(own)));
    apart.map(|own| (own.to_owned(), format!("`{own}`"))).collect()
}

/// The symbol of an element in its place.
fn set(element: &mut Element, parameters: &BTreeMap<Key, Symbol>, variables: &BTreeMap<String, String>) {
    let key = (element.of.clone(), element.name.clone());
    if let Some(symbol) = parameters.get(&key) {
        element.name.clone_from(&symbol.name);
        if !symbol.of {
            element.of = None;
        }
    } else if element.of.is_none() {
        let bare = element.name.trim_end_matches('~');
        if let Some(symbol) = variables.get(bare) {
            element.name = format!("{symbol}{}", &element.name[bare.len()..]);
        }
    }
    for own in element.of.iter_mut().flatten() {
        if let Some(symbol) = variables.get(own) {
            own.clone_from(symbol);
        }
    }
}
