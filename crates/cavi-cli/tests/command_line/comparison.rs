//! Pages about several fits: what is compared, what is not and why, and that they keep the rules of every page.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{MODEL, cavi, scratch, text};
use crate::report::{between, check_document, markup, read};

/// Counts of two kinds of rows, which take two parts; their labels are hostile.
fn prepared(name: &str) -> std::path::PathBuf {
    let directory = scratch(name);
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let mut table = ",<b>a</b>,\"b,\"\"b\",c,d,e,f\n".to_owned();
    for row in 0..24 {
        let cell =
            |column: usize| if (row % 2 == 0) == (column < 3) { 9 + (row + column) % 5 } else { column % 2 };
        let cells: Vec<String> = (0..6).map(|column| cell(column).to_string()).collect();
        table += &format!("r{row},{}\n", cells.join(","));
    }
    fs::write(directory.join("x.csv"), table).unwrap();
    directory
}

/// A fit of the program to the counts, with these options.
fn fit(directory: &Path, out: &str, options: &[&str]) {
    let fixed = ["fit", "m.cavi", "--data", "x=x.csv", "--sweeps", "30", "--quiet", "--out", out];
    let output = cavi(directory, &[&fixed[..], options].concat());
    assert!(output.status.success(), "{out}: {}", text(&output.stderr));
}

/// The page about these fits, looked through; its titles and its drawings.
fn page(directory: &Path, fits: &[&str]) -> (String, Vec<String>, Vec<Value>) {
    let output = cavi(directory, &[&["report"][..], fits].concat());
    assert_eq!(text(&output.stdout), "written to comparison.html\n", "{}", text(&output.stderr));
    let page = read(&directory.join("comparison.html"));
    let drawings = check_document("comparison", &page);
    let titles =
        between(&markup(&page), "<figcaption><h3>", "</h3>").into_iter().map(str::to_owned).collect();
    (page, titles, drawings)
}

#[test]
fn fits_that_differ_in_a_size_are_compared_and_one_is_suggested() {
    let directory = prepared("compare-size");
    let values = ["part=1", "part=2", "part=3"];
    for own in values {
        fit(&directory, own, &["--set", own, "--heldout", "x=0.2", "--restarts", "2", "--keep", "all"]);
    }
    let (html, titles, drawings) = page(&directory, &values);
    for wanted in [
        "Held-out score of each unit of x",
        "Paired differences from the best held-out score",
        "Held-out score over part",
        "How alike restarts are, over part",
        "The bound over part",
        "How alike the components of all fits are",
        "The bounds from sweep to sweep, over each other",
    ] {
        assert!(titles.iter().any(|own| own == wanted), "{wanted}: {titles:?}");
    }
    // What is drawn are the numbers of `cavi compare`, for each unit.
    let output = cavi(&directory, &["compare", "part=1", "part=2", "part=3", "--json"]);
    let compared: Value = serde_json::from_str(&text(&output.stdout)).expect("it is JSON");
    let units = compared["n_scored"].as_f64().expect("units were scored");
    let place = titles.iter().position(|own| own.starts_with("Paired differences")).unwrap();
    let rows = drawings[place]["spec"]["data"]["values"].as_array().unwrap();
    for own in compared["fits"].as_array().unwrap() {
        let row = rows.iter().find(|row| row["label"] == own["fit"]).expect("each fit has a row");
        let wanted = own["below_best"].as_f64().unwrap() / units;
        assert!(
            (row["value"].as_f64().unwrap() - wanted).abs() <= 1e-7 * wanted.abs().max(1e-9),
            "{row} {own}"
        );
        if own["fit"] != compared["best"] {
            let error = own["standard_error"].as_f64().unwrap() / units;
            assert!((row["error"].as_f64().unwrap() - error).abs() < 1e-4 * error, "{row} {own}");
        }
    }
    assert_eq!(rows[0]["label"], compared["best"]);
    // One part is far too few for two kinds of rows.
    let below = rows.iter().find(|own| own["label"] == "part=1").unwrap();
    assert_eq!(below["kind"], "below the best");
    assert!(html.contains("Suggested: part=2") && html.contains("They differ in part: 1, 2, 3."));
    assert!(html.contains("have a partner with a cosine of 0.9 or more: "));
    assert!(!html.contains("<b>a</b>") && html.contains("&lt;b&gt;a&lt;/b&gt;"));
    // What takes no model stands beside the scores.
    let kinds: Vec<&Value> =
        drawings[0]["spec"]["data"]["values"].as_array().unwrap().iter().map(|own| &own["kind"]).collect();
    assert!(kinds.iter().any(|own| *own == "means of rows and columns"), "{kinds:?}");
}

#[test]
fn a_directory_of_choose_has_a_page_in_the_order_of_its_values() {
    let directory = prepared("compare-choose");
    let choose = ["choose", "m.cavi", "--data", "x=x.csv", "--set", "part=2,10", "--restarts", "2"];
    let more = ["--sweeps", "10", "--out", "ch", "--quiet"];
    let output = cavi(&directory, &[&choose[..], &more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    let suggested = text(&output.stdout).lines().last().unwrap().replacen('s', "S", 1);
    let output = cavi(&directory, &["report", "ch"]);
    assert_eq!(text(&output.stdout), "written to ch/report.html\n", "{}", text(&output.stderr));
    let html = read(&directory.join("ch/report.html"));
    check_document("choose", &html);
    assert!(html.contains("They differ in part: 2, 10."));
    assert!(html.contains(&suggested), "{suggested}");
    // The same fits have the same page, and the same choice can be made again beside it.
    assert!(cavi(&directory, &["report", "ch", "--out", "again.html", "--threads", "1"]).status.success());
    assert_eq!(read(&directory.join("again.html")), html);
    assert!(cavi(&directory, &[&choose[..], &more].concat()).status.success());
    let output = cavi(&directory, &["report", "ch", "--plots", "svg"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(directory.join("ch/plots/heldout-differences.svg").is_file(), "{}", text(&output.stdout));
}

#[test]
fn what_cannot_be_compared_is_said() {
    let directory = prepared("compare-unlike");
    let other = MODEL.replace("Gamma(1, rate = 1)", "Gamma(0.5, rate = 1)").replace("part", "group");
    fs::write(directory.join("n.cavi"), other).unwrap();
    fit(&directory, "a", &["--heldout", "x=0.2"]);
    fit(&directory, "seed", &["--heldout", "x=0.2", "--seed", "5"]);
    fit(&directory, "none", &[]);
    let options = ["fit", "n.cavi", "--data", "x=x.csv", "--sweeps", "20", "--quiet", "--heldout", "x=0.2"];
    assert!(cavi(&directory, &[&options[..], &["--out", "other"]].concat()).status.success());
    let (html, titles, _) = page(&directory, &["a", "seed", "none", "other"]);
    assert!(html.contains("Nothing was held out of none: there is no score to compare."));
    assert!(html.contains("other entries of `x` were held out of `seed` than of `a`"));
    assert!(html.contains("4 fits of 2 programs (counts, counts) to the same data"));
    // Two programs of the same data are compared, with their components by their labels, whatever these are called.
    assert!(titles.iter().any(|own| own == "Paired differences from the best held-out score"), "{titles:?}");
    assert!(titles.iter().any(|own| own.contains(" of a") || own.contains(" of other")), "{titles:?}");
    assert!(!titles.iter().any(|own| own.contains("over part")), "{titles:?}");

    // Data that are gone.
    fs::rename(directory.join("x.csv"), directory.join("y.csv")).unwrap();
    let (html, titles, _) = page(&directory, &["a", "other"]);
    assert!(html.contains("its data cannot be read again"), "{html}");
    assert!(!titles.iter().any(|own| own.starts_with("Paired")), "{titles:?}");
    fs::write(directory.join("x.csv"), ",a\nr,1\n").unwrap();
    let (html, ..) = page(&directory, &["a", "other"]);
    assert!(html.contains("its data cannot be read again"));

    for (arguments, status, wanted) in [
        (&["report", "a", "nowhere"][..], 1, "nowhere"),
        (&["report", "a", "other", "--by", "k=y.csv:a"], 2, "`--by`"),
        (&["report", "a", "other", "--out", "."], 2, "is a directory"),
        (&["report", "a", "other", "--plots", "svg", "--title", "t"], 2, "--title"),
    ] {
        let output = cavi(&directory, arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(wanted), "{arguments:?}: {}", text(&output.stderr));
    }
}
