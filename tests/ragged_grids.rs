//! Data with two dimensions that are ragged in one axis: groups that share no latent have the fits of separate
//! models.

use cavi::bind::{ArrayInput, Inputs, Source, bind};
use cavi_executor::{Bound, Executor, Parameters, start};
use cavi_tests::support::{Program, close, compile};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::path::PathBuf;

/// Rounding of sums in other orders, through some sweeps.
const TOLERANCE: f64 = 1e-11;

const STUDIES: [&str; 2] = ["rna", "dna"];
const SUBJECTS: [usize; 2] = [4, 3];
const FEATURES: [usize; 2] = [3, 5];
const DATA: [&str; 3] = ["x", "reads", "ill"];

/// The program over all studies, or over one of them where `of` is empty.
fn program(study: bool) -> Program {
    // A long table over plain axes has to say what an unlisted entry is.
    let (axis, of, m, absent) = match study {
        true => ("axis study[m]\n", " in study[m]", "m, ", ""),
        false => ("", "", "", ", absent = NA"),
    };
    let tau = if study { "tau[m]" } else { "tau" };
    let text = format!(
        "{axis}axis subject[s]{of}\naxis feature[j]{of}\naxis factor[k] = 2\n\
         data x[{m}s, j] : real{absent}\ndata reads[{m}s, j] : count, absent = 0\ndata ill[{m}s, j] : binary, absent = NA\n\
         z[{m}s, k] ~ Normal(0, sd = 1)\nw[{m}j, k] ~ Normal(0, prec = 2)\n{tau} ~ Gamma(1, rate = 1)\n\
         depth[{m}s, k] ~ Gamma(2, rate = 1)\nlevel[{m}j, k] ~ Gamma(2, rate = 1)\n\
         x[{m}s, j] ~ Normal(sum[k](z[{m}s, k] * w[{m}j, k]), prec = {tau})\n\
         reads[{m}s, j] ~ Poisson(sum[k](depth[{m}s, k] * level[{m}j, k]) + 0.1)\n\
         ill[{m}s, j] ~ Bernoulli(logit = sum[k](z[{m}s, k] * w[{m}j, k]))\n"
    );
    compile("ragged", &text).unwrap_or_else(|problem| panic!("{problem}"))
}

/// For each data array the entries of each study, `NaN` where none is listed.
fn entries() -> Vec<Vec<Vec<f64>>> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut draw = |name: &str| match name {
        "x" => rng.random_range(-2.0..2.0),
        "reads" => match rng.random_range(0..4_u32) {
            0 => f64::NAN,
            count => f64::from(count),
        },
        _ if rng.random_bool(0.3) => f64::NAN,
        _ => f64::from(u8::from(rng.random_bool(0.5))),
    };
    let mut of =
        |name| (0..2).map(|m| (0..SUBJECTS[m] * FEATURES[m]).map(|_| draw(name)).collect()).collect();
    DATA.iter().map(|name| of(name)).collect()
}

/// A long table of some studies, with a column for the study where `long`.
fn table(entries: &[Vec<f64>], studies: &[usize], long: bool) -> String {
    let mut lines =
        vec![if long { "study,subject,feature,value" } else { "subject,feature,value" }.to_owned()];
    for m in studies {
        for (cell, value) in entries[*m].iter().enumerate().filter(|(_, value)| !value.is_nan()) {
            let study = if long { format!("{},", STUDIES[*m]) } else { String::new() };
            lines.push(format!("{study}s{},f{},{value}", cell / FEATURES[*m], cell % FEATURES[*m]));
        }
    }
    lines.join("\n") + "\n"
}

fn input(name: &str, group: Option<&str>, text: String) -> ArrayInput {
    let source =
        Source::Bytes { name: PathBuf::from(format!("{name}.csv")), bytes: text.into_bytes().into() };
    ArrayInput { name: name.to_owned(), group: group.map(str::to_owned), source }
}

fn bound(program: &Program, inputs: &Inputs) -> Bound {
    let told = |problems: Vec<cavi::bind::DataError>| -> String {
        problems.iter().map(|problem| format!("{problem}\n")).collect()
    };
    bind(&program.model, inputs).unwrap_or_else(|problems| panic!("{}", told(problems))).bound
}

/// What all studies are given: one long table, or a table for each study.
fn of_all(entries: &[Vec<Vec<f64>>], by_study: bool) -> Inputs {
    let mut inputs = Inputs::default();
    for (name, own) in DATA.iter().zip(entries) {
        match by_study {
            false => inputs.data.push(input(name, None, table(own, &[0, 1], true))),
            true => inputs.data.extend(
                STUDIES
                    .iter()
                    .enumerate()
                    .map(|(m, study)| input(name, Some(study), table(own, &[m], false))),
            ),
        }
    }
    inputs
}

#[test]
fn groups_that_share_nothing_are_models_of_their_own() {
    let (whole, one) = (program(true), program(false));
    let entries = entries();
    let together = bound(&whole, &of_all(&entries, false));
    assert_eq!(format!("{together:?}"), format!("{:?}", bound(&whole, &of_all(&entries, true))));
    let from = start(&whole.equations, &together, 4);
    let mut all = Executor::new(&whole.equations, &together, from.clone(), 2)
        .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
    let alone: Vec<Bound> = (0..STUDIES.len())
        .map(|m| {
            let mut inputs = Inputs::default();
            let own = |(name, own): (&&str, &Vec<Vec<f64>>)| input(name, None, table(own, &[m], false));
            inputs.data.extend(DATA.iter().zip(&entries).map(own));
            bound(&one, &inputs)
        })
        .collect();
    let mut parts: Vec<Executor> = Vec::new();
    for (m, bound) in alone.iter().enumerate() {
        // A column holds the elements of the studies one after another.
        let share = |column: &Vec<f64>, sizes: &[usize]| {
            let each = column.len() / sizes.iter().sum::<usize>();
            let before: usize = sizes[..m].iter().sum();
            column[before * each..(before + sizes[m]) * each].to_vec()
        };
        let blocks = from.blocks.iter().enumerate().map(|(place, columns)| {
            let name = &whole.model.symbols.array(whole.equations.blocks[place].members[0]).name;
            let sizes: &[usize] = match name.as_str() {
                "z" | "depth" => &SUBJECTS,
                "w" | "level" => &FEATURES,
                _ => &[1, 1],
            };
            columns.iter().map(|column| share(column, sizes)).collect()
        });
        let from = Parameters { blocks: blocks.collect() };
        let own = Executor::new(&one.equations, bound, from, 1);
        parts.push(own.unwrap_or_else(|unplanned| panic!("{}", unplanned.0)));
    }
    for sweep in 0..10 {
        let apart: f64 = parts.iter_mut().map(Executor::elbo).sum();
        let found = all.elbo();
        let near = close(found, apart, apart.abs().max(1.0), TOLERANCE);
        assert!(near, "sweep {sweep}: the bound is {found}, of the studies {apart}");
        all.sweep(&whole.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
        for part in &mut parts {
            part.sweep(&one.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
        }
    }
}
