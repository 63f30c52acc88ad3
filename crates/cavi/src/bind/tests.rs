//! Programs and files as text, bindings and problems as text.

use std::path::PathBuf;

use cavi_executor::BoundArray;

use super::{Binding, Inputs, LabelSource, SetValue, Source, bind};

/// Options as on the command line, and the files that they name.
fn run(program: &str, options: &[&str], files: &[(&str, &str)]) -> Result<(Binding, String), String> {
    let of = |name: &str| -> Vec<String> {
        let own = options.iter().filter_map(|option| option.strip_prefix(name)?.strip_prefix(' '));
        own.map(str::to_owned).collect()
    };
    let texts = ["--data", "--columns", "--transpose", "--labels", "--set"].map(of);
    let mut inputs =
        Inputs::parse(&texts[0], &texts[1], &texts[2], &texts[3], &texts[4]).expect("well-formed options");
    let content =
        |path: &PathBuf| files.iter().find(|(name, _)| path.as_os_str() == *name).map(|(_, text)| *text);
    let in_memory = |source: &mut Source| {
        if let Source::File { path, column: None } = source
            && let Some(text) = content(path)
        {
            *source = Source::Bytes { name: path.clone(), bytes: text.as_bytes().to_vec().into() };
        }
    };
    inputs.data.iter_mut().for_each(|input| in_memory(&mut input.source));
    for input in &mut inputs.set {
        if let SetValue::Source(source) = &mut input.value {
            in_memory(source);
        }
    }
    for input in &mut inputs.labels {
        if let LabelSource::File(path) = &input.source {
            let text = content(path).expect("the test gives every file of labels");
            input.source =
                LabelSource::List(path.display().to_string(), text.lines().map(str::to_owned).collect());
        }
    }
    let (tree, diagnostics) = cavi_syntax::parse(program);
    assert!(!diagnostics.iter().any(cavi_syntax::Diagnostic::is_error), "{diagnostics:?}");
    let (model, diagnostics) = cavi_model::resolve_with(&tree, &inputs.set_values());
    let messages = |all: &[cavi_syntax::Diagnostic]| {
        all.iter().map(|own| own.message.clone()).collect::<Vec<String>>().join("\n")
    };
    let model = model.ok_or_else(|| messages(&diagnostics))?;
    let binding = bind(&model, &inputs)
        .map_err(|problems| problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let mut text = String::new();
    for (axis, bound) in model.symbols.axes.iter().zip(&binding.bound.axes) {
        let id = cavi_algebra::AxisId::from(
            model.symbols.axes.iter().position(|other| other.name == axis.name).unwrap_or(0),
        );
        let labels: Vec<String> = (0..bound.size)
            .map(|place| binding.labels.path(&model.symbols, &binding.bound, id, place).join("/"))
            .collect();
        text.push_str(&format!("{}: {}\n", axis.name, labels.join(" ")));
    }
    for (array, bound) in model.symbols.arrays.iter().zip(&binding.bound.arrays) {
        let Some(bound) = bound else { continue };
        text.push_str(&format!("{}: {}\n", array.name, show(bound)));
    }
    Ok((binding, text))
}

fn show(bound: &BoundArray) -> String {
    let number = |place: usize, values: &[f64], observed: &Option<Vec<bool>>| match observed
        .as_ref()
        .is_none_or(|observed| observed[place])
    {
        true => values[place].to_string(),
        false => "NA".to_owned(),
    };
    match bound {
        BoundArray::Dense { values, observed } => {
            let all: Vec<String> = (0..values.len()).map(|place| number(place, values, observed)).collect();
            all.join(" ")
        }
        BoundArray::Sparse { indices, values, observed, unlisted_zero } => {
            let all: Vec<String> = (0..values.len())
                .map(|place| {
                    let at: Vec<String> = indices.iter().map(|column| column[place].to_string()).collect();
                    format!("[{}]={}", at.join(","), number(place, values, observed))
                })
                .collect();
            format!("{} else {}", all.join(" "), if *unlisted_zero { "0" } else { "NA" })
        }
    }
}

#[track_caller]
fn check(program: &str, options: &[&str], files: &[(&str, &str)], expected: &str) {
    match run(program, options, files) {
        Ok((_, text)) => assert_eq!(text.trim_end(), expected),
        Err(problems) => panic!("{problems}"),
    }
}

#[track_caller]
fn refuse(program: &str, options: &[&str], files: &[(&str, &str)], expected: &[&str]) {
    match run(program, options, files) {
        Ok((_, text)) => panic!("nothing is refused:\n{text}"),
        Err(problems) => {
            for part in expected {
                assert!(problems.contains(part), "expected `{part}` in:\n{problems}");
            }
        }
    }
}

const MATRIX: &str = "axis doc[d]\naxis word[v]\ndata x[d, v] : count, absent = 0\n\
     r[d] ~ Gamma(shape = 1, rate = 1)\nx[d, v] ~ Poisson(r[d])\n";

fn matrix(options: &str) -> String {
    MATRIX.replace("count, absent = 0", options)
}

#[test]
fn sparse_files_stay_sparse() {
    let mtx = "%%MatrixMarket matrix coordinate integer general\n2 3 4\n2 1 5\n1 3 2\n1 3 4\n1 1 0\n";
    check(MATRIX, &["--data x=x.mtx"], &[("x.mtx", mtx)], "doc: 0 1\nword: 0 1 2\nx: [0,2]=6 [1,0]=5 else 0");
    let na = matrix("real, absent = NA");
    let na = na.replace("Poisson(r[d])", "Normal(r[d], sd = 1)");
    refuse(
        &na,
        &["--data x=x.mtx"],
        &[("x.mtx", mtx)],
        &["x.mtx, line 5: found the entry x[0, 2]", "line 4"],
    );
    let once = "%%MatrixMarket matrix coordinate real general\n2 2 3\n2 1 nan\n1 2 2\n1 1 0\n";
    check(&na, &["--data x=x.mtx"], &[("x.mtx", once)], "doc: 0 1\nword: 0 1\nx: [0,0]=0 [0,1]=2 else NA");
    let none = matrix("count");
    refuse(
        &none,
        &["--data x=x.mtx"],
        &[("x.mtx", mtx)],
        &["does not say what the others are", "absent = 0"],
    );
}

#[test]
fn sizes_that_disagree_name_both_sources() {
    let mtx = "%%MatrixMarket matrix coordinate integer general\n2 3 1\n2 1 5\n";
    let files = [("x.mtx", mtx), ("l", "a\nb\n")];
    refuse(MATRIX, &["--data x=x.mtx", "--set doc=3"], &files, &["size 3 by `--set doc=3`, and 2 by x.mtx"]);
    refuse(
        MATRIX,
        &["--data x=x.mtx", "--labels word=l"],
        &files,
        &["size 2 by the labels of l, and 3 by x.mtx"],
    );
    check(
        MATRIX,
        &["--data x=x.mtx", "--labels doc=l", "--transpose x"],
        &[("x.mtx", "%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 5\n"), ("l", "a\nb\n")],
        "doc: a b\nword: 0\nx: [1,0]=5 else 0",
    );
    let tns = [("x.tns", "1 2 3\n")];
    check(MATRIX, &["--data x=x.tns", "--set doc=2"], &tns, "doc: 0 1\nword: 0 1\nx: [0,1]=3 else 0");
    refuse(
        MATRIX,
        &["--data x=x.tns", "--set word=1"],
        &tns,
        &["size 1 by `--set word=1`, and at least 2 by x.tns"],
    );
    refuse(MATRIX, &["--data x=x.tns"], &[("x.tns", "4000000000 1 1\n")], &["4000000000 positions"]);
    refuse(MATRIX, &[], &[], &["size of axis `doc` is not known", "--set doc=SIZE"]);
    let sized = ["--set doc=1", "--set word=0"];
    refuse(MATRIX, &sized, &[], &["the data `x` are bound to no file"]);
    let text = MATRIX.replace("axis word[v]", "axis word[v] = 1 + 2");
    check(&text, &["--data x=x.tns"], &tns, "doc: 0\nword: 0 1 2\nx: [0,1]=3 else 0");
    check(&text, &["--data x=x.tns", "--set word=2*2"], &tns, "doc: 0\nword: 0 1 2 3\nx: [0,1]=3 else 0");
}

#[test]
fn long_tables_are_matched_by_label() {
    let files = [("x.csv", "word,count,doc\nb,1,10\na,2,9\nb,3,10\n"), ("l", "10\n9\n8\n")];
    // Whole numbers are sorted, other labels stand in order of first appearance.
    check(MATRIX, &["--data x=x.csv"], &files, "doc: 9 10\nword: b a\nx: [0,1]=2 [1,0]=4 else 0");
    check(
        MATRIX,
        &["--data x=x.csv", "--labels doc=l"],
        &files,
        "doc: 10 9 8\nword: b a\nx: [0,0]=4 [1,1]=2 else 0",
    );
    refuse(
        MATRIX,
        &["--data x=x.csv", "--labels word=l"],
        &files,
        &["x.csv, line 2", "found the label `b`; expected a label of axis `word`, as l has it"],
    );
    refuse(
        MATRIX,
        &["--data x=x.csv", "--labels word=m"],
        &[files[0], ("m", "a\na\nb\n")],
        &["`a` stands twice"],
    );
    let named = [("x.csv", "u,w,n,other\n1,a,5,0\n")];
    check(
        MATRIX,
        &["--data x=x.csv", "--columns x=doc:u,word:w,value:n"],
        &named,
        "doc: 1\nword: a\nx: [0,0]=5 else 0",
    );
}

const TWO: &str = "axis doc[d]\naxis word[v]\ndata x[d, v] : real OPTIONS\ndata y[d] : real\n\
     r[d] ~ Normal(0, sd = 1)\nx[d, v] ~ Normal(r[d], sd = 1)\ny[d] ~ Normal(r[d], sd = 1)\n";

#[test]
fn labels_that_one_file_lacks_are_absent_there() {
    let files = [("x.csv", ",p,q\nb,1,2\na,3,4\n"), ("y.csv", "doc,y\na,1\nb,2\nc,3\n")];
    let options = ["--data x=x.csv", "--data y=y.csv"];
    let with = |absent: &str| TWO.replace("OPTIONS", absent);
    refuse(
        &with(""),
        &options,
        &files,
        &["x.csv lacks the label `c` of axis `doc`, which y.csv has", "absent = NA"],
    );
    check(&with(", absent = NA"), &options, &files, "doc: b a c\nword: p q\nx: 1 2 3 4 NA NA\ny: 2 1 3");
    check(&with(", absent = 0"), &options, &files, "doc: b a c\nword: p q\nx: 1 2 3 4 0 0\ny: 2 1 3");
    // How many, and which of its own may be meant.
    let otherwise = [files[0], ("y.csv", "doc,y\nA,1\nB,2\n c,3\n")];
    let words =
        ["y.csv has; it lacks 2 more", "`a` of x.csv may be this doc: write its label alike in both files"];
    refuse(
        &with(""),
        &options,
        &otherwise,
        &[&["x.csv lacks the label `A` of axis `doc`"], &words[..]].concat(),
    );
    let unlabelled = [files[0], ("y.csv", "1\n2\n3\n")];
    refuse(
        &with(""),
        &options,
        &unlabelled,
        &["axis `doc` has size 2 by the labels of x.csv, and 3 by y.csv"],
    );
}

#[test]
fn values_are_checked_with_file_and_line() {
    for (data_type, value, expected) in [
        ("count", "-1", "a count"),
        ("count", "1.5", "a count"),
        ("positive", "0", "greater than 0"),
        ("nonnegative", "-0.1", "0 or greater"),
        ("unit", "1.5", "from 0 to 1"),
        ("binary", "2", "0 or 1"),
        ("real", "inf", "a finite number"),
        ("real", "NA", "absent = NA"),
    ] {
        let program = format!(
            "axis item[n]\ndata x[n] : {data_type}\nm ~ Normal(0, sd = 1)\ny[n] ~ Normal(m * x[n], sd = 1)\n"
        );
        let file = format!("0.5\n{value}\n").replace("0.5", "1");
        refuse(&program, &["--data x=x.csv"], &[("x.csv", &file)], &["x.csv, line 2", expected]);
    }
}

#[test]
fn unknown_names_are_answered_with_near_ones() {
    let files = [("x.csv", "1,2\n"), ("l", "a\n")];
    refuse(MATRIX, &["--data y=x.csv"], &files, &["no data of this name"]);
    refuse(MATRIX, &["--data x=x.csv", "--labels docs=l"], &files, &["did you mean `doc`?"]);
    refuse(MATRIX, &["--data x=x.csv", "--set wrod=3"], &files, &["did you mean `word`?"]);
    refuse(MATRIX, &["--data r=x.csv"], &files, &["names a latent variable"]);
    refuse(MATRIX, &["--data x=x.csv", "--data x=x.csv"], &files, &["bound to x.csv and to x.csv"]);
    refuse(MATRIX, &["--data x[a]=x.csv"], &files, &["`x[a]` names a group, and `x` has none"]);
}

const RAGGED: &str = "axis sample[n]\naxis view[m]\naxis feature[j] in view\ndata x[n, m, j] : real OPTIONS\n\
     t[m] ~ Gamma(shape = 1, rate = 1)\nx[n, m, j] ~ Normal(0, prec = t[m])\n";

#[test]
fn ragged_arrays_have_a_file_for_each_group() {
    let program = RAGGED.replace("OPTIONS", "");
    let options = ["--data x[b]=b.csv", "--data x[a]=a.csv"];
    check(
        &program,
        &options,
        &[("b.csv", ",f,g\ns,1,2\nt,3,4\n"), ("a.csv", ",f\nt,6\ns,5\n")],
        "sample: s t\nview: b a\nfeature: b/f b/g a/f\nx: 1 2 5 3 4 6",
    );
    check(
        &program,
        &options,
        &[("b.csv", "1,2\n3,4\n"), ("a.csv", "5\n6\n")],
        "sample: 0 1\nview: b a\nfeature: b/0 b/1 a/0\nx: 1 2 5 3 4 6",
    );
    refuse(&program, &["--data x=b.csv"], &[("b.csv", "1,2,3\n")], &["b.csv", "column for each axis"]);
}

#[test]
fn ragged_arrays_are_read_from_long_tables() {
    let table = "view,feature,sample,v\nb,2,s,1\nb,10,s,2\na,2,s,5\nb,2,t,3\nb,10,t,4\na,2,t,6\n";
    let options = ["--data x=x.csv"];
    let all = "sample: s t\nview: b a\nfeature: b/2 b/10 a/2\nx: 1 2 5 3 4 6";
    check(&RAGGED.replace("OPTIONS", ""), &options, &[("x.csv", table)], all);
    check(&RAGGED.replace("OPTIONS", ", absent = NA"), &options, &[("x.csv", table)], all);
    let part = table.trim_end().trim_end_matches("a,2,t,6");
    refuse(
        &RAGGED.replace("OPTIONS", ""),
        &options,
        &[("x.csv", part)],
        &["x.csv does not list the entry x[t, a, 2]", "absent = NA"],
    );
}

#[test]
fn documents_are_rows_with_weights() {
    let program = "axis doc[d]\naxis token[t] in doc\naxis word[v]\naxis topic[k] = 2\ndata w[d, t] : index word\n\
         WEIGHT theta[d, :k] ~ Dirichlet(1)\nbeta[k, :v] ~ Dirichlet(1)\nz[d, t] ~ Categorical(theta[d, :k])\n\
         w[d, t] ~ Categorical(beta[z[d, t], :v])\n";
    let files = [("w.ldac", "2 0:2 3:1\n0\n1 1:1\n")];
    check(
        &program.replace("WEIGHT", "data m[d, t] : multiplicity\n"),
        &["--data w=w.ldac", "--set word=5"],
        &files,
        "doc: 0 1 2\ntoken: 0/0 0/1 2/0\nword: 0 1 2 3 4\ntopic: 0 1\nw: 0 3 1\nm: 2 1 1",
    );
    check(
        &program.replace("WEIGHT", ""),
        &["--data w=w.ldac", "--set doc=4"],
        &files,
        "doc: 0 1 2 3\ntoken: 0/0 0/1 0/2 2/0\nword: 0 1 2 3\ntopic: 0 1\nw: 0 0 3 1",
    );
}

#[test]
fn index_data_are_labels_in_text_and_positions_elsewhere() {
    let program = "axis item[n]\naxis class[k] SIZE\ndata z[n] : index class, absent = NA\n\
         m[k] ~ Normal(0, sd = 1)\npi[:k] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n";
    let with = |size: &str| program.replace("SIZE", size);
    let options = ["--data z=z.csv"];
    let check_one = |size: &str, file: &str, expected: &str| {
        check(&with(size), &options, &[("z.csv", file)], expected);
    };
    check_one("", "z\nred\n\"\"\nblue\n-1\nred\n", "item: 0 1 2 3 4\nclass: red blue\nz: 0 NA 1 NA 0");
    check_one("", "2\n1\n2\n", "item: 0 1 2\nclass: 1 2\nz: 1 0 1");
    check_one("= 3", "2\n0\n", "item: 0 1\nclass: 0 1 2\nz: 2 0");
    check_one("= 3", "z\nb\na\n", "item: 0 1\nclass: b a 2\nz: 0 1");
    refuse(&with("= 1"), &options, &[("z.csv", "z\nb\na\n")], &["size 1 by the text", "at least 2 by z.csv"]);
}

#[test]
fn restrictions_say_which_entries_exist() {
    let program = "axis node[i, j]\ndata a[i, j] : count, absent = 0, i < j\nr ~ Gamma(shape = 1, rate = 1)\n\
         a[i, j] ~ Poisson(r)\n";
    let symmetric = "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 5\n3 1 2\n";
    check(program, &["--data a=a.mtx"], &[("a.mtx", symmetric)], "node: 0 1 2\na: [0,1]=5 [0,2]=2 else 0");
    let general = symmetric.replace("symmetric", "general");
    refuse(program, &["--data a=a.mtx"], &[("a.mtx", &general)], &["a.mtx, line 3", "a[1, 0]", "with i < j"]);
    check(program, &["--data a=a.csv"], &[("a.csv", "0,1\n0,0\n")], "node: 0 1\na: 0 1 0 0");
    refuse(program, &["--data a=a.csv"], &[("a.csv", "0,1\n4,0\n")], &["a.csv, line 2", "found 4"]);
    let different = program.replace("i < j", "i != j");
    refuse(&different, &["--data a=a.csv"], &[("a.csv", "7,1\n4,0\n")], &["a.csv, line 1", "i != j"]);
    let table = "i,j,n\na,b,1\nb,a,2\n";
    check(&different, &["--data a=a.csv"], &[("a.csv", table)], "node: a b\na: [0,1]=1 [1,0]=2 else 0");
}

#[test]
fn derived_data_are_evaluated_and_stay_sparse() {
    let program = "axis doc[d]\naxis word[v]\ndata x[d, v] : count, absent = 0\nconst c = 1\n\
         data y[d, v] = log(x[d, v] + c)\nm ~ Normal(0, sd = 1)\ny[d, v] ~ Normal(m, sd = 1)\n";
    let files = [("x.tns", "1 2 1\n2 1 0\n")];
    let log_two = 2f64.ln();
    check(
        program,
        &["--data x=x.tns"],
        &files,
        &format!("doc: 0 1\nword: 0 1\nx: [0,1]=1 else 0\nc: 1\ny: [0,1]={log_two} else 0"),
    );
    refuse(program, &["--data x=x.tns", "--set c=-1"], &files, &["`y` is NaN at y[0, 0]"]);
    let shifted = program.replace("log(x[d, v] + c)", "x[d, v] - 2");
    let shifted = shifted.replace("const c = 1\n", "");
    check(&shifted, &["--data x=x.tns"], &files, "doc: 0 1\nword: 0 1\nx: [0,1]=1 else 0\ny: -2 -1 -2 -2");
}

#[test]
fn data_are_centred_and_scaled() {
    let program = "axis row[n]\naxis column[j]\ndata y[n, j] : real, absent = ABSENT, center over n, scale over n\n\
         m[j] ~ Normal(0, sd = 1)\ny[n, j] ~ Normal(m[j], sd = 1)\n";
    let options = ["--data y=y.csv"];
    let files = [("y.csv", "1,5,0\n3,5,0\n,5,3\n")];
    let na = program.replace("ABSENT", "NA");
    let (binding, text) = run(&na, &options, &files).expect("these data bind");
    assert!(text.contains("y: -1 0 -0.70710678118654") && text.contains(" 1 0 -0.70710678118654"), "{text}");
    assert!(text.contains(" NA 0 1.41421356237309"), "{text}");
    let scale = binding.standardised[0].scale.as_ref().map(|(_, scale)| scale.clone());
    assert_eq!(scale, Some(vec![1.0, 1.0, 2f64.sqrt()]));
    // The zeros of a sparse file are observed.
    let zero = program.replace("ABSENT", "0");
    let (_, text) = run(&zero, &["--data y=y.tns", "--set row=2", "--set column=2"], &[("y.tns", "1 2 4\n")])
        .expect("these data bind");
    assert!(text.contains("y: 0 1 0 -1"), "{text}");
    let scaled = zero.replace(" center over n,", "");
    let (_, text) =
        run(&scaled, &["--data y=y.tns", "--set row=2", "--set column=2"], &[("y.tns", "1 2 4\n")])
            .expect("these data bind");
    assert!(text.contains("y: [0,1]=2 else 0"), "{text}");
}

const CONSTANTS: &str = "axis item[n]\ndata x[n] : real\nconst a\nconst b = a / c\nconst c = 2\nconst s[n] = b + 1\n\
     m ~ Normal(0, sd = b)\nx[n] ~ Normal(m, sd = s[n])\n";

#[test]
fn constants_are_set_filled_and_computed() {
    let files = [("x.csv", "1\n2\n"), ("s.csv", "3\n4\n")];
    let x = "--data x=x.csv";
    check(CONSTANTS, &[x, "--set a=4"], &files, "item: 0 1\nx: 1 2\na: 4\nb: 2\nc: 2\ns: 3 3");
    check(
        CONSTANTS,
        &[x, "--set a=4", "--set s=s.csv"],
        &files,
        "item: 0 1\nx: 1 2\na: 4\nb: 2\nc: 2\ns: 3 4",
    );
    check(CONSTANTS, &[x, "--set a=4", "--set s=1"], &files, "item: 0 1\nx: 1 2\na: 4\nb: 2\nc: 2\ns: 1 1");
    refuse(CONSTANTS, &[x], &files, &["the constant `a` has no value", "--set a=VALUE"]);
    refuse(CONSTANTS, &[x, "--set a=-4"], &files, &["the sd of `Normal` is -2"]);
    let negative = [files[0], ("s.csv", "3\n-4\n")];
    let options = [x, "--set a=4", "--set s=s.csv"];
    refuse(CONSTANTS, &options, &negative, &["statement `x ~ Normal(...)`: the sd (`s`) is -4"]);
    refuse(CONSTANTS, &[x, "--set a=4", "--set c=0"], &files, &["`a / c` is infinite"]);
    refuse(
        CONSTANTS,
        &[x, "--set a=4", "--set s=l.csv"],
        &[files[0], ("l.csv", "1\n")],
        &["2 by x.csv", "1 by l.csv"],
    );
}

#[test]
fn missing_entries_on_the_right_need_a_statement() {
    let program = "axis item[n]\ndata c[n] : real, absent = NA\ndata x[n] : real\nm ~ Normal(0, sd = 1)\n\
         OWN x[n] ~ Normal(m * c[n], sd = 1)\n";
    let files = [("x.csv", "1\n2\n"), ("c.csv", "1\nNA\n")];
    let options = ["--data x=x.csv", "--data c=c.csv"];
    refuse(
        &program.replace("OWN ", ""),
        &options,
        &files,
        &["`c` has missing entries (the first is c[1], of c.csv) and stands on a right-hand side"],
    );
    let own = program.replace("OWN", "c[n] ~ Normal(0, sd = 1)\n");
    let (binding, _) = run(&own, &options, &files).expect("these data bind");
    assert_eq!(binding.partly_latent.len(), 1);
    assert_eq!(binding.notes, ["1 of the 2 entries of `c` are missing"]);
}

#[test]
fn empty_axes_are_allowed() {
    let options = ["--data x=x.mtx"];
    let mtx = "%%MatrixMarket matrix coordinate integer general\n0 3 0\n";
    check(MATRIX, &options, &[("x.mtx", mtx)], "doc: \nword: 0 1 2\nx:  else 0");
}

/// A process under a covariance of two or more points.
fn process(covariance: &str) -> String {
    format!(
        "axis time[i, l]\ndata y[i] : real\nconst S[i, l]\nconst t[i]\nf[:i] ~ GaussianProcess({covariance})\n\
         y[i] ~ Normal(f[i] + 0 * (S[i, i] + t[i]), sd = 1)\nposterior {{\n  point f\n}}\n"
    )
}

#[test]
fn a_covariance_is_a_symmetric_positive_semidefinite_matrix() {
    let files = |s: &'static str| [("y.csv", "1\n2\n"), ("s.csv", s), ("t.csv", "0\n0\n")];
    let options = ["--data y=y.csv", "--set S=s.csv", "--set t=t.csv"];
    let refused = |s: &'static str, message: &str| {
        refuse(&process("cov = S"), &options, &files(s), &[message]);
    };
    refused(
        "1,0.5\n0.4,1\n",
        "the covariance of `f` is not symmetric: 0.4 in row 2, column 1, and 0.5 in row 1, column 2",
    );
    refused("1,2\n2,1\n", "the covariance of `f` is not positive semi-definite (at row 2)");
    refused("-1,0\n0,1\n", "the covariance of `f` is not positive semi-definite (at row 1)");
    let (binding, _) = run(&process("cov = S"), &options, &files("2,1\n1,2\n")).expect("a covariance");
    assert!(binding.jitters.is_empty() && binding.notes.is_empty());
}

/// Two points at one place: the smallest jitter that works is added and said.
#[test]
fn a_singular_covariance_takes_a_jitter_that_is_reported() {
    let files = [("y.csv", "1\n2\n"), ("s.csv", "1,0\n0,1\n"), ("t.csv", "3\n3\n")];
    let options = ["--data y=y.csv", "--set S=s.csv", "--set t=t.csv"];
    let (binding, _) =
        run(&process("matern32(length = 2, sd = 3), at = t"), &options, &files).expect("it binds");
    let [(name, jitter)] = binding.jitters.as_slice() else { panic!("one jitter") };
    assert!(name == "f" && *jitter > 0.0 && *jitter < 9e-13, "{jitter}");
    assert!(
        binding.notes[0].starts_with("the covariance of `f` has no Cholesky factor"),
        "{:?}",
        binding.notes
    );
    let with = "matern32(length = 2, sd = 3) + white(sd = 1e-3), at = t";
    let (binding, _) = run(&process(with), &options, &files).expect("it binds");
    assert!(binding.jitters.is_empty());
}

#[test]
fn a_covariance_over_too_many_points_is_refused() {
    let program = "axis time[i]\naxis item[n]\ndata x[n] : real\nf[:i] ~ GaussianProcess(exponential(length = 2))\n\
         x[n] ~ Normal(sum[i](f[i]), sd = 1)\nposterior {\n  point f\n}\n";
    refuse(
        program,
        &["--data x=x.csv", "--set time=20000"],
        &[("x.csv", "1\n2\n")],
        &["the covariance of `f` over 20000 points would have 4.0e8 numbers, 3.2 GB", "fit fewer points"],
    );
}

/// More successes than trials have no probability, whether that of a success is known or not.
#[test]
fn successes_are_at_most_their_trials() {
    let files = [("y.csv", "1,2\n3,7\n"), ("n.csv", "4\n5\n")];
    let program = |total: &str, p: &str| {
        format!(
            "axis row[i]\naxis column[j]\ndata y[i, j] : count, absent = NA\ndata n[i] : count\nconst extra = 1\n\
             p[j] ~ Beta(1, 1)\nw[j] ~ Normal(0, sd = 1)\nu[j] ~ Normal(w[j], sd = 1)\ny[i, j] ~ Binomial(total = {total}, {p})\n"
        )
    };
    let options = ["--data y=y.csv", "--data n=n.csv"];
    for p in ["p = p[j]", "logit = w[j]"] {
        refuse(
            &program("n[i] + extra", p),
            &options,
            &files,
            &["`y` is 7 (y[1, 1], of y.csv), more than its total 6", "as many successes as trials"],
        );
        assert!(run(&program("n[i] + 2 * extra", p), &options, &files).is_ok());
    }
    let long = [("y.csv", "row,column,y\na,u,2\nb,v,7\n"), ("n.csv", "row,n\na,2\nb,5\n")];
    refuse(
        &program("n[i]", "p = 0 * extra"),
        &options,
        &files,
        &["`y` is 1 (y[0, 0], of y.csv), and its probability there is 0"],
    );
    refuse(
        &program("n[i]", "p = p[j]"),
        &options,
        &long,
        &["`y` is 7 (y[b, v], of y.csv), more than its total 5"],
    );
}

/// A statement with an expression of data in it; `w` weighs the rows.
fn with_expression(expression: &str) -> String {
    format!(
        "axis n[n]\naxis k[k] = 2\ndata x[n] : real\ndata y[n] : real, absent = NA\ndata w[n] : multiplicity\n\
         const c[k] = 0.5\nb ~ Normal(0, sd = 1)\ny[n] ~ Normal({expression}, sd = 1)\nposterior {{\n  point b\n}}\n"
    )
}

const OF_EXPRESSION: [&str; 3] = ["--data x=x.csv", "--data y=y.csv", "--data w=w.csv"];

#[test]
fn expressions_without_a_value_are_refused_with_their_entry() {
    for (expression, bad, quoted, possible) in [
        (
            "b * log(x[n])",
            "0",
            "`log(x[n])` is -inf: x[1], of x.csv, is 0",
            "`log` of numbers greater than 0",
        ),
        ("b * sqrt(x[n])", "-2", "`sqrt(x[n])` is NaN: x[1], of x.csv, is -2", "numbers of 0 or more"),
        ("b / x[n]", "0", "`1 / x[n]` is inf: x[1], of x.csv, is 0", "a divisor other than 0"),
        ("b * x[n] / x[n]", "0", "`1 / x[n]` is inf", "a divisor other than 0"),
        ("b * x[n]^-2", "0", "x[1], of x.csv, is 0", "a divisor other than 0"),
        ("b * x[n]^0.5", "-2", "`x[n]^0.5` is NaN: x[1], of x.csv, is -2", "powers that are whole numbers"),
        ("x[n]^b", "-2", "`x[n]` is -2, and a latent is its exponent: x[1], of x.csv, is -2", "0 or more"),
        ("b * inv_Phi(x[n])", "1", "`inv_Phi(x[n])` is inf", "between 0 and 1"),
        ("b * log_gamma(x[n])", "-0.5", "`log_gamma(x[n])`", "greater than 0"),
        ("b * std_normal_log_qf(x[n] - 1)", "1", "`std_normal_log_qf(x[n] - 1)`", "less than 0"),
        ("b * log(x[n] / (1 - x[n]))", "1", "`1 / (1 - x[n])` is inf", "a divisor other than 0"),
        ("b * exp(x[n])", "1000", "`exp(x[n])` is inf: x[1], of x.csv, is 1000", "double precision holds"),
        ("exp(b * log(x[n]))", "0", "`log(x[n])` is -inf", "greater than 0"),
        ("b + log(x[n])", "0", "`log(x[n])` is -inf", "greater than 0"),
        ("log(x[n])", "0", "`log(x[n])` is -inf: x[1], of x.csv, is 0", "greater than 0"),
        ("b * sum[k](c[k] * log(x[n] - c[k] + 0.5))", "0", "x[1], of x.csv, is 0 and c[0] is 0.5", "greater"),
    ] {
        let program = with_expression(expression);
        let x = format!("0.5\n{bad}\n0.25\n");
        let files = |y: &'static str, w: &'static str| {
            [("x.csv", x.clone()), ("y.csv", y.to_owned()), ("w.csv", w.to_owned())]
        };
        let run_with = |y, w| {
            let files = files(y, w);
            let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
            run(&program, &OF_EXPRESSION, &files).map(|_| ())
        };
        let problems = run_with("1\n2\n3\n", "1\n1\n1\n").expect_err(expression);
        assert!(problems.contains("in the statement `y ~ Normal(...)`: "), "{problems}");
        assert!(problems.contains(quoted) && problems.contains(possible), "{expression}:\n{problems}");
        // What no statement reads needs no value.
        assert_eq!(run_with("1\n\n3\n", "1\n1\n1\n"), Ok(()), "{expression}: missing");
        assert_eq!(run_with("1\n2\n3\n", "1\n0\n1\n"), Ok(()), "{expression}: no weight");
    }
}

#[test]
fn expressions_with_a_value_are_not_refused() {
    let files = [("x.csv", "0\n0.5\n1\n"), ("y.csv", "1\n2\n3\n"), ("w.csv", "1\n1\n1\n")];
    for expression in [
        // 0 ln 0 is 0.
        "b * x[n] * log(x[n])",
        "exp(-1 / x[n]) * b",
        "b * Phi(log(x[n]))",
        "b * sqrt(x[n])",
        "b * x[n]^2",
        "x[n]^b",
        "exp(x[n] * b * log(x[n]))",
    ] {
        let found = run(&with_expression(expression), &OF_EXPRESSION, &files);
        assert!(found.is_ok(), "{expression}: {}", found.err().unwrap_or_default());
    }
    // Pairs that do not exist, and letters that disagree.
    let pairs = "axis n[i, j]\ndata x[i, j] : real, absent = 0, i < j\ndata p[i] : real\nb ~ Normal(0, sd = 1)\n\
                 x[i, j] ~ Normal(b * sqrt(p[j] - p[i]) + b * [i == j] * log(p[i]), sd = 1)\n";
    let files = [("x.csv", "0,1,2\n0,0,3\n0,0,0\n"), ("p.csv", "0\n1\n2\n")];
    let found = run(pairs, &["--data x=x.csv", "--data p=p.csv"], &files);
    assert!(found.is_ok(), "{}", found.err().unwrap_or_default());
    refuse(
        &pairs.replace("p[j] - p[i]", "p[i] - p[j]"),
        &["--data x=x.csv", "--data p=p.csv"],
        &files,
        &["`sqrt(p[i] - p[j])` is NaN: p[0], of p.csv, is 0 and p[1], of p.csv, is 1"],
    );
}

/// Rows of Normal vectors whose precision or covariance is `matrix`, of the data `K`, times latents.
fn rows(matrix: &str) -> String {
    format!(
        "axis row[n]\naxis column[i, j]\naxis class[c] = 2\ndata x[n, i] : real\ndata K[i, j] : real\n\
         tau ~ Gamma(1, rate = 1)\nlam[c] ~ Gamma(1, rate = 1)\npi[:c] ~ Dirichlet(1)\nz[n] ~ Categorical(pi)\n\
         x[n, :i] ~ MultivariateNormal(0, {matrix})\n"
    )
}

/// The quadratic form reads both triangles of a matrix and the log-determinant one, so that a matrix that is not symmetric would
/// have a density that is none.
#[test]
fn a_matrix_beside_latents_is_symmetric_and_positive_definite() {
    let files = |k: &'static str| [("x.csv", "1,2\n3,5\n"), ("k.csv", k)];
    let options = ["--data x=x.csv", "--data K=k.csv"];
    let refused = |matrix: &str, k: &'static str, message: &str| {
        refuse(&rows(matrix), &options, &files(k), &[message]);
    };
    let (unsymmetric, singular, indefinite) = ("2,1\n0,2\n", "1,1\n1,1\n", "1,2\n2,1\n");
    for (matrix, name) in [
        ("prec = K[i, j]", "the prec (`K`)"),
        ("prec = tau * K[i, j]", "the prec without its latents (`K`)"),
        ("prec = K[i, j] * tau", "the prec without its latents (`K`)"),
        ("prec = lam[z[n]] * K[i, j]", "the prec without its latents (`K`)"),
        ("cov = K[i, j]", "the cov (`K`)"),
        ("cov = K[i, j] / tau", "the cov without its latents (`K`)"),
        ("prec = inverse(K[i, j])", "the matrix whose inverse is the prec (`K`)"),
        ("prec = tau * inverse(K[i, j])", "the matrix whose inverse is the prec without its latents (`K`)"),
        ("cov = inverse(K[i, j]) / tau", "the matrix whose inverse is the cov without its latents (`K`)"),
        ("prec = tau * (K[i, j] + 0)", "the prec without its latents (`K[i, j] + 0`)"),
    ] {
        let is = "is not symmetric: 0 in row 2, column 1, and 1 in row 1, column 2";
        refused(matrix, unsymmetric, &format!("{name} {is}"));
        for of in [singular, indefinite] {
            refused(matrix, of, &format!("{name} is not positive definite (at row 2)"));
        }
        run(&rows(matrix), &options, &files("2,1\n1,2\n")).expect("a precision and a covariance");
    }
    // A negative factor that is known makes a negative definite matrix a precision.
    run(&rows("prec = -tau * K[i, j]"), &options, &files("-2,1\n1,-2\n")).expect("a precision");
}

#[test]
fn what_is_inverted_or_has_a_determinant_is_symmetric_and_positive_definite() {
    let program = |mean: &str| {
        format!(
            "axis row[n]\naxis column[i, j]\ndata x[n, i] : real\ndata K[i, j] : real\nm[i] ~ Normal(0, sd = 1)\n\
             x[n, i] ~ Normal({mean}, sd = 1)\n"
        )
    };
    let files = |k: &'static str| [("x.csv", "1,2\n3,5\n"), ("k.csv", k)];
    let options = ["--data x=x.csv", "--data K=k.csv"];
    for (mean, name) in [
        ("sum[j](inverse(K[i, j]) * m[j])", "in `inverse(K)`: the matrix `K[i, j]`"),
        ("m[i] + logdet(K)", "in `logdet(K)`: the matrix `K[i, j]`"),
    ] {
        let of = |k: &'static str, what: &str| {
            refuse(&program(mean), &options, &files(k), &[&format!("{name} {what}")]);
        };
        of("2,1\n0,2\n", "is not symmetric: 0 in row 2, column 1, and 1 in row 1, column 2");
        of("1,2\n2,1\n", "is not positive definite (at row 2)");
        run(&program(mean), &options, &files("2,1\n1,2\n")).expect("a matrix with an inverse");
    }
}

#[test]
fn shares_of_data_in_a_sum_are_judged_by_value() {
    let program = "axis d[d]\naxis v[v]\naxis k[k]\ndata n[d, v] : count\ndata b[k, v] : unit\n\
                   th[d, :k] ~ Dirichlet(1)\nn[d, :v] ~ Multinomial(sum[k](th[d, k] * b[k, v]))\n";
    let options = ["--data n=n.csv", "--data b=b.csv"];
    let counts = ("n.csv", "1,2,0\n0,1,4\n");
    assert!(run(program, &options, &[counts, ("b.csv", "0.25,0.25,0.5\n0,0,1\n")]).is_ok());
    let found = ["`sum[v](b[k,v])` is 1.25 at k 1", "1, so that the probabilities sum to 1"];
    refuse(program, &options, &[counts, ("b.csv", "0.25,0.25,0.5\n0,0.25,1\n")], &found);
    // The weights are data, and the rows are not.
    let program = "axis d[d]\naxis v[v]\naxis k[k]\ndata n[d, v] : count\ndata w[d, k] : nonnegative\n\
                   b[k, :v] ~ Dirichlet(1)\nn[d, :v] ~ Multinomial(sum[k](w[d, k] * b[k, v]))\n";
    let options = ["--data n=n.csv", "--data w=w.csv"];
    assert!(run(program, &options, &[counts, ("w.csv", "0.5,0.5\n1,0\n")]).is_ok());
    refuse(program, &options, &[counts, ("w.csv", "0.5,0.5\n1,1\n")], &["is 2 at d 1"]);
}

#[test]
fn a_number_that_is_no_position_is_no_label_beside_positions() {
    let program = "axis g[g] = 3\ndata of : index g\ndata y : real\nmu[g] ~ Normal(0, sd = 1)\ny ~ Normal(mu[of], sd = 1)\n";
    let options = ["--data of=of.csv", "--data y=y.csv"];
    assert!(run(program, &options, &[("of.csv", "2\n"), ("y.csv", "1\n")]).is_ok());
    let found = ["of.csv", "`of` is 7, and axis `g` has 3 positions", "a position from 0 to 2"];
    refuse(program, &options, &[("of.csv", "7\n"), ("y.csv", "1\n")], &found);
}

#[test]
fn a_size_that_disagrees_is_reported_once() {
    let program =
        "axis i[i, j] = 4\ndata x[i, j] : real\nm ~ Normal(0, sd = 1)\nx[i, j] ~ Normal(m, sd = 1)\n";
    let found =
        run(program, &["--data x=x.csv"], &[("x.csv", "1,2,3\n4,5,6\n7,8,9\n")]).map(|(_, text)| text);
    assert_eq!(found.expect_err("the sizes disagree").matches("has size").count(), 1);
}
