//! Pages about fits: what they hold, that nothing in them is fetched, and that labels stay text.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::common::{MODEL, cavi, scratch, text};

/// What stands between two marks, once for each pair of them.
pub fn between<'a>(page: &'a str, open: &'a str, close: &'a str) -> Vec<&'a str> {
    page.split(open).skip(1).filter_map(|rest| rest.split(close).next()).collect()
}

/// The page without the text of its scripts and styles.
pub fn markup(page: &str) -> String {
    let mut out = page.to_owned();
    for (open, close) in [("<script", "</script>"), ("<style", "</style>")] {
        let parts: Vec<&str> = out.split(open).collect();
        let kept = parts.iter().enumerate().map(|(place, part)| match place {
            0 => *part,
            _ => part.split_once(close).map_or("", |(_, rest)| rest),
        });
        out = kept.collect();
    }
    out
}

/// What every page must hold, of one fit or of several; its drawings come back.
pub fn check_document(name: &str, page: &str) -> Vec<Value> {
    assert!(page.len() < 6_000_000, "{name}: {} bytes", page.len());
    let policies = between(page, "http-equiv=\"Content-Security-Policy\" content=\"", "\"");
    let [policy] = policies.as_slice() else { panic!("{name}: one content policy, not {policies:?}") };
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{name}: {policy}");
    assert!(
        !policy.contains("unsafe-eval") && !policy.contains("script-src 'unsafe-inline'"),
        "{name}: {policy}"
    );

    let markup = markup(page);
    for attribute in ["src=\"", "href=\""] {
        for address in between(&markup, attribute, "\"") {
            assert!(address.starts_with('#'), "{name}: {attribute}{address}");
        }
    }
    for forbidden in ["<iframe", "<link", "<img", "<object", "onclick=", "onload=", "javascript:"] {
        assert!(!markup.contains(forbidden), "{name}: {forbidden}");
    }
    // Scripts run by their hash, and so does the style: a page has one hash for each.
    assert_eq!(policy.matches("'sha256-").count(), page.matches("<script>").count() + 1, "{name}");

    let json = between(page, "<script type=\"application/json\" id=\"drawings\">", "</script>");
    let drawings: Vec<Value> =
        serde_json::from_str(json[0]).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(drawings.len(), markup.matches("<div class=\"chart\"").count(), "{name}");
    // Without scripts the table of each chart is open.
    assert_eq!(markup.matches("<details class=\"data\" open>").count(), drawings.len(), "{name}");
    for table in between(&markup, "<tbody>", "</tbody>") {
        assert!(table.contains("<tr>"), "{name}: a table without rows");
    }
    drawings
}

/// The same of a page about one fit.
fn check(name: &str, page: &str) -> Vec<Value> {
    let drawings = check_document(name, page);
    let markup = markup(page);
    let derivation = between(&markup, "<details id=\"derivation\">", "</details>")[0];
    assert!(derivation.matches("<math").count() > 5, "{name}: {derivation}");
    assert!(markup.contains("<svg") && markup.contains("<pre class=\"program\""), "{name}");
    for heading in ["What was found", "How the fit ran", "The model"] {
        assert!(markup.contains(&format!("{heading}</h2>")), "{name}: {heading}");
    }
    drawings
}

/// The text of a file.
pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_demo_has_a_page() {
    let directory = scratch("pages");
    let listed = text(&cavi(&directory, &["list"]).stdout);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let output = cavi(
            &directory,
            &[
                "demo",
                name,
                "--report",
                "--sweeps",
                "2",
                "--restarts",
                "1",
                "--quiet",
                "--progress",
                "none",
                "--warmup",
                "none",
            ],
        );
        assert!(output.status.success(), "{name}: {}", text(&output.stderr));
        assert!(text(&output.stdout).contains(&format!("a page about it: {name}.html\n")), "{name}");
        let drawings = check(name, &read(&directory.join(format!("{name}.html"))));
        // At least three charts are drawn without a click.
        assert!(drawings.len() >= 3, "{name}: {} charts", drawings.len());
    }
}

#[test]
fn labels_stay_text() {
    let directory = scratch("hostile");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    let table = ",<script>alert(1)</script>,\"\"\"><img src=x onerror=alert(2)>\",</script><b>\n\
        </table><i>,1,0,2\n${7*7}|'`,0,3,1\n\u{202e}evil,2,2,2\n";
    fs::write(directory.join("x.csv"), table).unwrap();
    let output =
        cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--out", "o", "--report", "--sweeps", "5"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(text(&output.stdout).contains("a page about it: o/report.html\n"), "{}", text(&output.stdout));
    let title = "<script>alert(3)</script>";
    let output = cavi(&directory, &["report", "o", "--out", "p/page.html", "--title", title]);
    assert_eq!(text(&output.stdout), "written to p/page.html\n", "{}", text(&output.stderr));
    for path in ["o/report.html", "p/page.html"] {
        let page = read(&directory.join(path));
        check(path, &page);
        for markup in ["<script>alert", "<img", "<i>", "</script><b>"] {
            assert!(!page.contains(markup), "{path}: {markup}");
        }
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{path}");
    }
    assert!(
        read(&directory.join("p/page.html")).contains("<title>&lt;script&gt;alert(3)&lt;/script&gt;</title>")
    );
}

#[test]
fn a_page_in_the_directory_of_a_fit_goes_with_it() {
    let directory = scratch("page-goes");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), ",a,b,c\nr,1,0,2\ns,0,3,1\n").unwrap();
    let fit = ["fit", "m.cavi", "--data", "x=x.csv", "--out", "o", "--sweeps", "3"];
    assert!(cavi(&directory, &fit).status.success());
    let output = cavi(&directory, &["report", "o"]);
    assert_eq!(text(&output.stdout), "written to o/report.html\n", "{}", text(&output.stderr));
    let first = read(&directory.join("o/report.html"));
    assert!(cavi(&directory, &["report", "o"]).status.success());
    assert_eq!(read(&directory.join("o/report.html")), first, "the same fit has the same page");
    // The page of an earlier fit does not stay beside a new one.
    assert!(cavi(&directory, &fit).status.success());
    assert!(!directory.join("o/report.html").exists());
}

#[test]
fn what_is_drawn_follows_from_axes_and_labels() {
    let directory = scratch("axes");
    let model = "axis row[i]\naxis time[t]\naxis part[k] = 2\ndata y[i, t] : real\n\
        z[i, k] ~ Normal(0, sd = 1)\nw[k, t] ~ Normal(0, sd = 1)\ny[i, t] ~ Normal(sum[k](z[i, k] * w[k, t]), sd = 1)\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    let rows: String = (0..6).map(|row| format!("{row}.5,1,{},2\n", 3 - row)).collect();
    fs::write(directory.join("y.csv"), rows).unwrap();
    let kinds = |labels: &str| {
        fs::write(directory.join("t.txt"), labels.replace(' ', "\n")).unwrap();
        let arguments = [
            "fit",
            "m.cavi",
            "--data",
            "y=y.csv",
            "--labels",
            "time=t.txt",
            "--out",
            "o",
            "--report",
            "--sweeps",
            "5",
        ];
        let output = cavi(&directory, &arguments);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let page = read(&directory.join("o/report.html"));
        check(labels, &page);
        between(&markup(&page), "<figcaption><h3>", "</h3>")
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let has = |titles: &[String], wanted: &str| titles.iter().any(|own| own == wanted);
    let numbers = kinds("0.5 1 2 8");
    assert!(has(&numbers, "w over time"), "{numbers:?}");
    let days = kinds("2020-01-31 2020-02-29 2020-03-31 2020-04-30");
    assert!(has(&days, "w over time"), "{days:?}");
    let contexts = kinds("A[C>A]A A[C>A]C T[T>G]G T[T>G]T");
    assert!(has(&contexts, "w: profiles of substitutions"), "{contexts:?}");
    let names = kinds("a b c d");
    assert!(has(&names, "w: the largest in size entries over time"), "{names:?}");
    assert!(
        has(&names, "z: each row over two components") && has(&names, "How much each part holds"),
        "{names:?}"
    );
}

#[test]
fn points_are_coloured_by_a_column() {
    let directory = scratch("by");
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), ",a,b,c\nr,1,0,2\ns,0,3,1\nt,2,2,2\n").unwrap();
    assert!(
        cavi(&directory, &["fit", "m.cavi", "--data", "x=x.csv", "--out", "o", "--sweeps", "3"])
            .status
            .success()
    );
    // In another order than the rows of the fit.
    fs::write(directory.join("of.csv"), "row,kind\nt,old\nr,new\ns,<b>\n").unwrap();
    let output = cavi(&directory, &["report", "o", "--by", "kind=of.csv:kind"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let drawings = check("by", &read(&directory.join("o/report.html")));
    let rows = drawings
        .iter()
        .filter_map(|own| own["spec"]["data"]["values"].as_array())
        .find(|own| own[0].get("by").is_some());
    let by: Vec<&str> =
        rows.expect("a cloud is coloured").iter().filter_map(|own| own["by"].as_str()).collect();
    assert_eq!(by, ["new", "<b>", "old"]);

    fs::write(directory.join("other.csv"), "row,kind\nq,old\np,new\n").unwrap();
    for (by, status, wanted) in [
        ("kind=other.csv:kind", 1, &["`--by kind`", "row 3", "column 3"][..]),
        ("kind=none.csv:kind", 1, &["none.csv"]),
        ("kind=of.csv:size", 1, &["size"]),
        ("of.csv:kind", 2, &["NAME=FILE:COLUMN"]),
        ("kind=of.csv", 2, &["NAME=FILE:COLUMN"]),
    ] {
        let output = cavi(&directory, &["report", "o", "--by", by]);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{by}: {message}");
        assert!(wanted.iter().all(|part| message.contains(part)), "{by}: {message}");
    }
}

#[test]
fn what_is_no_fit_has_no_page() {
    let directory = scratch("no-page");
    fs::create_dir(directory.join("empty")).unwrap();
    for (arguments, status) in [
        (&["report", "empty"][..], 1),
        (&["report", "nowhere"], 1),
        (&["report"], 2),
        (&["report", "empty", "--no-such-option"], 2),
    ] {
        let output = cavi(&directory, arguments);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {}", text(&output.stderr));
        assert!(output.stdout.is_empty() && !directory.join("empty/report.html").exists());
    }
}

/// A component that its own scale has emptied is active neither on the page nor in `summary`.
#[test]
fn a_page_and_a_summary_count_the_same_components() {
    let directory = scratch("report_active");
    let program = "axis n[i, j]\naxis com[k] = 3\ndata y[i, j] : count, absent = 0, i < j\nlam[k] ~ Gamma(0.3, rate = 1)\n\
        u[i, k] ~ Gamma(2, rate = 2)\nb ~ Gamma(1, rate = 1)\ny[i, j] ~ Poisson(b + sum[k](lam[k] * u[i, k] * u[j, k]))\n";
    fs::write(directory.join("m.cavi"), program).unwrap();
    let pairs = (0..12).flat_map(|i| (i + 1..12).map(move |j| (i, j)));
    let lines = pairs.map(|(i, j)| format!("v{i},v{j},{}\n", if (i + j) % 2 == 0 { 4 + i % 3 } else { 0 }));
    fs::write(directory.join("y.csv"), format!("i,j,y\n{}", lines.collect::<String>())).unwrap();
    let fit = ["fit", "m.cavi", "--data", "y=y.csv", "--quiet", "--sweeps", "500", "--out", "o", "--report"];
    let output = cavi(&directory, &fit);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let summary: Value =
        serde_json::from_str(&fs::read_to_string(directory.join("o/summary.json")).unwrap()).unwrap();
    let own = &summary["components"]["y"]["com"];
    let (active, shares) = (own["n_active"].as_u64().unwrap(), own["shares"].as_array().unwrap());
    assert_eq!(shares.len(), 3, "{own}");
    let page = fs::read_to_string(directory.join("o/report.html")).unwrap();
    let sentence = format!("Of 3 com, {active} have 1 % or more of the units of y; the largest is com ");
    assert!(page.contains(&sentence), "{sentence}: {own}");
}
