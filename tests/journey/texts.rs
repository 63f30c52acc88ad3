//! Texts as people have them: a folder to named topics in two commands, words as another program counts them, and new texts read
//! by the words of a fit.

use std::fs;
use std::path::Path;
use std::process::Command;

use cavi_files::{
    Content, Dimension, MostDocuments, ReadOptions, StopWords, TextOptions, TextReading, read_from,
};
use serde_json::Value;

/// Sentences about whales and about stars, written for this test.
const TEXTS: [(&str, &str); 8] = [
    (
        "whale_1.txt",
        "The whale, the whale! Up helm, up helm! The ship is sinking; the whale has struck the ship, and the sea rolls over the boats.",
    ),
    (
        "whale_2.txt",
        "Towards thee I roll, thou all-destroying but unconquering whale. The boats pulled from the ship; the harpoon was darted, and the stricken whale flew through the sea.",
    ),
    (
        "whale_3.txt",
        "The harpoon is thrown from the boats, and the line runs as the whale sounds into the sea; the ship follows the whale.",
    ),
    (
        "whale_4.txt",
        "The sperm whale spouts at the surface of the sea; boats are lowered from the ship, and the harpoon is struck into the whale.",
    ),
    (
        "star_1.txt",
        "The telescope shows stars by thousands where the eye sees none; the sky is crowded with stars, and each star is a sun at a vast distance.",
    ),
    (
        "star_2.txt",
        "A planet shines by the light of the sun, and through the telescope its disc is seen; the stars in the sky remain points of light.",
    ),
    (
        "star_3.txt",
        "The stars keep their places in the sky, while a planet wanders among the stars; the telescope gathers the light of both.",
    ),
    (
        "star_4.txt",
        "The light of the stars reaches us from a great distance, and the telescope divides the sky into points of light.",
    ),
];

/// Runs the command line in a directory; what it printed.
pub fn cavi(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_cavi-tested"))
        .args(arguments)
        .current_dir(directory)
        .output()
        .expect("the binary runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    (text(&output.stdout), text(&output.stderr))
}

/// The words of each topic, as `cavi top` prints them.
fn topics(text: &str) -> Vec<Vec<&str>> {
    let lines = text.lines().filter(|line| line.trim_start().starts_with("topic"));
    lines.map(|line| line.split_whitespace().skip(2).collect()).collect()
}

#[test]
fn a_folder_of_texts_becomes_topics_in_two_commands() {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = directory.path().join("texts");
    fs::create_dir(&folder).expect("a folder");
    for (name, text) in TEXTS {
        fs::write(folder.join(name), text).expect("a text");
    }
    let (found, said) = cavi(
        directory.path(),
        &[
            "fit",
            "lda",
            "--data",
            "n=texts/",
            "--set",
            "topic=2",
            "--restarts",
            "5",
            "--out",
            "o",
            "--progress",
            "none",
        ],
    );
    assert!(said.contains("n: 8 files of ") && said.contains("by the English stop words"), "{said}");
    assert!(found.contains("written to o"), "{found}");
    let (top, _) = cavi(directory.path(), &["top", "o", "beta", "--n", "4"]);
    let topics = topics(&top);
    let has = |words: [&str; 4]| topics.iter().any(|topic| words.iter().all(|word| topic.contains(word)));
    assert_eq!(topics.len(), 2, "{top}");
    assert!(has(["whale", "sea", "ship", "boats"]) && has(["stars", "light", "sky", "telescope"]), "{top}");
    // Documents are called as their files, and words have their counts.
    let documents = fs::read_to_string(directory.path().join("o/axes/doc.txt")).expect("labels");
    assert!(documents.starts_with("star_1.txt\nstar_2.txt\nstar_3.txt\n"), "{documents}");
    let counts = fs::read_to_string(directory.path().join("o/vocabulary/n.csv")).expect("counts");
    assert!(counts.starts_with("word,documents,count\n") && counts.contains("\nwhale,4,9\n"), "{counts}");

    // A new text has words that the fit does not know.
    let line = "The whale and the ship in a gale; the whale and the sea.";
    fs::write(directory.path().join("new.txt"), line).expect("a text");
    let (score, said) =
        cavi(directory.path(), &["score", "o", "--data", "n=lines:new.txt", "--json", "--progress", "none"]);
    let score: Value = serde_json::from_str(&score).expect("JSON");
    assert_eq!(score["n_dropped"], 1, "{score}");
    assert!(said.contains("1 (1 word) that o/axes/word.txt does not have: gale; 4 remain"), "{said}");
}

#[test]
fn words_are_counted_as_scikit_learn_counts_them() {
    let stored: Value =
        serde_json::from_str(include_str!("../outside/words_scikit_learn.json")).expect("the file is JSON");
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().expect("a list").iter().map(|own| own.as_str().expect("text").to_owned()).collect()
    };
    let documents = texts(&stored["documents"]).join("\n");
    let size = |case: &Value, key: &str| case[key].as_u64().map(|own| own as usize);
    let cases = stored["cases"].as_array().expect("cases");
    assert!(cases.len() >= 8);
    for case in cases {
        let max_docs = match (size(case, "max_docs"), case["max_docs"].as_f64()) {
            (Some(count), _) => Some(MostDocuments::Count(count)),
            (None, share) => share.map(MostDocuments::Share),
        };
        let stop_words = match case["stop_words"].as_bool() {
            Some(true) => StopWords::Listed { file: "stop.txt".into(), words: texts(&stored["stop_words"]) },
            _ => StopWords::None,
        };
        let options = TextOptions {
            min_docs: size(case, "min_docs").expect("a number"),
            max_docs,
            words: size(case, "words"),
            ngrams: size(case, "ngrams").unwrap_or(1),
            stem: None,
            stop_words,
        };
        let dimensions = ["doc", "word"].map(|axis| Dimension { axis, letter: None });
        let reading = ReadOptions {
            dimensions: &dimensions,
            texts: Some(TextReading { options: &options, vocabulary: None }),
            ..ReadOptions::default()
        };
        let name = Path::new("lines:documents.txt");
        let content = read_from(name, documents.clone().into_bytes(), &reading).expect("texts");
        let Content::Coordinates(counts) = content else { panic!("texts are listed counts") };
        assert_eq!(counts.labels(1).expect("words"), texts(&case["vocabulary"]), "{options:?}");
        let mut table = vec![vec![0.0; counts.shape[1]]; counts.shape[0]];
        for (entry, value) in counts.values.iter().enumerate() {
            table[counts.indices[0][entry] as usize][counts.indices[1][entry] as usize] += value;
        }
        let expected: Vec<Vec<f64>> = serde_json::from_value(case["counts"].clone()).expect("counts");
        assert_eq!(table, expected, "{options:?}");
    }
}
