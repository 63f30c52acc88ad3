//! Printed formulas to trees.

use std::f64::consts::PI;

use cavi_algebra::{Support, Symbols};

/// A printed formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Tree {
    /// A number.
    Number(f64),
    /// A name with subscripts, or a letter.
    Name(String, Vec<Tree>),
    /// `:k`
    Slice(String),
    /// `|axis[d]|`
    Size(String, Vec<Tree>),
    /// `sum[...](...)`
    Sum(Range, Box<Tree>),
    /// `#[...]`
    Count(Range),
    /// Addends.
    Add(Vec<Tree>),
    /// Minus.
    Negated(Box<Tree>),
    /// Factors, each with whether it stands below the line.
    Product(Vec<(bool, Tree)>),
    /// A base and an exponent.
    Power(Box<Tree>, Box<Tree>),
    /// A function, `E`, `H`, `q`, `p` and parameters among them.
    Call(String, Vec<Tree>),
    /// `q(z = c)`
    Probability(Box<Tree>, Box<Tree>),
    /// `[a = b]`
    Indicator(Box<Relation>),
    /// `m' L m`, or `(L m)[i]`.
    Contraction(Box<Tree>, Box<Tree>, Option<Box<Tree>>),
}

/// Letters that are bound, and what must hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Range {
    /// The letters.
    pub letters: Vec<String>,
    /// The conditions.
    pub conditions: Vec<Relation>,
}

/// Something that holds or does not.
#[derive(Clone, Debug, PartialEq)]
pub enum Relation {
    /// `a = b`
    Equal(Tree, Tree),
    /// `a != b`
    Different(Tree, Tree),
    /// `a < b`
    Less(Tree, Tree),
    /// `x[n] observed`
    Observed(Tree),
}

/// Of a name and a place among its subscripts, the place of the letter that the letter there runs in.
pub type Parents<'p> = &'p dyn Fn(&str, usize) -> Option<usize>;

impl Relation {
    /// What is compared.
    pub fn sides(&self) -> Vec<&Tree> {
        match self {
            Relation::Equal(left, right) | Relation::Different(left, right) | Relation::Less(left, right) => {
                vec![left, right]
            }
            Relation::Observed(element) => vec![element],
        }
    }
}

impl Tree {
    /// The letter of the group that a ragged letter runs in: the subscript of some element that `known` says to be the place
    /// of the parent of a place, else the one before it.
    pub fn before(&self, letter: &str, known: Parents<'_>) -> Option<String> {
        let is = |tree: &Tree| {
            matches!(tree, Tree::Name(name, inner) | Tree::Call(name, inner)
            if name == letter && inner.is_empty())
        };
        let of = |trees: &[Tree]| trees.iter().find_map(|tree| tree.before(letter, known));
        match self {
            Tree::Name(name, subscripts) => {
                let place = subscripts.iter().position(is);
                let above = place.and_then(|place| known(name, place).or(place.checked_sub(1)));
                match above.and_then(|above| subscripts.get(above)) {
                    Some(Tree::Name(name, inner)) if inner.is_empty() => Some(name.clone()),
                    _ => of(subscripts),
                }
            }
            Tree::Size(_, inner) | Tree::Call(_, inner) | Tree::Add(inner) => of(inner),
            Tree::Number(_) | Tree::Slice(_) => None,
            Tree::Sum(range, body) => {
                let sides = range.conditions.iter().flat_map(Relation::sides);
                sides.chain([&**body]).find_map(|tree| tree.before(letter, known))
            }
            Tree::Count(range) => {
                range.conditions.iter().flat_map(Relation::sides).find_map(|tree| tree.before(letter, known))
            }
            Tree::Negated(inner) => inner.before(letter, known),
            Tree::Product(factors) => factors.iter().find_map(|(_, tree)| tree.before(letter, known)),
            Tree::Power(left, right) | Tree::Probability(left, right) => {
                left.before(letter, known).or_else(|| right.before(letter, known))
            }
            Tree::Indicator(relation) => {
                relation.sides().into_iter().find_map(|tree| tree.before(letter, known))
            }
            Tree::Contraction(left, right, _) => {
                left.before(letter, known).or_else(|| right.before(letter, known))
            }
        }
    }
}

/// The tree of a printed formula, in the names of `symbols`.
///
/// # Errors
/// What could not be read.
pub fn read(text: &str, symbols: &Symbols) -> Result<Tree, String> {
    let mut input = Input { rest: text, symbols };
    let tree = input.sum()?;
    if input.rest.is_empty() { Ok(tree) } else { Err(format!("`{}` is left of `{text}`", input.rest)) }
}

/// Conditions with commas between them: `i < j, k != l`.
///
/// # Errors
/// What could not be read.
pub fn read_conditions(text: &str, symbols: &Symbols) -> Result<Vec<Relation>, String> {
    let mut input = Input { rest: text, symbols };
    let mut all = vec![input.relation()?.1];
    while input.takes(", ") {
        all.push(input.relation()?.1);
    }
    Ok(all)
}

struct Input<'t> {
    rest: &'t str,
    symbols: &'t Symbols,
}

impl Input<'_> {
    fn takes(&mut self, what: &str) -> bool {
        match self.rest.strip_prefix(what) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn needs(&mut self, what: &str) -> Result<(), String> {
        if self.takes(what) { Ok(()) } else { Err(format!("`{what}` is missing before `{}`", self.rest)) }
    }

    fn sum(&mut self) -> Result<Tree, String> {
        let first = if self.takes("-") { Tree::Negated(Box::new(self.product()?)) } else { self.product()? };
        let mut addends = vec![first];
        loop {
            if self.takes(" + ") {
                addends.push(self.product()?);
            } else if self.takes(" - ") {
                addends.push(Tree::Negated(Box::new(self.product()?)));
            } else {
                return Ok(if addends.len() == 1 { addends.remove(0) } else { Tree::Add(addends) });
            }
        }
    }

    fn product(&mut self) -> Result<Tree, String> {
        let mut factors = vec![(false, self.power()?)];
        loop {
            if self.takes(" * ") {
                factors.push((false, self.power()?));
            } else if self.takes(" / ") {
                factors.push((true, self.power()?));
            } else {
                return Ok(if factors.len() == 1 { factors.remove(0).1 } else { Tree::Product(factors) });
            }
        }
    }

    fn power(&mut self) -> Result<Tree, String> {
        let base = self.atom()?;
        if !self.takes("^") {
            return Ok(base);
        }
        let exponent = if self.takes("-") { Tree::Negated(Box::new(self.atom()?)) } else { self.atom()? };
        Ok(Tree::Power(Box::new(base), Box::new(exponent)))
    }

    fn word(&mut self) -> Option<String> {
        let end = self
            .rest
            .char_indices()
            .find(|(at, c)| !(c.is_alphabetic() || *c == '_' || *at > 0 && c.is_ascii_digit()))
            .map_or(self.rest.len(), |(at, _)| at);
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return None;
        }
        self.rest = rest;
        Some(word.to_owned())
    }

    /// Primes, unless the name they follow stands in `m' L m`.
    fn primes(&mut self) -> String {
        let count = self.rest.chars().take_while(|c| *c == '\'').count();
        let then = &self.rest[count..];
        let contraction = then.starts_with(' ') && then[1..].starts_with(|c: char| c.is_alphabetic());
        if contraction {
            return String::new();
        }
        let (primes, rest) = self.rest.split_at(count);
        let primes = primes.to_owned();
        self.rest = rest;
        primes
    }

    fn number(&mut self) -> Option<f64> {
        if !self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let digits = |text: &str| text.chars().take_while(|c| c.is_ascii_digit() || *c == '.').count();
        let mut end = digits(self.rest);
        if let Some(exponent) = self.rest[end..].strip_prefix('e') {
            let sign = usize::from(exponent.starts_with('-'));
            let more = digits(&exponent[sign..]);
            end += if more > 0 { 1 + sign + more } else { 0 };
        }
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        number.parse().ok()
    }

    fn atom(&mut self) -> Result<Tree, String> {
        if let Some(number) = self.number() {
            return Ok(Tree::Number(number));
        }
        if self.takes("(") {
            let inside = self.sum()?;
            self.needs(")")?;
            // `(L m)[i]`
            if let Tree::Contraction(matrix, vector, None) = &inside
                && self.takes("[")
            {
                let letter = self.sum()?;
                self.needs("]")?;
                return Ok(Tree::Contraction(matrix.clone(), vector.clone(), Some(Box::new(letter))));
            }
            return Ok(inside);
        }
        if self.takes("[") {
            let relation = self.relation()?.1;
            self.needs("]")?;
            return Ok(Tree::Indicator(Box::new(relation)));
        }
        if self.takes("#[") {
            return Ok(Tree::Count(self.range()?));
        }
        if self.takes("|") {
            let axis = self.word().ok_or("an axis without a name")?;
            let ancestors = if self.takes("[") { self.subscripts()? } else { Vec::new() };
            self.needs("|")?;
            return Ok(Tree::Size(axis, ancestors));
        }
        if self.takes(":") {
            let letter = self.word().ok_or("a slice without a letter")?;
            return Ok(Tree::Slice(letter + &self.primes()));
        }
        let word = self.word().ok_or_else(|| format!("nothing is read of `{}`", self.rest))?;
        self.named(word)
    }

    fn named(&mut self, word: String) -> Result<Tree, String> {
        match word.as_str() {
            // Where the program calls something `log`, logarithms have another name.
            "ln" if self.takes("(") => return self.call("log".to_owned()),
            "log_gamma" if self.takes("(") => return self.call("log Gamma".to_owned()),
            "log_bessel_k" if self.takes("(") => return self.call("log BesselK".to_owned()),
            "log" if self.symbols.find("log").is_some() => {}
            "log" if self.multiple_of_pi().is_some() => {
                let value = self.multiple_of_pi().unwrap_or(1.0);
                self.rest = self.rest.split_once(')').map_or("", |(_, rest)| rest);
                return Ok(Tree::Number(value.ln()));
            }
            "log" if self.takes(" Gamma(") => return self.call("log Gamma".to_owned()),
            "log_bessel_k" if self.takes("'(") => return self.call("log BesselK'".to_owned()),
            "log" if self.takes(" BesselK'(") => return self.call("log BesselK'".to_owned()),
            "log" if self.takes(" BesselK(") => return self.call("log BesselK".to_owned()),
            "log" if self.takes(" ") => return Ok(Tree::Call(word, vec![self.atom()?])),
            "sum" if self.takes("[") => {
                let range = self.range()?;
                self.needs("(")?;
                let body = self.sum()?;
                self.needs(")")?;
                return Ok(Tree::Sum(range, Box::new(body)));
            }
            "expectation" if self.takes("(") => return self.call("E".to_owned()),
            "entropy" if self.takes("(") => return self.call("H".to_owned()),
            "E" | "H" if self.takes("[") => {
                let mut inside = vec![self.sum()?];
                if self.takes(",") {
                    self.takes(" ");
                    inside.extend(self.subscripts()?);
                    return Ok(Tree::Name(word, inside));
                }
                self.needs("]")?;
                let is_element = self.is_subscript(&word, &inside[0]);
                return Ok(if is_element { Tree::Name(word, inside) } else { Tree::Call(word, inside) });
            }
            "p" if self.takes("(") => {
                let end = self.rest.find(')').ok_or("p( without )")?;
                let (inside, rest) = self.rest.split_at(end);
                let target = inside.split(" | ").next().unwrap_or_default().to_owned();
                self.rest = &rest[1..];
                return Ok(Tree::Call(word, vec![Tree::Name(target, Vec::new())]));
            }
            _ => {}
        }
        // Constant matrices that follow from others have names of their own.
        let mut word = word;
        if let Some(inside) = self.balanced()
            && !inside.contains(':')
            && (word == "inverse" || self.rest[inside.len() + 2..].starts_with('['))
        {
            // An element in the brackets is a number, and a sum of elements is no matrix.
            if word == "inverse" && self.symbols.find(&format!("{word}({inside})")).is_none() {
                return Err(format!("`{word}({inside})` is the inverse of no whole matrix"));
            }
            word = format!("{word}({inside})");
            self.rest = &self.rest[inside.len() + 2..];
        }
        if self.takes("'^-1") {
            word.push_str("'^-1");
        }
        // A value before an update.
        let word = word + if self.takes("~") { "~" } else { "" };
        let word = word + &self.primes();
        if self.takes("(") {
            return self.call(word);
        }
        let subscripts = if self.takes("[") { self.subscripts()? } else { Vec::new() };
        let element = Tree::Name(word, subscripts);
        let quadratic = self.rest.starts_with("' ");
        let applied = self.rest.strip_prefix(' ').is_some_and(|rest| {
            rest.starts_with(|c: char| c.is_alphabetic()) && !rest.starts_with("observed")
        });
        if quadratic || applied {
            self.needs(if quadratic { "' " } else { " " })?;
            let matrix = if quadratic { self.plain()? } else { element.clone() };
            if quadratic {
                self.needs(" ")?;
            }
            let vector = self.plain()?;
            let letter = quadratic.then(|| Box::new(vector.clone()));
            // Of a quadratic form the letter is the vector itself.
            return Ok(Tree::Contraction(Box::new(matrix), Box::new(vector), letter));
        }
        Ok(element)
    }

    /// Whether what stands in square brackets behind `E` or `H` is the subscript of an array that the program calls so: a letter, a
    /// slice or an index. An expectation is of a variable, and an entropy of a factor of q.
    fn is_subscript(&self, word: &str, inside: &Tree) -> bool {
        let subscript = match inside {
            Tree::Slice(_) => true,
            Tree::Name(name, inner) => match self.symbols.find(name) {
                Some(array) => matches!(self.symbols.array(array).support, Support::Index(_)),
                None => {
                    let name = name.trim_end_matches('\'');
                    inner.is_empty() && self.symbols.letters.iter().any(|own| own.name == name)
                }
            },
            _ => false,
        };
        subscript && self.symbols.find(word).is_some()
    }

    /// `(2 pi)` and `(3 pi / 2)`, which stand next.
    fn multiple_of_pi(&self) -> Option<f64> {
        let (inside, _) = self.rest.strip_prefix('(')?.split_once(')')?;
        let (above, below) = inside.split_once(" / ").unwrap_or((inside, "1"));
        let multiple: f64 = above.strip_suffix(" pi")?.parse().ok()?;
        Some(multiple * PI / below.parse::<f64>().ok()?)
    }

    /// What stands in the brackets that come next.
    fn balanced(&self) -> Option<String> {
        let inside = self.rest.strip_prefix('(')?;
        let mut depth = 0;
        let end = inside.char_indices().find(|(_, c)| {
            depth += i32::from(*c == '(') - i32::from(*c == ')');
            depth < 0
        })?;
        Some(inside[..end.0].to_owned())
    }

    /// A name with subscripts and nothing else.
    fn plain(&mut self) -> Result<Tree, String> {
        let word = self.word().ok_or("a name is missing")?;
        let subscripts = if self.takes("[") { self.subscripts()? } else { Vec::new() };
        Ok(Tree::Name(word, subscripts))
    }

    /// Arguments up to the closing bracket.
    fn call(&mut self, word: String) -> Result<Tree, String> {
        let mut arguments = vec![self.sum()?];
        if word == "q" && self.takes(" = ") {
            let value = self.sum()?;
            self.needs(")")?;
            return Ok(Tree::Probability(Box::new(arguments.remove(0)), Box::new(value)));
        }
        while self.takes(", ") {
            arguments.push(self.sum()?);
        }
        self.needs(")")?;
        Ok(Tree::Call(word, arguments))
    }

    fn subscripts(&mut self) -> Result<Vec<Tree>, String> {
        let mut all = vec![self.atom()?];
        while self.takes(",") {
            self.takes(" ");
            all.push(self.atom()?);
        }
        self.needs("]")?;
        Ok(all)
    }

    /// A relation, and the letters that it binds where it stands among letters.
    fn relation(&mut self) -> Result<(Vec<String>, Relation), String> {
        let left = self.sum()?;
        let name = |tree: &Tree| match tree {
            Tree::Name(name, subscripts) if subscripts.is_empty() => Some(name.clone()),
            _ => None,
        };
        if self.takes(" observed") {
            return Ok((Vec::new(), Relation::Observed(left)));
        }
        for (sign, both) in [(" = ", false), (" != ", false), (" < ", true)] {
            if self.takes(sign) {
                let right = self.sum()?;
                let mut bound: Vec<String> = name(&left).into_iter().collect();
                bound.extend(name(&right).filter(|_| both));
                let relation = match sign {
                    " = " => Relation::Equal(left, right),
                    " != " => Relation::Different(left, right),
                    _ => Relation::Less(left, right),
                };
                return Ok((bound, relation));
            }
        }
        let bare = name(&left).ok_or_else(|| format!("no relation before `{}`", self.rest))?;
        Ok((vec![bare], Relation::Equal(left.clone(), left)))
    }

    /// Letters, and conditions behind a colon, up to the closing bracket.
    fn range(&mut self) -> Result<Range, String> {
        let mut range = Range { letters: Vec::new(), conditions: Vec::new() };
        loop {
            let (letters, condition) = self.relation()?;
            let trivial = matches!(&condition, Relation::Equal(left, right) if left == right);
            range.letters.extend(letters);
            if !trivial {
                range.conditions.push(condition);
            }
            if !self.takes(", ") && !self.takes(",") {
                break;
            }
        }
        if self.takes(": ") {
            loop {
                range.conditions.push(self.relation()?.1);
                if !self.takes(", ") {
                    break;
                }
            }
        }
        self.needs("]")?;
        Ok(range)
    }
}
