//! The memory of a run is of the order of its data and parameters, which is the fourth law of `crates/README.md`.

use cavi_executor::{BoundArray, BoundAxis, Executor, start};
use cavi_tests::support::{Ready, bound_of, close, compile, farthest, file_of};

/// Copies of a point slice whose quadratic coefficients do not depend on the copy share one matrix.
#[test]
fn point_slices_share_their_matrix() {
    for support in ["real", "nonnegative"] {
        let text = format!(
            "axis sample[n]\naxis feature[j]\naxis component[k]\ndata x[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\n\
             w[j, k] ~ Flat({support})\nx[n, j] ~ Normal(sum[k](w[j, k] * z[n, k]), sd = 0.5)\n\
             posterior {{\n  q(z[n, :k])\n  point w[j, :k]\n}}\n"
        );
        let program = compile("shared", &text).unwrap_or_else(|problem| panic!("{problem}"));
        let (samples, features, components) = (4, 2000, 20);
        let sizes = [samples, features, components].map(BoundAxis::plain);
        let values = (0..samples * features).map(|at| ((7 * at) % 13) as f64 - 6.0).collect();
        let bound = bound_of(&program, &sizes, &[("x", BoundArray::full(values))]);
        let executor = Executor::new(&program.equations, &bound, start(&program.equations, &bound, 1), 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        // A matrix for each feature would take ten times as much.
        let one_each = features * components * components * size_of::<f64>();
        assert!(executor.peak_bytes() < one_each, "{support}: {} bytes", executor.peak_bytes());
    }
}

/// Latents at the entries of sparse data are as many as the entries, not as the cells.
#[test]
fn latents_of_entries_are_as_many_as_the_entries() {
    let text = "axis row[i]\naxis column[j]\naxis factor[k] = 2\ndata x[i, j] : real, absent = NA\n\
                a[i, k] ~ Normal(0, sd = 1)\nb[j, k] ~ Normal(0, sd = 1)\nu[i, j] ~ Gamma(2, rate = 2)\n\
                x[i, j] ~ Normal(sum[k](a[i, k] * b[j, k]), prec = u[i, j])\n\
                posterior {\n  q(a[i, :k])\n  q(b[j, :k])\n}\n";
    let (rows, columns, entries) = (20_000, 10_000, 300_000_usize);
    // A step without a factor in common with the number of cells visits each cell once.
    let cells = (0..entries).map(|at| at * 666_013 % (rows * columns));
    let lines: Vec<String> = cells
        .map(|cell| format!("{} {} {}\n", cell / columns + 1, cell % columns + 1, (cell % 17) as f64 - 8.0))
        .collect();
    let header = format!("%%MatrixMarket matrix coordinate real general\n{rows} {columns} {entries}\n");
    let file = file_of("x", "x.mtx", (header + &lines.concat()).into_bytes());
    let program = Ready::new(text, &[], vec![file]);
    let mut run = program.run(program.start(1));
    program.sweep(&mut run);
    assert!(run.elbo().is_finite());
    assert_eq!(program.column(run.parameters(), "u", 0).len(), entries);
    // One number for each cell would take 1.6 GB.
    let allowed = 60 * (entries + 3 * (rows + columns)) * size_of::<f64>();
    assert!(run.peak_bytes() < allowed, "{} bytes", run.peak_bytes());
}

/// A sparse design in a sum in a log: the fit is that of the filled one, whose size it does not have.
#[test]
fn a_sparse_design_in_a_log_is_not_filled_out() {
    let text = "axis doc[d]\naxis word[v]\naxis topic[k]\ndata n[d, v] : count, absent = 0\n\
                data e[d, k] : nonnegative, absent = 0\nc[v] ~ Gamma(1, rate = 2)\nt[d] ~ Gamma(2, rate = 2)\n\
                beta[k, v] ~ Gamma(0.5, rate = 1)\n\
                n[d, v] ~ Poisson(c[v] + sum[k](e[d, k]^2 * beta[k, v] * t[d]))\n";
    let program = compile("design", text).unwrap_or_else(|problem| panic!("{problem}"));
    let (docs, words, topics) = (400, 8, 300);
    let list = |rows: usize, columns: usize, step: usize, value: fn(usize) -> f64| {
        let cells: Vec<usize> = (0..rows * columns).step_by(step).collect();
        let values: Vec<f64> = cells.iter().map(|cell| value(*cell)).collect();
        let column = |place: fn(usize, usize) -> usize| {
            cells.iter().map(|cell| place(*cell, columns) as u32).collect::<Vec<u32>>()
        };
        let indices = vec![column(|cell, size| cell / size), column(|cell, size| cell % size)];
        (
            cells,
            values.clone(),
            BoundArray::Sparse {
                indices: indices.into_iter().map(Into::into).collect(),
                values: values.into(),
                observed: None,
                unlisted_zero: true,
            },
        )
    };
    let (_, _, counts) = list(docs, words, 3, |cell| (cell % 4) as f64);
    let (cells, values, sparse) = list(docs, topics, 97, |cell| 0.5 + (cell % 5) as f64);
    let mut filled = vec![0.0; docs * topics];
    cells.iter().zip(values).for_each(|(cell, value)| filled[*cell] = value);
    let sizes = [docs, words, topics].map(BoundAxis::plain);
    let bounds = [sparse, BoundArray::full(filled)]
        .map(|design| bound_of(&program, &sizes, &[("n", counts.clone()), ("e", design)]));
    let from = start(&program.equations, &bounds[0], 1);
    let [(one, bytes), (other, all)] = bounds.each_ref().map(|bound| {
        let mut run = Executor::new(&program.equations, bound, from.clone(), 1)
            .unwrap_or_else(|unplanned| panic!("{}", unplanned.0));
        let mut elbos = vec![run.elbo()];
        for _ in 0..3 {
            run.sweep(&program.schedule()).unwrap_or_else(|trouble| panic!("{trouble}"));
            elbos.push(run.elbo());
        }
        ((elbos, run.parameters().clone()), run.peak_bytes())
    });
    for (one, other) in one.0.iter().zip(&other.0) {
        assert!(close(*one, *other, 1.0, 1e-11), "{one} and {other}");
    }
    let (distance, block, column) = farthest(&program.equations, &one.1, &other.1);
    assert!(distance < 1e-9, "block {block}, column {column}: {distance}");
    assert!(bytes < docs * topics * size_of::<f64>() && bytes < all, "{bytes} and {all} bytes");
}
