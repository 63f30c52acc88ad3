//! Latents over every axis of sparse data with `absent = NA` live at the listed entries, and the fit is that of the
//! same data filled out.

use cavi::bind::ArrayInput;
use cavi_executor::{Interpreter, Parameters};
use cavi_tests::support::{Matrix, Ready, close, farthest, file_of, matrix_file};

const ROWS: usize = 7;
const COLUMNS: usize = 5;

/// Entries in no order, every row and every column among them, and values.
fn entries(shift: usize) -> Vec<(usize, usize, f64)> {
    let cells = (0..ROWS * COLUMNS).map(|at| (11 * at + shift) % (ROWS * COLUMNS));
    let listed = cells.filter(|cell| (cell + shift).is_multiple_of(2) && cell % COLUMNS != cell / COLUMNS);
    listed.map(|cell| (cell / COLUMNS, cell % COLUMNS, ((5 * cell + 3 * shift) % 9) as f64)).collect()
}

fn listing(name: &str, entries: &[(usize, usize, f64)]) -> ArrayInput {
    let lines: Vec<String> = entries.iter().map(|(i, j, x)| format!("{} {} {x}\n", i + 1, j + 1)).collect();
    let header =
        format!("%%MatrixMarket matrix coordinate real general\n{ROWS} {COLUMNS} {}\n", entries.len());
    file_of(name, &format!("{name}.mtx"), (header + &lines.concat()).into_bytes())
}

fn filled(name: &str, entries: &[(usize, usize, f64)]) -> ArrayInput {
    let mut matrix: Matrix = vec![vec![f64::NAN; COLUMNS]; ROWS];
    entries.iter().for_each(|(i, j, x)| matrix[*i][*j] = *x);
    matrix_file(name, &matrix, false)
}

fn head(types: &str) -> String {
    let prior = if types == "count" { "Gamma(2, rate = 1)" } else { "Normal(0, sd = 1)" };
    format!(
        "axis row[i]\naxis column[j]\naxis part[k] = 2\ndata x[i, j] : {types}, absent = NA\n\
         a[i, k] ~ {prior}\nb[j, k] ~ {prior}\n"
    )
}

const SUM: &str = "sum[k](a[i, k] * b[j, k])";

/// The numbers of listed entries among those of all: columns of one length are all of them.
fn at_entries(column: &[f64], like: &[f64], cells: &[usize]) -> Vec<f64> {
    if column.len() == like.len() {
        return column.to_vec();
    }
    let width = column.len() / (ROWS * COLUMNS);
    cells.iter().flat_map(|cell| column[cell * width..(cell + 1) * width].to_vec()).collect()
}

/// Runs a program on listed entries and on the same data filled out, from the same start.
fn agree(name: &str, text: &str, sparse: Vec<ArrayInput>, dense: Vec<ArrayInput>) {
    let (sparse, dense) = (Ready::new(text, &[], sparse), Ready::new(text, &[], dense));
    let [own] = sparse.binding().entries.as_slice() else { panic!("{name}: no entries") };
    assert!(dense.binding().entries.is_empty(), "{name}");
    let equations = sparse.equations();
    // The cells of a block in the order in which its variable declares the axes.
    let cells_of = |block: usize| -> Vec<usize> {
        let members = &equations.blocks[block].members;
        let turned = own.latents.iter().any(|(array, order)| members.contains(array) && *order == [1, 0]);
        let entries = own.columns[0].iter().zip(&own.columns[1]).map(|(i, j)| (*i as usize, *j as usize));
        entries.map(|(i, j)| if turned { j * ROWS + i } else { i * COLUMNS + j }).collect()
    };
    let from = sparse.start(5);
    let mut filled = dense.start(5);
    for (block, (filled, own)) in filled.blocks.iter_mut().zip(&from.blocks).enumerate() {
        for (filled, own) in filled.iter_mut().zip(own) {
            if filled.len() == own.len() {
                filled.clone_from(own);
                continue;
            }
            let width = filled.len() / (ROWS * COLUMNS);
            for (entry, cell) in cells_of(block).iter().enumerate() {
                filled[cell * width..(cell + 1) * width]
                    .copy_from_slice(&own[entry * width..(entry + 1) * width]);
            }
        }
    }
    let mut literal = Interpreter::new(equations, &sparse.binding().bound, from.clone())
        .unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
    let (mut short, mut long) = (sparse.run(from), dense.run(filled));
    for sweep in 1..=4 {
        sparse.sweep(&mut short);
        dense.sweep(&mut long);
        literal.sweep(sparse.schedule()).unwrap_or_else(|trouble| panic!("{name}: {trouble}"));
        let scale = short.elbo().abs();
        // A latent that no entry depends on has its prior as q, and adds nothing to the bound. Two kinds of programs
        // are left out: a point would add its density at these positions, and two latents of which one is a parameter
        // of the other would add a divergence, because independent factors of q cannot follow their joint prior.
        assert!(
            ["points", "two levels"].contains(&name) || close(short.elbo(), long.elbo(), scale, 1e-10),
            "{name}, sweep {sweep}: {} and {}",
            short.elbo(),
            long.elbo()
        );
        assert!(close(short.elbo(), literal.elbo(), scale, 1e-11), "{name}, sweep {sweep}: the interpreter");
        let all = long.parameters().blocks.iter().zip(&short.parameters().blocks).enumerate();
        let blocks = all.map(|(block, (long, short))| {
            let cells = cells_of(block);
            long.iter().zip(short).map(|(long, short)| at_entries(long, short, &cells)).collect()
        });
        let long = Parameters { blocks: blocks.collect() };
        for (other, state) in [("filled out", &long), ("the interpreter", literal.parameters())] {
            let (distance, block, column) = farthest(equations, short.parameters(), state);
            assert!(
                distance < 1e-9,
                "{name}, sweep {sweep}, {other}: block {block}, column {column}: {distance}"
            );
        }
    }
}

#[test]
fn a_latent_lives_at_the_listed_entries_and_elsewhere_is_its_prior() {
    let (real, count) = (head("real"), head("count"));
    let programs = [
        ("noise of its own", format!("{real}tau ~ Gamma(1, rate = 1)\nu[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal({SUM}, prec = tau * u[i, j])\n")),
        ("other order", format!("{real}u[j, i] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal({SUM}, prec = u[j, i])\n")),
        ("outliers", format!("{real}shift ~ Normal(0, sd = 3)\nz[i, j] ~ Bernoulli(0.2)\nx[i, j] ~ Normal({SUM} + shift * z[i, j], sd = 1)\n")),
        ("kinds", format!("{real}axis kind[c] = 3\nconst p[c] = 1 / 3\nmu[c] ~ Normal(0, sd = 3)\nz[i, j] ~ Categorical(p[:c])\nx[i, j] ~ Normal(mu[z[i, j]] + {SUM}, sd = 1)\n")),
        ("slices", format!("{real}e[i, j, k] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal({SUM} + sum[k](e[i, j, k] * a[i, k]), sd = 1)\nposterior {{\n  q(e[i, j, :k])\n}}\n")),
        ("points", format!("{real}u[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal({SUM}, prec = u[i, j])\nposterior {{\n  point u\n}}\n")),
        ("two levels", format!("{real}const c[i, j] = 2\nv[i, j] ~ Gamma(3, rate = 2)\nu[i, j] ~ Gamma(c[i, j], rate = v[i, j])\nx[i, j] ~ Normal({SUM}, prec = u[i, j])\n")),
        ("counts", format!("{count}u[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Poisson(u[i, j] * {SUM})\n")),
        ("a start", format!("{real}u[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal({SUM}, prec = u[i, j])\ninit {{\n  u[i, j] = 1.5\n}}\n")),
        ("one axis twice", "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA\naxis part[k] = 2\nr[i] ~ Normal(0, sd = 2)\nu[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal(r[i], prec = u[i, j])\n".to_owned()),
    ];
    for (name, text) in programs {
        let entries = entries(3);
        agree(name, &text, vec![listing("x", &entries)], vec![filled("x", &entries)]);
    }
}

/// The entries of both, those of the first in the order of its file.
#[test]
fn arrays_that_share_a_latent_share_the_entries() {
    let text = format!(
        "{}data y[i, j] : real, absent = NA\nu[i, j] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal({SUM}, prec = u[i, j])\n\
         y[i, j] ~ Normal(a[i, 0], prec = u[i, j])\n",
        head("real")
    )
    .replace("a[i, 0]", "sum[k](a[i, k])");
    let (x, y) = (entries(3), entries(4));
    agree(
        "two arrays",
        &text,
        vec![listing("x", &x), listing("y", &y)],
        vec![filled("x", &x), filled("y", &y)],
    );
    let program = Ready::new(&text, &[], vec![listing("x", &x), listing("y", &y)]);
    let own = &program.binding().entries[0];
    let found: Vec<(usize, usize)> =
        own.columns[0].iter().zip(&own.columns[1]).map(|(i, j)| (*i as usize, *j as usize)).collect();
    let first: Vec<(usize, usize)> = x.iter().map(|(i, j, _)| (*i, *j)).collect();
    let other = y.iter().map(|(i, j, _)| (*i, *j)).filter(|entry| !first.contains(entry));
    assert_eq!(found, first.iter().copied().chain(other).collect::<Vec<_>>());
}

fn lines(name: &str, values: impl Iterator<Item = f64>) -> ArrayInput {
    let lines: Vec<String> = values.map(|value| format!("{value}\n")).collect();
    file_of(name, &format!("{name}.csv"), lines.concat().into_bytes())
}

/// With hyper-parameters above, the fit is that of a long table with a row for each entry: unlisted entries say nothing.
#[test]
fn hierarchies_see_the_listed_entries_alone() {
    let both = |entry: &str, row: &str, column: &str, data: &str| {
        format!(
            "axis row[i]\naxis column[j]\naxis kind[c] = 2\n{data}\nrate[i] ~ Gamma(2, rate = 1)\n\
             pi[:c] ~ Dirichlet(1)\nmu[c] ~ Normal(0, sd = 5)\nb[j] ~ Normal(0, sd = 1)\n\
             u[{entry}] ~ Gamma(2, rate = rate[{row}])\nz[{entry}] ~ Categorical(pi[:c])\n\
             x[{entry}] ~ Normal(mu[z[{entry}]] + b[{column}], prec = u[{entry}])\n\
             fit {{\n  sweep z, u, rate, pi, mu, b\n}}\n"
        )
    };
    let entries = entries(3);
    let matrix = both("i, j", "i", "j", "data x[i, j] : real, absent = NA");
    let table = both(
        "e",
        "at[e]",
        "on[e]",
        "axis entry[e]\ndata x[e] : real\ndata at[e] : index row\ndata on[e] : index column",
    );
    let matrix = Ready::new(&matrix, &[], vec![listing("x", &entries)]);
    let table = Ready::new(
        &table,
        &[],
        vec![
            lines("x", entries.iter().map(|own| own.2)),
            lines("at", entries.iter().map(|own| own.0 as f64)),
            lines("on", entries.iter().map(|own| own.1 as f64)),
        ],
    );
    let from = matrix.start(2);
    let (mut one, mut other) = (matrix.run(from.clone()), table.run(from));
    for sweep in 0..6 {
        assert!(
            close(one.elbo(), other.elbo(), 1.0, 1e-12),
            "sweep {sweep}: {} and {}",
            one.elbo(),
            other.elbo()
        );
        matrix.sweep(&mut one);
        table.sweep(&mut other);
    }
    let equations = table.equations();
    let (distance, block, column) = farthest(equations, one.parameters(), other.parameters());
    assert!(distance < 1e-12, "block {block}, column {column}: {distance}");
}

/// A latent that is read at more than single entries, or belongs to data from a dense file, has an element at every
/// position.
#[test]
fn other_latents_have_an_element_for_every_position() {
    let u = "u[i, j] ~ Gamma(2, rate = 2)\n";
    let likelihood = format!("x[i, j] ~ Normal({SUM}, prec = u[i, j])\n");
    let entries = entries(3);
    let dense: Matrix = (0..ROWS).map(|i| (0..COLUMNS).map(|j| (i * j) as f64).collect()).collect();
    let whole = || matrix_file("y", &dense, false);
    let cases = [
        (format!("{}{u}{likelihood}", head("real")), filled("x", &entries), None),
        (
            format!(
                "{}{u}{likelihood}data y[i, j] : real\ny[i, j] ~ Normal(0, prec = u[i, j])\n",
                head("real")
            ),
            listing("x", &entries),
            Some(whole()),
        ),
        (
            format!(
                "{}e[i, j] ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(e[i, j], sd = 1)\nposterior {{\n  q(e[i, :j])\n}}\n",
                head("real")
            ),
            listing("x", &entries),
            None,
        ),
        (
            format!(
                "{}e[i, j] ~ Normal(0, sd = 1)\nm[i] ~ Normal(sum[j](e[i, j]), sd = 1)\nx[i, j] ~ Normal(m[i] + e[i, j], sd = 1)\n",
                head("real")
            ),
            listing("x", &entries),
            None,
        ),
        (
            format!("{}{u}{likelihood}", head("real").replace("absent = NA", "absent = 0")),
            listing("x", &entries),
            None,
        ),
    ];
    for (text, x, y) in cases {
        let program = Ready::new(&text, &[], std::iter::once(x).chain(y).collect());
        assert!(program.binding().entries.is_empty(), "{text}");
        let mut run = program.run(program.start(1));
        program.sweep(&mut run);
        let before = run.elbo();
        program.sweep(&mut run);
        assert!(run.elbo() >= before, "{text}");
    }
}

/// `VAR.index.npy` beside the parameters, in the order of the file; a start in any order is read by it.
#[test]
fn files_have_the_entries_in_the_order_of_the_data() {
    let text =
        format!("{}u[j, i] ~ Gamma(2, rate = 2)\nx[i, j] ~ Normal({SUM}, prec = u[j, i])\n", head("real"));
    let entries = entries(3);
    let program = Ready::new(&text, &[], vec![listing("x", &entries)]);
    let mut run = program.run(program.start(4));
    program.sweep(&mut run);
    let state = run.parameters();
    let out = tempfile::tempdir().expect("a temporary folder");
    cavi::posterior::write(program.problem(), state, out.path()).expect("it is written");
    let posterior = out.path().join("posterior");
    let read = |name: &str| cavi_files::read_npy(&posterior.join(name)).expect("it was written");
    let index = read("u.index.npy");
    assert_eq!(index.shape, [entries.len(), 2]);
    // In the order in which the variable declares its axes.
    let wanted: Vec<f64> = entries.iter().flat_map(|(i, j, _)| [*j as f64, *i as f64]).collect();
    assert_eq!(index.values, wanted);
    assert_eq!(read("u.shape.npy").values, program.column(state, "u", 0));
    assert_eq!(read("u.shape.npy").shape, [entries.len()]);
    assert!(!out.path().join("axes/entry of x.txt").exists());

    let given = |folder: &std::path::Path| cavi::init::read(program.problem(), folder);
    let (start, _) = given(out.path()).unwrap_or_else(|problems| panic!("{problems:?}"));
    let same = |start: &cavi::start::Given| {
        let blocks = start.blocks.iter().zip(&state.blocks);
        blocks.for_each(|(own, block)| assert_eq!(own.as_ref(), Some(block)));
    };
    same(&start);
    let turned: Vec<usize> = (0..entries.len()).rev().collect();
    for name in ["u.shape.npy", "u.rate.npy"] {
        let own = read(name);
        let values: Vec<f64> = turned.iter().map(|place| own.values[*place]).collect();
        cavi_files::write_npy(&posterior.join(name), &own.shape, &values).expect("it is written");
    }
    let rows: Vec<i64> = turned
        .iter()
        .flat_map(|place| [2 * place, 2 * place + 1])
        .map(|at| index.values[at] as i64)
        .collect();
    cavi_files::write_npy_i64(&posterior.join("u.index.npy"), &index.shape, &rows).expect("it is written");
    let (start, _) = given(out.path()).unwrap_or_else(|problems| panic!("{problems:?}"));
    same(&start);
    let mut other = rows;
    other[0] = i64::from(u8::MAX);
    cavi_files::write_npy_i64(&posterior.join("u.index.npy"), &index.shape, &other).expect("it is written");
    let problems = given(out.path()).expect_err("an entry is not there");
    assert!(problems.iter().any(|problem| problem.to_string().contains("has no entry")), "{problems:?}");
}
