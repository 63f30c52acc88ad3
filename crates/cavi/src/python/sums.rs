//! Sums of products as NumPy: each term is one `np.einsum` over the letters of the derivation.

use std::collections::BTreeMap;

use cavi_algebra::{
    Array, ArrayKind, Atom, Block, Elementary, Equations, Factor, Function, LetterId, Moment, Statistic,
    Subscript, Sum, Symbols, Term,
};

/// Why a part of a derivation has no code, in words.
pub type Refusal = String;

/// Writes expressions over arrays whose dimensions are letters.
pub struct Writer<'a> {
    equations: &'a Equations,
}

/// A character for each letter of one `einsum`.
#[derive(Default)]
struct Spelling(BTreeMap<LetterId, char>);

impl Spelling {
    /// Of letters: their own name where it is one character, else its first one or the next that is free.
    fn of(symbols: &Symbols, letters: &[LetterId]) -> Result<Spelling, Refusal> {
        let mut own = Spelling::default();
        let primed = |letter: &&LetterId| symbols.letter(**letter).name.len() > 1;
        let (others, first): (Vec<&LetterId>, Vec<&LetterId>) = letters.iter().partition(primed);
        for letter in first.into_iter().chain(others) {
            let initial = symbols.letter(*letter).name.chars().next().filter(char::is_ascii_alphabetic);
            let upper = initial.map(|own| own.to_ascii_uppercase());
            let mut candidates =
                initial.into_iter().chain(upper).chain(('a'..='z').rev()).chain(('A'..='Z').rev());
            let free = candidates.find(|candidate| !own.0.values().any(|taken| taken == candidate));
            own.0.insert(*letter, free.ok_or("a term of it has more than 52 letters")?);
        }
        Ok(own)
    }

    fn spelled(&self, letters: &[LetterId]) -> String {
        letters.iter().map(|letter| self.0[letter]).collect()
    }
}

/// A NumPy expression, and the letter of each of its dimensions.
struct Operand {
    code: String,
    letters: Vec<LetterId>,
}

/// The key of a statistic among the moments of a block.
pub fn key(block: &Block, statistic: &Statistic) -> Result<String, Refusal> {
    use Elementary::{Centred, Contracted, Indicator, Log, LogComplement, LogDeterminant, Power};
    let one_vector = cavi_families::posterior(block.family).one_vector();
    let statistic = if one_vector { statistic.of_one_vector() } else { statistic.clone() };
    let key = match statistic.0.as_slice() {
        [(0, Log)] => "ln",
        [(0, LogComplement)] => "ln(1-x)",
        [(0, Indicator)] => "is",
        [(0, LogDeterminant)] => "ln det",
        [(0, Power(power))] => return Ok(power.to_string()),
        [(_, Centred), (_, Centred)] => "cov",
        [(0, Power(1)), (0, Power(1))] => "outer",
        // A mean and its precision.
        [(1, Log)] => "ln tau",
        [(1, LogDeterminant)] => "ln det tau",
        [(1, Power(1))] => "tau",
        [(0, Power(1)), (1, Power(1))] | [(0, Contracted(0)), (1, Contracted(1))] => "tau mu",
        [(0, Power(2)), (1, Power(1))] | [(0, Contracted(0)), (0, Contracted(0)), (1, Contracted(0))] => {
            "mu tau mu"
        }
        _ => return Err("it needs a statistic that the code has no formula for".to_owned()),
    };
    Ok(key.to_owned())
}

/// An expectation of a variable.
fn of(variable: String, key: &str) -> String {
    format!("E[\"{variable}\"][\"{key}\"]")
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
    /// A writer for these equations.
    pub fn new(equations: &'a Equations) -> Writer<'a> {
        Writer { equations }
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
        let mut operands = Vec::new();
        for factor in &term.factors {
            operands.extend(self.factor(factor)?);
        }
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
        let all = operands.iter().flat_map(|operand| operand.letters.clone()).collect();
        operands.extend(self.memberships(&cavi_algebra::dedup(all)));
        let all = operands.iter().flat_map(|operand| operand.letters.clone()).collect();
        let spelling = Spelling::of(&self.equations.symbols, &cavi_algebra::dedup(all))?;
        let inputs: Vec<String> = operands.iter().map(|operand| spelling.spelled(&operand.letters)).collect();
        let codes: Vec<String> = operands.into_iter().map(|operand| operand.code).collect();
        let product =
            format!("einsum(\"{}->{}\", {})", inputs.join(","), spelling.spelled(out), codes.join(", "));
        Ok(if term.coefficient.0 == 1.0 { product } else { format!("{coefficient} * {product}") })
    }

    /// Where a ragged letter meets an ancestor: 1 for a position and the group that it is in, else 0, for each level
    /// between the two.
    fn memberships(&self, letters: &[LetterId]) -> Vec<Operand> {
        let symbols = &self.equations.symbols;
        let mut found: Vec<Operand> = Vec::new();
        for letter in letters {
            let lineage = symbols.lineage(*letter);
            let highest = lineage.iter().rposition(|own| letters.contains(own)).unwrap_or(0);
            for pair in lineage[..=highest].windows(2) {
                let letters = vec![pair[1], pair[0]];
                if !found.iter().any(|own| own.letters == letters) {
                    let axis = &symbols.axis(symbols.letter(pair[0]).axis).name;
                    found.push(Operand { code: format!("constants[\"in {axis}\"]"), letters });
                }
            }
        }
        found
    }

    /// The operands whose product a factor is.
    fn factor(&self, factor: &Factor) -> Result<Vec<Operand>, Refusal> {
        let mut operands = match &factor.atom {
            Atom::Moment(moment) if self.equations.block(moment.block).is_point() => self.of_point(moment)?,
            atom => vec![self.atom(atom)?],
        };
        if factor.power != 1 {
            for operand in &mut operands {
                operand.code = format!("{} ** {}.0", operand.code, factor.power);
            }
        }
        Ok(operands)
    }

    /// A statistic of a point is that of its value: a product of functions of its elements.
    fn of_point(&self, moment: &Moment) -> Result<Vec<Operand>, Refusal> {
        let block = self.equations.block(moment.block);
        let elements = block.elements(moment);
        let functions = moment.statistic.0.iter().zip(elements);
        let operands = functions.map(|((_, elementary), (member, slots))| {
            let subscripts = [moment.plates.as_slice(), slots].concat();
            let value = self.at(of(name(self.equations.symbols.array(member)), "1"), &subscripts)?;
            let code = match elementary {
                Elementary::Power(1) => value.code,
                Elementary::Power(power) => format!("{} ** {power}.0", value.code),
                Elementary::Log => format!("np.log({})", value.code),
                Elementary::LogComplement => format!("np.log1p(-{})", value.code),
                Elementary::Centred => format!("np.zeros_like({})", value.code),
                _ => {
                    return Err("it needs a statistic of a point that the code has no formula for".to_owned());
                }
            };
            Ok(Operand { code, letters: value.letters })
        });
        operands.collect()
    }

    fn atom(&self, atom: &Atom) -> Result<Operand, Refusal> {
        match atom {
            Atom::Value(array, subscripts) => {
                let own = self.equations.symbols.array(*array);
                if own.kind == ArrayKind::Latent {
                    return self.at(of(name(own), "1"), subscripts);
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
                self.at(of(variable, &key(block, &moment.statistic)?), &subscripts)
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
            Function::LogDeterminant => return self.log_determinant(arguments),
            Function::LogMultivariateGamma => {
                let [argument, size] = arguments else {
                    return Err("a multivariate Gamma function has an argument and a size".to_owned());
                };
                let (inner, size) = (self.nested(argument)?, self.sum(size, &[])?);
                let code = format!("log_multivariate_gamma({}, {size})", inner.code);
                return Ok(Operand { code, letters: inner.letters });
            }
            other => return Err(format!("it has the function `{}`", other.name())),
        };
        let [argument] = arguments else { return Err(format!("`{called}` has more than one argument")) };
        let inner = self.nested(argument)?;
        Ok(Operand { code: format!("{called}({})", inner.code), letters: inner.letters })
    }

    /// Of a matrix that is written as the sum of its elements over the letters of its rows and columns.
    fn log_determinant(&self, arguments: &[Sum]) -> Result<Operand, Refusal> {
        let [Sum { terms }] = arguments else {
            return Err("a determinant has more than one argument".to_owned());
        };
        let [term] = terms.as_slice() else { return Err("a determinant is of a sum".to_owned()) };
        let letters = self.free(&arguments[0]);
        let element = Term { sums: Vec::new(), ..term.clone() };
        let matrix = self.term(&element, &[letters.as_slice(), &term.sums].concat())?;
        Ok(Operand { code: format!("np.linalg.slogdet({matrix})[1]"), letters })
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
