//! The value of a printed formula, under a q that gives each of a few alternatives of every copy the same probability:
//! all expectations are finite sums, and hold whatever the families are.

use std::cell::RefCell;
use std::collections::BTreeMap;

use cavi_algebra::contribution::{Place, places};
use cavi_algebra::{ArrayId, ArrayKind, Function, LetterId, Symbols};
use cavi_executor::Bound;

use crate::read::{Range, Relation, Tree};
use crate::subject::Subject;
use crate::world::{World, apply, inverse_and_determinant};

/// A name that the derivation itself gives: a parameter of q, an allocation, an auxiliary variable.
#[derive(Clone, Debug)]
pub struct Defined {
    /// Its name.
    pub name: String,
    /// Its letters.
    pub letters: Vec<String>,
    /// Whether its square is stated.
    pub squared: bool,
    /// Whether it is the element of a matrix that is stated whole.
    pub whole: bool,
    /// Of a share: the number of the group it is normalised in, and the letters that it is normalised over.
    pub share: Option<(usize, Vec<String>)>,
    /// What it is.
    pub right: Tree,
}

/// A copy of a block: its number and its positions.
pub(crate) type Copy = (usize, Vec<usize>);
/// The letters that have a position, the innermost last.
pub(crate) type At = Vec<(String, usize)>;

/// Reads printed formulas at data and alternatives for all latents.
pub struct Reader<'a> {
    program: Subject<'a>,
    world: World<'a>,
    pub(crate) alternatives: &'a [Vec<Option<Vec<f64>>>],
    /// The copy that has the last alternative.
    pub moved: Option<Copy>,
    /// Where it is not at the first alternative: what a copy has. Its last one is for the copy that moves.
    pub chosen: BTreeMap<Copy, usize>,
    /// The names that the derivation gives.
    pub defined: Vec<Defined>,
    /// Functions of one number that the derivation gives: a name, its argument, and what it is.
    pub functions: Vec<(String, String, Tree)>,
    /// The numbers that arguments of such functions have, the innermost last.
    arguments: RefCell<Vec<(String, f64)>>,
    /// The names of a bound, which has no axes: each with its values.
    pub free: BTreeMap<String, Vec<f64>>,
    /// Where allocations and auxiliary variables are at their optimum, if that is not here.
    pub held: Option<Box<Reader<'a>>>,
    /// Whether every expectation is a value at the chosen alternatives.
    pub mass: bool,
    /// Within an expectation: which alternative each copy has that was read.
    pub(crate) averaged: RefCell<Option<BTreeMap<Copy, usize>>>,
}

impl<'a> Reader<'a> {
    /// All latents at their first alternative.
    pub fn new(
        program: Subject<'a>,
        bound: &'a Bound,
        alternatives: &'a [Vec<Option<Vec<f64>>>],
    ) -> Reader<'a> {
        Reader {
            program,
            world: World::new(&program.equations.symbols, bound),
            alternatives,
            moved: None,
            chosen: BTreeMap::new(),
            defined: Vec::new(),
            functions: Vec::new(),
            arguments: RefCell::new(Vec::new()),
            free: BTreeMap::new(),
            held: None,
            mass: false,
            averaged: RefCell::new(None),
        }
    }

    /// Whether a name is a latent of the program, or stands for a value of some.
    pub(crate) fn is_latent(&self, name: &str) -> bool {
        let latent = |id| self.symbols().array(id).kind == ArrayKind::Latent;
        self.symbols().find(name).is_some_and(latent) || self.defined.iter().any(|own| own.name == name)
    }

    fn symbols(&self) -> &'a Symbols {
        self.world.symbols
    }

    /// An array by its name on the page. The whitening matrix of a process has another one there where something else would look like
    /// its own.
    fn array(&self, name: &str) -> Option<ArrayId> {
        let own = || {
            let (_, variable) = name.strip_suffix("'^-1")?.split_once('_')?;
            self.symbols().find(&format!("C_{variable}'^-1"))
        };
        self.symbols().find(name).or_else(own)
    }

    /// The value of a formula where letters have these positions.
    ///
    /// # Errors
    /// A name or a function that is not known.
    pub fn value(&self, tree: &Tree, at: &mut At) -> Result<f64, String> {
        Ok(match tree {
            Tree::Number(value) => *value,
            Tree::Name(name, subscripts) => self.name(name, subscripts, at)?,
            Tree::Slice(letter) => return Err(format!("the slice :{letter} has no value")),
            Tree::Size(axis, ancestors) => self.size(axis, ancestors, at)?,
            Tree::Sum(range, body) => {
                let mut total = 0.0;
                self.each(range, Some(body), at, &mut |at| {
                    total += self.value(body, at)?;
                    Ok(())
                })?;
                total
            }
            Tree::Count(range) => {
                let mut count = 0.0;
                self.each(range, None, at, &mut |_| {
                    count += 1.0;
                    Ok(())
                })?;
                count
            }
            Tree::Add(addends) => {
                let mut total = 0.0;
                for addend in addends {
                    total += self.value(addend, at)?;
                }
                total
            }
            Tree::Negated(inner) => -self.value(inner, at)?,
            Tree::Product(factors) => {
                let (mut product, mut zero) = (1.0, false);
                for (below, factor) in factors {
                    let value = self.value(factor, at)?;
                    zero |= !below && value == 0.0;
                    product *= if *below { 1.0 / value } else { value };
                }
                // `0 log 0` is 0.
                if zero { 0.0 } else { product }
            }
            Tree::Power(base, exponent) => self.value(base, at)?.powf(self.value(exponent, at)?),
            Tree::Call(name, arguments) => self.call(name, arguments, at)?,
            Tree::Probability(element, class) => {
                let relation = Relation::Equal((**element).clone(), (**class).clone());
                if let Some(share) = self.implicit(element, class, at)? {
                    return Ok(share);
                }
                self.expectation(&Tree::Indicator(Box::new(relation)), at)?
            }
            Tree::Indicator(relation) => f64::from(u8::from(self.holds(relation, at)?)),
            Tree::Contraction(matrix, vector, letter) => {
                self.contraction(matrix, vector, letter.as_deref(), at)?
            }
        })
    }

    /// How large what a formula adds up is: its value with every addend taken without its sign. Of what numbers lose by rounding it is the
    /// measure, whatever their unit: a sum of `1e-12` and `-1e-12` is right to a few digits of `1e-12`, not of 1.
    ///
    /// # Errors
    /// A name or a function that is not known.
    pub fn summed_size(&self, tree: &Tree, at: &mut At) -> Result<f64, String> {
        Ok(match tree {
            Tree::Sum(range, body) => {
                let mut total = 0.0;
                self.each(range, Some(body), at, &mut |at| {
                    total += self.summed_size(body, at)?;
                    Ok(())
                })?;
                total
            }
            Tree::Add(addends) => {
                let mut total = 0.0;
                for addend in addends {
                    total += self.summed_size(addend, at)?;
                }
                total
            }
            Tree::Negated(inner) => self.summed_size(inner, at)?,
            Tree::Product(factors) => {
                let (mut product, mut zero) = (1.0, false);
                for (below, factor) in factors {
                    let own =
                        if *below { 1.0 / self.value(factor, at)? } else { self.summed_size(factor, at)? };
                    zero |= !below && own == 0.0;
                    product *= own.abs();
                }
                if zero { 0.0 } else { product }
            }
            // A logarithm near 0 is one of a number near 1, of which it has the digits.
            Tree::Call(name, _) if name.starts_with("log") => self.value(tree, at)?.abs().max(1.0),
            Tree::Number(_)
            | Tree::Name(..)
            | Tree::Slice(_)
            | Tree::Size(..)
            | Tree::Count(_)
            | Tree::Power(..)
            | Tree::Call(..)
            | Tree::Probability(..)
            | Tree::Indicator(_)
            | Tree::Contraction(..) => self.value(tree, at)?.abs(),
        })
    }

    /// The probability of a class of an implicit factor.
    fn implicit(&self, element: &Tree, class: &Tree, at: &mut At) -> Result<Option<f64>, String> {
        let Tree::Name(name, subscripts) = element else { return Ok(None) };
        let implicit = self.symbols().find(name).is_some_and(|id| {
            self.symbols().array(id).kind == ArrayKind::Latent
                && self.program.equations.block_of(id).is_none()
        });
        if !implicit {
            return Ok(None);
        }
        let found = self.defined.iter().find(|own| own.name == format!("q({name})"));
        let found = found.ok_or_else(|| format!("q({name} = ...) is nowhere stated"))?;
        let mut inner: At = Vec::new();
        let all: Vec<&Tree> = subscripts.iter().chain([class]).collect();
        for (letter, tree) in found.letters.iter().zip(all) {
            inner.push((letter.clone(), self.value(tree, at)? as usize));
        }
        self.value(&found.right, &mut inner).map(Some)
    }

    fn name(&self, name: &str, subscripts: &[Tree], at: &mut At) -> Result<f64, String> {
        let argument = self.arguments.borrow().iter().rev().find(|(own, _)| own == name).map(|own| own.1);
        if let (Some(value), []) = (argument, subscripts) {
            return Ok(value);
        }
        if let Some(values) = self.free.get(name) {
            let place = match subscripts {
                [] => 0,
                [letter] => self.value(letter, at)? as usize,
                _ => return Err(format!("{name} has too many subscripts")),
            };
            return Ok(values[place]);
        }
        if subscripts.is_empty()
            && let Some((_, position)) = at.iter().rev().find(|(own, _)| own == name)
        {
            return Ok(*position as f64);
        }
        if let Some(own) = self.defined.iter().find(|own| own.name == name) {
            return self.of_defined(own, subscripts, at);
        }
        // A value before the update is that of the first alternative.
        let (bare, before) = match name.strip_suffix('~') {
            Some(bare) => (bare, true),
            None => (name, false),
        };
        // A latent `pi` without its letters is the number.
        let vector = |array: &ArrayId| {
            subscripts.is_empty() && bare == "pi" && !self.symbols().array(*array).letters.is_empty()
        };
        match self.array(bare).filter(|array| !vector(array)) {
            Some(array) => {
                let positions = self.positions(array, subscripts, at)?;
                match before {
                    true => self.of_alternative(array, &positions, 0),
                    false => self.element(array, &positions),
                }
            }
            // What a step leaves out.
            None if name == "const" => Ok(0.0),
            None if ["pi", "PI", "PI_number"].contains(&name) => Ok(std::f64::consts::PI),
            None => Err(format!("`{name}` is nowhere stated")),
        }
    }

    /// The positions of an element from the subscripts as they are written.
    fn positions(&self, array: ArrayId, subscripts: &[Tree], at: &mut At) -> Result<Vec<usize>, String> {
        let symbols = self.symbols();
        let letters = &symbols.array(array).letters;
        let lineages: Vec<Vec<LetterId>> =
            letters.iter().map(|letter| symbols.lineage(*letter).into_iter().rev().collect()).collect();
        let written = symbols.written(array, &lineages);
        let mut positions = Vec::new();
        for letter in letters {
            let place = written.iter().position(|own| own == letter);
            let Some(tree) = place.and_then(|place| subscripts.get(place)) else { break };
            positions.push(self.value(tree, at)? as usize);
        }
        Ok(positions)
    }

    fn element(&self, array: ArrayId, positions: &[usize]) -> Result<f64, String> {
        let own = self.symbols().array(array);
        if positions.len() != own.letters.len() {
            return Err(format!("`{}` has {} subscripts", own.name, positions.len()));
        }
        if own.kind != ArrayKind::Latent {
            return Ok(self.world.element(array, positions));
        }
        self.of_alternative(array, positions, self.alternative(array, positions))
    }

    fn of_alternative(&self, array: ArrayId, positions: &[usize], alternative: usize) -> Result<f64, String> {
        let own = self.symbols().array(array);
        let values = self.alternatives[alternative][array.index()].as_ref();
        let values = values.ok_or_else(|| format!("`{}` has no alternatives", own.name))?;
        Ok(values[self.world.place(array, positions)])
    }

    /// Which alternative the copy of an element has.
    fn alternative(&self, array: ArrayId, positions: &[usize]) -> usize {
        let Some(copy) = self.copy_of(array, positions) else { return 0 };
        if self.moved.as_ref() == Some(&copy) {
            return self.alternatives.len() - 1;
        }
        if self.program.equations.blocks[copy.0].is_point() {
            return 0;
        }
        if let Some(averaged) = &mut *self.averaged.borrow_mut() {
            return *averaged.entry(copy).or_insert(0);
        }
        self.chosen.get(&copy).copied().unwrap_or(0)
    }

    /// The copy of a block that an element belongs to; none of an implicit factor.
    pub fn copy_of(&self, array: ArrayId, positions: &[usize]) -> Option<Copy> {
        let equations = self.program.equations;
        let id = equations.block_of(array)?;
        let block = equations.block(id);
        let member = block.members.iter().position(|own| *own == array)?;
        let mut plates = vec![0; block.plates.len()];
        for (place, position) in places(&equations.symbols, block, member).into_iter().zip(positions) {
            if let Place::Plate(index) = place {
                plates[index] = *position;
            }
        }
        Some((id.index(), plates))
    }

    fn of_defined(&self, own: &Defined, subscripts: &[Tree], at: &mut At) -> Result<f64, String> {
        let mut inner: At = Vec::new();
        for (letter, tree) in own.letters.iter().zip(subscripts) {
            inner.push((letter.clone(), self.value(tree, at)? as usize));
        }
        if inner.len() != own.letters.len() {
            return Err(format!("`{}` has {} subscripts", own.name, subscripts.len()));
        }
        if let Some(held) = self.held.as_ref().filter(|_| own.share.is_some() || own.squared) {
            return held.defined_at(own, &mut inner);
        }
        self.defined_at(own, &mut inner)
    }

    fn defined_at(&self, own: &Defined, inner: &mut At) -> Result<f64, String> {
        if own.whole {
            return self.whole(own, inner);
        }
        let value = self.value(&own.right, inner)?;
        if own.squared {
            return Ok(value.sqrt());
        }
        let Some((group, over)) = &own.share else { return Ok(value) };
        let mut total = 0.0;
        for other in &self.defined {
            if other.share.as_ref().map(|(group, _)| group) != Some(group) {
                continue;
            }
            let mut at: At = Vec::new();
            let mut summed = Vec::new();
            for letter in &other.letters {
                match inner.iter().find(|(name, _)| name == letter && !over.contains(name)) {
                    Some(known) => at.push(known.clone()),
                    None => summed.push(letter.clone()),
                }
            }
            let range = Range { letters: summed, conditions: Vec::new() };
            self.each(&range, Some(&other.right), &mut at, &mut |at| {
                total += self.value(&other.right, at)?;
                Ok(())
            })?;
        }
        Ok(if total == 0.0 { 0.0 } else { value / total })
    }

    /// An element of the inverse of a matrix: `cov[n,:k,:k'] = inverse(prec[n,:k,:k'])`, or of one whose rows are all values of
    /// several slices: `cov[:p,:k,:p',:k']`.
    fn whole(&self, own: &Defined, inner: &mut At) -> Result<f64, String> {
        let Tree::Call(function, arguments) = &own.right else {
            return Err(format!("`{}` is no function of a matrix", own.name));
        };
        let ("inverse", [Tree::Name(name, subscripts)]) = (function.as_str(), arguments.as_slice()) else {
            return Err(format!("`{}` is no inverse", own.name));
        };
        let slices = subscripts.iter().filter(|own| matches!(own, Tree::Slice(_))).count();
        let outside = inner.len().checked_sub(slices).ok_or("fewer letters than slices")?;
        let letters = inner[outside..].iter().map(|(letter, _)| letter.clone()).collect();
        let wanted: Vec<usize> = inner[outside..].iter().map(|(_, place)| *place).collect();
        let (bare, range) = (bare(subscripts), Range { letters, conditions: Vec::new() });
        let (mut at, mut matrix, mut places): (At, _, _) =
            (inner[..outside].to_vec(), Vec::new(), Vec::new());
        // The positions of a ragged letter are those of its group.
        self.each(&range, None, &mut at, &mut |at| {
            places.push(at[outside..].iter().map(|(_, place)| *place).collect::<Vec<usize>>());
            matrix.push(self.name(name, &bare, at)?);
            Ok(())
        })?;
        let inverse = inverse_and_determinant(&matrix).0;
        let place = places.iter().position(|own| *own == wanted).ok_or("no such element")?;
        Ok(inverse[place])
    }

    fn contraction(
        &self,
        matrix: &Tree,
        vector: &Tree,
        letter: Option<&Tree>,
        at: &mut At,
    ) -> Result<f64, String> {
        let (Tree::Name(matrix, of_matrix), Tree::Name(name, of_vector)) = (matrix, vector) else {
            return Err("a product of something else than a matrix and a vector".to_owned());
        };
        let find =
            |name: &String| self.symbols().find(name).ok_or_else(|| format!("`{name}` is nowhere stated"));
        let (matrix_id, vector_id) = (find(matrix)?, find(name)?);
        let before_matrix = self.positions(matrix_id, of_matrix, at)?;
        let before_vector = self.positions(vector_id, of_vector, at)?;
        let own = &self.symbols().array(matrix_id).letters;
        let n = self.world.bound.size_of(self.symbols(), own[own.len() - 1]);
        let row = match letter {
            Some(letter) if letter != vector => Some(self.value(letter, at)? as usize),
            _ => None,
        };
        let with = |before: &[usize], more: &[usize]| [before, more].concat();
        let mut total = 0.0;
        for (i, j) in (0..n * n).map(|place| (place / n, place % n)) {
            if row.is_some_and(|row| row != i) {
                continue;
            }
            let mut product = self.element(matrix_id, &with(&before_matrix, &[i, j]))?
                * self.element(vector_id, &with(&before_vector, &[j]))?;
            if row.is_none() {
                product *= self.element(vector_id, &with(&before_vector, &[i]))?;
            }
            total += product;
        }
        Ok(total)
    }

    fn size(&self, axis: &str, ancestors: &[Tree], at: &mut At) -> Result<f64, String> {
        let index = self.symbols().axes.iter().position(|own| own.name == axis);
        let axis = &self.world.bound.axes[index.ok_or_else(|| format!("no axis `{axis}`"))?];
        match (&axis.starts, ancestors.last()) {
            (Some(starts), Some(parent)) => {
                let parent = self.value(parent, at)? as usize;
                Ok((starts[parent + 1] - starts[parent]) as f64)
            }
            _ => Ok(axis.size as f64),
        }
    }

    /// The letter of the program that a printed one is, but for its primes.
    pub fn letter(&self, name: &str) -> Option<LetterId> {
        let bare = name.trim_end_matches('\'');
        let place = self.symbols().letters.iter().position(|own| own.name == bare)?;
        Some(LetterId::from(place))
    }

    /// Of a name that the derivation gives: where among its subscripts the letter stands that another one runs in, by what the
    /// name is stated to be.
    fn parent_place(&self, name: &str, place: usize) -> Option<usize> {
        let own = self.defined.iter().find(|own| own.name == name)?;
        let parent = own.right.before(own.letters.get(place)?, &|_, _| None)?;
        own.letters.iter().position(|letter| *letter == parent)
    }

    /// Calls `visit` at all positions of the letters where the conditions hold.
    ///
    /// # Errors
    /// A letter that is not known, and the errors of `visit`.
    pub fn each(
        &self,
        range: &Range,
        body: Option<&Tree>,
        at: &mut At,
        visit: &mut dyn FnMut(&mut At) -> Result<(), String>,
    ) -> Result<(), String> {
        self.each_from(0, (range, body), at, visit)
    }

    fn each_from(
        &self,
        place: usize,
        over: (&Range, Option<&Tree>),
        at: &mut At,
        visit: &mut dyn FnMut(&mut At) -> Result<(), String>,
    ) -> Result<(), String> {
        let (range, body) = over;
        let Some(name) = range.letters.get(place) else {
            for condition in &range.conditions {
                if !self.holds(condition, at)? {
                    return Ok(());
                }
            }
            return visit(at);
        };
        let positions = match self.letter(name) {
            // The letter of a bound, which has three categories.
            _ if !self.free.is_empty() => 0..3,
            Some(letter) => {
                let sides = range.conditions.iter().flat_map(Relation::sides);
                let known = |name: &str, place: usize| self.parent_place(name, place);
                let parent = sides.chain(body).find_map(|tree| tree.before(name, &known));
                self.range_of(letter, parent.as_deref(), at)
            }
            None => return Err(format!("no letter `{name}`")),
        };
        for position in positions {
            at.push((name.clone(), position));
            self.each_from(place + 1, over, at, visit)?;
            at.pop();
        }
        Ok(())
    }

    /// The positions of a letter; of a ragged one in the group whose letter stands before it where it is used.
    fn range_of(&self, letter: LetterId, before: Option<&str>, at: &At) -> std::ops::Range<usize> {
        let symbols = self.symbols();
        let own = symbols.letter(letter);
        let axis = &self.world.bound.axes[own.axis.index()];
        let Some(parent) = own.parent else { return 0..axis.size };
        let above = symbols.letter(parent).axis;
        let of_parent = |(name, _): &&(String, usize)| {
            self.letter(name).is_some_and(|other| symbols.letter(other).axis == above)
        };
        let named = at.iter().rev().find(|own| Some(own.0.as_str()) == before && of_parent(own));
        match (&axis.starts, named.or_else(|| at.iter().rev().find(of_parent))) {
            (Some(starts), Some((_, parent))) => starts[*parent]..starts[parent + 1],
            _ => 0..axis.size,
        }
    }

    fn holds(&self, relation: &Relation, at: &mut At) -> Result<bool, String> {
        Ok(match relation {
            Relation::Equal(left, right) => self.value(left, at)? == self.value(right, at)?,
            Relation::Different(left, right) => self.value(left, at)? != self.value(right, at)?,
            Relation::Less(left, right) => self.value(left, at)? < self.value(right, at)?,
            Relation::Observed(Tree::Name(name, subscripts)) => {
                let array = self.symbols().find(name).ok_or_else(|| format!("no array `{name}`"))?;
                let positions = self.positions(array, subscripts, at)?;
                self.world.observed(array, &positions)
            }
            Relation::Observed(_) => return Err("only elements are observed".to_owned()),
        })
    }

    fn call(&self, name: &str, arguments: &[Tree], at: &mut At) -> Result<f64, String> {
        match (name, arguments) {
            ("E", [inside]) => return self.expectation(inside, at),
            ("Var", [element]) => return self.covariance(element, element, at),
            ("Cov", [left, right]) => return self.covariance(left, right, at),
            ("logdet", [Tree::Name(matrix, subscripts)]) => {
                return self.log_determinant(matrix, subscripts, at);
            }
            _ => {}
        }
        let mut values = Vec::new();
        for argument in arguments {
            values.push(self.value(argument, at)?);
        }
        if let (Some((_, argument, right)), [value]) =
            (self.functions.iter().find(|own| own.0 == name), values.as_slice())
        {
            self.arguments.borrow_mut().push((argument.clone(), *value));
            let found = self.value(right, at);
            self.arguments.borrow_mut().pop();
            return found;
        }
        match (name, values.as_slice()) {
            ("log Gamma", [x]) => Ok(apply(Function::LogGamma, *x)),
            ("log BesselK", [p, z]) => Ok(log_bessel_k(*p, *z)),
            ("log BesselK'", [p, z]) => Ok(log_bessel_k_in_order(*p, *z)),
            ("max", [x, y]) => Ok(x.max(*y)),
            ("multivariate_psi", [x, size]) => {
                Ok((0..*size as usize).map(|i| apply(Function::Digamma, x - 0.5 * i as f64)).sum())
            }
            ("psi" | "digamma", [x]) => Ok(apply(Function::Digamma, *x)),
            ("psi'", [x]) => Ok(apply(Function::Trigamma, *x)),
            ("cosh", [x]) => Ok(x.cosh()),
            ("tanh", [x]) => Ok(x.tanh()),
            ("sin", [x]) => Ok(x.sin()),
            ("log_multivariate_gamma", [x, size]) => {
                Ok((0..*size as usize).map(|i| apply(Function::LogGamma, x - 0.5 * i as f64)).sum::<f64>()
                    + 0.25 * size * (size - 1.0) * std::f64::consts::PI.ln())
            }
            (_, [x]) => match FUNCTIONS.iter().find(|function| function.name() == name) {
                Some(function) => Ok(apply(*function, *x)),
                None => Err(format!("no function `{name}`")),
            },
            _ => Err(format!("no function `{name}` of {} arguments", values.len())),
        }
    }

    fn covariance(&self, left: &Tree, right: &Tree, at: &mut At) -> Result<f64, String> {
        if self.mass {
            return Ok(0.0);
        }
        let product = Tree::Product(vec![(false, left.clone()), (false, right.clone())]);
        let means = self.expectation(left, at)? * self.expectation(right, at)?;
        Ok(self.expectation(&product, at)? - means)
    }

    fn log_determinant(&self, name: &str, subscripts: &[Tree], at: &mut At) -> Result<f64, String> {
        if self.defined.iter().any(|own| own.name == name) {
            let letters: Vec<String> = subscripts
                .iter()
                .filter_map(|own| match own {
                    Tree::Slice(letter) => Some(letter.clone()),
                    _ => None,
                })
                .collect();
            let bare = bare(subscripts);
            let whole = Tree::Name(name.to_owned(), bare);
            let mut matrix = Vec::new();
            self.each(&Range { letters, conditions: Vec::new() }, Some(&whole), at, &mut |at| {
                matrix.push(self.value(&whole, at)?);
                Ok(())
            })?;
            return Ok(inverse_and_determinant(&matrix).1);
        }
        let array = self.symbols().find(name).ok_or_else(|| format!("`{name}` is nowhere stated"))?;
        let kept: Vec<Tree> =
            subscripts.iter().filter(|own| !matches!(own, Tree::Slice(_))).cloned().collect();
        let before = self.positions(array, &kept, at)?;
        let letters = &self.symbols().array(array).letters;
        let n = self.world.bound.size_of(self.symbols(), letters[letters.len() - 1]);
        let mut matrix = Vec::new();
        for place in 0..n * n {
            matrix.push(self.element(array, &[&before[..], &[place / n, place % n]].concat())?);
        }
        Ok(inverse_and_determinant(&matrix).1)
    }
}

/// `ln K_p(z)` by the trapezoid rule on `int exp(p t - z cosh t) dt / 2`.
fn log_bessel_k(p: f64, z: f64) -> f64 {
    let kernel = |t: f64| (p * t - z * t.cosh()).exp();
    (0.5 * 0.01 * (-3000..=3000).map(|step| kernel(0.01 * f64::from(step))).sum::<f64>()).ln()
}

/// `d ln K_p(z) / dp`, the mean of t under the integrand.
fn log_bessel_k_in_order(p: f64, z: f64) -> f64 {
    let kernel = |t: f64| (p * t - z * t.cosh()).exp();
    let steps = || (-3000..=3000).map(|step| 0.01 * f64::from(step));
    steps().map(|t| t * kernel(t)).sum::<f64>() / steps().map(kernel).sum::<f64>()
}

/// Functions that print by their own names.
const FUNCTIONS: [Function; 14] = [
    Function::Exp,
    Function::Log,
    Function::Sqrt,
    Function::Logistic,
    Function::Softplus,
    Function::LogOneLessExp,
    Function::EvenSoftplus,
    Function::LogisticCurvature,
    Function::SinePi,
    Function::Phi,
    Function::StandardNormalLogCdf,
    Function::StandardNormalLogCcdf,
    Function::InversePhi,
    Function::StandardNormalLogQf,
];

/// Subscripts with the letters of slices in the place of the slices.
fn bare(subscripts: &[Tree]) -> Vec<Tree> {
    let letter = |own: &Tree| match own {
        Tree::Slice(letter) => Tree::Name(letter.clone(), Vec::new()),
        other => other.clone(),
    };
    subscripts.iter().map(letter).collect()
}
