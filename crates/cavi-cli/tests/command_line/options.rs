//! A wrong value of an option gets a line that names the option and says what is possible, exit status 2 (1 where a
//! file or the program is wrong), and nothing is written.

use std::fs;

use crate::common::{MODEL, cavi, fit, scratch, text};

/// The options after `fit m.cavi --data x=x.csv --out o`, the exit status, and what the message holds.
const WRONG: &[(&[&str], i32, &[&str])] = &[
    (&["--tol", "-1"], 2, &["`--tol -1`", "0 or greater"]),
    (&["--tol", "nan"], 2, &["`--tol nan`", "0 or greater"]),
    (&["--tol", "small"], 2, &["`--tol small`", "0 or greater"]),
    (&["--sweeps", "-1"], 2, &["`--sweeps -1`", "whole number, 0 or greater"]),
    (&["--sweeps", "1.5"], 2, &["`--sweeps 1.5`", "whole number, 0 or greater"]),
    (&["--seed", "-3"], 2, &["`--seed -3`", "whole number, 0 or greater"]),
    (&["--restarts", "0"], 2, &["`--restarts 0`", "whole number, 1 or greater"]),
    (&["--restarts", "-2"], 2, &["`--restarts -2`", "whole number, 1 or greater"]),
    (&["--threads", "0"], 2, &["`--threads 0`", "from 1 to 1024"]),
    (&["--threads", "many"], 2, &["`--threads many`", "from 1 to 1024"]),
    (&["--elbo-every", "0"], 2, &["`--elbo-every 0`", "whole number, 1 or greater"]),
    (&["--progress", "loud"], 2, &["`--progress loud`", "`auto` or `plain` or `none`"]),
    (&["--precision", "f16"], 2, &["`--precision f16`", "`f64` or `f32`"]),
    (&["--accelerate", "fast"], 2, &["`--accelerate fast`", "`auto` or `none`"]),
    (&["--heldout", "x"], 2, &["`--heldout x`", "NAME=FRACTION"]),
    (&["--heldout", "x=0"], 2, &["`--heldout x=0`", "greater than 0 and less than 1"]),
    (&["--heldout", "x=1"], 2, &["`--heldout x=1`", "greater than 0 and less than 1"]),
    (&["--heldout", "x=-0.1"], 2, &["`--heldout x=-0.1`", "greater than 0 and less than 1"]),
    (&["--heldout", "x=some"], 2, &["`--heldout x=some`", "neither a number nor a file"]),
    (&["--heldout", "x[a]=0.1"], 2, &["`--heldout x[a]=0.1`", "all groups together"]),
    (&["--heldout", "y=0.1"], 1, &["`--heldout y`", "no data of this name", "`x`"]),
    (&["--heldout", "w=0.1"], 1, &["`--heldout w`", "latent variable", "`x`"]),
    (&["--heldout", "x=none.csv"], 1, &["none.csv", "no such file"]),
    (&["--heldout", "x=0.1", "--heldout", "x=0.2"], 1, &["`--heldout x` is given twice"]),
    (&["--checkpoint-every", "-5"], 2, &["--checkpoint-every", "expected seconds, 0 or greater"]),
    (&["--checkpoint-every", "soon"], 2, &["--checkpoint-every", "expected seconds, 0 or greater"]),
    (&["--memory-limit", "1X"], 2, &["`--memory-limit 1X`", "`2GB`, `500MiB` or `1.5G`"]),
    (&["--memory-limit", "-1G"], 2, &["`--memory-limit -1G`", "a size above 0"]),
    (&["--plots", "jpg"], 2, &["`--plots jpg`", "`svg` or `png` or `pdf`"]),
    (&["--plots", "svg,eps"], 2, &["`--plots eps`", "`svg` or `png` or `pdf`"]),
    (
        &["--plots", "svg", "--plots-width", "8.5cm"],
        2,
        &["`--plots-width 8.5cm`", "millimetres from 50 to 500"],
    ),
    (&["--plots", "svg", "--plots-width", "-85"], 2, &["`--plots-width -85`", "millimetres from 50 to 500"]),
    (&["--set", "part"], 2, &["`--set part`", "NAME=VALUE"]),
    (&["--set", "=3"], 2, &["`--set =3`", "NAME=VALUE"]),
    (&["--set", "part="], 2, &["`--set part=`", "NAME=VALUE"]),
    (&["--set", "part=-1"], 1, &["`--set part=-1`", "whole number"]),
    (&["--set", "part=1.5"], 1, &["`--set part=1.5`", "whole number"]),
    (&["--set", "part=1/0"], 2, &["`--set part=1/0`", "finite"]),
    (&["--set", "part=few"], 2, &["`--set part=few`", "neither a number nor a file"]),
    (&["--set", "part=few.csv"], 1, &["`--set part=few.csv`", "whole number"]),
    (&["--set", "parts=3"], 1, &["`--set parts`", "did you mean `part`"]),
    (&["--data", "y=x.csv"], 1, &["`--data y`", "`x`"]),
    (&["--data", "x"], 2, &["`--data x`", "NAME=FILE"]),
    (&["--columns", "x=row"], 2, &["`--columns x=row`", "column"]),
    (&["--columns", "y=row:r,value:v"], 1, &["`--columns y`", "`x`"]),
    (&["--transpose", "y"], 1, &["`--transpose y`", "`x`"]),
    (&["--labels", "row"], 2, &["`--labels row`", "AXIS=FILE"]),
    (&["--labels", "rows=l.txt"], 1, &["`--labels rows`", "did you mean `row`"]),
    (&["--labels", "row=none.txt"], 1, &["none.txt", "no such file"]),
    (&["--init", "none"], 1, &["none", "no such file"]),
    (&["--schedule", "w, hh"], 2, &["`hh`", "w, h"]),
    (&["--schedule", ""], 2, &["--schedule"]),
    (&["--warmup", "menas 3"], 2, &["--warmup"]),
    (&["--allocations", "colapsed"], 2, &["`--allocations colapsed`", "`ordinary`, `means` or `collapsed`"]),
    (&["--out", ""], 2, &["--out"]),
    // As other programs name them.
    (&["--max_iter", "10"], 2, &["no option `--max_iter`", "`--sweeps N`"]),
    (&["--iters=10"], 2, &["no option `--iters`", "`--sweeps N`"]),
    (&["-k", "5"], 2, &["no option `-k`", "`--set AXIS=N`"]),
    (&["--n-components", "5"], 2, &["no option `--n-components`", "`--set AXIS=N`"]),
    (&["--alpha", "0.1"], 2, &["no option `--alpha`", "`--set NAME=VALUE`"]),
    (&["--random-state", "1"], 2, &["`--seed S`"]),
    (&["--n-init", "5"], 2, &["`--restarts R`"]),
    (&["--burn-in", "50"], 2, &["`--warmup 'means N'`"]),
    (&["--test-size", "0.2"], 2, &["`--heldout NAME=FRACTION`"]),
    (&["-v"], 2, &["`--quiet`"]),
    (&["x.csv"], 2, &["`x.csv` stands alone", "`--data NAME=x.csv`"]),
    (&["--set", "k=5"], 1, &["`k` is an index of the axis `part`", "`--set part=...`"]),
    (&["--data", "x=nowhere/"], 1, &["there is no folder `nowhere/`"]),
];

#[test]
fn commands_of_other_programs_are_answered_with_those_of_this_one() {
    let directory = scratch("commands");
    for (given, wanted) in [
        ("train", "`cavi fit MODEL"),
        ("transform", "`cavi project DIR"),
        ("evaluate", "`cavi score DIR"),
        ("lint", "`cavi check MODEL`"),
        ("ls", "`cavi list`"),
        ("latex", "`cavi derive MODEL`"),
    ] {
        let output = cavi(&directory, &[given, "m.cavi"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{given}: {message}");
        assert!(message.contains("no command") && message.contains(wanted), "{given}: {message}");
    }
    let help = cavi(&directory, &["help", "fit"]);
    assert!(help.status.success() && text(&help.stdout).contains("--sweeps"), "{}", text(&help.stderr));
}

#[test]
fn wrong_values_are_explained_and_nothing_is_written() {
    let directory = scratch("options");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), "1,0,2\n0,3,1\n").unwrap();
    let mut failures = String::new();
    for (options, status, wanted) in WRONG {
        let mut arguments = vec!["fit", "m.cavi"];
        arguments.extend(if options[0] == "--data" { &[][..] } else { &["--data", "x=x.csv"] });
        arguments.extend(if options[0] == "--out" { &[][..] } else { &["--out", "o"] });
        arguments.extend(*options);
        let output = cavi(&directory, &arguments);
        let message = text(&output.stderr);
        let short = *status != 2 || message.lines().count() <= 2 || message.contains("-->");
        if output.status.code() != Some(*status)
            || !wanted.iter().all(|part| message.contains(part))
            || !message.starts_with("error")
            || !short
            || directory.join("o").exists()
        {
            failures += &format!("{options:?}: {:?}\n{message}\n", output.status.code());
        }
        let _ = fs::remove_dir_all(directory.join("o"));
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn files_that_are_no_data_are_called_what_they_are() {
    let directory = scratch("no_data");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::create_dir(directory.join("folder")).unwrap();
    fs::create_dir(directory.join("folder.csv")).unwrap();
    fs::write(directory.join("x.csv.zst"), "1,2\n").unwrap();
    fs::write(directory.join("x.parquet"), "PAR1").unwrap();
    for (file, wanted) in [
        ("folder", "a folder without files"),
        ("folder.csv", "a folder without files"),
        ("x.csv.zst", "a file that is not compressed"),
        ("x.parquet", "a Parquet file that cannot be read"),
        ("none.csv", "no such file"),
    ] {
        let output = cavi(&directory, &["fit", "m.cavi", "--data", &format!("x={file}"), "--out", "o"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{file}: {message}");
        assert!(message.contains(file) && message.contains(wanted), "{file}: {message}");
        assert!(!message.contains("suffix") && !directory.join("o").exists(), "{file}: {message}");
    }
}

#[test]
fn constants_from_outside_are_judged_before_the_fit() {
    let directory = scratch("constants");
    let model = "axis row[i]\naxis part[k] = 2\nconst a = 2\nconst c[k] = 1\nconst e : real = 1\ndata x[i] : count\n\
        p[:k] ~ Dirichlet(c[k])\nw[k] ~ Gamma(a, rate = 1)\nx[i] ~ Poisson(sum[k](w[k] * p[k]))\n\
        posterior {\n  point w\n  point p\n}\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    fs::write(directory.join("x.csv"), "1\n2\n5\n").unwrap();
    fs::write(directory.join("c.csv"), "1\n0.5\n").unwrap();
    for (set, wanted) in [
        ("a=-1", &["`a`", "-1"][..]),
        ("a=0", &["`a`", "0"]),
        ("a=0.5", &["E0713", "`a`", "clamp"]),
        ("c=0.5", &["E0713", "`c`", "clamp"]),
        ("c=c.csv", &["E0713", "`c`", "clamp"]),
    ] {
        let arguments = ["fit", "m.cavi", "--data", "x=x.csv", "--set", set, "--out", "o"];
        let output = cavi(&directory, &arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{set}: {message}");
        assert!(wanted.iter().all(|part| message.contains(part)), "{set}: {message}");
        assert!(!directory.join("o").exists(), "{set}");
    }
    // What the text says is not judged where another value is given.
    fs::write(directory.join("m.cavi"), model.replace("const a = 2", "const a = 0.5")).unwrap();
    assert_eq!(cavi(&directory, &["check", "m.cavi"]).status.code(), Some(1));
    let arguments = ["fit", "m.cavi", "--data", "x=x.csv", "--set", "a=2", "--sweeps", "2", "--out", "o"];
    let output = cavi(&directory, &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
}

#[test]
fn sizes_and_constants_are_judged_by_check_as_by_fit() {
    let directory = scratch("check_set");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    for (options, status, wanted) in WRONG.iter().filter(|(options, ..)| options[0] == "--set") {
        if options[1].ends_with(".csv") {
            continue;
        }
        let output = cavi(&directory, &[&["check", "m.cavi"], *options].concat());
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(*status), "{options:?}: {message}");
        assert!(wanted.iter().all(|part| message.contains(part)), "{options:?}: {message}");
    }
}

#[test]
fn check_and_derive_judge_constants_that_are_set_as_those_of_the_text() {
    let directory = scratch("judged_set");
    let program = "axis row[n]\ndata x[n] : real\nconst alpha = 1\nconst share : unit = 0.5\nm ~ Normal(0, prec = alpha)\n\
        x[n] ~ Normal(share * m, prec = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    for command in ["check", "derive"] {
        for (set, code, wanted) in [("alpha=-1", "E0506", "prec"), ("share=2", "E0513", "unit")] {
            let output = cavi(&directory, &[command, "m.cavi", "--set", set]);
            let message = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{command} {set}: {message}");
            assert!(message.contains(code) && message.contains(wanted), "{command} {set}: {message}");
        }
        assert!(cavi(&directory, &[command, "m.cavi", "--set", "alpha=3"]).status.success());
    }
    // A value that is set stands in place of a wrong one of the text.
    fs::write(directory.join("m.cavi"), program.replace("alpha = 1", "alpha = -1")).unwrap();
    assert_eq!(cavi(&directory, &["check", "m.cavi"]).status.code(), Some(1));
    assert!(cavi(&directory, &["check", "m.cavi", "--set", "alpha=2"]).status.success());
}

/// Some numbers of a program stand among its constants, and are none that a user has named.
#[test]
fn numbers_of_the_program_are_not_set() {
    let directory = scratch("numbers-set");
    fs::write(directory.join("m.cavi"), MODEL.replace("Gamma(1, rate = 1)", "Gamma(0.3, rate = 1e-6)"))
        .unwrap();
    fs::write(directory.join("x.csv"), "a,b\n1,2\n3,4\n").unwrap();
    for number in ["0.3", "1e-6"] {
        for command in [&["check", "m.cavi"][..], &["fit", "m.cavi", "--data", "x=x.csv", "--out", "o"]] {
            let output = cavi(&directory, &[command, &["--set", &format!("{number}=50")]].concat());
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(1), "{said}");
            assert!(
                said.contains(&format!(
                    "`--set {number}`: the program has no constant and no axis of this name"
                )),
                "{said}"
            );
            assert!(!directory.join("o").exists());
        }
    }
}

#[test]
fn a_plan_takes_the_schedule_the_allocations_and_the_warm_ups_that_a_fit_takes() {
    let directory = scratch("plan_rules");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), "1,0,2\n0,3,1\n2,2,0\n").unwrap();
    let plan = |options: &[&str]| {
        let all = ["plan", "m.cavi", "--data", "x=x.csv", "--set", "part=2"];
        let output = cavi(&directory, &[&all, options].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (_, ordinary, _) = plan(&[]);
    assert!(!ordinary.contains("before it"), "{ordinary}");
    let (status, shown, _) = plan(&["--warmup", "means 10, collapsed 5", "--allocations", "collapsed"]);
    assert_eq!(status, Some(0));
    assert!(shown.contains("own share left out"), "{shown}");
    let warmups: Vec<&str> = shown.lines().filter(|line| line.starts_with("before it `warmup ")).collect();
    assert!(warmups.len() == 2 && warmups[0].contains("means 10`") && warmups[1].contains("collapsed 5`"));
    let (_, without, _) = plan(&["--schedule", "w"]);
    assert!(without.contains("q of w, once") && !without.contains("q of h"), "{without}");
    for (options, wanted) in [
        (["--schedule", "w, hh"], "`hh`"),
        (["--warmup", "menas 3"], "--warmup"),
        (["--allocations", "colapsed"], "`collapsed`"),
    ] {
        let (status, shown, message) = plan(&options);
        assert!(status == Some(2) && shown.is_empty() && message.contains(wanted), "{options:?}: {message}");
    }
}

#[test]
fn a_mixture_of_no_components_is_refused_where_it_chooses() {
    let directory = scratch("no-components");
    fs::write(directory.join("x.csv"), "1,2\n2,3\n5,1\n").unwrap();
    let (status, message) = fit(&directory, "gmm", &["--data", "x=x.csv", "--set", "cluster=0"]);
    assert_eq!(status, 1, "{message}");
    assert!(message.contains("E0806") && message.contains("axis `cluster`"), "{message}");
}
