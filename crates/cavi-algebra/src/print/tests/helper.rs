//! Hand-built equations, with little to write for each.

use crate::bound::{BoundWords, Inequality, Side, StatedBound};
use crate::equations::{Addend, Block, Elbo, Equations, Mode, Natural, Site, StatementEquation};
use crate::expression::{Function, Subscript};
use crate::print::{Formula, Standard, StandardParameter};
use crate::statistic::{Elementary, Statistic};
use crate::sum_of_products::{Atom, Coefficient, Factor, Moment, Sum, Term};
use crate::symbols::{
    Absent, Array, ArrayId, ArrayKind, Axis, AxisId, BlockId, BoundId, FamilyId, Letter, LetterId, SiteId,
    StatementId, Support, Symbols,
};

/// An axis and its letters.
pub fn axis(symbols: &mut Symbols, name: &str, letters: &[&str], parent: Option<LetterId>) -> Vec<LetterId> {
    let axis = AxisId::from(symbols.axes.len());
    let mut ids = Vec::new();
    for letter in letters {
        symbols.letters.push(Letter { name: (*letter).to_owned(), axis, parent });
        ids.push(LetterId::from(symbols.letters.len() - 1));
    }
    let parent = parent.map(|parent| symbols.letter(parent).axis);
    symbols.axes.push(Axis { name: name.to_owned(), parent, letters: ids.clone(), size: None });
    ids
}

/// An array over letters.
pub fn array(symbols: &mut Symbols, name: &str, kind: ArrayKind, letters: &[LetterId]) -> ArrayId {
    symbols.arrays.push(Array {
        name: name.to_owned(),
        kind,
        letters: letters.to_vec(),
        slice: vec![false; letters.len()],
        written: Vec::new(),
        support: Support::Real,
        absent: Absent::default(),
        restriction: None,
        value: None,
        center: None,
        scale: None,
    });
    ArrayId::from(symbols.arrays.len() - 1)
}

pub fn data(symbols: &mut Symbols, name: &str, letters: &[LetterId]) -> ArrayId {
    array(symbols, name, ArrayKind::Data, letters)
}

pub fn constant(symbols: &mut Symbols, name: &str) -> ArrayId {
    array(symbols, name, ArrayKind::Constant, &[])
}

pub fn latent(symbols: &mut Symbols, name: &str, letters: &[LetterId]) -> ArrayId {
    array(symbols, name, ArrayKind::Latent, letters)
}

pub fn at(letters: &[LetterId]) -> Vec<Subscript> {
    letters.iter().map(|letter| Subscript::Letter(*letter)).collect()
}

pub fn value(array: ArrayId, letters: &[LetterId]) -> Atom {
    Atom::Value(array, at(letters))
}

pub fn log(atom: Atom) -> Atom {
    Atom::Apply(Function::Log, vec![Sum::atom(atom)])
}

pub fn moment(block: u32, statistic: Statistic, plates: &[LetterId], slots: &[LetterId]) -> Atom {
    Atom::Moment(Moment { block: BlockId(block), statistic, plates: at(plates), slots: at(slots) })
}

pub fn mean(block: u32, plates: &[LetterId], slots: &[LetterId]) -> Atom {
    moment(block, Statistic::identity(), plates, slots)
}

pub fn mean_log(block: u32, plates: &[LetterId], slots: &[LetterId]) -> Atom {
    moment(block, Statistic::log(), plates, slots)
}

/// `coefficient * sum over letters of the product of atoms`
pub fn term(coefficient: f64, sums: &[LetterId], atoms: Vec<Atom>) -> Term {
    let factors = atoms.into_iter().map(Factor::of).collect();
    Term { sums: sums.to_vec(), factors, coefficient: Coefficient(coefficient) }
}

pub fn sum(terms: Vec<Term>) -> Sum {
    Sum { terms }
}

pub fn natural(statistic: Statistic, slots: &[LetterId], coefficient: Sum) -> Natural {
    Natural { statistic, slots: slots.to_vec(), coefficient }
}

pub fn block(
    member: ArrayId,
    plates: &[LetterId],
    slices: &[LetterId],
    family: &'static str,
    natural: Vec<Natural>,
    prior: Vec<Sum>,
) -> Block {
    Block {
        members: vec![member],
        plates: plates.to_vec(),
        member_plates: vec![plates.to_vec()],
        slices: vec![slices.to_vec()],
        mode: Mode::Distribution,
        family: family_named(family),
        natural,
        prior,
        in_order: Vec::new(),
        classes: None,
        multiplicity: Vec::new(),
        exists: None,
        by: None,
        clamp: false,
        resets: false,
        ascent: None,
    }
}

pub fn statement(
    target: ArrayId,
    family: &'static str,
    observed: bool,
    log_density: Sum,
) -> StatementEquation {
    StatementEquation {
        target,
        family,
        observed,
        log_density,
        whitening: None,
        apart: Vec::new(),
        filled: Vec::new(),
    }
}

pub fn site(statement: u32, plates: &[LetterId], weight: Sum, addends: Vec<(Vec<LetterId>, Sum)>) -> Site {
    let addends = addends.into_iter().map(|(letters, log_weight)| Addend { letters, log_weight }).collect();
    Site {
        bound: BoundId(0),
        statement: StatementId(statement),
        plates: plates.to_vec(),
        weight,
        addends,
        collapsed: None,
    }
}

pub fn share(plates: &[LetterId], categories: &[LetterId]) -> Atom {
    Atom::Allocation { site: SiteId(0), addend: 0, plates: at(plates), categories: at(categories) }
}

pub fn partition(plates: &[LetterId]) -> Atom {
    Atom::LogPartition { site: SiteId(0), plates: at(plates) }
}

pub fn equations(
    name: &str,
    symbols: Symbols,
    statements: Vec<StatementEquation>,
    blocks: Vec<Block>,
    sites: Vec<Site>,
    elbo: Vec<(u32, Sum)>,
) -> Equations {
    let sweep = (0..blocks.len()).map(BlockId::from).collect();
    let contributions = vec![Vec::new(); blocks.len()];
    let terms = elbo.into_iter().map(|(statement, sum)| (StatementId(statement), sum)).collect();
    let auxiliaries = Vec::new();
    Equations {
        name: name.to_owned(),
        symbols,
        statements,
        blocks,
        contributions,
        bounds: vec![log_of_a_sum()],
        sites,
        auxiliaries,
        elbo: Elbo { terms, ..Elbo::default() },
        sweep,
        rotations: Vec::new(),
        shifts: Vec::new(),
        quadratic: Vec::new(),
    }
}

/// `log sum_c f_c >= sum_c phi_c (log f_c - log phi_c)`
fn log_of_a_sum() -> StatedBound {
    let c = LetterId(0);
    let array = |name: &str, support: Support| Array::latent(name, vec![c], support);
    let [f, phi] = [ArrayId(0), ArrayId(1)].map(|array| Atom::Value(array, at(&[c])));
    let log = |atom: &Atom| Sum::atom(atom.clone()).apply(Function::Log);
    let gain = log(&f).minus(log(&phi));
    let over =
        |factors: Vec<Factor>| Sum::term(Term { sums: vec![c], factors, coefficient: Coefficient(1.0) });
    let other = LetterId(1);
    let all = Atom::Value(ArrayId(0), at(&[other]));
    let all =
        Sum::term(Term { sums: vec![other], factors: vec![Factor::of(all)], coefficient: Coefficient(1.0) });
    let mut share = Term::atom(f.clone());
    share.factors.push(Factor { atom: Atom::Group(Box::new(all)), power: -1 });
    let axis = Axis { name: "category".to_owned(), parent: None, letters: vec![c, other], size: None };
    let letter = Letter { name: "c".to_owned(), axis: AxisId(0), parent: None };
    StatedBound {
        name: "jensen_log_sum",
        inequality: Inequality {
            symbols: Symbols {
                axes: vec![axis],
                letters: vec![letter.clone(), letter],
                arrays: vec![array("f", Support::Positive), array("phi", Support::Simplex)],
                ..Symbols::default()
            },
            left: over(vec![Factor::of(f)]).apply(Function::Log),
            side: Side::Below,
            right: over(vec![Factor::of(phi), Factor::of(Atom::Group(Box::new(gain)))]),
            argument: ArrayId(0),
            auxiliary: ArrayId(1),
            optimum: Sum::term(share),
        },
        words: BoundWords {
            of: "The bound of logs of sums",
            holds: "The log of a sum is bounded below for any shares that sum to 1,",
            equal: "with equality at shares proportional to the addends:",
            best: Some(
                "Under q the expected bound is largest at shares proportional to the exponential of the expected log:",
            ),
            step: "logs of sums bounded",
        },
        keeps_zeros: false,
        references: &[],
    }
}

/// What the families tell.
pub struct Families;

/// Their names; an id is a place here.
const NAMES: [&str; 6] = ["Beta", "Gamma", "Dirichlet", "Categorical", "Normal", "MultivariateNormal"];

fn family_named(name: &str) -> FamilyId {
    FamilyId::from(NAMES.iter().position(|own| *own == name).expect("a family of these tests"))
}

fn boxed(formula: Formula) -> Box<Formula> {
    Box::new(formula)
}

impl Standard for Families {
    fn name(&self, family: FamilyId) -> &'static str {
        NAMES[family.index()]
    }

    fn standard(&self, family: FamilyId) -> Vec<StandardParameter> {
        use Formula::{
            Add, Apply, Divide, Inverse, MatrixVector, Multiply, Natural, Negate, Normalised, Number,
            Parameter,
        };
        let shifted = |index| Add(vec![Number(1.0), Natural(index)]);
        let named = |list: Vec<(&'static str, Formula)>| {
            list.into_iter().map(|(name, formula)| StandardParameter { name, formula }).collect()
        };
        match self.name(family) {
            "Gamma" => named(vec![("shape", shifted(0)), ("rate", Negate(boxed(Natural(1))))]),
            "Dirichlet" => named(vec![("concentration", shifted(0))]),
            "Categorical" => {
                named(vec![("prob", Normalised(boxed(Apply(Function::Exp, boxed(Natural(0))))))])
            }
            "Normal" => named(vec![
                ("prec", Multiply(vec![Number(-2.0), Natural(1)])),
                ("mean", Divide(boxed(Natural(0)), boxed(Parameter(0)))),
            ]),
            "MultivariateNormal" => named(vec![
                ("prec", Multiply(vec![Number(-2.0), Natural(1)])),
                ("cov", Inverse(boxed(Parameter(0)))),
                ("mean", MatrixVector(boxed(Parameter(1)), boxed(Natural(0)))),
            ]),
            _ => Vec::new(),
        }
    }

    fn mode(&self, family: FamilyId) -> Option<Formula> {
        match self.name(family) {
            "Gamma" => Some(Formula::Divide(
                boxed(Formula::Natural(0)),
                boxed(Formula::Negate(boxed(Formula::Natural(1)))),
            )),
            "Dirichlet" => Some(Formula::Normalised(boxed(Formula::Natural(0)))),
            _ => None,
        }
    }

    fn expectations(&self, family: FamilyId) -> Vec<(Statistic, Formula)> {
        use Formula::{Add, Apply, Digamma, Divide, Negate, Parameter, Total};
        let log = |index| Apply(Function::Log, boxed(Parameter(index)));
        match self.name(family) {
            "Gamma" => vec![
                (Statistic::identity(), Divide(boxed(Parameter(0)), boxed(Parameter(1)))),
                (Statistic::log(), Add(vec![Digamma(boxed(Parameter(0))), Negate(boxed(log(1)))])),
            ],
            "Dirichlet" => vec![(
                Statistic::log(),
                Add(vec![
                    Digamma(boxed(Parameter(0))),
                    Negate(boxed(Digamma(boxed(Total(boxed(Parameter(0))))))),
                ]),
            )],
            "MultivariateNormal" => vec![
                (Statistic::identity(), Parameter(2)),
                (Statistic(vec![(0, Elementary::Centred), (0, Elementary::Centred)]), Parameter(1)),
            ],
            _ => Vec::new(),
        }
    }

    fn paired(&self, family: FamilyId) -> bool {
        matches!(self.name(family), "Gamma" | "Dirichlet")
    }

    fn log_normaliser(&self, family: FamilyId) -> Option<Formula> {
        use Formula::{Add, Apply, Multiply, Negate, Parameter, Total};
        let gamma = |of| Apply(Function::LogGamma, boxed(of));
        match self.name(family) {
            "Gamma" => {
                let log_rate = Apply(Function::Log, boxed(Parameter(1)));
                let product = Multiply(vec![Parameter(0), log_rate]);
                Some(Add(vec![gamma(Parameter(0)), Negate(boxed(product))]))
            }
            "Dirichlet" => Some(Add(vec![
                Total(boxed(gamma(Parameter(0)))),
                Negate(boxed(gamma(Total(boxed(Parameter(0)))))),
            ])),
            _ => None,
        }
    }
}

/// Writes LaTeX where `CAVI_PRINT_DIR` says, for looking at the page.
pub fn keep(name: &str, shown: &str) {
    if let Ok(directory) = std::env::var("CAVI_PRINT_DIR") {
        std::fs::write(format!("{directory}/{name}.tex"), shown).expect("the directory exists");
    }
}
