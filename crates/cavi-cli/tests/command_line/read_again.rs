//! Labels, positions and declarations of files, as they are read by every format and read again: numbers that were worked out by hand.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{cavi, run, scratch, text};

fn prepared(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(name);
    files.iter().for_each(|(file, content)| fs::write(directory.join(file), content).unwrap());
    directory
}

/// An array of a posterior.
fn array(directory: &Path, file: &str) -> Vec<f64> {
    cavi_files::read_npy(&directory.join(file)).unwrap().values.to_vec()
}

/// The numbers in a column of a table.
fn column(directory: &Path, file: &str, name: &str) -> Vec<f64> {
    let table = fs::read_to_string(directory.join(file)).unwrap();
    let mut lines = table.lines();
    let place = lines.next().unwrap().split(',').position(|own| own == name).unwrap();
    lines.map(|line| line.split(',').nth(place).unwrap().parse().unwrap()).collect()
}

#[track_caller]
fn close(found: &[f64], right: &[f64]) {
    let is_far = found.iter().zip(right).any(|(one, other)| (one - other).abs() > 1e-4);
    assert!(found.len() == right.len() && !is_far, "{found:?} for {right:?}");
}

/// A command that is refused, with these words.
#[track_caller]
fn refused(directory: &Path, line: &str, words: &[&str]) {
    let output = cavi(directory, &line.split(' ').collect::<Vec<_>>());
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{line}: {message}");
    words.iter().for_each(|own| assert!(message.contains(own), "{own}: {message}"));
}

const TIMES: &str = "axis sample[n]\naxis time[t]\ndata y[n, t] : real, absent = NA\na[n] ~ Normal(0, sd = 1)\n\
    m[t] ~ Normal(0, sd = 10)\ny[n, t] ~ Normal(m[t] + a[n], sd = 1)\n";

/// Times 0.5, 1.0, 2.0 beside `baseline`, and alone in new rows: each is the same time in both. Given the means m of the fit, the effect of a new row of
/// three entries has the precision 1 + 3 and the mean `sum(y - m) / 4`.
#[test]
fn a_label_is_the_same_whatever_stands_beside_it() {
    let files = [
        ("own.cavi", TIMES),
        ("y.csv", "sample,baseline,0.5,1.0,2.0\ns1,0,1,2,3\ns2,1,1.5,2.5,3.5\ns3,0.5,1,2,4\n"),
        ("new.csv", "sample,0.5,1.0,2.0\nn1,1,2,3\nn2,2,3,4\n"),
        ("with.csv", "sample,baseline,0.5,1.0,2.0\nn1,,1,2,3\nn2,,2,3,4\n"),
        ("long.csv", "sample,time,y\nn1,0.5,1\nn1,1,2\nn1,2.00,3\nn2,0.5,2\nn2,1.0,3\nn2,2,4\n"),
    ];
    let directory = prepared("read_again_labels", &files);
    run(&directory, "fit own.cavi --data y=y.csv --out o --quiet --tol 1e-12");
    let m = array(&directory, "o/posterior/m.mean.npy");
    let right = [[1.0, 2.0, 3.0], [2.0, 3.0, 4.0]]
        .map(|row| row.iter().zip(&m[1..]).map(|(own, mean)| own - mean).sum::<f64>() / 4.0);
    run(&directory, "pack own.cavi --data y=new.csv --out new.cavi-data --quiet");
    for file in ["new.csv", "with.csv", "long.csv", "new.cavi-data"] {
        let (_, said) =
            run(&directory, &format!("project o --data y={file} --axis sample --out p --force --tol 1e-12"));
        assert!(!said.contains("left out"), "{file}: {said}");
        close(&column(&directory, "p/a.csv", "mean"), &right);
    }
}

/// A fit finds its own labels again, those of groups that stand in one column of its file among them.
#[test]
fn a_fit_is_asked_with_the_labels_that_it_wrote() {
    let program = "axis view[m]\naxis feat[j] in view[m]\ndata x[m, j] : real\nb[m, j] ~ Normal(0, sd = 10)\n\
        x[m, j] ~ Normal(b[m, j], sd = 1)\n";
    let files = [
        ("own.cavi", program),
        ("x.csv", "view,feat,x\nA,1.0,5\nA,2.0,6\nB,age,7\n"),
        ("times.cavi", TIMES),
        ("y.csv", "sample,1.0,2.0,end\ns1,1,2,3\ns2,2,3,5\n"),
        ("labels.txt", "1.0\n2.0\nend\n"),
    ];
    let directory = prepared("read_again_asked", &files);
    run(&directory, "fit own.cavi --data x=x.csv --out o --quiet");
    run(&directory, "impute o --all --out all.csv --quiet");
    // The posterior of a mean of one entry, 100 / 101 of it.
    close(&column(&directory, "all.csv", "mean"), &[500.0 / 101.0, 600.0 / 101.0, 700.0 / 101.0]);
    run(&directory, "fit times.cavi --data y=y.csv --labels time=labels.txt --out t --quiet");
    run(&directory, "impute t --all --out t.csv --quiet");
    assert_eq!(fs::read_to_string(directory.join("t/axes/time.txt")).unwrap(), "1\n2\nend\n");
    run(&directory, "impute t --all --for time=2.0 --out two.csv --quiet");
    assert_eq!(column(&directory, "two.csv", "time"), [2.0, 2.0]);
    run(&directory, "fit times.cavi --data y=y.csv --init t --sweeps 1 --out i --quiet");
}

const WORDS: &str = "axis doc[d]\naxis pos[i]\naxis word[v]\nconst alpha[v] : positive\n\
    data w[d, i] : index word, absent = NA\np[:v] ~ Dirichlet(alpha[v])\nw[d, i] ~ Categorical(p)\n";

/// Four words, c three times and a once, where `alpha = (10, 1, 0.1)` of a, b, c: the posterior is `Dirichlet(11, 1, 3.1)`. Packed words once stood for
/// other positions, since their labels were lost, and gave `(13, 2, 0.1)`.
#[test]
fn packed_index_data_keep_their_labels() {
    let files = [
        ("own.cavi", WORDS),
        ("w.csv", "doc,pos,w\n1,1,c\n1,2,c\n2,1,c\n3,1,a\n"),
        ("alpha.csv", "word,alpha\na,10\nb,1\nc,0.1\n"),
        ("flat.cavi", &WORDS.replace("const alpha[v] : positive\n", "").replace("alpha[v]", "1")),
        ("more.csv", "doc,pos,w\n9,1,a\n9,2,c\n8,1,c\n8,2,c\n7,1,c\n"),
    ];
    let directory = prepared("read_again_index", &files);
    run(&directory, "pack own.cavi --data w=w.csv --out w.cavi-data --quiet");
    for data in ["w.csv", "w.cavi-data"] {
        run(
            &directory,
            &format!("fit own.cavi --data w={data} --set alpha=alpha.csv --out o --force --quiet"),
        );
        close(&array(&directory, "o/posterior/p.concentration.npy"), &[11.0, 1.0, 3.1]);
        let words = fs::read_to_string(directory.join("o/axes/word.txt")).unwrap();
        assert_eq!(words, "a\nb\nc\n");
    }
    // With a flat prior c has 4 of 6 parts, a 2: the log probability of four c and one a is 4 ln 2/3 + ln 1/3.
    run(&directory, "fit flat.cavi --data w=w.csv --out f --quiet");
    run(&directory, "pack flat.cavi --data w=more.csv --out more.cavi-data --quiet");
    let mut scores = ["more.csv", "more.cavi-data"]
        .map(|file| run(&directory, &format!("score f --data w={file} --json")).0);
    let per_entry = |score: &String| -> String {
        let numbers = score.lines().filter(|line| line.contains("log_"));
        numbers.collect::<Vec<_>>().join("\n")
    };
    scores = scores.map(|own| per_entry(&own));
    assert!(!scores[0].is_empty());
    assert_eq!(scores[0], scores[1]);
}

/// Three counts 3, 0, 5 and two zeros more, listed: with `absent = NA` five were observed, `Gamma(1 + 8, rate = 1 + 5)`; with `absent = 0` all six. What one
/// declaration leaves out of a packed file is not what another takes for left out.
#[test]
fn packed_data_are_read_under_the_declaration_that_they_were_packed_for() {
    let program = |absent: &str| {
        format!(
            "axis user[u]\naxis item[i]\ndata y[u, i] : count, absent = {absent}\nm ~ Gamma(1, rate = 1)\ny[u, i] ~ Poisson(m)\n"
        )
    };
    let pairs = |restriction: &str| {
        format!(
            "axis node[i, j]\ndata y[i, j] : count, absent = 0, {restriction}\nm ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(m)\n"
        )
    };
    let (zero, missing, both) = (program("0"), program("NA"), program("0, NA"));
    let (below, different) = (pairs("i < j"), pairs("i != j"));
    let files = [
        ("zero.cavi", zero.as_str()),
        ("missing.cavi", &missing),
        ("both.cavi", &both),
        ("below.cavi", &below),
        ("different.cavi", &different),
        ("y.csv", "user,item,y\na,p,3\na,q,0\nb,p,0\nb,q,0\nc,q,5\n"),
        ("s.mtx", "%%MatrixMarket matrix coordinate integer symmetric\n3 3 2\n2 1 3\n3 1 4\n"),
    ];
    let directory = prepared("read_again_declared", &files);
    for (own, shape_and_rate) in [("zero", [9.0, 7.0]), ("missing", [9.0, 6.0]), ("both", [9.0, 7.0])] {
        run(&directory, &format!("pack {own}.cavi --data y=y.csv --out {own}.cavi-data --quiet"));
        run(&directory, &format!("fit {own}.cavi --data y={own}.cavi-data --out o --force --quiet"));
        close(&array(&directory, "o/posterior/m.shape.npy"), &shape_and_rate[..1]);
        close(&array(&directory, "o/posterior/m.rate.npy"), &shape_and_rate[1..]);
    }
    refused(
        &directory,
        "fit missing.cavi --data y=zero.cavi-data --out o --force",
        &["`y` packed where an entry that is not listed is 0", "`absent = NA`", "pack them anew"],
    );
    refused(
        &directory,
        "fit both.cavi --data y=missing.cavi-data --out o --force",
        &["`y` packed where an entry that is not listed is missing", "`absent = 0`"],
    );
    // Nothing is missing that the other program does not allow.
    run(&directory, "fit zero.cavi --data y=both.cavi-data --out o --force --quiet");
    // Pairs 3 and 4 and a 0: 1 + 7 of three pairs, and 1 + 14 of six ordered ones.
    run(&directory, "pack below.cavi --data y=s.mtx --out below.cavi-data --quiet");
    run(&directory, "fit below.cavi --data y=below.cavi-data --out o --force --quiet");
    close(&array(&directory, "o/posterior/m.shape.npy"), &[8.0]);
    refused(
        &directory,
        "fit different.cavi --data y=below.cavi-data --out o --force",
        &["`y` packed of the entries with i < j alone", "i != j"],
    );
    run(&directory, "fit different.cavi --data y=s.mtx --out o --force --quiet");
    close(&array(&directory, "o/posterior/m.shape.npy"), &[15.0]);
}

/// New rows u1, u2, n1 by the items i1 and i2 of a fit of three users by three items: the same rows in every format.
#[test]
fn new_rows_of_listed_files_are_told_by_their_labels() {
    let program = "axis user[u]\naxis item[i]\ndata y[u, i] : count, absent = 0\na[u] ~ Gamma(1, rate = 1)\n\
        b[i] ~ Gamma(1, rate = 1)\ny[u, i] ~ Poisson(a[u] * b[i])\n";
    let files = [
        ("own.cavi", program),
        ("y.csv", "user,item,y\nu1,i1,3\nu1,i2,1\nu2,i2,4\nu2,i3,2\nu3,i1,1\nu3,i3,5\n"),
        ("new.csv", "user,item,y\nu1,i1,3\nu1,i2,1\nu2,i2,4\nn1,i1,7\nn1,i2,2\n"),
    ];
    let directory = prepared("read_again_rows", &files);
    run(&directory, "fit own.cavi --data y=y.csv --out o --quiet --tol 1e-12");
    run(&directory, "pack own.cavi --data y=new.csv --out new.cavi-data --quiet");
    // A row has shape 1 + its counts, 5, 5 and 10, and rate 1 + the sum of the means of b.
    let b = array(&directory, "o/posterior/b.shape.npy");
    let rate = array(&directory, "o/posterior/b.rate.npy");
    let sum: f64 = b.iter().zip(&rate).map(|(shape, rate)| shape / rate).sum();
    for file in ["new.csv", "new.cavi-data"] {
        run(&directory, &format!("project o --data y={file} --out p --force --quiet --tol 1e-12"));
        close(&column(&directory, "p/a.csv", "mean"), &[5.0, 5.0, 10.0].map(|own| own / (1.0 + sum)));
    }
}

/// Answers of a fit are taken away with it; what others put there stays.
#[test]
fn answers_of_an_earlier_fit_go_with_it() {
    let files = [("own.cavi", TIMES), ("y.csv", "sample,a,b\ns1,1,2\ns2,2,NA\n")];
    let directory = prepared("read_again_answers", &files);
    run(&directory, "fit own.cavi --data y=y.csv --out o --quiet");
    run(&directory, "impute o --all --quiet");
    run(&directory, "export o --csv --quiet");
    run(&directory, "intervals o --quiet");
    run(&directory, "sample o --draws 5 --quiet");
    fs::write(directory.join("o/imputed/notes.txt"), "mine").unwrap();
    for answer in ["imputed/y.csv", "export/m.csv", "intervals/m.csv", "sample/sample.json"] {
        assert!(directory.join("o").join(answer).is_file(), "{answer}");
    }
    run(&directory, "fit own.cavi --data y=y.csv --out o --quiet");
    for gone in ["imputed/y.csv", "export", "intervals", "sample"] {
        assert!(!directory.join("o").join(gone).exists(), "{gone}");
    }
    assert_eq!(fs::read_to_string(directory.join("o/imputed/notes.txt")).unwrap(), "mine");
}

/// Counts of documents whose sum is beyond 64 bits were added up to 1, and then asked for more memory than there is.
#[test]
fn counts_of_documents_beyond_any_memory_are_refused() {
    let program = "axis doc[d]\naxis token[t] in doc[d]\naxis word[v]\ndata w[d, t] : index word\np[:v] ~ Dirichlet(1)\n\
        w[d, t] ~ Categorical(p)\n";
    let files = [("own.cavi", program), ("w.ldac", "2 0:18446744073709551615 1:2\n")];
    let directory = prepared("read_again_counts", &files);
    refused(&directory, "fit own.cavi --data w=w.ldac --out o", &["w.ldac"]);
}

/// New texts of a fit of packed counts are read as the texts were that were packed: `cats`, `cat` and `running`, `runs` by their stems.
#[test]
fn packed_counts_of_words_keep_how_texts_are_read() {
    let program = "axis doc[d]\naxis word[v]\ndata n[d, v] : count, absent = 0\nr[v] ~ Gamma(1, rate = 1)\n\
        a[d] ~ Gamma(1, rate = 1)\nn[d, v] ~ Poisson(a[d] * r[v])\n";
    let files = [
        ("own.cavi", program),
        ("n.csv", "id,body\n1,The cats were running\n2,a cat runs\n3,cats and dogs\n4,one dog\n"),
        ("new.csv", "id,body\n8,cats running fast\n9,dogs\n"),
    ];
    let directory = prepared("read_again_texts", &files);
    run(&directory, "pack own.cavi --data n=n.csv:body --stem english --out n.cavi-data --quiet");
    for (data, out) in [("n.csv:body --stem english", "one"), ("n.cavi-data", "two")] {
        run(&directory, &format!("fit own.cavi --data n={data} --out {out} --quiet"));
        let words = fs::read_to_string(directory.join(out).join("axes/word.txt")).unwrap();
        assert_eq!(words, "cat\ndog\nrun\n");
        run(&directory, &format!("project {out} --data n=new.csv:body --axis doc --out p-{out} --quiet"));
    }
    let [one, two] = ["one", "two"].map(|out| column(&directory, &format!("p-{out}/a.csv"), "mean"));
    close(&one, &two);
    // Document 8 has two words of the fit, document 9 one: shapes 3 and 2 at the same rate.
    assert!((one[0] / one[1] - 1.5).abs() < 1e-6, "{one:?}");
    let (_, said) = run(&directory, "fit own.cavi --data n=n.cavi-data --out three");
    assert!(!said.contains("stop words"), "{said}");
    let output =
        cavi(&directory, &["fit", "own.cavi", "--data", "n=n.cavi-data", "--stem", "english", "--out", "f"]);
    assert!(text(&output.stderr).contains("`--stem` says how texts are read, and no text is read"));
}

/// Counts of two repetitions of each dose in two files: the shape of dose 0.00001 is 1 + 110 + 110, of dose 1 it is 1 + 7 + 7, and the rates are 1 + 4.
#[test]
fn numbers_and_truth_values_have_one_spelling_in_all_files() {
    let program = "axis dose[d]\naxis rep[r]\ndata n[d, r] : count, absent = 0\ndata c[d, r] : count, absent = 0\n\
        a[d] ~ Gamma(1, rate = 1)\nn[d, r] ~ Poisson(a[d])\nc[d, r] ~ Poisson(a[d])\n";
    for (number, words) in [
        ("decimals", ["1e-05", "0.00001", "1e-5", "1.0", "1"]),
        ("truths", ["True", "TRUE", "True", "FALSE", "False"]),
    ] {
        let [small, other, first, large, second] = words;
        let long = format!("dose,rep,n\n{small},a,50\n{small},b,60\n{large},a,3\n{large},b,4\n")
            .replace("FALSE", "False");
        let wide = format!("dose,a,b\n{other},50,60\n{large},3,4\n");
        let files = [("own.cavi", program), ("n.csv", long.as_str()), ("c.csv", wide.as_str())];
        let directory = prepared(&format!("read_again_{number}"), &files);
        run(&directory, "fit own.cavi --data n=n.csv --data c=c.csv --out o --quiet");
        let labels = fs::read_to_string(directory.join("o/axes/dose.txt")).unwrap();
        let shapes = array(&directory, "o/posterior/a.shape.npy");
        let mut found: Vec<(&str, f64)> = labels.lines().zip(shapes).collect();
        found.sort_by(|one, other| other.1.total_cmp(&one.1));
        assert_eq!(found, [(first, 221.0), (second, 15.0)]);
        close(&array(&directory, "o/posterior/a.rate.npy"), &[5.0, 5.0]);
    }
}

/// Versions 2 and 2.0 are two in one file, so that `2.0` of the other is no 2: shapes 1 + 3 + 1, 1 + 190 and 1 + 3 + 40. The effect of a new row that has
/// `2.0` alone is `(y - m) / 2` with the mean of that version.
#[test]
fn labels_that_one_file_keeps_apart_are_apart_in_all() {
    let program = "axis app[d]\naxis version[v]\ndata n[d, v] : count, absent = 0\ndata c[v] : count, absent = 0\n\
        a[v] ~ Gamma(1, rate = 1)\nn[d, v] ~ Poisson(a[v])\nc[v] ~ Poisson(a[v])\n";
    let files = [
        ("own.cavi", program),
        ("n.csv", "app,v2,2,2.0\np,1,90,1\nq,2,100,2\n"),
        ("c.csv", "version,c\n2.0,40\nv2,1\n"),
        ("times.cavi", TIMES),
        ("y.csv", "sample,v2,2,2.0\ns1,1,20,5\ns2,2,21,6\ns3,2,22,7\n"),
        ("new.csv", "sample,2.0\nt1,11\n"),
        ("long.csv", "sample,time,y\nt1,2.0,11\n"),
    ];
    let directory = prepared("read_again_apart", &files);
    run(&directory, "fit own.cavi --data n=n.csv --data c=c.csv --out o --quiet");
    assert_eq!(fs::read_to_string(directory.join("o/axes/version.txt")).unwrap(), "v2\n2\n2.0\n");
    close(&array(&directory, "o/posterior/a.shape.npy"), &[5.0, 191.0, 44.0]);
    run(&directory, "fit times.cavi --data y=y.csv --out t --quiet --tol 1e-12");
    let m = array(&directory, "t/posterior/m.mean.npy");
    for file in ["new.csv", "long.csv"] {
        run(
            &directory,
            &format!("project t --data y={file} --axis sample --out p --force --tol 1e-12 --quiet"),
        );
        close(&column(&directory, "p/a.csv", "mean"), &[(11.0 - m[2]) / 2.0]);
    }
}

/// A fit to an array without labels has none to know new ones by: as many are taken in its order. Of n entries a new row has the effect
/// `sum(y - m) / (1 + n)`. Others would leave nothing of the data.
#[test]
fn labels_of_new_rows_are_those_of_the_fit_or_in_its_order() {
    let files = [
        ("own.cavi", TIMES),
        ("y.csv", "0,1,2\n1,1.5,2.5\n0.5,1,2\n"),
        ("new.csv", "sample,a,b,c\nn1,1,2,3\nn2,2,3,5\n"),
        ("some.csv", "sample,0,1,c\nn1,1,2,3\nn2,2,3,5\n"),
        ("few.csv", "sample,a,b\nn1,1,2\nn2,2,3\n"),
        ("long.csv", "sample,time,y\nn1,a,1\nn1,b,2\nn1,c,3\n"),
    ];
    let directory = prepared("read_again_in_order", &files);
    run(&directory, "fit own.cavi --data y=y.csv --out o --quiet --tol 1e-12");
    let m = array(&directory, "o/posterior/m.mean.npy");
    let project = "project o --axis sample --out p --force --tol 1e-12 --data";
    let (_, said) = run(&directory, &format!("{project} y=new.csv"));
    assert!(said.contains("what has none is taken in the same order"), "{said}");
    let all: f64 = m.iter().sum();
    close(&column(&directory, "p/a.csv", "mean"), &[(6.0 - all) / 4.0, (10.0 - all) / 4.0]);
    let (_, said) = run(&directory, &format!("{project} y=some.csv"));
    assert!(said.contains("2 entries have a label that the fit does not know"), "{said}");
    close(&column(&directory, "p/a.csv", "mean"), &[3.0, 5.0].map(|own| (own - m[0] - m[1]) / 3.0));
    for file in ["few.csv", "long.csv"] {
        let words = ["the fit knows none of the", "on axis `time`, such as `a`"];
        refused(&directory, &format!("{project} y={file}"), &words);
        refused(&directory, &format!("score o --data y={file}"), &words);
    }
}

/// Three groups at 1.5, 2.5 and 3.0, or an error: never 5, 5 and 0.
#[test]
fn a_decimal_comma_is_not_cut_in_two() {
    let program = "axis unit[n]\naxis grp[g]\ndata of[n] : index grp\ndata y[n] : real\nmu[g] ~ Normal(0, sd = 1000)\n\
        y[n] ~ Normal(mu[of[n]], sd = 0.1)\n";
    let files = [
        ("own.cavi", program),
        ("named.csv", "unit,grp,y\n1,1,1,5\n2,2,2,5\n3,3,3,0\n"),
        ("labels.csv", "unit,grp,y\na,x,1,5\nb,y,2,5\nc,z,3,0\n"),
        ("pairs.csv", "grp,y\nx,1,5\ny,2,5\nz,3,0\n"),
        // R names the rows in quotation marks; and a number with a point is no whole one and digits.
        ("r.csv", "\"unit\",\"grp\",\"y\"\n\"1\",\"a\",\"x\",5\n\"2\",\"b\",\"y\",5\n\"3\",\"c\",\"z\",0\n"),
        ("points.csv", "unit,grp,y\n1,a,x,1.5\n2,b,y,2.5\n3,c,z,3.0\n"),
        ("empty.csv", ",unit,grp,y\n1,7,1,5\n2,8,2,5\n3,9,3,0\n"),
    ];
    let directory = prepared("read_again_commas", &files);
    let line =
        |file: &str| format!("fit own.cavi --data of={file}:grp --data y={file}:y --out o --quiet --force");
    for (file, fields) in [("named.csv", "4 fields"), ("labels.csv", "4 fields"), ("pairs.csv", "3 fields")] {
        refused(
            &directory,
            &line(file),
            &[fields, "`1,5` may be one number", "write `1.5`", "begin the header with a comma"],
        );
    }
    for (file, right) in
        [("r.csv", [5.0, 5.0, 0.0]), ("points.csv", [1.5, 2.5, 3.0]), ("empty.csv", [5.0, 5.0, 0.0])]
    {
        run(&directory, &line(file));
        close(&array(&directory, "o/posterior/mu.mean.npy"), &right);
    }
    // Counts of R, rows by columns, are no numbers that are cut.
    let counts = [
        (
            "c.cavi",
            "axis gene[i]\naxis cell[j]\ndata x[i, j] : real\nm[i] ~ Normal(0, sd = 1000)\nx[i, j] ~ Normal(m[i], sd = 0.1)\n",
        ),
        ("c.csv", "a,b\ng1,5,7\ng2,1,3\n"),
    ];
    counts.iter().for_each(|(file, content)| fs::write(directory.join(file), content).unwrap());
    run(&directory, "fit c.cavi --data x=c.csv --out o --quiet --force");
    close(&array(&directory, "o/posterior/m.mean.npy"), &[6.0, 2.0]);
}

/// Namibia is missing, however it is quoted, until it has another word; then it is at the mean of 1.5 and 3.0.
#[test]
fn a_label_na_has_to_be_another_word() {
    let program = "axis unit[n]\naxis land[g]\ndata of[n] : index land\ndata y[n] : real\nmu[g] ~ Normal(0, sd = 1000)\n\
        y[n] ~ Normal(mu[of[n]], sd = 0.1)\n";
    let table = "unit,land,y\n1,NA,1.5\n2,US,2.5\n3,NA,3\n4,DE,1\n";
    let (quoted, whole) = (table.replace("NA", "\"NA\""), table.replace("NA", "Namibia"));
    let files = [("own.cavi", program), ("plain.csv", table), ("quoted.csv", &quoted), ("whole.csv", &whole)];
    let directory = prepared("read_again_na", &files);
    let words = ["a missing entry", "write another word for it", "a statement of its own"];
    for file in ["plain.csv", "quoted.csv"] {
        let line = format!("fit own.cavi --data of={file}:land --data y={file}:y --out p --quiet");
        refused(&directory, &line, &words);
    }
    run(&directory, "fit own.cavi --data of=whole.csv:land --data y=whole.csv:y --out o --quiet");
    assert_eq!(fs::read_to_string(directory.join("o/axes/land.txt")).unwrap(), "Namibia\nUS\nDE\n");
    close(&array(&directory, "o/posterior/mu.mean.npy"), &[2.25, 2.5, 1.0]);
}

/// A fit is scored by what its file of held-out entries had, or not at all.
#[test]
fn held_out_files_that_changed_are_told() {
    let program = "axis row[n]\naxis col[j]\ndata y[n, j] : count, absent = NA\nr[j] ~ Gamma(1, rate = 1)\ny[n, j] ~ Poisson(r[j])\n";
    let directory = prepared(
        "held_out_changed",
        &[
            ("m.cavi", program),
            ("y.csv", "row,col,y\na,u,1\na,v,2\nb,u,3\nb,v,4\n"),
            ("held.csv", "row,col,y\na,u,1\nb,v,4\n"),
            ("other.csv", "row,col,y\na,u,1\nb,v,9\n"),
        ],
    );
    run(&directory, "fit m.cavi --data y=y.csv --heldout y=held.csv --quiet --out o");
    run(&directory, "score o");
    fs::copy(directory.join("other.csv"), directory.join("held.csv")).unwrap();
    let words = ["`held.csv`, which was held out of the fit in `o`, has changed since"];
    refused(&directory, "score o", &words);
    fs::remove_file(directory.join("held.csv")).unwrap();
    refused(&directory, "score o", &["`held.csv`, which was held out of the fit in `o`, is not there"]);
}

/// A program without axes has no new rows, which is said.
#[test]
fn without_axes_there_are_no_new_rows() {
    let program = "data y : count\nr ~ Gamma(1, rate = 1)\ny ~ Poisson(r)\n";
    let directory = prepared("no_axes", &[("m.cavi", program), ("y.csv", "y\n3\n")]);
    run(&directory, "fit m.cavi --data y=y.csv --quiet --out o");
    refused(&directory, "project o --data y=y.csv --out p", &["the program has no axis", "cavi score"]);
}

/// Latents of each entry say that they live at missing entries of a dense file; of a table that lists what was observed they do not.
#[test]
fn latents_at_missing_entries_are_told() {
    let program = "axis i[i]\naxis j[j]\naxis s[s] = 2\ndata y[i, j] : count, absent = NA\nconst rate[s]\npsi[:s] ~ Dirichlet(1)\n\
        z[i, j] ~ Categorical(psi)\ny[i, j] ~ Poisson(rate[z[i, j]])\n";
    let directory = prepared(
        "missing_latents",
        &[
            ("m.cavi", program),
            ("rate.csv", "s,rate\na,1\nb,9\n"),
            ("dense.csv", "i,u,v,w\na,1,,9\nb,,8,\n"),
            ("long.csv", "i,j,y\na,u,1\na,w,9\nb,v,8\n"),
        ],
    );
    let told = "`z` has an element at the 3 missing entries of `y` too, which count for `psi`";
    for (file, is_told) in [("dense", true), ("long", false)] {
        let (_, said) =
            run(&directory, &format!("fit m.cavi --data y={file}.csv --set rate=rate.csv --out {file}"));
        assert_eq!(said.contains(told), is_told, "{said}");
        // Of the three that were observed the concentrations are 1 each and three units; of all six, six.
        let total: f64 = array(&directory, &format!("{file}/posterior/psi.concentration.npy")).iter().sum();
        assert!((total - if is_told { 8.0 } else { 5.0 }).abs() < 1e-9, "{file}: {total}");
    }
}
