//! Levels that only priors fix. In the posterior of a linear model the derivative of the log prior by such a level is 0, since nothing else depends on
//! it; the means of q are those of the posterior.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::common::{cavi, run, scratch, text};

const TREATMENTS: usize = 5;

/// Studies of two treatments each.
fn write(directory: &Path, program: &str) {
    fs::write(directory.join("m.cavi"), program).unwrap();
    let mut lines = "study,first,second,y\n".to_owned();
    for study in 0..40 {
        let (first, step) = (study % TREATMENTS, 1 + study / TREATMENTS % (TREATMENTS - 1));
        let second = (first + step) % TREATMENTS;
        let noise = ((study * 7) % 11) as f64 / 20.0 - 0.25;
        writeln!(lines, "s{study},t{first},t{second},{}", second as f64 - first as f64 + noise).unwrap();
    }
    fs::write(directory.join("d.csv"), lines).unwrap();
}

const DATA: &str = "--data first=d.csv:first --data second=d.csv:second --data y=d.csv:y";

fn mean(directory: &Path, name: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(format!("o/posterior/{name}.mean.npy"))).unwrap().values
}

const DIFFERENCES: &str = "axis study[s]\naxis treatment[t]\ndata first[s] : index treatment\ndata second[s] : index treatment\n\
    data y[s] : real\nd[t] ~ Normal(3, sd = 10)\ny[s] ~ Normal(d[second[s]] - d[first[s]], sd = 0.3)\n";

/// The means of d are 3 on average, where the prior has them. One update after another ends elsewhere, and it is said how far from there.
#[test]
fn the_level_of_differences_is_found_or_missed_with_a_warning() {
    let directory = scratch("levels");
    write(&directory, DIFFERENCES);
    let (_, said) = run(&directory, "check m.cavi");
    assert!(said.contains("note[N0706]: only its prior fixes the level of `d`"), "{said}");
    for seed in 1..4 {
        let (_, said) =
            run(&directory, &format!("fit m.cavi {DATA} --seed {seed} --out o --force --accelerate auto"));
        assert!(!said.contains("W0812"), "{said}");
        let level = mean(&directory, "d").iter().sum::<f64>() / TREATMENTS as f64;
        assert!((level - 3.0).abs() < 1e-6, "{level}");
        let (_, said) = run(&directory, &format!("fit m.cavi {DATA} --seed {seed} --out o --force"));
        let level = mean(&directory, "d").iter().sum::<f64>() / TREATMENTS as f64;
        let far = (3.0 - level).abs();
        assert!(far > 0.05, "seed {seed} has no level to miss: {level}");
        let way = if level < 3.0 { "higher" } else { "lower" };
        let wanted = format!(
            "warning[W0812]: the fit ended before it found the level of `d`, which only its prior fixes: `d` should be {far:.2} {way}, "
        );
        assert!(said.contains(&wanted), "{wanted}\n{said}");
    }
}

/// `mu + a[g]`: with `mu ~ Normal(4, 2)` and `a ~ Normal(0, 5)` the derivative along (1, -1) is `-(mu - 4) / 4 + sum a / 25`.
#[test]
fn a_mean_and_effects_share_their_level_as_their_priors_say() {
    let directory = scratch("levels_of_two");
    let program = "axis study[s]\naxis treatment[t]\ndata first[s] : index treatment\ndata second[s] : index treatment\ndata y[s] : real\n\
        mu ~ Normal(4, sd = 2)\na[t] ~ Normal(0, sd = 5)\ne[t] ~ Normal(0, sd = 1)\n\
        y[s] ~ Normal(mu + a[second[s]] + e[first[s]], sd = 0.01)\n";
    write(&directory, program);
    let (_, said) = run(&directory, "check m.cavi");
    assert!(!said.contains("N0706"), "{said}");
    run(&directory, &format!("fit m.cavi {DATA} --out o --force --accelerate auto --tol 1e-12"));
    let (mu, a, e) = (mean(&directory, "mu")[0], mean(&directory, "a"), mean(&directory, "e"));
    let (a, e) = (a.iter().sum::<f64>(), e.iter().sum::<f64>());
    assert!((a / 25.0 - (mu - 4.0) / 4.0).abs() < 1e-6, "{mu} {a}");
    assert!((e - (mu - 4.0) / 4.0).abs() < 1e-6, "{mu} {e}");
}

/// What is held does not move, and is no level that a fit could find.
#[test]
fn what_is_held_has_no_level_to_be_found() {
    let directory = scratch("levels_held");
    write(&directory, DIFFERENCES);
    fs::write(directory.join("d0.csv"), "treatment,d\nt0,0\n").unwrap();
    let arguments: Vec<&str> =
        DATA.split(' ').chain(["--fix", "d=d0.csv", "--out", "o", "--accelerate", "auto"]).collect();
    let output = cavi(&directory, &[&["fit", "m.cavi"][..], &arguments].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(!text(&output.stderr).contains("W0812"), "{}", text(&output.stderr));
    assert_eq!(mean(&directory, "d")[0], 0.0);
}

/// Marks of four groups in three items. The data leave `mu[j]` and the mean of `a[:, j]` to the priors, for each j by itself: where these are best, the
/// derivative of the log prior along (1, -1) is 0 for each j, whatever stands between the items.
#[test]
fn each_position_has_its_level_where_it_has_one() {
    let directory = scratch("levels_of_positions");
    let head = "axis line[n]\naxis group[g]\naxis item[j, i]\ndata where[n] : index group\ndata y[n, j] : real\nmu[j] ~ Normal(4, sd = 2)\n";
    let tail = "y[n, j] ~ Normal(mu[j] + a[where[n], j], sd = 0.01)\n";
    let (mut lines, mut groups) = ("line,i0,i1,i2\n".to_owned(), "line,where\n".to_owned());
    for line in 0..24 {
        let (group, noise) = (line % 4, ((line * 5) % 7) as f64 / 500.0);
        let own: Vec<String> = (0..3).map(|j| format!("{}", (group * j) as f64 - 2.0 + noise)).collect();
        writeln!(lines, "l{line},{}", own.join(",")).unwrap();
        writeln!(groups, "l{line},g{group}").unwrap();
    }
    fs::write(directory.join("y.csv"), lines).unwrap();
    fs::write(directory.join("g.csv"), groups).unwrap();
    let data = "--data where=g.csv --data y=y.csv";
    let programs = [
        ("a[g, j] ~ Normal(0, sd = 5)\n", "", [[0.04, 0.0, 0.0], [0.0, 0.04, 0.0], [0.0, 0.0, 0.04]]),
        (
            "a[g, j] ~ Normal(0, sd = 5)\n",
            "posterior {\n  q(a[g, :j])\n}\n",
            [[0.04, 0.0, 0.0], [0.0, 0.04, 0.0], [0.0, 0.0, 0.04]],
        ),
        (
            "a[g, :j] ~ MultivariateNormal(0, prec = [j == i] + 0.7)\n",
            "",
            [[1.7, 0.7, 0.7], [0.7, 1.7, 0.7], [0.7, 0.7, 1.7]],
        ),
        (
            "a[g, :j] ~ MultivariateNormal(0, prec = [j == i] + 0.7)\n",
            "posterior {\n  point a, mu\n}\n",
            [[1.7, 0.7, 0.7], [0.7, 1.7, 0.7], [0.7, 0.7, 1.7]],
        ),
    ];
    for (prior, posterior, precision) in programs {
        fs::write(directory.join("m.cavi"), format!("{head}{prior}{tail}{posterior}")).unwrap();
        let (_, said) = run(&directory, &format!("fit m.cavi {data} --out o --force"));
        let warned = said
            .contains("warning[W0812]: the fit ended before it found the levels of `mu` and `a` at item = i");
        assert_eq!(warned, !posterior.contains("point"), "{said}");
        for shards in ["", " --shards auto"] {
            let (_, said) = run(
                &directory,
                &format!("fit m.cavi {data} --out o --force --accelerate auto --tol 1e-12{shards}"),
            );
            assert!(!said.contains("W0812"), "{said}");
            let what = if posterior.contains("point") { "value" } else { "mean" };
            let read = |name: &str| {
                cavi_files::read_npy(&directory.join(format!("o/posterior/{name}.{what}.npy")))
                    .unwrap()
                    .values
            };
            let (mu, a) = (read("mu"), read("a"));
            for j in 0..3 {
                let pull: f64 =
                    a.chunks_exact(3).flat_map(|own| own.iter().zip(&precision[j])).map(|(a, p)| a * p).sum();
                let slope = pull - (mu[j] - 4.0) / 4.0;
                assert!(slope.abs() < 1e-9, "{prior}{posterior}{shards}: {slope}");
            }
        }
    }
}

/// A school's level and those of its classes, with unequal numbers of classes: one number for each school.
#[test]
fn a_group_and_those_in_it_share_their_levels() {
    let directory = scratch("levels_of_groups");
    let program = "axis school[s]\naxis class[c] in school[s]\ndata y[s, c] : real, absent = NA\nu[s] ~ Normal(1, sd = 2)\n\
        v[s, c] ~ Normal(0, sd = 1)\ny[s, c] ~ Normal(u[s] + v[s, c], sd = 0.01)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("d.csv"), "school,class,y\na,1,3\na,2,4\nb,1,-7\nb,2,-5\nb,3,-6\nc,1,0\n")
        .unwrap();
    run(&directory, "fit m.cavi --data y=d.csv --out o --force --accelerate auto --tol 1e-12");
    let u = mean(&directory, "u");
    for (school, name) in ["a", "b", "c"].into_iter().enumerate() {
        let file = directory.join(format!("o/posterior/v.mean/{name}.npy"));
        let own = cavi_files::read_npy(&file).unwrap().values;
        assert_eq!(own.len(), [2, 3, 1][school]);
        let slope = own.iter().sum::<f64>() - (u[school] - 1.0) / 4.0;
        assert!(slope.abs() < 1e-9, "{school}: {slope}");
    }
}
