//! `cavi pack`, and fits of what it wrote.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{MODEL, cavi, scratch, text};

/// Counts in an order that is not that of their rows, one of them in two lines.
fn prepared(name: &str) -> PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let mut lines = Vec::new();
    for j in (0..7).rev() {
        for i in 0..60 {
            if (i * 5 + j * 3) % 4 != 0 {
                lines.push(format!("{} {} {}", i + 1, j + 1, 1 + (i + 2 * j) % 6));
            }
        }
    }
    lines.push("2 1 4".to_owned());
    let header = format!("%%MatrixMarket matrix coordinate integer general\n60 7 {}", lines.len());
    fs::write(directory.join("x.mtx"), format!("{header}\n{}\n", lines.join("\n"))).unwrap();
    directory
}

/// The bytes of the posterior, and the trace but for its seconds.
fn result(directory: &Path, out: &str) -> Vec<(String, Vec<u8>)> {
    let posterior = directory.join(out).join("posterior");
    let mut folders = vec![posterior.clone()];
    let mut files: Vec<PathBuf> = Vec::new();
    // Arrays along a ragged axis have a file for each group.
    while let Some(folder) = folders.pop() {
        let all = fs::read_dir(folder).unwrap().map(|own| own.unwrap().path());
        let (more, own): (Vec<PathBuf>, Vec<PathBuf>) = all.partition(|own| own.is_dir());
        folders.extend(more);
        files.extend(own);
    }
    files.sort();
    let name = |path: &Path| path.strip_prefix(&posterior).unwrap().to_string_lossy().into_owned();
    let mut all: Vec<_> = files.iter().map(|own| (name(own), fs::read(own).unwrap())).collect();
    let trace = fs::read_to_string(directory.join(out).join("trace.csv")).unwrap();
    let seconds = trace.lines().next().unwrap().split(',').position(|own| own == "seconds").unwrap();
    let line = |line: &str| -> String {
        let fields = line.split(',').enumerate().filter(|(place, _)| *place != seconds);
        fields.map(|(_, field)| field).collect::<Vec<_>>().join(",")
    };
    let trace: Vec<String> = trace.lines().map(line).collect();
    all.push(("trace".to_owned(), trace.join("\n").into_bytes()));
    all
}

/// A command that succeeds.
#[track_caller]
fn done(directory: &Path, arguments: &[&str]) -> String {
    let output = cavi(directory, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout) + &text(&output.stderr)
}

/// Views of several features each are packed into one file, in the order of their labels; a fit may have the views in another order.
#[test]
fn packed_data_along_ragged_axes_give_the_same_bytes() {
    let directory = scratch("packed-ragged");
    let program = "axis sample[i]\naxis view[m]\naxis feature[j] in view\naxis factor[k] = 2\naxis batch[b]\n\
        data x[i, m, j] : real, absent = NA\ndata of[m, j] : index batch\nz[i, k] ~ Normal(0, sd = 1)\nw[m, j, k] ~ Normal(0, sd = 1)\n\
        mu[b] ~ Normal(0, sd = 2)\ntau[m] ~ Gamma(2, rate = 1)\nx[i, m, j] ~ Normal(sum[k](z[i, k] * w[m, j, k]) + mu[of[m, j]], prec = tau[m])\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let file = |name: &str, features: &[&str], seed: i32| {
        let mut table = format!("sample,{}\n", features.join(","));
        for row in 0..9_i32 {
            let value = |place: usize| (row * 7 + seed + 3 * place as i32 * (row + 1)) % 11;
            let cell = |place: usize| {
                if value(place) == 3 { String::new() } else { format!("{}", f64::from(value(place)) / 4.0) }
            };
            let cells: Vec<String> = (0..features.len()).map(cell).collect();
            table += &format!("s{row},{}\n", cells.join(","));
        }
        fs::write(directory.join(name), table).unwrap();
    };
    file("rna.csv", &["g1", "g2", "g3", "g4"], 1);
    file("protein.csv", &["p1", "g2", "p3"], 5);
    let of = "view,feature,of\nrna,g1,one\nrna,g2,two\nrna,g3,one\nrna,g4,two\nprotein,p1,two\nprotein,g2,one\nprotein,p3,two\n";
    fs::write(directory.join("of.csv"), of).unwrap();
    let files = ["--data", "x[rna]=rna.csv", "--data", "x[protein]=protein.csv", "--data", "of=of.csv"];
    let said = done(&directory, &[&["pack", "m.cavi", "--out", "all.cavi-data"], &files[..]].concat());
    assert!(said.contains("7 feature in view (rna 4, protein 3)"), "{said}");
    assert!(said.contains("--data x=all.cavi-data --data of=all.cavi-data"), "{said}");
    let packed = ["--data", "x=all.cavi-data", "--data", "of=all.cavi-data"];
    fs::write(directory.join("views.txt"), "protein\nrna\n").unwrap();
    let turned = ["--labels", "view=views.txt"];
    for (name, options) in
        [("plain", &[][..]), ("turned", &turned[..]), ("held", &["--heldout", "x=0.2"][..])]
    {
        let mut told = Vec::new();
        for (from, own) in [("files", &files[..]), ("packed", &packed[..])] {
            let out = format!("{name}-{from}");
            let said = done(
                &directory,
                &[&["fit", "m.cavi", "--sweeps", "5", "--out", &out], own, options].concat(),
            );
            told.push(
                said.lines().filter(|own| own.starts_with("x: ")).map(str::to_owned).collect::<Vec<_>>(),
            );
        }
        assert_eq!(told[0], told[1]);
        let results = ["files", "packed"].map(|from| result(&directory, &format!("{name}-{from}")));
        assert_eq!(results[0], results[1], "{name}");
    }
    // What the file holds is shown with its groups.
    let shown = done(&directory, &["data", "all.cavi-data"]);
    assert!(
        shown.contains("7 feature in view (rna 4, protein 3)") && shown.contains("] in view\n"),
        "{shown}"
    );
    let place = |words: &str| shown.find(words).expect("an axis is declared");
    assert!(place("axis view[") < place("axis feature["), "{shown}");
    // New rows of a packed file, and what is packed with other features.
    for (from, own) in [("files", &files[..4]), ("packed", &packed[..2])] {
        let project = ["project", "plain-files", "--data", "of=of.csv", "--out"];
        done(&directory, &[&project[..], &[&format!("new-{from}")], own].concat());
    }
    let z = |out: &str| fs::read(directory.join(out).join("posterior/z.mean.npy")).unwrap();
    assert_eq!(z("new-files"), z("new-packed"));
    assert_eq!(
        done(&directory, &["score", "held-packed", "--json"]),
        done(&directory, &["score", "held-files", "--json"])
    );
}

/// Of many entries what is known from checking the file stands for what is found by going through them: the bytes and what is told are the same.
#[test]
fn what_is_known_of_many_packed_entries_changes_nothing() {
    let directory = scratch("packed-many");
    let head = "axis i[n]\naxis j[m]\naxis k[k] = 2\n";
    let counts = "data x[n, m] : count, absent = 0\nw[n, k] ~ Gamma(1, rate = 1)\nh[k, m] ~ Gamma(1, rate = 1)\nx[n, m] ~ Poisson(sum[k](w[n, k] * h[k, m]))\n";
    let numbers = "data x[n, m] : real, absent = NA\nw[n, k] ~ Normal(0, sd = 1)\nh[m, k] ~ Normal(0, sd = 1)\nx[n, m] ~ Normal(sum[k](w[n, k] * h[m, k]), sd = 1)\n";
    for (name, program) in [("counts", counts), ("numbers", numbers)] {
        fs::write(directory.join(format!("{name}.cavi")), format!("{head}{program}")).unwrap();
        let mut table = "i,j,x\n".to_owned();
        for i in 0..420_u32 {
            // One row without an entry, one column with zeros or nothing alone.
            for j in (0..260_u32).filter(|j| i != 7 && *j != 11 && (i * 7 + j * 13) % 5 != 0) {
                let value = (i * 31 + j * 17) % 9;
                match (name, j == 12) {
                    ("counts", _) => table += &format!("r{i},c{j},{}\n", if j == 12 { 0 } else { value }),
                    (_, true) => table += &format!("r{i},c{j},\n"),
                    (_, false) => table += &format!("r{i},c{j},{}\n", f64::from(value) / 4.0 - 1.0),
                }
            }
        }
        fs::write(directory.join(format!("{name}.csv")), &table).unwrap();
        let labels: String = (0..420).map(|own| format!("r{own}\n")).collect();
        fs::write(directory.join("rows.txt"), labels).unwrap();
        let (model, data) = (format!("{name}.cavi"), format!("x={name}.csv"));
        let packed = format!("{name}.cavi-data");
        let rows = ["--labels", "i=rows.txt"];
        done(&directory, &[&["pack", &model, "--data", &data, "--out", &packed], &rows[..]].concat());
        let mut told = Vec::new();
        for (from, out) in [(&data, "memory"), (&format!("x={packed}"), "packed")] {
            let out = format!("{name}-{out}");
            let fit = ["fit", &model, "--data", from, "--sweeps", "6", "--out", &out, "--progress", "none"];
            let said = done(&directory, &[&fit[..], &rows[..]].concat());
            let is_of_data = |line: &&str| line.starts_with("x: ") || line.contains("positions of axis");
            told.push(said.lines().filter(is_of_data).map(str::to_owned).collect::<Vec<_>>());
        }
        assert!(
            told[0].len() >= 2
                && told[0].iter().any(|own| own.contains("positions of axis `i`") && own.contains(": r7")),
            "{told:?}"
        );
        assert_eq!(told[0], told[1]);
        assert_eq!(
            result(&directory, &format!("{name}-memory")),
            result(&directory, &format!("{name}-packed"))
        );
    }
}

#[test]
fn a_packed_file_gives_the_same_bytes_as_the_file_that_it_was_packed_from() {
    let directory = prepared("packed-same");
    let said = done(&directory, &["pack", "m.cavi", "--data", "x=x.mtx", "--out", "packed/x.cavi-data"]);
    assert!(said.contains("cavi fit m.cavi --data x=packed/x.cavi-data --out DIR"), "{said}");
    assert!(said.contains("1 line stands a second time"), "{said}");
    let left: Vec<_> =
        fs::read_dir(directory.join("packed")).unwrap().map(|own| own.unwrap().path()).collect();
    assert_eq!(left, [directory.join("packed/x.cavi-data")]);
    for more in [
        &[][..],
        &["--shards", "row=3"],
        &["--batch", "row=4"],
        &["--precision", "f32"],
        &["--heldout", "x=0.2"],
    ] {
        for (data, out) in [("x=x.mtx", "own"), ("x=packed/x.cavi-data", "packed-fit")] {
            let fixed =
                ["fit", "m.cavi", "--data", data, "--sweeps", "8", "--out", out, "--force", "--quiet"];
            done(&directory, &[&fixed[..], more].concat());
        }
        assert_eq!(result(&directory, "own"), result(&directory, "packed-fit"), "{more:?}");
    }
    let said = done(&directory, &["plan", "m.cavi", "--data", "x=packed/x.cavi-data"]);
    assert!(said.contains("`x` stays in its file"), "{said}");
    let said = done(&directory, &["data", "packed/x.cavi-data"]);
    assert!(said.contains("packed data of 1 array") && said.contains("data x[r, c] : count"), "{said}");
    for (data, file) in [("x=x.mtx", "one.txt"), ("x=packed/x.cavi-data", "two.txt")] {
        let said = done(&directory, &["score", "own", "--data", data, "--json"]);
        fs::write(
            directory.join(file),
            said.lines().filter(|own| own.contains("per_entry") || own.contains("log_")).collect::<String>(),
        )
        .unwrap();
    }
    assert_eq!(fs::read(directory.join("one.txt")).unwrap(), fs::read(directory.join("two.txt")).unwrap());
}

#[test]
fn what_cannot_be_packed_or_mapped_is_said_once_with_status_1() {
    let directory = prepared("packed-wrong");
    let refused = |arguments: &[&str], status: i32, parts: &[&str]| {
        let output = cavi(&directory, arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {message}");
        parts.iter().for_each(|part| assert!(message.contains(part), "{part}: {message}"));
        assert_eq!(message.matches("error").count(), 1, "{message}");
    };
    refused(
        &["pack", "m.cavi", "--data", "x=x.mtx", "--out", "x.packed"],
        2,
        &["a name that ends in .cavi-data"],
    );
    refused(&["pack", "m.cavi", "--out", "x.cavi-data"], 2, &["--data x=FILE"]);
    refused(&["pack", "m.cavi", "--data", "y=x.mtx", "--out", "x.cavi-data"], 1, &["`--data y`"]);
    refused(&["pack", "m.cavi", "--data", "x=none.mtx", "--out", "x.cavi-data"], 1, &["no such file"]);
    fs::write(
        directory.join("wrong.mtx"),
        "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 -3\n",
    )
    .unwrap();
    refused(
        &["pack", "m.cavi", "--data", "x=wrong.mtx", "--out", "x.cavi-data"],
        1,
        &["wrong.mtx, line 3: found -3", "a count"],
    );
    assert!(!directory.join("x.cavi-data").exists());
    let ragged = "axis view[m]\naxis row[i]\naxis feature[j] in view\ndata y[m, i, j] : real\n\
                  a[i] ~ Normal(0, sd = 1)\ny[m, i, j] ~ Normal(a[i], sd = 1)\n";
    fs::write(directory.join("ragged.cavi"), ragged).unwrap();
    fs::write(directory.join("y.csv"), "row,f,g\nr,1,2\ns,3,4\n").unwrap();
    done(&directory, &["pack", "ragged.cavi", "--data", "y[a]=y.csv", "--out", "y.cavi-data"]);
    refused(
        &["fit", "ragged.cavi", "--data", "y[a]=y.cavi-data", "--out", "r"],
        1,
        &["which holds all groups", "--data y=y.cavi-data"],
    );
    let flat = ragged.replace(" in view", "");
    fs::write(directory.join("flat.cavi"), flat).unwrap();
    refused(
        &["fit", "flat.cavi", "--data", "y=y.cavi-data", "--out", "r"],
        1,
        &["packed with the axis `feature` in groups by `view`", "the axis `feature` without groups"],
    );

    let cells = (1..=400).flat_map(|i| (1..=1000).map(move |j| format!("{i} {j} 1\n")));
    let large = "%%MatrixMarket matrix coordinate integer general\n400 1000 400000\n".to_owned()
        + &cells.collect::<String>();
    fs::write(directory.join("large.mtx"), large).unwrap();
    refused(
        &["fit", "m.cavi", "--data", "x=large.mtx", "--memory-limit", "6MB", "--out", "o"],
        1,
        &["large.mtx, line 2: found entries of 6.4 MB", "`cavi pack`"],
    );
    done(&directory, &["pack", "m.cavi", "--data", "x=x.mtx", "--out", "x.cavi-data", "--quiet"]);
    let whole = fs::read(directory.join("x.cavi-data")).unwrap();
    let fit = ["fit", "m.cavi", "--data", "x=x.cavi-data", "--out", "o"];
    fs::write(directory.join("x.cavi-data"), &whole[..whole.len() / 2]).unwrap();
    refused(&fit, 1, &["x.cavi-data: found", "when they were written", "copy the file again"]);
    let mut damaged = whole.clone();
    damaged[200] ^= 1;
    fs::write(directory.join("x.cavi-data"), &damaged).unwrap();
    refused(&fit, 1, &["x.cavi-data: found", "are damaged", "`x`"]);
    let mut later = whole.clone();
    later[8] = 9;
    fs::write(directory.join("x.cavi-data"), &later).unwrap();
    refused(&fit, 1, &["packed data of version 9", "cavi pack"]);
    fs::write(directory.join("x.cavi-data"), &whole).unwrap();
    refused(&[&fit[..], &["--transpose", "x"]].concat(), 1, &["packed over", "leave out `--transpose x`"]);
    let renamed = MODEL.replace("x[", "y[");
    fs::write(directory.join("y.cavi"), renamed).unwrap();
    refused(
        &["fit", "y.cavi", "--data", "y=x.cavi-data", "--out", "o"],
        1,
        &["expected an array `y`", "`--data y=x.cavi-data:x`"],
    );
    done(
        &directory,
        &["fit", "y.cavi", "--data", "y=x.cavi-data:x", "--sweeps", "2", "--out", "o", "--quiet"],
    );
    fs::write(directory.join("z.cavi"), MODEL.replace("column", "item")).unwrap();
    refused(
        &["fit", "z.cavi", "--data", "x=x.cavi-data", "--out", "p"],
        1,
        &["packed over", "`row` by `item`"],
    );
}

/// Views without a size, and genres that only another array names: of what is packed nothing depends on them.
#[test]
fn a_part_of_the_data_is_packed_without_the_sizes_of_the_rest() {
    let directory = scratch("packed-part");
    let program = "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis covariate[c]\naxis genre[g]\n\
        data y[n, m, j] : real\ndata v[n, c] : real\ndata gen[n] : index genre\nb[c] ~ Normal(0, sd = 1)\nh[g] ~ Normal(0, sd = 1)\n\
        y[n, m, j] ~ Normal(sum[c](b[c] * v[n, c]) + h[gen[n]], sd = 1)\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    fs::write(directory.join("v.csv"), ",a,b\ns1,1,2\ns2,3,5\ns3,4,4\n").unwrap();
    fs::write(directory.join("gen.csv"), "sample,gen\ns1,pop\ns2,folk\ns3,pop\n").unwrap();
    fs::write(directory.join("y.csv"), ",p,q\ns1,1,2\ns2,3,5\ns3,4,4\n").unwrap();
    let said = done(&directory, &["pack", "m.cavi", "--data", "v=v.csv", "--out", "v.cavi-data"]);
    assert!(said.contains("v: 3 sample (s1, s2, s3) x 2 covariate (a, b)"), "{said}");
    // What it does depend on is asked for.
    let output = cavi(&directory, &["pack", "m.cavi", "--data", "gen=gen.csv", "--out", "g.cavi-data"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let fit = |v: &str, gen_: &str, out: &str| {
        let data = [format!("v={v}"), format!("gen={gen_}"), "y[rna]=y.csv".to_owned()];
        let data: Vec<&str> = data.iter().flat_map(|own| ["--data", own.as_str()]).collect();
        done(&directory, &[&["fit", "m.cavi", "--quiet", "--out", out][..], &data].concat());
        result(&directory, out)
    };
    assert_eq!(fit("v.cavi-data", "g.cavi-data", "packed"), fit("v.csv", "gen.csv", "plain"));
}
