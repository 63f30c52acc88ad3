//! Texts on the command line: what is read of them is said, and options and mistakes are answered.

use std::fs;
use std::path::PathBuf;

use crate::common::{cavi, fit, scratch, text};

const COUNTS: &str = "axis page[p]\naxis term[t]\naxis part[k] = 2\ndata c[p, t] : count, absent = 0\n\
    w[p, k] ~ Gamma(1, rate = 1)\nh[t, k] ~ Gamma(1, rate = 1)\nc[p, t] ~ Poisson(sum[k](w[p, k] * h[t, k]))\n";

fn prepared(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let directory = scratch(name);
    fs::create_dir(directory.join("texts")).unwrap();
    fs::write(directory.join("m.cavi"), COUNTS).unwrap();
    // The words come first in this one.
    let turned = COUNTS.replace("c[p, t]", "c[t, p]");
    fs::write(directory.join("turned.cavi"), turned).unwrap();
    for (file, text) in files {
        fs::write(directory.join(file), text).unwrap();
    }
    directory
}

const PAGES: [(&str, &str); 3] = [
    ("texts/a.txt", "The red fox and the hen."),
    ("texts/b.txt", "A red hen; a red HEN isn’t a fox!"),
    ("texts/c.txt", "Hens run. Running hen, grey."),
];

#[test]
fn what_was_read_of_texts_is_said() {
    let directory = prepared("texts_said", &PAGES);
    let (status, said) = fit(&directory, "m.cavi", &["--data", "c=texts"]);
    assert_eq!(
        (status, said.as_str()),
        (
            0,
            "c: 3 page (a.txt, b.txt, c.txt) x 3 term (fox, hen, red), 7 entries, 2 zeros, 0 missing, sum 9\n\
             c: 3 files of 17 words (lower case, two letters or more); left out 4 by the English stop words, \
             4 (4 words) in one document alone; 9 remain\n"
        )
    );
    assert_eq!(fs::read_to_string(directory.join("o/axes/term.txt")).unwrap(), "fox\nhen\nred\n");
    let counts = "word,documents,count\nfox,2,2\nhen,3,4\nred,2,3\n";
    assert_eq!(fs::read_to_string(directory.join("o/vocabulary/c.csv")).unwrap(), counts);
    let options = [
        "--min-docs",
        "1",
        "--max-docs",
        "2",
        "--stem",
        "english",
        "--ngrams",
        "2",
        "--words",
        "3",
        "--stop-words",
        "none",
    ];
    let (status, said) = fit(&directory, "m.cavi", &[&["--data", "c=texts"], &options[..]].concat());
    assert!(
        status == 0
            && said.contains(
                "(lower case, two letters or more, cut to English stems, and sequences of up to 2); left out 5 (1 word) \
                 in more than 2 documents, "
            )
            && said.contains(" beyond the 3 most frequent; "),
        "{said}"
    );
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(directory.join("o/summary.json")).unwrap()).unwrap();
    let expected = serde_json::json!({
        "min_docs": 1, "max_docs": 2, "words": 3, "ngrams": 2, "stem": "english", "stop_words": "none"
    });
    assert_eq!(summary["settings"]["texts"], expected);
}

/// A fit without texts leaves no words behind, and one with words of another program's order has them turned.
#[test]
fn texts_bind_to_the_first_axis_or_to_the_last() {
    let directory = prepared("texts_turned", &PAGES);
    let (status, said) = fit(&directory, "turned.cavi", &["--data", "c=texts", "--transpose", "c"]);
    assert!(
        status == 0
            && said.starts_with("c: 3 term (fox, hen, red) x 3 page (a.txt, b.txt, c.txt), 7 entries"),
        "{said}"
    );
    fs::write(directory.join("c.csv"), ",x,y\na,1,2\nb,0,3\n").unwrap();
    assert_eq!(fit(&directory, "m.cavi", &["--data", "c=c.csv"]).0, 0);
    assert!(!directory.join("o/vocabulary").exists());
    let summary = fs::read_to_string(directory.join("o/summary.json")).unwrap();
    assert!(summary.contains("\"texts\": null"), "{summary}");
}

#[test]
fn a_vocabulary_of_ones_own_is_kept() {
    let directory = prepared("texts_own", &PAGES);
    fs::write(directory.join("v.txt"), "hen\nowl\nfox\n").unwrap();
    let (status, said) = fit(&directory, "m.cavi", &["--data", "c=texts", "--labels", "term=v.txt"]);
    assert!(status == 0 && said.contains("x 3 term (hen, owl, fox), 5 entries"), "{said}");
    assert!(said.contains("7 (5 words) that v.txt does not have: red, hens, run, ...; 6 remain"), "{said}");
}

#[test]
fn new_texts_are_read_as_the_fit_read_its_own() {
    let directory = prepared("texts_score", &PAGES);
    fs::write(directory.join("stop.txt"), "The\nfox\n").unwrap();
    let options = ["--data", "c=texts", "--stem", "english", "--min-docs", "1", "--stop-words", "stop.txt"];
    assert_eq!(fit(&directory, "m.cavi", &options).0, 0);
    // The list is kept with the fit.
    fs::remove_file(directory.join("stop.txt")).unwrap();
    fs::write(directory.join("new.csv"), "id,body\n5,\"the foxes, the running hens\"\n6,the zebras\n")
        .unwrap();
    let output =
        cavi(&directory, &["score", "o", "--data", "c=new.csv:body", "--json", "--progress", "none"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("c: 2 page (5, 6) x "), "{said}");
    assert!(
        said.contains(
            "left out 3 by the stop words of stop.txt, 2 (2 words) that o/axes/term.txt does not have: fox, zebra; "
        ),
        "{said}"
    );
}

#[test]
fn the_line_that_binds_texts_is_printed() {
    let directory = prepared("texts_data", &PAGES);
    fs::write(directory.join("p.csv"), "post_id,body\n7,red hen\n9,red fox\n").unwrap();
    fs::write(directory.join("l.txt"), "red hen\nred fox\n").unwrap();
    let data = |arguments: &[&str]| {
        let output = cavi(&directory, &[&["data"], arguments].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said = data(&["texts/", "--min-docs", "3"]);
    assert!(said.starts_with("texts/: folder of 3 texts, one document a file\n  1  a.txt\n"), "{said}");
    assert!(said.contains("left out 4 by the English stop words, "), "{said}");
    assert!(said.contains("data n[d, w] : count, absent = 0\n"), "{said}");
    assert!(said.ends_with("cavi fit MODEL --data n=texts/ --min-docs 3 --out DIR\n"), "{said}");
    let said = data(&["p.csv:body", "--columns", "n=post:post_id", "--min-docs", "1"]);
    assert!(said.contains("n: 2 post (7, 9) x 3 word (fox, hen, red), "), "{said}");
    let said = data(&["lines:l.txt"]);
    assert!(
        said.contains("texts, one document a line, 2 lines") && said.contains("n: 2 doc x 1 word (red)"),
        "{said}"
    );
}

#[test]
fn mistakes_with_texts_are_explained() {
    let directory = prepared("texts_wrong", &PAGES);
    fs::write(directory.join("c.csv"), ",x,y\na,1,2\nb,0,3\n").unwrap();
    fs::create_dir(directory.join("empty")).unwrap();
    let cases: [(&[&str], i32, &str); 8] = [
        (
            &["--data", "c=c.csv", "--min-docs", "3"],
            1,
            "`--min-docs` says how texts are read, and no text is read",
        ),
        (
            &["--data", "c=empty"],
            1,
            "empty: found a folder without files; expected texts, one document a file",
        ),
        (&["--data", "c=texts", "--max-docs", "1.5"], 2, "a share above 0 with a decimal point"),
        (&["--data", "c=texts", "--stem", "klingon"], 2, "expected a language: arabic, danish, "),
        (&["--data", "c=texts", "--stop-words", "klingon"], 1, "klingon: found no such file"),
        (&["--data", "c=texts", "--min-docs", "4"], 1, "each in fewer than 4 documents"),
        (&["--data", "c=texts:body"], 1, "texts:body: found a file name that states no format"),
        (&["--data", "c=texts", "--columns", "c=page:x"], 1, "found a file without columns"),
    ];
    for (arguments, status, expected) in cases {
        let (found, said) = fit(&directory, "m.cavi", arguments);
        assert!(found == status && said.contains(expected), "{arguments:?}: {found}, {said}");
        assert!(!directory.join("o").exists());
    }
}

/// A table with one column of running text was once recommended as counts of whole texts.
#[test]
fn a_table_with_a_column_of_texts_is_shown_as_texts() {
    let body = |word: &str| format!("the {word} walks over the old bridge to the {word} market");
    let table = format!("id,body,year\na,{},2001\nb,{},2002\n", body("baker"), body("tailor"));
    let directory = prepared("texts_in_a_table", &[("talks.csv", &table)]);
    let output = cavi(&directory, &["data", "talks.csv", "--min-docs", "1"]);
    let (shown, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(shown.contains("--data n=talks.csv:body"), "{shown}");
    assert!(said.contains("`body` holds texts, and `talks.csv:body` is read"), "{said}");
    // A mistake in a file of texts is not followed by the word that there is none.
    fs::write(
        directory.join("empty.csv"),
        format!("doc_id,body\na,{}\n,{}\n", body("baker"), body("tailor")),
    )
    .unwrap();
    let output = cavi(&directory, &["data", "empty.csv:body", "--min-docs", "1"]);
    let said = text(&output.stderr);
    assert!(said.contains("column `doc_id`") && !said.contains("no text is read"), "{said}");
}
