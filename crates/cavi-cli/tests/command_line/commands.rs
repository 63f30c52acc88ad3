//! The command line does what the READMEs say (`README.md` of the repository and of this crate): commands, files,
//! exit statuses, messages.

use std::fs;

use crate::common::{MODEL, cavi, root, scratch, text};

/// The commands in the README's `sh` blocks, continued lines joined.
fn readme_commands() -> Vec<Vec<String>> {
    let readme = fs::read_to_string(root().join("README.md")).expect("the README is there");
    let mut commands = Vec::new();
    let mut inside = false;
    let mut joined = String::new();
    for line in readme.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
            continue;
        }
        if inside {
            let line = line.split('#').next().unwrap_or("").trim_end();
            joined.push_str(line.trim_end_matches('\\'));
            if !line.ends_with('\\') {
                if let Some(rest) = joined.trim().strip_prefix("cargo run --release -- ") {
                    commands.push(rest.split_whitespace().map(str::to_owned).collect());
                }
                joined.clear();
            }
        }
    }
    commands
}

#[test]
fn every_command_of_the_readme_works() {
    let commands = readme_commands();
    assert!(commands.len() >= 4, "the README shows commands: {commands:?}");
    let scratch = scratch("readme");
    let mut written: Vec<String> = Vec::new();
    for command in commands {
        if let Some(place) = command.iter().position(|argument| argument == "--out") {
            written.push(command[place + 1].clone());
        }
        // What a command writes, and a later one reads.
        let own = |argument: &String| match written.contains(argument) {
            true => scratch.join(argument.replace('/', "-")).display().to_string(),
            false => argument.clone(),
        };
        let arguments: Vec<String> = command.iter().map(own).collect();
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = cavi(&root(), &arguments);
        assert!(output.status.success(), "{command:?}: {}", text(&output.stderr));
        assert!(!output.stdout.is_empty() || arguments.contains(&"fit"), "{command:?} prints something");
    }
}

#[test]
fn a_fit_writes_what_the_contract_names() {
    let directory = scratch("fit");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), ",a,b,c\nr,1,0,2\ns,0,3,1\n").unwrap();
    let arguments =
        ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "3", "--tol", "0", "--verify", "--out", "o"];
    let output = cavi(&directory, &arguments);
    assert!(output.status.success(), "{}", text(&output.stderr));
    for file in [
        "model.cavi",
        "summary.json",
        "trace.csv",
        "posterior/w.shape.npy",
        "posterior/h.mean.npy",
        "axes/row.txt",
    ] {
        assert!(directory.join("o").join(file).exists(), "{file} is missing");
    }
    assert_eq!(fs::read_to_string(directory.join("o/axes/column.txt")).unwrap(), "a\nb\nc\n");
    let trace = fs::read_to_string(directory.join("o/trace.csv")).unwrap();
    assert_eq!(trace.lines().count(), 5, "a header and sweeps 0 to 3:\n{trace}");
    assert_eq!(trace.lines().next(), Some("sweep,elbo,rel_change,seconds,phase"));
}

#[test]
fn sweeps_that_may_lower_the_bound_are_neither_verified_nor_extrapolated() {
    let directory = scratch("own_units");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), ",a,b,c\nr,1,0,2\ns,0,3,1\n").unwrap();
    let fit = |options: &[&str]| {
        let own = ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "3", "--tol", "0", "--out", "o"];
        let output = cavi(&directory, &[&own[..], options].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stderr) + &text(&output.stdout)
    };
    let asked = ["--verify", "--accelerate", "auto"];
    let said = fit(&[&["--allocations", "collapsed"][..], &asked].concat());
    assert!(
        said.contains("W0809") && said.contains("`--verify` and `--accelerate auto` have no effect"),
        "{said}"
    );
    assert!(said.contains("ended after 3 sweeps"), "{said}");
    let written: serde_json::Value =
        serde_json::from_slice(&fs::read(directory.join("o/summary.json")).unwrap()).unwrap();
    assert_eq!(written["settings"]["accelerate"], "none");
    let said = fit(&asked);
    assert!(!said.contains("W0809") && said.contains("not converged after 3 sweeps"), "{said}");
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let directory = scratch("threads");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let mut csv = String::new();
    for i in 0..40 {
        let row: Vec<String> = (0..30).map(|j| ((i * 7 + j * 13) % 5).to_string()).collect();
        csv.push_str(&row.join(","));
        csv.push('\n');
    }
    fs::write(directory.join("x.csv"), csv).unwrap();
    for threads in ["1", "2", "3"] {
        let out = format!("o{threads}");
        let arguments = [
            "fit",
            "m.cavi",
            "--data",
            "x=x.csv",
            "--sweeps",
            "5",
            "--threads",
            threads,
            "--quiet",
            "--out",
            &out,
        ];
        let output = cavi(&directory, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    let read = |out: &str| fs::read(directory.join(out).join("posterior/w.shape.npy")).unwrap();
    assert_eq!(read("o1"), read("o2"));
    assert_eq!(read("o1"), read("o3"));
}

#[test]
fn bad_data_gets_one_message_and_leaves_nothing_behind() {
    let directory = scratch("bad");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let gzip: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0x4b];
    let cases: &[(&str, &[u8], &str)] = &[
        ("negative.csv", b"1,2\n3,-4\n", "-4"),
        ("words.csv", b"1,2\n3,four\n", "four"),
        ("ragged.csv", b"1,2\n3\n", "2"),
        ("empty.csv", b"", "empty"),
        ("nan.csv", b"1,2\n3,NaN\n", "missing"),
        ("fraction.csv", b"1,2\n3,0.5\n", "0.5"),
        ("beyond.mtx", b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n3 1 5\n", "3"),
        ("zero.mtx", b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n0 1 5\n", "0"),
        (
            "claims.mtx",
            b"%%MatrixMarket matrix coordinate integer general\n2 2 999999999999\n1 1 5\n",
            "999999999999",
        ),
        ("short.mtx.gz", gzip, "gz"),
        ("strange.xyz", b"1 2\n", "xyz"),
    ];
    for (file, bytes, expected) in cases {
        fs::write(directory.join(file), bytes).unwrap();
        let data = format!("x={file}");
        let output = cavi(&directory, &["fit", "m.cavi", "--data", &data, "--out", "o"]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{file}: {message}");
        assert!(message.contains(file) && message.contains(expected), "{file}: {message}");
        assert!(!message.contains("panicked"), "{file}: {message}");
        assert!(!directory.join("o").exists(), "{file} leaves an output directory");
    }
}

#[test]
fn exit_statuses_are_those_of_the_contract() {
    let directory = scratch("status");
    fs::write(directory.join("wrong.cavi"), "axis row[i]\nw[i] ~ Gama(1, rate = 1)\n").unwrap();
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let output = cavi(&directory, &["check", "wrong.cavi"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("Gamma"), "did you mean: {}", text(&output.stderr));
    assert_eq!(cavi(&directory, &["check", "m.cavi"]).status.code(), Some(0));
    assert_eq!(cavi(&directory, &["fit", "m.cavi", "--nonsense"]).status.code(), Some(2));
    assert_eq!(cavi(&directory, &["check", "absent.cavi"]).status.code(), Some(1));
}

#[test]
fn formatting_is_idempotent_and_checked() {
    let directory = scratch("fmt");
    fs::write(directory.join("m.cavi"), MODEL.replace(" ~ ", "~")).unwrap();
    assert_eq!(cavi(&directory, &["fmt", "m.cavi", "--check"]).status.code(), Some(1));
    let formatted = cavi(&directory, &["fmt", "m.cavi"]);
    assert!(formatted.status.success());
    fs::write(directory.join("m.cavi"), &formatted.stdout).unwrap();
    assert!(cavi(&directory, &["fmt", "m.cavi", "--check"]).status.success());
    assert_eq!(cavi(&directory, &["fmt", "m.cavi"]).stdout, formatted.stdout);
}

#[test]
fn every_built_in_program_compiles_and_shows_itself() {
    let list = text(&cavi(&root(), &["list"]).stdout);
    let names: Vec<&str> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    for wanted in ["lda", "nmf_gamma", "nmf_kl", "gfa"] {
        assert!(names.contains(&wanted), "{wanted} is built in: {names:?}");
    }
    for name in names {
        for command in ["check", "show", "derive", "graph"] {
            let output = cavi(&root(), &[command, name]);
            assert!(output.status.success(), "{command} {name}: {}", text(&output.stderr));
        }
    }
}

/// A stored derivation is compared in the format of its suffix; what differs is shown with its place.
#[test]
fn a_stored_derivation_is_compared() {
    let directory = scratch("derive_check");
    for (file, format) in
        [("lda.txt", "text"), ("lda.tex", "latex"), ("lda.md", "markdown"), ("lda.json", "json")]
    {
        let derived = cavi(&directory, &["derive", "lda", "--format", format]);
        fs::write(directory.join(file), &derived.stdout).unwrap();
        let same = cavi(&directory, &["derive", "lda", "--check", file]);
        assert!(same.status.success() && same.stdout.is_empty(), "{file}: {}", text(&same.stderr));
        let other =
            cavi(&directory, &["derive", "lda", "--set", "alpha=2", "--set", "topic=50", "--check", file]);
        assert_eq!(other.status.code(), Some(1), "{file}");
        let message = text(&other.stderr);
        assert!(
            message.contains("\nline ") && message.contains("\n- ") && message.contains("\n+ "),
            "{message}"
        );
        assert!(message.contains("50"), "{message}");
    }
    // What was checked is no part of what is compared.
    let verified = cavi(&directory, &["derive", "lda", "--verify", "--draws", "50", "--check", "lda.tex"]);
    assert!(verified.status.success() && verified.stdout.is_empty(), "{}", text(&verified.stderr));
    let none = cavi(&directory, &["derive", "lda", "--check", "nowhere.txt"]);
    assert_eq!(none.status.code(), Some(1));
    assert!(text(&none.stderr).contains("`nowhere.txt` cannot be read"));
}

/// The foot of a page says how its lines were checked, in every format.
#[test]
fn the_lines_of_a_derivation_are_verified() {
    let derived = |arguments: &[&str]| {
        let output = cavi(&root(), &[&["derive", "gmm", "--verify", "--draws", "200"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let page = derived(&[]);
    assert_eq!(page, derived(&[]), "the same draws");
    let version = env!("CARGO_PKG_VERSION");
    for said in
        ["How this page was checked", version, "none failed", "200 draws", "Steps and natural parameters"]
    {
        assert!(page.contains(said), "{said}: {page}");
    }
    for format in ["latex", "markdown", "python"] {
        let page = derived(&["--format", format]);
        assert!(page.contains("How this page was checked") && page.contains("none failed"), "{page}");
    }
    let json: serde_json::Value = serde_json::from_str(&derived(&["--format", "json"])).unwrap();
    let checked = &json["checked"];
    assert_eq!(checked["verified"], true);
    assert_eq!(checked["failed"].as_array().map(Vec::len), Some(0));
    let kinds = checked["kinds"].as_array().unwrap();
    let deviations: Vec<f64> = kinds.iter().map(|own| own["largest_deviation"].as_f64().unwrap()).collect();
    assert!(deviations.iter().all(|own| *own < 1e-7), "{deviations:?}");
    let evaluations: u64 = kinds.iter().map(|own| own["evaluations"].as_u64().unwrap()).sum();
    assert!(evaluations > 20, "{evaluations}");
    // Without it no page speaks of a check, but says that there was none and how there can be one.
    for format in ["text", "latex", "markdown", "python"] {
        let plain = text(&cavi(&root(), &["derive", "gmm", "--format", format]).stdout);
        assert!(
            plain.contains(&format!("Derived by Cavi {version}. No line of it was evaluated")),
            "{plain}"
        );
        assert!(plain.contains("--verify") && !plain.contains("checked"), "{plain}");
    }
    // A page of one variable has none.
    let refused = cavi(&root(), &["derive", "gmm", "--verify", "--explain", "mu"]);
    assert_eq!(refused.status.code(), Some(2));
}

/// The literature that a derivation rests on, which LaTeX cites when asked to.
#[test]
fn a_derivation_names_its_literature() {
    let derived = |arguments: &[&str]| {
        let output = cavi(&root(), &[&["derive"], arguments].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let keys = |model: &str| -> Vec<String> {
        let (status, works) = derived(&[model, "--format", "bibtex"]);
        assert_eq!(status, Some(0), "{works}");
        let opened = works.matches('{').count();
        assert_eq!(opened, works.matches('}').count(), "{works}");
        let key =
            |line: &str| Some(line.strip_prefix('@')?.split_once('{')?.1.trim_end_matches(',').to_owned());
        works.lines().filter_map(key).collect()
    };
    let mean_field = ["jordan1999introduction", "blei2017variational"];
    assert_eq!(keys("gmm"), [&["bishop2006pattern"], &mean_field[..]].concat());
    assert_eq!(
        keys("lda"),
        [
            &["blei2003latent"],
            &mean_field[..],
            &["lee2001algorithms", "cemgil2009bayesian", "asuncion2009smoothing"]
        ]
        .concat()
    );
    // What the model and its bound have in common stands once.
    assert_eq!(keys("nmf_ls"), ["lee2001algorithms"]);
    assert_eq!(
        keys("plsa"),
        ["hofmann1999probabilistic", "dempster1977maximum", "lee2001algorithms", "cemgil2009bayesian"]
    );
    let smooth = keys("nmf_gp");
    assert_eq!(smooth, ["schmidt2008non", "rasmussen2006gaussian", "liu1989limited"]);
    assert!(keys("tests/models/logistic_regression.cavi").contains(&"jaakkola2000bayesian".to_owned()));

    let (_, bare) = derived(&["lda", "--format", "latex", "--standalone"]);
    assert!(!bare.contains("\\cite") && !bare.contains("\\bibliography"), "{bare}");
    let (status, cited) = derived(&["lda", "--format", "latex", "--standalone", "--cite"]);
    assert_eq!(status, Some(0), "{cited}");
    for key in keys("lda") {
        assert!(cited.contains(&key), "{key}: {cited}");
    }
    assert!(cited.contains("\\bibliography{lda}\n\\end{document}"), "{cited}");
    for (wrong, said) in [
        (&["gmm", "--cite"][..], "--format latex"),
        (&["gmm", "--format", "bibtex", "--standalone"], "--standalone"),
        (&["gmm", "--format", "bibtex", "--level", "paper"], "--level"),
        (&["gmm", "--format", "bibtex", "--columns", "2"], "--columns"),
    ] {
        let (status, message) = derived(wrong);
        assert!(status == Some(2) && message.contains(said), "{message}");
    }
}

/// A shorter and a longer page, a document of its own, and the combinations that mean nothing.
#[test]
fn a_derivation_has_levels() {
    let derived = |arguments: &[&str]| {
        let output = cavi(&root(), &[&["derive", "gmm"], arguments].concat());
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    };
    let [paper, full, lecture] = ["paper", "full", "lecture"].map(|level| derived(&["--level", level]).1);
    assert_eq!(full, derived(&[]).1);
    assert!(paper.len() < full.len() && full.len() < lecture.len(), "{paper}");
    assert!(!paper.contains("Jensen") && full.contains("Jensen") && lecture.contains("Kullback-Leibler"));
    let (status, document) = derived(&["--format", "latex", "--standalone"]);
    assert_eq!(status, Some(0), "{document}");
    assert!(document.starts_with("\\documentclass") && document.ends_with("\\end{document}\n"), "{document}");
    let (status, narrow) = derived(&["--format", "latex", "--standalone", "--columns", "2"]);
    assert_eq!(status, Some(0), "{narrow}");
    assert!(narrow.starts_with("\\documentclass[twocolumn]"), "{narrow}");
    let is_formula = |line: &&str| line.contains('&') && !line.contains("\\tabularnewline");
    let longest = |text: &str| text.lines().filter(is_formula).map(str::len).max();
    assert!(document.contains("\\begin{tikzpicture}") && document.contains("tikz}"), "{document}");
    assert!(longest(&narrow) < longest(&document));
    for (wrong, said) in [
        (&["--level", "short"][..], "paper"),
        (&["--level", "paper", "--explain", "mu"], "--explain"),
        (&["--level", "paper", "--format", "json"], "JSON holds every line"),
        (&["--verify", "--draws", "1"], "2.."),
        (&["--draws", "100"], "--verify"),
        (&["--standalone"], "--format latex"),
        (&["--standalone", "--format", "json"], "--format latex"),
        (&["--columns", "2"], "--format latex"),
        (&["--columns", "2", "--format", "latex", "--explain", "mu"], "--explain"),
        (&["--columns", "3", "--format", "latex"], "expected 1 or 2"),
    ] {
        let (status, message) = derived(wrong);
        assert_eq!(status, Some(2), "{wrong:?}: {message}");
        assert!(message.contains(said), "{wrong:?}: {message}");
    }
    let picture = cavi(&root(), &["graph", "gmm", "--format", "tikz"]);
    assert!(text(&picture.stdout).contains("\\begin{tikzpicture}"), "{}", text(&picture.stderr));
}

/// An implicit factor has no block, and is explained all the same.
#[test]
fn an_implicit_factor_is_explained() {
    let explained = cavi(&root(), &["derive", "lda_tokens", "--explain", "z"]);
    assert!(explained.status.success(), "{}", text(&explained.stderr));
    let shown = text(&explained.stdout);
    assert!(shown.contains("q(z[d,t] = k) = phi[d,t,k]") && shown.contains("phi[d,t,k] ∝ exp("), "{shown}");
    let json = cavi(&root(), &["derive", "lda_tokens", "--explain", "z", "--format", "json"]);
    assert!(json.status.success(), "{}", text(&json.stderr));
}

/// Labels from which no file name can be made are refused before the fit, not after it.
#[test]
fn names_of_groups_that_no_file_can_have() {
    let directory = scratch("group_names");
    let model = "model m\naxis school[s]\naxis pupil[p] in school[s]\ndata y[s, p] : real\n\
        b[s, p] ~ Normal(0, sd = 1)\ny[s, p] ~ Normal(b[s, p], sd = 1)\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let longest = "x".repeat(251);
    for (labels, wanted) in [
        ([longest.as_str(), "b"], None),
        (["b", &"x".repeat(252)], Some("a file name of 256 bytes")),
        (["a/b", "a%2Fb"], Some("two groups of `pupil` with the file name `a%2Fb`")),
    ] {
        let table = labels.map(|label| format!("{label},1,0.5\n{label},2,1\n")).concat();
        fs::write(directory.join("y.csv"), format!("school,pupil,y\n{table}")).unwrap();
        let output = cavi(&directory, &["fit", "m.cavi", "--data", "y=y.csv", "--out", "o", "--sweeps", "2"]);
        let message = text(&output.stderr);
        match wanted {
            None => {
                assert!(output.status.success(), "{message}");
                fs::remove_dir_all(directory.join("o")).unwrap();
            }
            Some(wanted) => {
                assert_eq!(output.status.code(), Some(1), "{message}");
                assert!(message.contains(wanted) && !message.contains("sweep 0"), "{message}");
                assert!(!directory.join("o").exists(), "{message}");
            }
        }
    }
}

/// A residual of exactly 0 under a scale of its own leaves no finite weight, and the message says so.
#[test]
fn an_infinite_weight_is_explained() {
    let directory = scratch("infinite_weight");
    let model = "model m\naxis row[n]\naxis column[p]\ndata x[n, p] : real\ndata y[n] : real\nb[p] ~ Flat(real)\n\
        e[n] ~ Exponential(0.5)\ny[n] ~ Normal(sum[p](x[n, p] * b[p]), var = e[n])\nposterior {\n  point b[:p]\n}\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    fs::write(directory.join("x.csv"), "1\n1\n1\n").unwrap();
    fs::write(directory.join("y.csv"), "1\n2\n7\n").unwrap();
    let arguments = ["fit", "m.cavi", "--data", "x=x.csv", "--data", "y=y.csv", "--out", "o", "--tol", "0"];
    let output = cavi(&directory, &arguments);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("the precision is not finite") && message.contains("a scale at 0"), "{message}");
}
