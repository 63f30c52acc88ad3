//! Charts as files for papers: every one is drawn, whole, with the titles of its axes, and labels stay text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use cavi_report::{Colouring, Figure, charts};
use resvg::usvg::{Node, Options, Tree, fontdb};
use serde_json::Value;

use crate::common::{MODEL, cavi, command, root, scratch, text};

/// The files of a folder with this suffix, by their names without it.
fn files(folder: &Path, suffix: &str) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|own| own.expect("a folder that can be read").path());
    let own = paths.filter(|path| path.extension().is_some_and(|own| own == suffix));
    own.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read(&path).unwrap()))
        .collect()
}

/// How drawings are read back, with the font that plots have.
fn reading() -> Options<'static> {
    let mut fonts = fontdb::Database::new();
    fonts
        .load_font_file(root().join("crates/cavi-plots/assets/LiberationSans-Regular.ttf"))
        .expect("the font is there");
    Options { dpi: 72.0, fontdb: fonts.into(), ..Options::default() }
}

/// What every plot must be; its texts come back.
fn check(name: &str, svg: &str, width: f64) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}"));
    let top = document.root_element();
    assert_eq!(top.attribute("width"), Some(format!("{width}mm").as_str()), "{name}");
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        for attribute in node.attributes() {
            let strange = ["NaN", "Infinity", "undefined", "null"];
            // What a mark says of its row is text of data.
            let is_geometry = !attribute.name().starts_with("aria");
            assert!(
                !is_geometry || !strange.iter().any(|own| attribute.value().contains(own)),
                "{name}: {attribute:?}"
            );
        }
        assert!(
            !["script", "image", "a", "foreignObject"].contains(&node.tag_name().name()),
            "{name}: {node:?}"
        );
    }
    // Nothing is cut off: all marks behind the ground lie on the sheet.
    let tree = Tree::from_str(svg, &reading()).unwrap_or_else(|error| panic!("{name}: {error}"));
    let size = tree.size();
    assert!((f64::from(size.width()) - width * 72.0 / 25.4).abs() < 0.01, "{name}: {size:?}");
    let Some(Node::Group(all)) = tree.root().children().first() else { panic!("{name}: one group") };
    for node in &all.children()[1..] {
        let own = node.abs_layer_bounding_box().expect("a mark has an extent");
        let inside = own.left() > -0.7
            && own.top() > -0.7
            && own.right() < size.width() + 0.7
            && own.bottom() < size.height() + 0.7;
        assert!(inside, "{name}: {own:?} is not within {size:?}");
    }
    let texts = document.descendants().filter(|own| own.has_tag_name(("http://www.w3.org/2000/svg", "text")));
    texts
        .map(|own| own.descendants().filter_map(|own| own.is_text().then(|| own.text()).flatten()).collect())
        .collect()
}

/// Every figure of a fit has its plot, and each its titles.
fn check_all(name: &str, directory: &Path, folder: &Path, width: f64) {
    let plots = files(folder, "svg");
    let figures: Vec<Figure> = charts(directory, &[]).expect("a fit has charts");
    let mut drawn = 0;
    for figure in &figures {
        let stem: String = figure
            .name
            .chars()
            .map(|own| if own.is_alphanumeric() || own == '_' { own } else { '-' })
            .collect();
        let stem = stem.split('-').filter(|own| !own.is_empty()).collect::<Vec<_>>().join("-");
        let is_own = |own: &&String| match own.strip_prefix(stem.as_str()) {
            Some(rest) => rest.is_empty() || rest[1..].chars().all(|digit| digit.is_ascii_digit()),
            None => false,
        };
        let own: Vec<&String> = plots.keys().filter(is_own).collect();
        assert!(!own.is_empty(), "{name}: {stem} in {:?}", plots.keys());
        drawn += own.len();
        for file in own {
            let svg = std::str::from_utf8(&plots[file]).expect("text");
            let texts = check(&format!("{name}, {file}"), svg, width);
            for title in [&figure.axes.across, &figure.axes.upward] {
                let is_title = |own: &String| {
                    own == title || own.strip_suffix('…').is_some_and(|own| title.starts_with(own))
                };
                assert!(
                    title.is_empty() || texts.iter().any(is_title),
                    "{name}, {file}: {title} in {texts:?}"
                );
            }
        }
    }
    assert!(drawn >= plots.len() && figures.len() >= 3, "{name}: {:?}", plots.keys());
}

#[test]
fn every_chart_of_every_demo_is_drawn() {
    let directory = scratch("plots");
    let listed = text(&cavi(&directory, &["list"]).stdout);
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(names.len() > 20, "{names:?}");
    for (place, name) in names.into_iter().enumerate() {
        // Both widths, one for each demo: the charts are of the same kinds.
        let width = if place % 2 == 0 { "85" } else { "174" };
        let output = cavi(
            &directory,
            &[
                "demo",
                name,
                "--out",
                name,
                "--plots",
                "svg",
                "--plots-width",
                width,
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
        let said = format!("plots written to {name}/plots\n");
        assert!(text(&output.stdout).contains(&said), "{name}: {}", text(&output.stdout));
        let fit = directory.join(name);
        check_all(name, &fit, &fit.join("plots"), width.parse().unwrap());
    }
}

/// A small fit in a directory.
fn fitted(directory: &Path, table: &str, more: &[&str]) -> PathBuf {
    fs::write(directory.join("m.cavi"), MODEL).unwrap();
    fs::write(directory.join("x.csv"), table).unwrap();
    let fit = ["fit", "m.cavi", "--data", "x=x.csv", "--out", "o", "--sweeps", "5", "--progress", "none"];
    let output = cavi(directory, &[&fit[..], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    directory.join("o")
}

const TABLE: &str = ",a,b,c\nr,1,0,2\ns,0,3,1\nt,2,2,0\n";

#[test]
fn labels_stay_text() {
    let directory = scratch("hostile-plots");
    let table = ",<script>alert(1)</script>,\"\"\"><image href=x onload=alert(2)>\",</text><b>\n\
        ]]>&amp;<i>,1,0,2\n${7*7}|'`\u{1}\u{ffff},0,3,1\n\u{202e}evil\u{1f600}\u{4f60}\u{597d},2,2,2\n";
    let fit = fitted(&directory, table, &["--plots", "svg,png,pdf"]);
    check_all("hostile", &fit, &fit.join("plots"), 85.0);
    let bars = String::from_utf8(files(&fit.join("plots"), "svg")["h-bars"].clone()).unwrap();
    let texts = check("h-bars", &bars, 85.0);
    assert!(texts.iter().any(|own| own.starts_with("<script>")), "{texts:?}");
}

#[test]
fn pixels_and_pages_have_the_size_that_was_asked_for() {
    let directory = scratch("sizes");
    let fit = fitted(&directory, TABLE, &["--plots", "pdf,png,pdf"]);
    let pictures = files(&fit.join("plots"), "png");
    let pages = files(&fit.join("plots"), "pdf");
    assert!(
        pictures.len() >= 4 && pictures.keys().eq(pages.keys()),
        "{:?} {:?}",
        pictures.keys(),
        pages.keys()
    );
    assert!(files(&fit.join("plots"), "svg").is_empty());
    for (name, bytes) in &pictures {
        assert_eq!(bytes[..8], [137, b'P', b'N', b'G', 13, 10, 26, 10], "{name}");
        // 85 mm are 3.346 inches of 300 pixels; pHYs has pixels in a metre.
        assert_eq!(bytes[16..20], 1004_u32.to_be_bytes(), "{name}");
        let place = bytes.windows(4).position(|own| own == b"pHYs").expect("the picture knows its size");
        assert_eq!(bytes[place + 4..place + 8], 11811_u32.to_be_bytes(), "{name}");
    }
    for (name, bytes) in &pages {
        assert!(bytes.starts_with(b"%PDF-") && bytes.trim_ascii_end().ends_with(b"%%EOF"), "{name}");
        let has = |text: &str| bytes.windows(text.len()).any(|own| own == text.as_bytes());
        // Text is text, and its font is in the file.
        assert!(has("LiberationSans") && has("/ToUnicode") && has("/FontFile"), "{name}");
        assert!(has("/MediaBox [0 0 240.94"), "{name}: a page of 85 mm");
    }
    let wide = cavi(&directory, &["report", "o", "--plots", "png", "--plots-width", "174", "--out", "wide"]);
    assert!(text(&wide.stdout).ends_with(" plots written to wide\n"), "{}", text(&wide.stderr));
    for (name, bytes) in files(&directory.join("wide"), "png") {
        assert_eq!(bytes[16..20], 2055_u32.to_be_bytes(), "{name}");
    }
}

#[test]
fn plots_are_the_same_wherever_and_go_with_their_fit() {
    let directory = scratch("plots-go");
    let model = "axis time[t]\naxis row[i]\naxis part[k] = 2\ndata y[i, t] : real\n\
        z[i, k] ~ Normal(0, sd = 1)\nw[k, t] ~ Normal(0, sd = 1)\ny[i, t] ~ Normal(sum[k](z[i, k] * w[k, t]), sd = 1)\n";
    fs::write(directory.join("m.cavi"), model).unwrap();
    fs::write(directory.join("y.csv"), "1,2,3,4\n2,1,0,-1\n0,1,1,0\n").unwrap();
    fs::write(directory.join("t.txt"), "2020-01-31\n2020-02-29\n2020-03-31\n2020-04-30\n").unwrap();
    fs::write(directory.join("by.csv"), "year\n1\n2\n1\n").unwrap();
    let fit = ["fit", "m.cavi", "--data", "y=y.csv", "--labels", "time=t.txt", "--out", "o", "--sweeps", "5"];
    assert!(cavi(&directory, &fit).status.success());
    let drawn = |zone: &str| {
        let mut report = command(&directory, &["report", "o", "--plots", "svg", "--by", "year=by.csv:year"]);
        let output = report.env("TZ", zone).output().unwrap();
        assert!(text(&output.stdout).ends_with("plots written to o/plots\n"), "{}", text(&output.stderr));
        files(&directory.join("o/plots"), "svg")
    };
    let first = drawn("Asia/Tokyo");
    assert_eq!(first, drawn("America/New_York"), "days are those of the labels");
    let by = Colouring::parse("year=by.csv:year").unwrap();
    let by = Colouring { file: directory.join(by.file), ..by };
    let points =
        charts(&directory.join("o"), &[by]).unwrap().into_iter().find(|own| own.name == "z-points").unwrap();
    let svg = std::str::from_utf8(&first["z-points"]).unwrap();
    let texts = check("z-points", svg, 85.0);
    for wanted in ["year", points.axes.across.as_str(), points.axes.upward.as_str()] {
        assert!(texts.iter().any(|own| own == wanted), "{wanted} in {texts:?}");
    }
    // The marker lists the plots, and the plots of an earlier fit do not stay beside a new one; what is another's does.
    let marker: Value =
        serde_json::from_slice(&fs::read(directory.join("o/cavi-files.json")).unwrap()).unwrap();
    assert!(marker["files"].as_array().unwrap().contains(&"plots/z-points.svg".into()), "{marker}");
    fs::write(directory.join("o/plots/mine.svg"), "<svg/>").unwrap();
    assert!(cavi(&directory, &fit).status.success());
    let left: Vec<String> = files(&directory.join("o/plots"), "svg").into_keys().collect();
    assert_eq!(left, ["mine"]);
}

#[test]
fn wrong_usage_is_answered_with_what_is_possible() {
    let directory = scratch("plots-wrong");
    let fit = fitted(&directory, TABLE, &[]);
    for (arguments, wanted) in [
        (&["report", "o", "--plots", "eps"][..], "`svg` or `png` or `pdf`"),
        (&["report", "o", "--plots", "svg", "--title", "t"], "--title"),
        (&["report", "o", "--plots-width", "85"], "--plots"),
        (&["report", "o", "--plots", "svg", "--out", "x.csv"], "is a file; expected a directory"),
        (&["demo", "lda", "--plots", "svg"], "--out DIR"),
    ] {
        let output = cavi(&directory, arguments);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {message}");
        assert!(message.contains(wanted), "{arguments:?}: {message}");
    }
    assert!(!fit.join("plots").exists() && !fit.join("report.html").exists());
}
