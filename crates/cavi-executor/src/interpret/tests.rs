//! Small equations built by hand, against formulas written straight down.

use cavi_algebra::{
    Absent, Addend, Array, ArrayId, ArrayKind, Atom, Axis, AxisId, Block, BlockId, BoundId, Coefficient,
    Elbo, Equations, ExpectedSquare, Factor, FamilyId, Function, Letter, LetterId, Mode, Moment, Natural,
    Site, SiteId, StatementEquation, StatementId, Statistic, Subscript, Sum, Support, Symbols, Term,
};
use cavi_families::recognise;
use cavi_numerics::special::{digamma, log_gamma};

use super::Interpreter;
use crate::data::{Bound, BoundArray, BoundAxis};
use crate::initialise::start;
use crate::layout::Parameters;
use crate::schedule::{Item, Schedule};

const LOG_TWO_PI: f64 = 1.837_877_066_409_345_3;

/// A program under construction: each axis has one letter, or two.
#[derive(Default)]
struct Program {
    symbols: Symbols,
    bound: Bound,
}

impl Program {
    fn axis(&mut self, size: usize) -> LetterId {
        let id = AxisId::from(self.symbols.axes.len());
        self.symbols.axes.push(Axis { name: String::new(), parent: None, letters: Vec::new(), size: None });
        self.bound.axes.push(BoundAxis::plain(size));
        self.letter(id)
    }

    fn letter(&mut self, axis: AxisId) -> LetterId {
        let id = LetterId::from(self.symbols.letters.len());
        self.symbols.letters.push(Letter { name: String::new(), axis, parent: None });
        self.symbols.axes[axis.index()].letters.push(id);
        id
    }

    fn again(&mut self, letter: LetterId) -> LetterId {
        self.letter(self.symbols.letter(letter).axis)
    }

    fn array(&mut self, letters: &[LetterId], support: Support, values: Option<BoundArray>) -> ArrayId {
        let kind = if values.is_some() { ArrayKind::Data } else { ArrayKind::Latent };
        self.symbols.arrays.push(Array {
            name: String::new(),
            kind,
            letters: letters.to_vec(),
            slice: vec![false; letters.len()],
            written: Vec::new(),
            support,
            absent: Absent::default(),
            restriction: None,
            value: None,
            center: None,
            scale: None,
        });
        self.bound.arrays.push(values);
        ArrayId::from(self.symbols.arrays.len() - 1)
    }

    fn data(&mut self, letters: &[LetterId], values: &[f64]) -> ArrayId {
        self.array(letters, Support::Real, Some(BoundArray::full(values.to_vec())))
    }

    fn equations(
        &self,
        blocks: Vec<Block>,
        sites: Vec<Site>,
        terms: Vec<Term>,
        log_density: Vec<Term>,
    ) -> Equations {
        Equations {
            bounds: Vec::new(),
            auxiliaries: Vec::new(),
            name: String::new(),
            symbols: self.symbols.clone(),
            statements: vec![StatementEquation {
                target: ArrayId(0),
                family: "",
                observed: true,
                log_density: Sum { terms: log_density },
                whitening: None,
                apart: Vec::new(),
                filled: Vec::new(),
            }],
            sweep: (0..blocks.len()).map(BlockId::from).collect(),
            rotations: Vec::new(),
            shifts: Vec::new(),
            quadratic: Vec::new(),
            contributions: vec![Vec::new(); blocks.len()],
            blocks,
            sites,
            elbo: Elbo { terms: vec![(StatementId(0), Sum { terms })], ..Elbo::default() },
        }
    }
}

fn letters(letters: &[LetterId]) -> Vec<Subscript> {
    letters.iter().copied().map(Subscript::Letter).collect()
}

fn value(array: ArrayId, subscripts: &[LetterId]) -> Factor {
    Factor::of(Atom::Value(array, letters(subscripts)))
}

fn observed(array: ArrayId, subscripts: &[LetterId]) -> Factor {
    Factor::of(Atom::Observed(array, letters(subscripts)))
}

fn moment(block: u32, statistic: Statistic, plates: &[LetterId], slots: &[LetterId]) -> Factor {
    let (plates, slots) = (letters(plates), letters(slots));
    Factor::of(Atom::Moment(Moment { block: BlockId(block), statistic, plates, slots }))
}

fn mean(block: u32, plates: &[LetterId], slots: &[LetterId]) -> Factor {
    moment(block, Statistic::identity(), plates, slots)
}

fn term(coefficient: f64, sums: &[LetterId], factors: Vec<Factor>) -> Term {
    Term { sums: sums.to_vec(), factors, coefficient: Coefficient(coefficient) }
}

fn sum(terms: Vec<Term>) -> Sum {
    Sum { terms }
}

fn natural(statistic: Statistic, slots: &[LetterId], terms: Vec<Term>) -> Natural {
    Natural { statistic, slots: slots.to_vec(), coefficient: sum(terms) }
}

fn block(member: ArrayId, plates: &[LetterId], slice: &[LetterId], family: FamilyId) -> Block {
    Block {
        members: vec![member],
        plates: plates.to_vec(),
        member_plates: vec![plates.to_vec()],
        slices: vec![slice.to_vec()],
        mode: Mode::Distribution,
        family,
        natural: Vec::new(),
        prior: Vec::new(),
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

fn recognised(support: Support, slice: bool, point: bool, statistics: &[Statistic]) -> FamilyId {
    recognise(support, slice, point, statistics).expect("the registry has a family for this")
}

fn real() -> FamilyId {
    recognised(Support::Real, false, false, &[Statistic::identity(), Statistic::square()])
}

fn over_slice() -> FamilyId {
    recognised(Support::Real, true, false, &[Statistic::identity(), Statistic::outer()])
}

fn positive() -> FamilyId {
    recognised(Support::Positive, false, false, &[Statistic::log(), Statistic::identity()])
}

fn index() -> FamilyId {
    recognised(Support::Index(AxisId(1)), false, false, &[Statistic::indicator()])
}

fn simplex() -> FamilyId {
    recognised(Support::Simplex, true, true, &[Statistic::log()])
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-12 * expected.abs().max(1.0),
        "found {found}, expected {expected}"
    );
}

/// mu ~ Normal(0.5, prec = 2), x[n] ~ Normal(mu, prec = 3), one entry missing: the bound is the log evidence.
#[test]
fn a_mean_with_known_precision() {
    let mut program = Program::default();
    let n = program.axis(4);
    let x_values = BoundArray::Dense {
        values: vec![1.0, 0.0, -0.5, 2.5].into(),
        observed: Some(vec![true, false, true, true]),
    };
    let x = program.array(&[n], Support::Real, Some(x_values));
    let mu = program.array(&[], Support::Real, None);
    let (m0, p0, t) = (0.5, 2.0, 3.0);
    let seen = || observed(x, &[n]);
    let q = Block {
        natural: vec![
            natural(
                Statistic::identity(),
                &[],
                vec![term(t, &[n], vec![value(x, &[n]), seen()]), term(p0 * m0, &[], vec![])],
            ),
            natural(
                Statistic::square(),
                &[],
                vec![term(-t / 2.0, &[n], vec![seen()]), term(-p0 / 2.0, &[], vec![])],
            ),
        ],
        ..block(mu, &[], &[], real())
    };
    let square = |of: Vec<Term>, of_mean: Vec<Term>| {
        let spread = sum(vec![term(1.0, &[], vec![moment(0, Statistic::covariance(), &[], &[])])]);
        Factor::of(Atom::ExpectedSquare(Box::new(ExpectedSquare { of: sum(of), mean: sum(of_mean), spread })))
    };
    let data_mean = vec![term(1.0, &[], vec![value(x, &[n])]), term(-1.0, &[], vec![mean(0, &[], &[])])];
    let prior_mean = vec![term(1.0, &[], vec![mean(0, &[], &[])]), term(-m0, &[], vec![])];
    let terms = vec![
        term(0.5 * (t.ln() - LOG_TWO_PI), &[n], vec![seen()]),
        term(-t / 2.0, &[n], vec![seen(), square(vec![], data_mean)]),
        term(0.5 * (p0.ln() - LOG_TWO_PI), &[], vec![]),
        term(-p0 / 2.0, &[], vec![square(vec![], prior_mean)]),
    ];
    let residual = sum(vec![term(1.0, &[], vec![value(x, &[n])]), term(-1.0, &[], vec![value(mu, &[])])]);
    let squared = Factor { atom: Atom::Group(Box::new(residual)), power: 2 };
    let log_density = vec![term(-t / 2.0, &[n], vec![seen(), squared])];
    let equations = program.equations(vec![q], vec![], terms, log_density);
    let bound = &program.bound;

    let mut interpreter = Interpreter::new(&equations, bound, start(&equations, bound, 1)).unwrap();
    interpreter.sweep(&Schedule::of(&equations)).unwrap();
    let xs = [1.0, -0.5, 2.5];
    let precision = p0 + 3.0 * t;
    let posterior_mean = (p0 * m0 + t * xs.iter().sum::<f64>()) / precision;
    close(interpreter.parameters().blocks[0][0][0], posterior_mean);
    close(interpreter.parameters().blocks[0][1][0], 1.0 / precision);
    let squares: f64 = xs.iter().map(|x| x * x).sum();
    let evidence = 1.5 * (t.ln() - LOG_TWO_PI) + 0.5 * (p0 / precision).ln()
        - 0.5 * (t * squares + p0 * m0 * m0 - precision * posterior_mean * posterior_mean);
    close(interpreter.elbo(), evidence);
    close(interpreter.elbo_held(), evidence);

    let joint = interpreter.joint_at(&[None, Some(vec![0.25])]);
    close(joint, -1.5 * xs.iter().map(|x| (x - 0.25) * (x - 0.25)).sum::<f64>());
}

/// The data of the model of counts: an empty row and a cell that is not listed.
const X: [[f64; 3]; 3] = [[2.0, 0.0, 5.0], [0.0, 0.0, 0.0], [1.0, 3.0, 0.0]];
const A: f64 = 0.3;
const B: f64 = 0.7;
const C: f64 = 1e-14;
const D: f64 = 1e-14;

/// x[i, j] ~ Poisson(sum_k w[i, k] h[k, j]), w ~ Gamma(A, rate = B), h ~ Gamma(C, rate = D).
fn counts() -> (Program, Equations) {
    let mut program = Program::default();
    let (i, j, k) = (program.axis(3), program.axis(3), program.axis(2));
    let mut cells: Vec<(u32, u32, f64)> = Vec::new();
    for (row, values) in X.iter().enumerate() {
        cells.extend(
            values
                .iter()
                .enumerate()
                .filter(|(_, x)| **x != 0.0)
                .map(|(column, x)| (row as u32, column as u32, *x)),
        );
    }
    let x = BoundArray::Sparse {
        indices: vec![cells.iter().map(|cell| cell.0).collect(), cells.iter().map(|cell| cell.1).collect()],
        values: cells.iter().map(|cell| cell.2).collect(),
        observed: None,
        unlisted_zero: true,
    };
    let x = program.array(&[i, j], Support::Count, Some(x));
    let w = program.array(&[i, k], Support::Positive, None);
    let h = program.array(&[k, j], Support::Positive, None);
    let phi = || {
        Factor::of(Atom::Allocation {
            site: SiteId(0),
            addend: 0,
            plates: letters(&[i, j]),
            categories: letters(&[k]),
        })
    };
    let factor = |member, plates: &[LetterId], other: Factor, over: LetterId, shape: f64, rate: f64| Block {
        natural: vec![
            natural(
                Statistic::log(),
                &[],
                vec![term(shape, &[], vec![]), term(1.0, &[over], vec![value(x, &[i, j]), phi()])],
            ),
            natural(
                Statistic::identity(),
                &[],
                vec![term(-rate, &[], vec![]), term(-1.0, &[over], vec![other])],
            ),
        ],
        prior: vec![sum(vec![term(shape, &[], vec![])]), sum(vec![term(-rate, &[], vec![])])],
        ..block(member, plates, &[], positive())
    };
    let blocks = vec![
        factor(w, &[i, k], mean(1, &[k, j], &[]), j, A, B),
        factor(h, &[k, j], mean(0, &[i, k], &[]), i, C, D),
    ];
    let log_weight = sum(vec![
        term(1.0, &[], vec![moment(0, Statistic::log(), &[i, k], &[])]),
        term(1.0, &[], vec![moment(1, Statistic::log(), &[k, j], &[])]),
    ]);
    let site = Site {
        bound: BoundId(0),
        statement: StatementId(0),
        plates: vec![i, j],
        weight: sum(vec![term(1.0, &[], vec![value(x, &[i, j])])]),
        addends: vec![Addend { letters: vec![k], log_weight }],
        collapsed: None,
    };
    let partition = Factor::of(Atom::LogPartition { site: SiteId(0), plates: letters(&[i, j]) });
    let plus_one = sum(vec![term(1.0, &[], vec![value(x, &[i, j])]), term(1.0, &[], vec![])]);
    let log_factorial = Factor::of(Atom::Apply(Function::LogGamma, vec![plus_one]));
    let terms = vec![
        term(1.0, &[i, j], vec![partition, value(x, &[i, j])]),
        term(-1.0, &[i, j, k], vec![mean(0, &[i, k], &[]), mean(1, &[k, j], &[])]),
        term(-1.0, &[i, j], vec![log_factorial]),
        term(A * B.ln() - log_gamma(A), &[i, k], vec![]),
        term(C * D.ln() - log_gamma(C), &[k, j], vec![]),
    ];
    let equations = program.equations(blocks, vec![site], terms, vec![]);
    (program, equations)
}

/// Shapes and rates of w[i][k] and h[k][j].
#[derive(Clone)]
struct Factors {
    w: [[(f64, f64); 2]; 3],
    h: [[(f64, f64); 3]; 2],
}

impl Factors {
    fn of(parameters: &Parameters) -> Factors {
        let [w, h] = parameters.blocks.as_slice() else { panic!("two blocks") };
        let at = |block: &[Vec<f64>], place: usize| (block[0][place], block[1][place]);
        Factors {
            w: std::array::from_fn(|i| std::array::from_fn(|k| at(w, 2 * i + k))),
            h: std::array::from_fn(|k| std::array::from_fn(|j| at(h, 3 * k + j))),
        }
    }

    fn log_weight(&self, i: usize, j: usize, k: usize) -> f64 {
        let log = |(shape, rate): (f64, f64)| digamma(shape) - rate.ln();
        log(self.w[i][k]) + log(self.h[k][j])
    }

    fn log_partition(&self, i: usize, j: usize) -> f64 {
        let (a, b) = (self.log_weight(i, j, 0), self.log_weight(i, j, 1));
        a.max(b) + (-(a - b).abs()).exp().ln_1p()
    }

    fn phi(&self, i: usize, j: usize, k: usize) -> f64 {
        (self.log_weight(i, j, k) - self.log_partition(i, j)).exp()
    }

    fn update_w(&mut self, held: &Factors) {
        for (i, row) in X.iter().enumerate() {
            for k in 0..2 {
                let shape = A + (0..3).map(|j| row[j] * held.phi(i, j, k)).sum::<f64>();
                self.w[i][k] = (shape, B + (0..3).map(|j| self.h[k][j].0 / self.h[k][j].1).sum::<f64>());
            }
        }
    }

    #[expect(clippy::needless_range_loop, reason = "indices as in the formula")]
    fn update_h(&mut self, held: &Factors) {
        for k in 0..2 {
            for j in 0..3 {
                let shape = C + (0..3).map(|i| X[i][j] * held.phi(i, j, k)).sum::<f64>();
                self.h[k][j] = (shape, D + (0..3).map(|i| self.w[i][k].0 / self.w[i][k].1).sum::<f64>());
            }
        }
    }

    /// The data's part with given allocations, minus the divergences from the priors in their combined form.
    fn bound(&self, held: &Factors) -> f64 {
        let mut bound = 0.0;
        for (i, row) in X.iter().enumerate() {
            for (j, x) in row.iter().enumerate() {
                for k in 0..2 {
                    let phi = held.phi(i, j, k);
                    if *x > 0.0 && phi > 0.0 {
                        bound += x * phi * (self.log_weight(i, j, k) - phi.ln());
                    }
                    bound -= self.w[i][k].0 / self.w[i][k].1 * self.h[k][j].0 / self.h[k][j].1;
                }
                bound -= log_gamma(x + 1.0);
            }
        }
        let divergence = |(shape, rate): (f64, f64), a: f64, b: f64| {
            (shape - a) * digamma(shape) - log_gamma(shape)
                + log_gamma(a)
                + a * (rate / b).ln()
                + shape * (b - rate) / rate
        };
        bound -= self.w.iter().flatten().map(|q| divergence(*q, A, B)).sum::<f64>();
        bound - self.h.iter().flatten().map(|q| divergence(*q, C, D)).sum::<f64>()
    }

    #[track_caller]
    fn check(&self, parameters: &Parameters) {
        let other = Factors::of(parameters);
        for (found, expected) in other
            .w
            .iter()
            .flatten()
            .chain(other.h.iter().flatten())
            .zip(self.w.iter().flatten().chain(self.h.iter().flatten()))
        {
            close(found.0, expected.0);
            close(found.1, expected.1);
        }
    }
}

#[test]
fn refreshed_allocations_and_shared_ones() {
    let (program, equations) = counts();
    let bound = &program.bound;
    let begin = start(&equations, bound, 7);
    assert_eq!(begin, start(&equations, bound, 7));
    assert_ne!(begin, start(&equations, bound, 8));
    let (w, h) = (BlockId(0), BlockId(1));

    // One after another, each from its own refresh; the bound never falls.
    let mut interpreter = Interpreter::new(&equations, bound, begin.clone()).unwrap();
    let mut factors = Factors::of(&begin);
    let mut last = interpreter.elbo();
    close(last, factors.bound(&factors));
    for _ in 0..20 {
        interpreter.sweep(&Schedule::of(&equations)).unwrap();
        let held = factors.clone();
        factors.update_w(&held);
        let held = factors.clone();
        factors.update_h(&held);
        factors.check(interpreter.parameters());
        let elbo = interpreter.elbo();
        close(elbo, factors.bound(&factors));
        let scale: f64 = interpreter.elbo_terms().iter().map(|term| term.abs()).sum();
        assert!(elbo >= last - 1e-10 * scale, "{last} fell to {elbo}");
        last = elbo;
    }

    // A group shares one refresh, and each member sees the newest values of the other.
    let mut interpreter = Interpreter::new(&equations, bound, begin.clone()).unwrap();
    let mut factors = Factors::of(&begin);
    interpreter.item(&Item::group(vec![Item::block(w), Item::block(h)])).unwrap();
    let held = factors.clone();
    factors.update_w(&held);
    factors.update_h(&held);
    factors.check(interpreter.parameters());
    close(interpreter.elbo_held(), factors.bound(&held));
    close(interpreter.elbo(), factors.bound(&factors));
    assert!(interpreter.elbo() >= interpreter.elbo_held());

    // Repetitions refresh, but not inside a group; a sequence refreshes for each of its items.
    let run = |item: Item| {
        let mut interpreter = Interpreter::new(&equations, bound, begin.clone()).unwrap();
        interpreter.item(&item).unwrap();
        interpreter.parameters().clone()
    };
    let inside = Item::group(vec![Item::block(w).repeated(3)]);
    assert_eq!(run(inside), run(Item::block(w)));
    assert_ne!(run(Item::block(w).repeated(2)), run(Item::block(w)));
    let sequence = Item::sequence(vec![Item::block(w), Item::block(h)]).repeated(2);
    let mut interpreter = Interpreter::new(&equations, bound, begin.clone()).unwrap();
    interpreter.sweep(&Schedule::of(&equations)).unwrap();
    interpreter.sweep(&Schedule::of(&equations)).unwrap();
    assert_eq!(run(sequence), *interpreter.parameters());

    // A reset forgets the data.
    let mut interpreter = Interpreter::new(&equations, bound, begin).unwrap();
    interpreter.reset_block(w).unwrap();
    close(interpreter.parameters().blocks[0][0][0], A);
    close(interpreter.parameters().blocks[0][1][0], B);
}

/// y[n] ~ Normal(sum_ab x[n, a, b] w[a, b], prec = 1), w points with a flat prior or distributions with prec = 1; the
/// block numbers its copies by b, then a, and they move in the order of a, then b.
#[test]
fn copies_that_meet_move_in_declared_order() {
    let (xs, ys) = ([[0.5, 1.0, -1.0, 2.0], [1.5, 0.3, 0.7, -0.2], [0.1, -0.8, 0.9, 0.4]], [1.0, 2.0, -0.5]);
    let mut program = Program::default();
    let (n, a, b) = (program.axis(3), program.axis(2), program.axis(2));
    let (a2, b2) = (program.again(a), program.again(b));
    let y = program.data(&[n], &ys);
    let x = program.data(&[n, a, b], &xs.concat());
    let w = program.array(&[a, b], Support::Real, None);
    for mode in [Mode::Point, Mode::Distribution] {
        let prec = if mode == Mode::Point { 0.0 } else { 1.0 };
        let other = match mode {
            Mode::Point => value(w, &[a2, b2]),
            _ => mean(0, &[b2, a2], &[]),
        };
        let differ =
            |left, right| Factor::of(Atom::Different(Subscript::Letter(left), Subscript::Letter(right)));
        let same = |left, right| Factor::of(Atom::Equal(Subscript::Letter(left), Subscript::Letter(right)));
        let pair = |apart: Vec<Factor>| {
            let mut factors = vec![value(x, &[n, a, b]), value(x, &[n, a2, b2]), other.clone()];
            factors.extend(apart);
            term(-1.0, &[n, a2, b2], factors)
        };
        let q = Block {
            mode,
            natural: vec![
                natural(
                    Statistic::identity(),
                    &[],
                    vec![
                        term(1.0, &[n], vec![value(x, &[n, a, b]), value(y, &[n])]),
                        pair(vec![differ(a, a2)]),
                        pair(vec![same(a, a2), differ(b, b2)]),
                    ],
                ),
                natural(
                    Statistic::square(),
                    &[],
                    vec![
                        term(-0.5, &[n], vec![Factor { power: 2, ..value(x, &[n, a, b]) }]),
                        term(-0.5 * prec, &[], vec![]),
                    ],
                ),
            ],
            in_order: vec![a, b],
            ..block(w, &[b, a], &[], real())
        };
        let equations = program.equations(vec![q], vec![], vec![], vec![]);
        let bound = &program.bound;
        let begin = start(&equations, bound, 3);
        // Rows are (b, a): element (a, b) stands at 2 b + a.
        let place = [0, 2, 1, 3];
        let mut weights = place.map(|place| begin.blocks[0][0][place]);
        let mut interpreter = Interpreter::new(&equations, bound, begin).unwrap();
        for _ in 0..3 {
            interpreter.sweep(&Schedule::of(&equations)).unwrap();
            for p in 0..4 {
                let rest =
                    |n: usize| ys[n] - (0..4).filter(|o| *o != p).map(|o| xs[n][o] * weights[o]).sum::<f64>();
                let linear: f64 = (0..3).map(|n| xs[n][p] * rest(n)).sum();
                weights[p] = linear / (prec + (0..3).map(|n| xs[n][p] * xs[n][p]).sum::<f64>());
            }
            for (weight, place) in weights.iter().zip(place) {
                close(interpreter.parameters().blocks[0][0][place], *weight);
            }
        }
    }
}

/// x[n, j] ~ Normal(sum_k c[j, k] z[n, k], prec = 4), z[n, :k] ~ Normal(0, 1) jointly: one covariance serves all n, and the
/// bound is the log evidence.
#[test]
fn a_joint_block_shares_its_covariance() {
    let (c, xs) = ([[1.0, 0.5], [-0.3, 2.0]], [[0.2, 1.0], [-1.0, 0.7], [3.0, -2.0]]);
    let mut program = Program::default();
    let (n, j, k) = (program.axis(3), program.axis(2), program.axis(2));
    let l = program.again(k);
    let x = program.data(&[n, j], &xs.concat());
    let loadings = program.data(&[j, k], &c.concat());
    let z = program.array(&[n, k], Support::Real, None);
    let prec = 4.0;
    let same = Factor::of(Atom::Equal(Subscript::Letter(k), Subscript::Letter(l)));
    let q = Block {
        natural: vec![
            natural(
                Statistic::identity(),
                &[k],
                vec![term(
                    prec,
                    &[j],
                    vec![value(loadings, &[j, k]), value(x, &[n, j]), observed(x, &[n, j])],
                )],
            ),
            natural(
                Statistic::outer(),
                &[k, l],
                vec![
                    term(
                        -prec / 2.0,
                        &[j],
                        vec![value(loadings, &[j, k]), value(loadings, &[j, l]), observed(x, &[n, j])],
                    ),
                    term(-0.5, &[], vec![same]),
                ],
            ),
        ],
        ..block(z, &[n], &[k], over_slice())
    };
    let square = ExpectedSquare {
        of: Sum::zero(),
        mean: sum(vec![
            term(1.0, &[], vec![value(x, &[n, j])]),
            term(-1.0, &[k], vec![value(loadings, &[j, k]), mean(0, &[n], &[k])]),
        ]),
        spread: sum(vec![term(
            1.0,
            &[k, l],
            vec![
                value(loadings, &[j, k]),
                value(loadings, &[j, l]),
                moment(0, Statistic::covariance(), &[n], &[k, l]),
            ],
        )]),
    };
    let terms = vec![
        term(0.5 * (prec.ln() - LOG_TWO_PI), &[n, j], vec![]),
        term(-prec / 2.0, &[n, j], vec![Factor::of(Atom::ExpectedSquare(Box::new(square)))]),
        term(-0.5 * LOG_TWO_PI, &[n, k], vec![]),
        term(-0.5, &[n, k], vec![moment(0, Statistic::outer(), &[n], &[k, k])]),
    ];
    let equations = program.equations(vec![q], vec![], terms, vec![]);
    let bound = &program.bound;
    let mut interpreter = Interpreter::new(&equations, bound, start(&equations, bound, 1)).unwrap();
    assert_eq!(interpreter.parameters().blocks[0][1].len(), 4, "one covariance for all copies");
    interpreter.sweep(&Schedule::of(&equations)).unwrap();
    // x_n is Normal(0, S), S = c c' + I / prec.
    let entry =
        |i: usize, j: usize| c[i][0] * c[j][0] + c[i][1] * c[j][1] + if i == j { 1.0 / prec } else { 0.0 };
    let (s11, s12, s22) = (entry(0, 0), entry(0, 1), entry(1, 1));
    let determinant = s11 * s22 - s12 * s12;
    let evidence: f64 = xs
        .iter()
        .map(|[a, b]| {
            -LOG_TWO_PI
                - 0.5 * determinant.ln()
                - 0.5 * (s22 * a * a - 2.0 * s12 * a * b + s11 * b * b) / determinant
        })
        .sum();
    close(interpreter.elbo(), evidence);
}

/// x[n] ~ Normal(m[z[n]], prec = 1), z ~ Categorical(p), each row of weight r[n], once stored and once implicit: the bound
/// is the weighted log evidence.
#[test]
fn an_index_variable_with_weights() {
    let (xs, ms, ps, rs) = ([0.3, -2.0, 5.0], [-1.0, 1.0], [0.25_f64, 0.75], [1.0, 3.0, 0.0]);
    let mut program = Program::default();
    let (n, c) = (program.axis(3), program.axis(2));
    let class = program.again(c);
    let x = program.data(&[n], &xs);
    let m = program.data(&[c], &ms);
    let p = program.data(&[c], &ps);
    let r = program.data(&[n], &rs);
    let z = program.array(&[n], Support::Index(AxisId(1)), None);
    let log_p =
        Factor::of(Atom::Apply(Function::Log, vec![sum(vec![term(1.0, &[], vec![value(p, &[class])])])]));
    let residual = sum(vec![term(1.0, &[], vec![value(x, &[n])]), term(-1.0, &[], vec![value(m, &[class])])]);
    let square = Factor { atom: Atom::Group(Box::new(residual)), power: 2 };
    let log_weight = vec![term(1.0, &[], vec![log_p]), term(-0.5, &[], vec![square])];
    for mode in [Mode::Distribution, Mode::Implicit] {
        let q = Block {
            mode,
            natural: vec![natural(Statistic::indicator(), &[class], log_weight.clone())],
            classes: Some(class),
            multiplicity: vec![Atom::Value(r, letters(&[n]))],
            exists: None,
            ..block(z, &[n], &[], index())
        };
        let mut terms = vec![term(-0.5 * LOG_TWO_PI, &[n], vec![value(r, &[n])])];
        for part in &log_weight {
            let mut factors = part.factors.clone();
            factors.extend([value(r, &[n]), moment(0, Statistic::indicator(), &[n], &[class])]);
            terms.push(term(part.coefficient.0, &[n, class], factors));
        }
        let equations = program.equations(vec![q], vec![], terms, vec![]);
        let bound = &program.bound;
        let mut interpreter = Interpreter::new(&equations, bound, start(&equations, bound, 1)).unwrap();
        interpreter.sweep(&Schedule::of(&equations)).unwrap();
        let density =
            |x: f64| (0..2).map(|c| ps[c] * (-0.5 * (x - ms[c]) * (x - ms[c])).exp()).sum::<f64>().ln();
        let evidence: f64 = xs.iter().zip(&rs).map(|(x, r)| r * (density(*x) - 0.5 * LOG_TWO_PI)).sum();
        close(interpreter.elbo(), evidence);
        close(interpreter.elbo_held(), evidence);
    }
}

/// With j ragged in m, `sum_j 1` depends on m though nothing mentions it: alpha[m] ~ Gamma(1 + D_m / 2, 2), and a joint
/// z[m, :k] of precision 1 + D_m has a covariance for each m.
#[test]
fn a_sum_over_a_group_depends_on_its_parent() {
    let mut program = Program::default();
    let (m, j, k) = (program.axis(3), program.axis(0), program.axis(2));
    let l = program.again(k);
    program.symbols.axes[1].parent = Some(AxisId(0));
    program.symbols.letters[j.index()].parent = Some(m);
    program.bound.axes[1] = BoundAxis::ragged(&[2, 0, 3]);
    let x = program.data(&[j], &[1.0, 2.0, 3.0, 4.0, 5.0]);
    let alpha = program.array(&[m], Support::Positive, None);
    let z = program.array(&[m, k], Support::Real, None);
    let same = || Factor::of(Atom::Equal(Subscript::Letter(k), Subscript::Letter(l)));
    let blocks = vec![
        Block {
            natural: vec![
                natural(Statistic::log(), &[], vec![term(1.0, &[], vec![]), term(0.5, &[j], vec![])]),
                natural(Statistic::identity(), &[], vec![term(-2.0, &[], vec![])]),
            ],
            ..block(alpha, &[m], &[], positive())
        },
        Block {
            natural: vec![
                natural(Statistic::identity(), &[k], vec![term(1.0, &[j], vec![value(x, &[j])])]),
                natural(
                    Statistic::outer(),
                    &[k, l],
                    vec![term(-0.5, &[j], vec![same()]), term(-0.5, &[], vec![same()])],
                ),
            ],
            ..block(z, &[m], &[k], over_slice())
        },
    ];
    // What is evaluated over all groups: each entry with the factor of its own.
    let terms = vec![term(1.0, &[j], vec![value(x, &[j]), mean(0, &[m], &[])])];
    let equations = program.equations(blocks, vec![], terms, vec![]);
    let bound = &program.bound;
    let mut interpreter = Interpreter::new(&equations, bound, start(&equations, bound, 1)).unwrap();
    interpreter.sweep(&Schedule::of(&equations)).unwrap();
    assert_eq!(interpreter.parameters().blocks[0][0], [2.0, 1.0, 2.5]);
    assert_eq!(interpreter.parameters().blocks[1][1].len(), 3 * 4);
    for (place, expected) in [1.0, 1.0, 0.0, 0.0, 3.0, 3.0].into_iter().enumerate() {
        close(interpreter.parameters().blocks[1][0][place], expected);
    }
    close(interpreter.elbo_terms()[0], 3.0 * 1.0 + 12.0 * 1.25);
}

/// A point on the simplex takes the normalised coefficients; where all are 0 it keeps its value.
#[test]
fn a_simplex_point_normalises() {
    let mut program = Program::default();
    let (i, v) = (program.axis(2), program.axis(3));
    let x = program.data(&[i, v], &[1.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
    let w = program.array(&[i, v], Support::Simplex, None);
    program.symbols.arrays[w.index()].slice = vec![false, true];
    let q = Block {
        mode: Mode::Point,
        natural: vec![natural(Statistic::log(), &[v], vec![term(1.0, &[], vec![value(x, &[i, v])])])],
        ..block(w, &[i], &[v], simplex())
    };
    let log =
        Factor::of(Atom::Apply(Function::Log, vec![sum(vec![term(1.0, &[], vec![value(w, &[i, v])])])]));
    let terms = vec![term(1.0, &[i, v], vec![log, value(x, &[i, v])])];
    let equations = program.equations(vec![q], vec![], terms, vec![]);
    let bound = &program.bound;
    let begin = start(&equations, bound, 1);
    let mut interpreter = Interpreter::new(&equations, bound, begin.clone()).unwrap();
    interpreter.sweep(&Schedule::of(&equations)).unwrap();
    let values = &interpreter.parameters().blocks[0][0];
    assert_eq!(values[..3], [0.25, 0.75, 0.0]);
    assert_eq!(values[3..], begin.blocks[0][0][3..]);
    close(begin.blocks[0][0][3..].iter().sum(), 1.0);
    // 0 ln 0 is 0.
    close(interpreter.elbo(), 0.25_f64.ln() + 3.0 * 0.75_f64.ln());
}

#[test]
fn trouble_names_the_copy() {
    let (program, mut equations) = counts();
    let bound = &program.bound;
    let begin = start(&equations, bound, 1);
    let short = Parameters { blocks: begin.blocks[..1].to_vec() };
    assert!(Interpreter::new(&equations, bound, short).is_err_and(|trouble| trouble.block == BlockId(1)));
    // A rate that is positive everywhere but at k = 1.
    let k = equations.blocks[0].plates[1];
    equations.blocks[0].natural[1].coefficient = sum(vec![
        term(-1.0, &[], vec![]),
        term(2.0, &[], vec![Factor::of(Atom::Less(Subscript::Letter(LetterId(0)), Subscript::Letter(k)))]),
    ]);
    let mut interpreter = Interpreter::new(&equations, bound, begin.clone()).unwrap();
    let trouble = interpreter.update_block(BlockId(0)).unwrap_err();
    assert_eq!((trouble.block, trouble.copy.as_slice()), (BlockId(0), [0, 1].as_slice()));
    assert!(trouble.reason.contains("rate"), "{trouble}");
    assert_eq!(*interpreter.parameters(), begin, "nothing has moved");
}
