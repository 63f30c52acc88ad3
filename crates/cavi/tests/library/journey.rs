//! The library without a terminal: the example runs, errors have messages, codes and kinds, and results are arrays.

use cavi::bind::{ArrayInput, Inputs};
use cavi::{Control, Error, Kind, Settings};
use cavi_executor::BoundArray;

#[path = "../../examples/from_arrays.rs"]
mod from_arrays;

const MEAN: &str =
    "axis item[n]\ndata x[n] : real, absent = NA\nm ~ Normal(0, sd = 10)\nx[n] ~ Normal(m, sd = 1)\n";

fn inputs(data: Vec<ArrayInput>) -> Inputs {
    Inputs { data, ..Inputs::default() }
}

#[test]
fn the_example_runs() {
    from_arrays::main().unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn a_posterior_comes_back_by_name_and_shape() {
    // Listed entries of a sparse array: 1, 2 and 3 of five.
    let x = ArrayInput::sparse("x", &[5], vec![vec![4, 0, 2]], vec![3.0, 1.0, 2.0]).expect("an array");
    let inputs = inputs(vec![x]);
    let (program, warnings) = cavi::session::open(MEAN, "mean.cavi", &inputs).expect("it compiles");
    assert!(warnings.is_empty());
    let problem = program.bind(&inputs).expect("it binds");
    let fit = problem.fit(&Settings::default(), &mut |_| Control::Continue).expect("a fit");
    let arrays = problem.posterior(&fit);
    let names: Vec<&str> = arrays.iter().map(|array| array.name.as_str()).collect();
    assert_eq!(names, ["m.mean", "m.var"]);
    // Three observations of precision 1 and a prior of precision 0.01.
    assert!((arrays[0].values[0] - 6.0 / 3.01).abs() < 1e-12 && arrays[0].shape.is_empty());
    assert!((arrays[1].values[0] - 1.0 / 3.01).abs() < 1e-12);
}

/// The place in memory of each array of data of a program that is bound to inputs.
fn places(text: &str, own: &Inputs) -> Vec<*const f64> {
    let (program, _) = cavi::session::open(text, "program.cavi", own).expect("it compiles");
    let problem = program.bind(own).expect("it binds");
    let values = problem.binding.bound.arrays.iter().flatten().map(|array| match array {
        BoundArray::Dense { values, .. } | BoundArray::Sparse { values, .. } => values.as_ptr(),
    });
    values.collect()
}

/// A fit reads an array in the memory of a caller where it is. It has a copy where entries are missing, which become others.
#[test]
fn an_array_of_a_caller_is_read_where_it_is() {
    let text = "axis row[i]\naxis column[j]\ndata x[i, j] : real, absent = NA\nm ~ Normal(0, sd = 10)\n\
                x[i, j] ~ Normal(m, sd = 1)\n";
    let whole: Vec<f64> = (0..6000).map(|at| f64::from(at % 17)).collect();
    let with_missing: Vec<f64> = whole.iter().map(|own| if *own == 3.0 { f64::NAN } else { *own }).collect();
    for (values, stays) in [(whole, true), (with_missing, false)] {
        let place = values.as_ptr();
        let given = inputs(vec![ArrayInput::dense("x", &[60, 100], values).expect("an array")]);
        assert_eq!(places(text, &given).contains(&place), stays);
    }
}

#[test]
fn errors_say_what_where_and_whose() {
    let open = |text: &str, inputs: &Inputs| cavi::session::open(text, "mean.cavi", inputs);
    let wrong =
        open(&MEAN.replace("sd = 1)", "sd = s)"), &inputs(Vec::new())).map(|_| ()).expect_err("no `s`");
    assert!(wrong.kind() == Kind::Wrong && wrong.code().starts_with('E'), "{wrong:?}");
    assert!(wrong.to_string().contains("mean.cavi:4"), "{wrong}");
    let unbound = open(MEAN, &inputs(Vec::new())).and_then(|(program, _)| program.bind(&inputs(Vec::new())));
    let unbound = unbound.map(|_| ()).expect_err("no data");
    assert!(matches!(unbound, Error::Data(_)) && unbound.to_string().contains("`x`"), "{unbound}");
    let own = inputs(vec![ArrayInput::dense("x", &[2], vec![1.0, 2.0]).expect("an array")]);
    let problem = open(MEAN, &own).and_then(|(program, _)| program.bind(&own)).expect("it binds");
    let schedule = problem.schedule("nobody").map(|_| ()).expect_err("no such latent");
    assert!(schedule.kind() == Kind::Usage && schedule.to_string().contains("--schedule"), "{schedule}");
}

/// An array whose shape disagrees with its values is an error that says by how much, not a panic.
#[test]
fn arrays_of_a_wrong_shape_are_errors() {
    let dense = |shape: &[usize], count: usize| ArrayInput::dense("x", shape, vec![1.0; count]);
    let sparse = |shape: &[usize], indices: &[&[u32]], count: usize| {
        let indices = indices.iter().map(|column| column.to_vec()).collect();
        ArrayInput::sparse("x", shape, indices, vec![1.0; count])
    };
    assert!(dense(&[2, 3], 6).is_ok() && dense(&[], 1).is_ok() && dense(&[0, 4], 0).is_ok());
    assert!(sparse(&[2, 3], &[&[0, 1], &[2, 0]], 2).is_ok());
    let wrong = [
        (dense(&[2, 3], 5), "5 values for a shape of 2 x 3"),
        (dense(&[usize::MAX, 2], 6), "6 values for a shape of"),
        (sparse(&[2, 3], &[&[0, 1]], 2), "1 columns of positions for 2 dimensions"),
        (sparse(&[2, 3], &[&[0, 1], &[2]], 2), "1 positions along dimension 2 for 2 values"),
        (
            sparse(&[2, 3], &[&[0, 1], &[2, 3]], 2),
            "entry 1 has position 3 along dimension 2, whose size is 3",
        ),
    ];
    for (array, message) in wrong {
        let error = array.map(|_| ()).expect_err(message).to_string();
        assert!(error.contains("`x`") && error.contains(message), "{error}");
    }
}

/// Squares of products of such numbers are beyond double precision; the array is named, not a sweep or a block.
#[test]
fn data_beyond_what_double_precision_squares_are_named() {
    let text = "axis n[n]\naxis d[i, j] = 2\ndata y[n, i] : real\nmu[:i] ~ MultivariateNormal(0, prec = [i == j])\n\
                lam[:i, :j] ~ Wishart(3, scale = [i == j])\ny[n, :i] ~ MultivariateNormal(mu[i], prec = lam)\n";
    for size in [1e160, 1e200] {
        let wide = ArrayInput::dense("y", &[3, 2], vec![size, 2.0, 3.0, -size, 1.0, 2.0]).expect("an array");
        let own = inputs(vec![wide]);
        let (program, _) = cavi::session::open(text, "wide.cavi", &own).expect("it compiles");
        let fit = program
            .bind(&own)
            .and_then(|problem| problem.fit(&Settings::default(), &mut |_| Control::Continue));
        let error = fit.map(|_| ()).expect_err("no number is that large");
        assert!(error.kind() == Kind::Wrong && error.to_string().contains("`y` holds"), "{error}");
    }
}

/// Trees that nest as deeply as the language allows compile on a thread with a small stack.
#[test]
fn a_small_stack_is_enough() {
    let nested = format!("{}m{}", "(".repeat(190), ")".repeat(190));
    let text = MEAN.replace("Normal(m, sd = 1)", &format!("Normal({nested}, sd = 1)"));
    let compile = move || cavi::compile(&text, "deep.cavi").is_ok();
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(compile).expect("a thread");
    assert!(thread.join().expect("no overflow"));
}
