//! Random programs (`support/generate.rs`) with random data: the executor is held to the interpreter, the bound to its laws.
//!
//! A program that does not compile must say why, and no program may panic. `CAVI_PROGRAMS=10000` tries more than the tests do
//! by themselves, `CAVI_FIRST=500` starts at another, and `CAVI_TRACE=1` prints the share of each part of the class of models.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use cavi_algebra::{ArrayId, ArrayKind, Expression, LetterId, Mode, Subscript, Support};
use cavi_executor::{Bound, Interpreter, Schedule, start};
use cavi_model::{BlockKind, Model, ScheduleItem, ScheduleKind};
use cavi_tests::support::{
    Program, Shape, Sketch, bound_is_average, compile, generate, has_implicit, items_ascend, members_ascend,
    random_bound, runs_agree, updates_rest,
};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// How many programs are tried at least, and one in how many has to use each part of the class.
const PROGRAMS: u64 = 200;
const SHARE: f64 = 0.05;
const TOLERANCE: f64 = 1e-10;
const DRAWS: usize = 400;

/// A law, and how it was broken.
type Failure = (&'static str, String);

/// A call that must not panic.
fn calm<T>(law: &'static str, call: impl FnOnce() -> Result<T, String>) -> Result<T, Failure> {
    let outcome = catch_unwind(AssertUnwindSafe(call));
    let text = |panic: Box<dyn std::any::Any + Send>| {
        let own = panic.downcast_ref::<String>().map(String::as_str);
        own.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic").to_owned()
    };
    outcome.map_err(|panic| ("no panic", format!("{law}: {}", text(panic))))?.map_err(|text| (law, text))
}

/// Compiles a program; `None` where it is refused.
fn compiled(text: &str) -> Result<Option<Program>, Failure> {
    calm("compiles or says why", || match compile("generated", text) {
        Ok(program) => Ok(Some(program)),
        Err(problems) if problems.contains("error") => Ok(None),
        Err(silent) => Err(format!("refused without an error: {silent}")),
    })
}

/// All laws, each on the data of a number.
fn laws(program: &Program, number: u64) -> Result<(), Failure> {
    let shape = Shape { smallest: 2, largest: 3, ..Shape::small(number.is_multiple_of(2)) };
    let bound = calm("has data", || {
        let mut rng = ChaCha8Rng::seed_from_u64(number);
        Ok(random_bound(&program.model, shape, &mut rng))
    })?;
    let own = program.schedule();
    // A flat coefficient or a point may fit few data exactly, and what noise is learned from is then a difference of rounding
    // errors, which the next sweeps multiply.
    let exact = program.model.statements.iter().any(|own| {
        let block = program.equations.block_of(own.target).map(|id| program.equations.block(id));
        let free = own.family.name() == "Flat" || block.is_some_and(|block| block.mode == Mode::Point);
        free && program.model.symbols.array(own.target).support == Support::Real
    });
    let (sweeps, tolerance) = if exact { (2, 1e-8) } else { (4, TOLERANCE) };
    let from = calm("has a start", || Ok(start(&program.equations, &bound, number)))?;
    calm("interpreter and executor agree", || runs_agree(program, &bound, &own, &from, sweeps, tolerance))?;
    calm("items ascend", || items_ascend(program, &bound, &own, number))?;
    calm("items of the default sweep ascend", || {
        items_ascend(program, &bound, &Schedule::of(&program.equations), number)
    })?;
    calm("members of a group ascend", || members_ascend(program, &bound, number))?;
    calm("updates rest", || updates_rest(program, &bound, &from))?;
    if number.is_multiple_of(3) && !has_implicit(program) {
        calm("the bound is an average", || average(program, &bound, number))?;
    }
    Ok(())
}

/// One of a few hundred averages is far off by chance. One that is off is therefore repeated with more draws.
fn average(program: &Program, bound: &Bound, number: u64) -> Result<(), String> {
    let from = |seed: u64, draws: usize, errors: f64| match is_improper(program, bound, 2, seed) {
        true => Ok(()),
        false => bound_is_average(program, bound, 2, seed, draws, errors),
    };
    from(number, DRAWS, 4.0).or_else(|_| from(number + 1, 20 * DRAWS, 5.0))
}

/// Whether some factor of q has no proper distribution on the way, by the equations taken literally: a flat prior that meets no
/// data, a point at 0 in a variance. There is no bound then. (That the executor says the same is a law of its own.)
fn is_improper(program: &Program, bound: &Bound, sweeps: usize, seed: u64) -> bool {
    let from = start(&program.equations, bound, seed);
    let run = Interpreter::new(&program.equations, bound, from);
    run.is_ok_and(|mut run| (0..sweeps).any(|_| run.sweep(&program.schedule()).is_err()))
}

/// What of the class of models a program has.
fn parts(program: &Program) -> BTreeSet<String> {
    let (model, symbols) = (&program.model, &program.model.symbols);
    let mut found = BTreeSet::new();
    let mut add = |part: &str| {
        found.insert(part.to_owned());
    };
    let latent = |array: ArrayId| symbols.array(array).kind == ArrayKind::Latent;
    let point = |array: ArrayId| {
        program.equations.block_of(array).is_some_and(|own| program.equations.block(own).mode == Mode::Point)
    };
    let mut readers: BTreeMap<ArrayId, usize> = BTreeMap::new();
    for statement in &model.statements {
        let family = statement.family.name();
        let mut read = BTreeSet::new();
        for (argument, parameter) in statement.arguments.iter().zip(statement.family.parameters()) {
            let Some(argument) = argument else { continue };
            let spelling = parameter.spellings[argument.spelling].name;
            let mut own = BTreeSet::new();
            argument.value.visit_values(&mut |array, subscripts| {
                own.insert(array);
                for subscript in subscripts {
                    if let Subscript::Index(index, _) = subscript {
                        add(if latent(*index) { "mixture" } else { "index data" });
                    }
                }
            });
            if !statement.observed && own.iter().any(|array| latent(*array)) && family != "Categorical" {
                add("hierarchy");
                if ["prec", "var"].contains(&spelling) {
                    add("ARD");
                }
            }
            if ["shape", "concentration", "a", "b"].contains(&spelling) && own.iter().any(|own| point(*own)) {
                add("learned shape or concentration");
            }
            if selects_under_a_sum(model, &argument.value, &[]) {
                add("selection in a sum");
            }
            if statement.observed {
                let covariate = |array: &&ArrayId| {
                    symbols.array(**array).kind == ArrayKind::Data && model.statement_of(**array).is_none()
                };
                if ["mean", "rate", "logit"].contains(&spelling) && own.iter().any(|own| covariate(&own)) {
                    add("covariate");
                }
                for (factors, letters) in products(model, &argument.value) {
                    add(&format!("product of {factors} latents"));
                    add(&format!("sum over {letters} axes"));
                }
                if ["p", "logit"].contains(&spelling) && ["Bernoulli", "Binomial"].contains(&family) {
                    add(&format!("data {family} by {spelling}"));
                }
            }
            read.extend(own);
        }
        if statement.observed {
            read.into_iter().filter(|own| latent(*own)).for_each(|own| *readers.entry(own).or_default() += 1);
            add(&format!("data {family}"));
            let array = symbols.array(statement.target);
            if array.absent.missing {
                add("missing entries");
            }
            if array.absent.zero {
                add("unlisted zeros");
            }
        } else {
            add(&format!("latent {family}"));
            if point(statement.target) && family != "Flat" {
                add("MAP");
            }
        }
    }
    if readers.values().any(|count| *count > 1) {
        add("several data sets share a latent");
    }
    if symbols.axes.iter().any(|axis| axis.parent.is_some()) {
        add("ragged axis");
    }
    for block in &model.blocks {
        if block.kind == BlockKind::Joint {
            add(if block.members.len() > 1 { "joint variables" } else { "joint slice" });
        }
    }
    let group = |item: &ScheduleItem| matches!(item.kind, ScheduleKind::Group(_));
    if model.fit.sweep.iter().flatten().any(group) {
        add("group in the sweep");
    }
    found
}

/// For each product of an expression how many latents it has, and over how many letters it is summed.
fn products(model: &Model, expression: &Expression) -> Vec<(usize, usize)> {
    match expression {
        Expression::Value(array, _) => {
            vec![(usize::from(model.symbols.array(*array).kind == ArrayKind::Latent), 0)]
        }
        Expression::Sum(letters, body) => {
            products(model, body).into_iter().map(|(own, sums)| (own, sums + letters.len())).collect()
        }
        Expression::Add(addends) => addends.iter().flat_map(|own| products(model, own)).collect(),
        Expression::Multiply(factors) => factors.iter().fold(vec![(0, 0)], |all, own| {
            let own = products(model, own);
            all.iter().flat_map(|a| own.iter().map(move |b| (a.0 + b.0, a.1 + b.1))).collect()
        }),
        _ => {
            vec![(0, 0)]
        }
    }
}

/// Whether a latent index selects by a letter that is summed.
fn selects_under_a_sum(model: &Model, expression: &Expression, summed: &[LetterId]) -> bool {
    let selects = |subscript: &Subscript| match subscript {
        Subscript::Index(index, _) => {
            let mut letters = Vec::new();
            subscript.letters(&mut letters);
            let latent = model.symbols.array(*index).kind == ArrayKind::Latent;
            latent && letters.iter().any(|own| summed.contains(own))
        }
        Subscript::Letter(_) => false,
    };
    match expression {
        Expression::Value(_, subscripts) => subscripts.iter().any(selects),
        Expression::Sum(letters, body) => selects_under_a_sum(model, body, &[summed, letters].concat()),
        Expression::Add(parts) | Expression::Multiply(parts) => {
            parts.iter().any(|own| selects_under_a_sum(model, own, summed))
        }
        _ => false,
    }
}

/// The parts of the class, each to be in a share of the programs.
const PARTS: &[&str] = &[
    "latent Normal",
    "latent Gamma",
    "latent InverseGamma",
    "latent Exponential",
    "latent Beta",
    "latent Dirichlet",
    "latent Categorical",
    "latent Bernoulli",
    "latent HalfNormal",
    "latent TruncatedNormal",
    "latent GeneralizedInverseGaussian",
    "latent Flat",
    "latent MultivariateNormal",
    "latent Wishart",
    "MAP",
    "learned shape or concentration",
    "data Normal",
    "data MultivariateNormal",
    "data Poisson",
    "data Multinomial",
    "data Categorical",
    "data Bernoulli by p",
    "data Bernoulli by logit",
    "data Binomial by p",
    "data Binomial by logit",
    "data Exponential",
    "data Gamma",
    "hierarchy",
    "ARD",
    "product of 1 latents",
    "product of 2 latents",
    "product of 3 latents",
    "sum over 1 axes",
    "sum over 2 axes",
    "sum over 3 axes",
    "several data sets share a latent",
    "ragged axis",
    "index data",
    "mixture",
    "selection in a sum",
    "missing entries",
    "unlisted zeros",
    "covariate",
    "joint slice",
    "joint variables",
    "group in the sweep",
];

/// What was found in some programs.
#[derive(Default)]
struct Census {
    compiled: u64,
    parts: BTreeMap<String, u64>,
    failures: Vec<String>,
}

/// Whether a program breaks a law, and how.
fn broken(sketch: &Sketch, number: u64) -> Option<Failure> {
    match compiled(&sketch.text()) {
        Ok(None) => None,
        Ok(Some(program)) => laws(&program, number).err(),
        Err(failure) => Some(failure),
    }
}

fn examine(number: u64, census: &Mutex<Census>) {
    let sketch = generate(number);
    let outcome = compiled(&sketch.text()).and_then(|program| {
        let Some(program) = program else { return Ok(()) };
        let parts = parts(&program);
        let mut census = census.lock().expect("no thread panics with it");
        census.compiled += 1;
        parts.into_iter().for_each(|part| *census.parts.entry(part).or_default() += 1);
        drop(census);
        laws(&program, number)
    });
    let Err((law, _)) = outcome else { return };
    let small = sketch.shrunk(&|own| broken(own, number).is_some_and(|(other, _)| other == law));
    let (_, problem) = broken(&small, number).expect("it was kept because it fails");
    let text = format!("{number}: not so: {law}\n{problem}\n{}", small.text());
    census.lock().expect("no thread panics with it").failures.push(text);
}

#[test]
fn random_programs_keep_the_laws() {
    let number = |name: &str, otherwise: u64| -> u64 {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a whole number"))
    };
    let (first, programs) = (number("CAVI_FIRST", 0), number("CAVI_PROGRAMS", PROGRAMS));
    let (next, census) = (AtomicU64::new(first), Mutex::new(Census::default()));
    // A panic is caught, and told at the end.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= first + programs {
                        break;
                    }
                    examine(number, &census);
                }
            });
        }
    });
    std::panic::set_hook(hook);
    let mut census = census.into_inner().expect("no thread panicked with it");
    if std::env::var_os("CAVI_TRACE").is_some() {
        eprintln!("{programs} programs, {} compile", census.compiled);
        for (part, count) in &census.parts {
            eprintln!("{:>6.1} % {part}", 100.0 * *count as f64 / census.compiled as f64);
        }
    }
    census.failures.sort();
    assert!(census.failures.is_empty(), "{} broken\n{}", census.failures.len(), census.failures.join("\n"));
    if programs >= PROGRAMS {
        assert!(2 * census.compiled >= programs, "{} of {programs} compile", census.compiled);
        for part in PARTS {
            let count = census.parts.get(*part).copied().unwrap_or(0);
            assert!(count as f64 >= SHARE * census.compiled as f64, "{part}: {count} of {}", census.compiled);
        }
    }
}
