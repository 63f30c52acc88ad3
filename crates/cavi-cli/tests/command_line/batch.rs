//! Passes over shards of an axis before the sweeps: `--batch`, and the line of a program.

use std::fs;

use crate::common::{MODEL, cavi, scratch, text};

const TABLE: &str = ",a,b,c\nr,1,0,2\ns,0,3,1\nt,4,1,0\nu,2,2,5\nv,0,1,1\n";

#[test]
fn passes_over_shards_come_before_the_sweeps() {
    let directory = scratch("batch");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("batched.cavi"), format!("{MODEL}\nfit {{\n  batch row in 2\n}}\n")).unwrap();
    fs::write(directory.join("x.csv"), TABLE).unwrap();
    let fit = |model: &str, options: &[&str]| {
        let own = ["fit", model, "--data", "x=x.csv", "--verify", "--force", "--out", "o"];
        let output = cavi(&directory, &[&own[..], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            (cells[0].to_owned(), cells[1].parse::<f64>().unwrap(), cells[4].to_owned())
        };
        let summary: serde_json::Value =
            serde_json::from_slice(&fs::read(directory.join("o/summary.json")).unwrap()).unwrap();
        (trace.lines().skip(1).map(row).collect::<Vec<_>>(), summary)
    };
    let (trace, summary) = fit("m.cavi", &["--batch", "row=2"]);
    let phases: Vec<&str> = trace.iter().map(|row| row.2.as_str()).collect();
    assert_eq!(phases[..6], ["fit", "warmup", "warmup", "warmup", "warmup", "warmup"]);
    assert!(phases[6] == "batch" && phases.ends_with(&["fit"]), "{phases:?}");
    let warm = trace.iter().skip_while(|row| row.0 == "0" || row.2 == "warmup").collect::<Vec<_>>();
    assert!(warm.windows(2).all(|pair| pair[1].1 >= pair[0].1 - 1e-9), "{trace:?}");
    assert_eq!(summary["settings"]["batch"], "row=2");
    assert_eq!(summary["converged"], true);
    // The line of a program does the same, and the option replaces it.
    let (of_program, _) = fit("batched.cavi", &[]);
    assert_eq!(of_program, trace);
    let (without, summary) = fit("batched.cavi", &["--batch", "none"]);
    assert!(without.iter().all(|row| row.2 == "fit"));
    assert_eq!(summary["settings"]["batch"], "none");
}

#[test]
fn what_has_no_shards_is_told() {
    let directory = scratch("batch_refused");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), TABLE).unwrap();
    let cases: [(&[&str], i32, &[&str]); 4] = [
        (&["--batch", "rows"], 2, &["there is no axis `rows`", "did you mean `row`?"]),
        (&["--batch", "row=0"], 2, &["`0` is no number of shards", "1 or greater"]),
        (&["--batch", "row=x"], 2, &["`x` is no number of shards"]),
        (&["--batch", "row", "--allocations", "collapsed"], 1, &["E0616", "`collapsed` may lower the ELBO"]),
    ];
    for (options, status, expected) in cases {
        let own = ["fit", "m.cavi", "--data", "x=x.csv", "--out", "o"];
        let output = cavi(&directory, &[&own[..], options].concat());
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{options:?}: {said}");
        assert!(expected.iter().all(|part| said.contains(part)), "{options:?}: {said}");
        assert!(!directory.join("o").exists(), "{options:?}");
    }
}

/// Effects of rows and of columns with missing entries: a sum over the entries of a row's shard of an effect that all share is that
/// effect, as often as it occurs. The fit comes to the bound that sweeps come to.
#[test]
fn crossed_effects_with_missing_entries_have_shards() {
    let directory = scratch("batch_crossed");
    let model = "axis user[u]\naxis item[i]\ndata r[u, i] : real, absent = NA\n\
        mu ~ Normal(0, sd = 10)\na[u] ~ Normal(0, sd = 1)\nc[i] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
        r[u, i] ~ Normal(mu + a[u] + c[i], prec = tau)\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let entry = |place: usize| {
        let (user, item) = (place / 7, place % 7);
        let is_there = (user * 5 + item * 3) % 4 != 0;
        let value = (user % 4) as f64 - (item % 3) as f64 + ((place * 37) % 11) as f64 / 10.0;
        is_there.then(|| format!("u{user},i{item},{value}\n"))
    };
    let entries: String = (0..20 * 7).filter_map(entry).collect();
    fs::write(directory.join("r.csv"), format!("user,item,r\n{entries}")).unwrap();
    let bound = |batch: &str| {
        let fit = ["fit", "m.cavi", "--data", "r=r.csv", "--tol", "1e-12", "--sweeps", "2000", "--verify"];
        let output = cavi(&directory, &[&fit[..], &["--batch", batch, "--force", "--out", "o"]].concat());
        assert!(output.status.success(), "{batch}: {}", text(&output.stderr));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        assert_eq!(trace.contains(",batch\n"), batch != "none", "{trace}");
        trace.lines().last().unwrap().split(',').nth(1).unwrap().parse::<f64>().unwrap()
    };
    let sweeps = bound("none");
    for batch in ["user=3", "item=3"] {
        let passes = bound(batch);
        assert!((passes - sweeps).abs() < 1e-6 * sweeps.abs(), "{batch}: {passes} and {sweeps}");
    }
}

/// Two samples of a factor analysis weigh nothing, or are not observed, and make the first shard: loadings that followed from this shard alone would
/// be those of their prior, 0, which is a saddle of the bound.
#[test]
fn a_first_shard_that_says_nothing_leaves_the_start_as_it_is() {
    let directory = scratch("batch_weightless");
    let model = "axis sample[n]\naxis feature[j]\naxis factor[k] = 1\ndata y[n, j] : real, absent = NA\ndata m[n] : multiplicity\n\
        z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, sd = 1)\ntau ~ Gamma(1, rate = 1)\n\
        y[n, j] ~ Normal(sum[k](z[n, k] * w[j, k]), prec = tau)\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let is_silent = |sample: usize| sample < 2;
    let entry = |place: usize| {
        let (sample, feature) = (place / 4, place % 4);
        let value = ((sample * 5) % 7) as f64 - 3.0
            + [0.0, 0.5, -0.4, 0.2][(sample + feature) % 4]
            + feature as f64 / 10.0;
        format!("{sample},{feature},{value}\n")
    };
    let table = |places: std::ops::Range<usize>| places.map(entry).collect::<String>();
    fs::write(directory.join("y.csv"), format!("sample,feature,y\n{}", table(0..48))).unwrap();
    fs::write(directory.join("observed.csv"), format!("sample,feature,y\n{}", table(8..48))).unwrap();
    let weights: String =
        (0..12).map(|sample| format!("{sample},{}\n", u8::from(!is_silent(sample)))).collect();
    fs::write(directory.join("weights.csv"), format!("sample,m\n{weights}")).unwrap();
    let labels: String = (0..12).map(|sample| format!("{sample}\n")).collect();
    fs::write(directory.join("samples.txt"), labels).unwrap();
    let bound = |data: &[&str], batch: &str| {
        let fit = [
            "fit",
            "m.cavi",
            "--labels",
            "sample=samples.txt",
            "--tol",
            "1e-12",
            "--sweeps",
            "5000",
            "--force",
            "--out",
            "o",
        ];
        let output = cavi(&directory, &[&fit[..], data, &["--batch", batch]].concat());
        assert!(output.status.success(), "{data:?} {batch}: {}", text(&output.stderr));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        trace.lines().last().unwrap().split(',').nth(1).unwrap().parse::<f64>().unwrap()
    };
    for data in [&["--data", "y=y.csv", "--data", "m=weights.csv"][..], &["--data", "y=observed.csv"]] {
        let (sweeps, passes) = (bound(data, "none"), bound(data, "sample=6"));
        assert!((passes - sweeps).abs() < 1e-6 * sweeps.abs(), "{data:?}: {passes} and {sweeps}");
    }
}

/// Learned concentrations are points that climb: their objective has sums over rows beside how many rows there are, and no maximum where the
/// sums are those of one shard. Passes come to the bound that sweeps come to.
#[test]
fn learned_concentrations_wait_for_all_shards() {
    let directory = scratch("batch_concentrations");
    let model = "axis row[i]\naxis col[j]\ndata wt[i] : multiplicity\ndata x[i, j] : count\nal[j] ~ Exponential(1)\n\
        p[i, :j] ~ Dirichlet(al[j])\nx[i, :j] ~ Multinomial(p[i, :j])\nposterior { point al }\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let row = |row: usize| {
        let cells: Vec<String> =
            (0..4).map(|column| ((row * (column + 2) + column) % (3 + column)).to_string()).collect();
        format!("r{row},{}\n", cells.join(","))
    };
    fs::write(directory.join("x.csv"), format!("row,a,b,c,d\n{}", (0..30).map(row).collect::<String>()))
        .unwrap();
    let ones: String = (0..30).map(|row| format!("r{row},1\n")).collect();
    fs::write(directory.join("wt.csv"), format!("row,wt\n{ones}")).unwrap();
    let bound = |options: &[&str]| {
        let fit = [
            "fit", "m.cavi", "--data", "x=x.csv", "--tol", "1e-12", "--sweeps", "5000", "--force", "--out",
            "o",
        ];
        let output = cavi(&directory, &[&fit[..], options].concat());
        assert!(output.status.success(), "{options:?}: {}", text(&output.stderr));
        let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
        trace.lines().last().unwrap().split(',').nth(1).unwrap().parse::<f64>().unwrap()
    };
    let sweeps = bound(&[]);
    for options in
        [&["--batch", "row"][..], &["--batch", "row=3"], &["--data", "wt=wt.csv", "--batch", "row=9"]]
    {
        let passes = bound(options);
        assert!((passes - sweeps).abs() < 1e-6 * sweeps.abs(), "{options:?}: {passes} and {sweeps}");
    }
}

/// Factors and classes of few rows a shard: what all share begins at few rows, and does not stay at a saddle. The bound is near that of sweeps over all data.
#[test]
fn few_rows_a_shard_end_where_sweeps_over_all_data_do() {
    let directory = scratch("batch_few_rows");
    let factors = "axis sample[n]\naxis feature[j]\naxis k[k] = 3\ndata y[n, j] : real\nz[n, k] ~ Normal(0, sd = 1)\n\
        w[j, k] ~ Normal(0, prec = al[k])\nal[k] ~ Gamma(1e-3, rate = 1e-3)\ntau ~ Gamma(1e-3, rate = 1e-3)\n\
        y[n, j] ~ Normal(sum[k](z[n, k] * w[j, k]), prec = tau)\nposterior {\n  q(z[n, :k])\n  q(w[j, :k])\n}\n";
    let classes = "axis sample[n]\naxis feature[j]\naxis k[k] = 3\ndata y[n, j] : real\nz[n] ~ Categorical(p)\np[:k] ~ Dirichlet(1)\n\
        w[k, j] ~ Normal(0, sd = 5)\ntau ~ Gamma(1, rate = 1)\ny[n, j] ~ Normal(w[z[n], j], prec = tau)\n";
    // Three patterns of 17 features, each row with its own weights, or one of the three alone.
    let pattern = |k: usize, j: usize| ((j * (k + 2) * 7 + k * 5) % 11) as f64 - 5.0;
    let noise = |n: usize, j: usize| ((n * 37 + j * 23 + n * j) % 19) as f64 / 19.0 - 0.5;
    let weight = |n: usize, k: usize| ((n * (3 * k + 5) + k) % 13) as f64 / 6.0 - 1.0;
    let of_factors = |n: usize, j: usize| (0..3).map(|k| weight(n, k) * pattern(k, j)).sum::<f64>();
    let of_classes = |n: usize, j: usize| pattern(n * 7 % 3, j);
    let table = |mean: &dyn Fn(usize, usize) -> f64| {
        let row = |n: usize| {
            let cells: Vec<String> = (0..17).map(|j| format!("{:.4}", mean(n, j) + noise(n, j))).collect();
            cells.join(",") + "\n"
        };
        (0..50).map(row).collect::<String>()
    };
    fs::write(directory.join("factors.cavi"), factors).unwrap();
    fs::write(directory.join("classes.cavi"), classes).unwrap();
    fs::write(directory.join("factors.csv"), table(&of_factors)).unwrap();
    fs::write(directory.join("classes.csv"), table(&of_classes)).unwrap();
    let elbo = |line: &str| {
        let output = cavi(&directory, &line.split_whitespace().collect::<Vec<_>>());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let summary = fs::read(directory.join("o/summary.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&summary).unwrap()["elbo"].as_f64().unwrap()
    };
    for name in ["factors", "classes"] {
        for seed in 0..3 {
            let fit = format!(
                "fit {name}.cavi --data y={name}.csv --seed {seed} --restarts 4 --out o --force --quiet"
            );
            let whole = elbo(&fit);
            for batch in ["sample=16", "sample"] {
                let own = elbo(&format!("{fit} --batch {batch}"));
                assert!(own >= whole - 0.02 * whole.abs(), "{name}, seed {seed}, {batch}: {own} {whole}");
            }
        }
    }
}

/// Views of features with a precision of each, of which entries are missing: the precision of a view multiplies sums over samples from outside, whose features say
/// their view. The passes end where sweeps over all data do.
#[test]
fn a_precision_of_each_view_stands_outside_of_sums_over_samples() {
    let directory = scratch("batch_views");
    let program = "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis k[k] = 2\ndata y[n, m, j] : real, absent = NA\n\
        z[n, k] ~ Normal(0, sd = 1)\nw[m, j, k] ~ Normal(0, prec = al[m, k])\nal[m, k] ~ Gamma(1e-3, rate = 1e-3)\n\
        tau[m] ~ Gamma(1e-3, rate = 1e-3)\ny[n, m, j] ~ Normal(sum[k](z[n, k] * w[m, j, k]), prec = tau[m])\n\
        posterior {\n  q(z[n, :k])\n  q(w[m, j, :k])\n}\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let mut table = "sample,view,feature,y\n".to_owned();
    for (n, (view, j)) in (0..40).flat_map(|n| (0..9).map(move |j| (n, (["a", "b"][usize::from(j > 3)], j))))
    {
        if (n * 5 + j * 3) % 11 == 0 {
            continue;
        }
        let mean = ((n * 7 % 13) as f64 - 6.0) * ((j * 4 % 7) as f64 - 3.0) / 6.0;
        let own = ((n * 31 + j * 17 + n * j) % 23) as f64 / 23.0 - 0.5;
        table += &format!("s{n},{view},f{j},{}\n", mean + own * if view == "a" { 0.3 } else { 2.0 });
    }
    fs::write(directory.join("y.csv"), table).unwrap();
    let elbo = |options: &str| {
        let line = format!(
            "fit m.cavi --data y=y.csv --seed 2 --tol 1e-11 --sweeps 5000 --out o --force --quiet {options}"
        );
        let output = cavi(&directory, &line.split_whitespace().collect::<Vec<_>>());
        assert!(output.status.success(), "{}", text(&output.stderr));
        let summary = fs::read(directory.join("o/summary.json")).unwrap();
        serde_json::from_slice::<serde_json::Value>(&summary).unwrap()["elbo"].as_f64().unwrap()
    };
    let whole = elbo("");
    for options in ["--batch sample=4", "--batch sample=4 --verify", "--shards sample=4"] {
        let own = elbo(options);
        assert!((own - whole).abs() < 1e-5 * whole.abs(), "{options}: {own} {whole}");
    }
}
