//! Sums of products as NumPy: each term is one `np.einsum` over the letters of the derivation.

use std::collections::BTreeMap;

use cavi_algebra::{
    Array, ArrayKind, Atom, Elementary, Equations, Factor, Function, LetterId, Statistic, Subscript, Sum,
    Term,
};

/// Why a part of a derivation has no code, in words.
pub type Refusal = String;

/// Writes expressions over arrays whose dimensions are letters.
pub struct Writer<'a> {
    equations: &'a Equations,
    characters: BTreeMap<LetterId, char>,
}

/// A NumPy expression, and the letter of each of its dimensions.
struct Operand {
    code: String,
    letters: Vec<LetterId>,
}

/// The key of a statistic among the moments of a block.
pub fn key(statistic: &Statistic) -> Result<&'static str, Refusal> {
    use Elementary::{Centred, Log, Power};
    match statistic.of_one_vector().0.as_slice() {
        [(_, Log)] => Ok("ln"),
        [(_, Power(1))] => Ok("1"),
        [(_, Power(2))] => Ok("2"),
        [(_, Centred), (_, Centred)] => Ok("cov"),
        [(_, Power(1)), (_, Power(1))] => Ok("outer"),
        _ => Err("it needs a statistic that the code has no formula for".to_owned()),
    }
}

/// A number that Python reads as the same double.
pub fn number(value: f64) -> String {
    format!("{value:?}").replace("inf", "np.inf").replace("NaN", "np.nan")
}

/// A name that Python takes.
pub fn name(array: &Array) -> String {
    array.name.clone()
}

impl<'a> Writer<'a> {
    /// A writer with one character for each letter.
    pub fn new(equations: &'a Equations) -> Result<Writer<'a>, Refusal> {
        let mut free: Vec<char> = ('a'..='z').chain('A'..='Z').rev().collect();
        let mut characters = BTreeMap::new();
        for (index, letter) in equations.symbols.letters.iter().enumerate() {
            let own = letter.name.chars().next().filter(|own| letter.name.len() == 1 && free.contains(own));
            let chosen = own.or_else(|| free.last().copied()).ok_or("it has more than 52 letters")?;
            free.retain(|other| *other != chosen);
            characters.insert(LetterId::from(index), chosen);
        }
        Ok(Writer { equations, characters })
    }

    fn spelled(&self, letters: &[LetterId]) -> String {
        letters.iter().map(|letter| self.characters[letter]).collect()
    }

    /// The number of positions of a letter.
    pub fn size(&self, letter: LetterId) -> String {
        let symbols = &self.equations.symbols;
        format!("size[\"{}\"]", symbols.axis(symbols.letter(letter).axis).name)
    }

    /// The shape of an array over these letters.
    pub fn shape(&self, letters: &[LetterId]) -> String {
        let sizes: Vec<String> = letters.iter().map(|letter| format!("{}, ", self.size(*letter))).collect();
        format!("({})", sizes.concat().trim_end())
    }

    /// A sum as an array over `out`: one line for each term.
    pub fn sum(&self, sum: &Sum, out: &[LetterId]) -> Result<String, Refusal> {
        if sum.terms.is_empty() {
            return Ok(format!("np.zeros({})", self.shape(out)));
        }
        let terms: Result<Vec<String>, Refusal> = sum.terms.iter().map(|term| self.term(term, out)).collect();
        Ok(format!("({})", terms?.join("\n        + ")))
    }

    fn term(&self, term: &Term, out: &[LetterId]) -> Result<String, Refusal> {
        let factors = term.factors.iter().map(|factor| self.factor(factor));
        let mut operands = factors.collect::<Result<Vec<Operand>, Refusal>>()?;
        for letter in out.iter().chain(&term.sums) {
            if !operands.iter().any(|operand| operand.letters.contains(letter)) {
                let code = format!("np.ones({})", self.size(*letter));
                operands.push(Operand { code, letters: vec![*letter] });
            }
        }
        let coefficient = number(term.coefficient.0);
        if operands.is_empty() {
            return Ok(coefficient);
        }
        let inputs: Vec<String> = operands.iter().map(|operand| self.spelled(&operand.letters)).collect();
        let codes: Vec<String> = operands.into_iter().map(|operand| operand.code).collect();
        let product =
            format!("np.einsum(\"{}->{}\", {})", inputs.join(","), self.spelled(out), codes.join(", "));
        Ok(if term.coefficient.0 == 1.0 { product } else { format!("{coefficient} * {product}") })
    }

    fn factor(&self, factor: &Factor) -> Result<Operand, Refusal> {
        let mut operand = self.atom(&factor.atom)?;
        if factor.power != 1 {
            operand.code = format!("{} ** {}.0", operand.code, factor.power);
        }
        Ok(operand)
    }

    fn atom(&self, atom: &Atom) -> Result<Operand, Refusal> {
        match atom {
            Atom::Value(array, subscripts) => {
                let own = self.equations.symbols.array(*array);
                if own.kind == ArrayKind::Latent {
                    return Err(format!("`{}` is a value, not a distribution", own.name));
                }
                let place = if own.kind == ArrayKind::Data { "data" } else { "constants" };
                self.at(format!("{place}[\"{}\"]", name(own)), subscripts)
            }
            Atom::Observed(array, subscripts) => {
                let own = name(self.equations.symbols.array(*array));
                self.at(format!("observed[\"{own}\"]"), subscripts)
            }
            Atom::Moment(moment) => {
                let block = self.equations.block(moment.block);
                let variable = name(self.equations.symbols.array(block.members[0]));
                let subscripts = [moment.plates.as_slice(), &moment.slots].concat();
                self.at(format!("E[\"{variable}\"][\"{}\"]", key(&moment.statistic)?), &subscripts)
            }
            Atom::Allocation { site, addend, plates, categories } => {
                let subscripts = [plates.as_slice(), categories].concat();
                self.at(format!("phi[{}, {addend}]", site.index()), &subscripts)
            }
            Atom::LogPartition { site, plates } => self.at(format!("ln_Z[{}]", site.index()), plates),
            Atom::Group(sum) => self.nested(sum),
            Atom::Apply(function, arguments) => self.apply(*function, arguments),
            Atom::ExpectedSquare(square) => {
                let mean = self.free(&square.mean);
                let mut letters = self.free(&square.spread);
                letters.extend(mean);
                let letters = cavi_algebra::dedup(letters);
                let code = format!(
                    "({} ** 2.0 + {})",
                    self.sum(&square.mean, &letters)?,
                    self.sum(&square.spread, &letters)?
                );
                Ok(Operand { code, letters })
            }
            Atom::Equal(left, right) => self.pair("equal", "", left, right),
            Atom::Different(left, right) => self.pair("equal", "1.0 - ", left, right),
            Atom::Less(left, right) => self.pair("less", "", left, right),
            Atom::Auxiliary { .. } => Err("it is bounded by a tangent".to_owned()),
        }
    }

    fn nested(&self, sum: &Sum) -> Result<Operand, Refusal> {
        let letters = self.free(sum);
        Ok(Operand { code: self.sum(sum, &letters)?, letters })
    }

    fn apply(&self, function: Function, arguments: &[Sum]) -> Result<Operand, Refusal> {
        let called = match function {
            Function::Exp => "np.exp",
            Function::Log => "np.log",
            Function::Sqrt => "np.sqrt",
            Function::LogGamma => "special.gammaln",
            Function::Digamma => "special.digamma",
            other => return Err(format!("it has the function `{}`", other.name())),
        };
        let [argument] = arguments else { return Err(format!("`{called}` has more than one argument")) };
        let inner = self.nested(argument)?;
        Ok(Operand { code: format!("{called}({})", inner.code), letters: inner.letters })
    }

    fn pair(
        &self,
        called: &str,
        sign: &str,
        left: &Subscript,
        right: &Subscript,
    ) -> Result<Operand, Refusal> {
        let (left, right) = (self.positions(left)?, self.positions(right)?);
        let code = format!("({sign}{called}({}, {}))", left.code, right.code);
        Ok(Operand { code, letters: [left.letters, right.letters].concat() })
    }

    fn positions(&self, subscript: &Subscript) -> Result<Operand, Refusal> {
        match subscript {
            Subscript::Letter(letter) => {
                Ok(Operand { code: format!("np.arange({})", self.size(*letter)), letters: vec![*letter] })
            }
            Subscript::Index(array, subscripts) => {
                let own = name(self.equations.symbols.array(*array));
                self.at(format!("data[\"{own}\"].astype(int)"), subscripts)
            }
        }
    }

    /// An array at its subscripts: an index array takes the place of a dimension.
    fn at(&self, mut code: String, subscripts: &[Subscript]) -> Result<Operand, Refusal> {
        let mut letters: Vec<LetterId> = Vec::new();
        for (dimension, subscript) in subscripts.iter().enumerate().rev() {
            let own = self.positions(subscript)?;
            if matches!(subscript, Subscript::Index(..)) {
                code = format!("np.take({code}, {}, axis={dimension})", own.code);
            }
            letters.splice(0..0, own.letters);
        }
        Ok(Operand { code, letters })
    }

    /// The letters that a sum leaves free, in the order in which they occur.
    fn free(&self, sum: &Sum) -> Vec<LetterId> {
        let mut found = Vec::new();
        for term in &sum.terms {
            let own = term.factors.iter().flat_map(|factor| self.letters_of(&factor.atom));
            found.extend(own.filter(|letter| !term.sums.contains(letter)));
        }
        cavi_algebra::dedup(found)
    }

    fn letters_of(&self, atom: &Atom) -> Vec<LetterId> {
        let mut letters = Vec::new();
        let mut visit = |all: &[Subscript]| all.iter().for_each(|own| own.letters(&mut letters));
        match atom {
            Atom::Value(_, all) | Atom::Observed(_, all) => visit(all),
            Atom::Moment(moment) => {
                visit(&moment.plates);
                visit(&moment.slots);
            }
            Atom::Allocation { plates, categories, .. } => {
                visit(plates);
                visit(categories);
            }
            Atom::LogPartition { plates, .. } | Atom::Auxiliary { plates, .. } => visit(plates),
            Atom::Equal(left, right) | Atom::Different(left, right) | Atom::Less(left, right) => {
                visit(&[left.clone(), right.clone()]);
            }
            Atom::ExpectedSquare(square) => {
                return [self.free(&square.mean), self.free(&square.spread)].concat();
            }
            Atom::Group(_) | Atom::Apply(..) => {
                return atom.nested().into_iter().flat_map(|sum| self.free(sum)).collect();
            }
        }
        letters
    }
}
