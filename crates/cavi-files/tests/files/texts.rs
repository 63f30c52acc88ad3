//! Texts: which words are counted, in which documents, and what is refused.

use std::fs;
use std::path::Path;

use crate::common::{check, check_error, describe};
use proptest::prelude::*;

use cavi_files::{
    ColumnOf, Content, Coordinates, Dimension, FileError, LanguageName, MostDocuments, ReadOptions,
    StopWords, TextOptions, TextReading, Vocabulary, read, read_from,
};

const AXES: [Dimension<'static>; 2] =
    [Dimension { axis: "doc", letter: None }, Dimension { axis: "word", letter: None }];

/// Every word of two letters or more.
fn all() -> TextOptions {
    TextOptions { min_docs: 1, stop_words: StopWords::None, ..TextOptions::default() }
}

fn english() -> LanguageName {
    LanguageName::with_stems("english").unwrap()
}

fn lines(text: &str, options: &TextOptions, vocabulary: Option<&[String]>) -> Result<Content, FileError> {
    let vocabulary = vocabulary.map(|words| Vocabulary { words, from: "words.txt" });
    let texts = Some(TextReading { options, vocabulary });
    let options = ReadOptions { dimensions: &AXES, texts, ..ReadOptions::default() };
    read_from(Path::new("lines:t.txt"), text.as_bytes().to_vec(), &options)
}

fn table(
    text: &str,
    column: Option<&str>,
    columns: &[ColumnOf<'_>],
    dimensions: &[Dimension<'_>],
) -> Result<Content, FileError> {
    let options = all();
    let texts = Some(TextReading { options: &options, vocabulary: None }).filter(|_| dimensions.len() == 2);
    let options = ReadOptions { dimensions, column, columns, texts, ..ReadOptions::default() };
    read_from(Path::new("t.csv"), text.as_bytes().to_vec(), &options)
}

fn coordinates(content: Result<Content, FileError>) -> Coordinates {
    match content {
        Ok(Content::Coordinates(coordinates)) => coordinates,
        Ok(other) => panic!("{}", describe(&other)),
        Err(error) => panic!("{error}"),
    }
}

/// The words, and below them the counts of each document.
#[track_caller]
fn counts(content: Result<Content, FileError>, expected: &str) {
    let own = coordinates(content);
    let words = own.labels(1).expect("words have labels").to_vec();
    let mut documents = vec![Vec::new(); own.shape[0]];
    for entry in 0..own.values.len() {
        let [document, word] = [0, 1].map(|dimension| own.indices[dimension][entry] as usize);
        documents[document].push(format!("{} {}", words[word], own.values[entry]));
    }
    let documents: Vec<String> = documents.iter().map(|own| own.join(", ")).collect();
    assert_eq!(format!("{}: {}", words.join(", "), documents.join(" / ")), expected);
    // What is written beside a fit says the same.
    let report = own.texts.expect("texts have a report");
    for (word, count) in report.words.iter().enumerate() {
        let of_word = || (0..own.values.len()).filter(|entry| own.indices[1][*entry] as usize == word);
        let sum: f64 = of_word().map(|entry| own.values[entry]).sum();
        assert_eq!((count.documents, count.count as f64), (of_word().count() as u64, sum));
    }
}

#[test]
fn words_are_those_of_the_unicode_standard_in_lower_case() {
    counts(
        lines("Cats, cats! A CAT-nap: can’t can't Élan élan 1984 x2 x2y Straße in U.S. 3.14\n", &all(), None),
        "can't, cat, cats, in, nap, straße, u.s, x2y, élan: can't 2, cat 1, cats 2, in 1, nap 1, straße 1, u.s 1, \
         x2y 1, élan 2",
    );
    counts(lines("кот Кот\nΣΟΦΌΣ σοφός\n", &all(), None), "σοφός, кот: кот 2 / σοφός 2");
}

#[test]
fn by_default_stop_words_and_words_of_one_document_are_left_out() {
    let content = lines(
        "The whale and the sea.\nA whale isn’t a fish.\nFish of the sea, rare.\n",
        &TextOptions::default(),
        None,
    );
    counts(content.clone(), "fish, sea, whale: sea 1, whale 1 / fish 1, whale 1 / fish 1, sea 1");
    let tally = coordinates(content).texts.unwrap().tally;
    // the, and, the; isn't; of, the.
    assert_eq!((tally.words, tally.stopped, tally.rare, tally.documents), (13, 6, (1, 1), 3));
}

#[test]
fn options_choose_words() {
    let text = "red red red blue green\nred blue green green\nred blue gold\nred\n";
    let with = |options: TextOptions| lines(text, &options, None);
    counts(
        with(TextOptions { min_docs: 3, ..all() }),
        "blue, red: blue 1, red 3 / blue 1, red 1 / blue 1, red 1 / red 1",
    );
    let most = |most| Some(most);
    let share = TextOptions { max_docs: most(MostDocuments::Share(0.75)), ..all() };
    counts(with(share), "blue, gold, green: blue 1, green 1 / blue 1, green 2 / blue 1, gold 1 / ");
    let count = TextOptions { max_docs: most(MostDocuments::Count(2)), ..all() };
    counts(with(count), "gold, green: green 1 / green 2 / gold 1 / ");
    // Of words that are as frequent as each other the first by the alphabet stays.
    counts(
        with(TextOptions { words: Some(2), ..all() }),
        "blue, red: blue 1, red 3 / blue 1, red 1 / blue 1, red 1 / red 1",
    );
    let beyond = coordinates(with(TextOptions { words: Some(2), ..all() })).texts.unwrap().tally.beyond;
    assert_eq!(beyond, (4, 2));
    let stems = TextOptions { stem: Some(english()), ..TextOptions::default() };
    counts(
        lines("Running runners run\nshe ran, he runs\n", &TextOptions { min_docs: 1, ..stems }, None),
        "ran, run, runner: run 2, runner 1 / ran 1, run 1",
    );
}

#[test]
fn sequences_are_of_words_that_count_and_end_with_their_text() {
    let options = TextOptions { ngrams: 3, ..all() };
    counts(
        lines("aa bb cc dd\nbb cc\n", &options, None),
        "aa, aa bb, aa bb cc, bb, bb cc, bb cc dd, cc, cc dd, dd: aa 1, aa bb 1, aa bb cc 1, bb 1, bb cc 1, bb cc dd 1, \
         cc 1, cc dd 1, dd 1 / bb 1, bb cc 1, cc 1",
    );
    let options = TextOptions { ngrams: 2, min_docs: 1, ..TextOptions::default() };
    counts(
        lines("king of france\n", &options, None),
        "france, king, king france: france 1, king 1, king france 1",
    );
}

#[test]
fn words_that_are_given_keep_their_order_and_others_are_counted() {
    let words = ["sea", "zebra", "whale", "the sea"].map(str::to_owned);
    let content =
        lines("The sea, the SEA, a ship\nwhale\n\n", &TextOptions { ngrams: 2, ..all() }, Some(&words));
    counts(content.clone(), "sea, zebra, whale, the sea: sea 2, the sea 2 / whale 1");
    let report = coordinates(content).texts.unwrap();
    // the 2, ship 1, sea the 1, sea ship 1: two sequences and two words, in one document each.
    assert_eq!((report.tally.unknown, report.unknown), ((5, 4), 4));
    assert_eq!(report.tally.first_unknown, ["the", "sea the", "ship"]);
    check_error(
        lines("ships at anchor", &all(), Some(&words)),
        "lines:t.txt: found no word of words.txt, but `ships`, `at`, `anchor`; expected texts that have words in common \
         with it (were those words cut to stems, or are they in another language?)",
    );
}

#[test]
fn what_is_left_empty_is_explained() {
    let rare = TextOptions { stop_words: StopWords::None, ..TextOptions::default() };
    check_error(
        lines("one two\nthree four\n", &rare, None),
        "lines:t.txt: found 4 words in 2 documents, each in fewer than 2 documents; expected words that stay \
         (`--min-docs 1` keeps words of one document)",
    );
    check_error(
        lines("it was\nit is\n", &TextOptions::default(), None),
        "lines:t.txt: found 4 words that are all stop words; expected others (`--stop-words none` keeps them)",
    );
    check_error(
        lines("1 2\n- -\n", &all(), None),
        "lines:t.txt: found 2 lines without a word; expected words of two letters or more (words are parted by blanks and \
         punctuation; Chinese, Japanese and Thai have to be cut into words beforehand)",
    );
    check_error(
        lines("up\nup\n", &TextOptions { max_docs: Some(MostDocuments::Share(0.5)), ..all() }, None),
        "lines:t.txt: found 1 word in 2 documents, each in more than 1 (0.5 of 2); expected words that stay \
         (a greater `--max-docs` keeps more)",
    );
    check_error(lines("", &all(), None), "lines:t.txt: found an empty file; expected data");
}

#[test]
fn a_column_of_text_has_a_document_a_row() {
    let posts = "title,body\nA,\"red, \"\"blue\"\"\nred\"\nB,NA\nC,blue\n";
    let content = table(posts, Some("body"), &[], &AXES);
    counts(content.clone(), "blue, red: blue 1, red 2 /  / blue 1");
    assert_eq!(coordinates(content).labels(0), None);
    // Rows are labelled by the axis's name, by what the caller says, or by ids; rows of one label are one document.
    let labels = |content| coordinates(content).labels(0).expect("rows have labels").join(" ");
    assert_eq!(labels(table("doc,body\nx,aa\ny,bb\nx,aa\n", Some("body"), &[], &AXES)), "x y");
    counts(table("doc,body\nx,aa\ny,bb\nx,aa\n", Some("body"), &[], &AXES), "aa, bb: aa 2 / bb 1");
    assert_eq!(labels(table("id,body\n7,aa\n9,bb\n", Some("body"), &[], &AXES)), "7 9");
    assert_eq!(labels(table("DocId,body\n7,aa\n7,bb\n", Some("body"), &[], &AXES)), "7");
    let columns = [ColumnOf { role: "doc", column: "title" }, ColumnOf { role: "value", column: "body" }];
    assert_eq!(labels(table(posts, None, &columns, &AXES)), "A B C");
    assert_eq!(coordinates(table("id,body\n7,aa\n7,bb\n", Some("body"), &[], &AXES)).labels(0), None);
    // A long table is what it was.
    check(table("doc,word,count\na,x,3\n", Some("count"), &[], &AXES), "long (a) by (x) count=3");
}

#[test]
fn a_column_that_is_no_text_is_refused() {
    check_error(
        table("title,likes\nA,3\nB,4\n", Some("likes"), &[], &AXES),
        "t.csv, line 1: found numbers in the column `likes`, beside `title`; expected texts, one document a row, or a long table with \
         columns `doc` and `word` (`--columns NAME=axis:column,...` says which columns are which axes)",
    );
    check_error(
        table("title,body\nA,aa\n", Some("text"), &[], &AXES),
        "t.csv, line 1: found the columns `title`, `body`; expected a column `text`",
    );
    check_error(
        table("title,body\nA,aa\nB\n", Some("body"), &[], &AXES),
        "t.csv, line 3: found 1 field; expected 2, as in the first line",
    );
    check_error(
        read_from(
            Path::new("lines:t.txt"),
            b"aa".to_vec(),
            &ReadOptions { dimensions: &AXES[..1], ..ReadOptions::default() },
        ),
        "lines:t.txt: found one document a line; expected a file that ends in .mtx, .tns, .csv, .tsv, .txt, .all, .ldac, \
         .npy (each also with .gz or .zst), .npz, .parquet, .h5ad, .h5, .db or .cavi-data (texts are read for data of two axes whose values are numbers: documents by words)",
    );
}

/// A folder with these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = directory.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    directory
}

fn read_folder(directory: &tempfile::TempDir) -> Result<Content, FileError> {
    let options = all();
    let texts = Some(TextReading { options: &options, vocabulary: None });
    read(directory.path(), &ReadOptions { dimensions: &AXES, texts, ..ReadOptions::default() })
}

#[track_caller]
fn refused(files: &[(&str, &[u8])], expected: &str) {
    let directory = folder(files);
    let error = read_folder(&directory).expect_err("what is no folder of texts is refused").to_string();
    let own = format!("{}", directory.path().display());
    assert_eq!(error.replace(&own, "texts"), expected);
}

#[test]
fn a_folder_has_a_document_a_file() {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packed, b"green").unwrap();
    let packed = packed.finish().unwrap();
    let directory = folder(&[
        ("b.txt", b"red red"),
        ("a/c.md", b"\xef\xbb\xbfblue"),
        (".x", b"\xff"),
        ("e", b""),
        ("d.txt.gz", &packed),
    ]);
    let content = read_folder(&directory);
    counts(content.clone(), "blue, green, red: blue 1 / red 2 / green 1 / ");
    assert_eq!(coordinates(content).labels(0).unwrap(), ["a/c.md", "b.txt", "d.txt.gz", "e"]);
}

#[test]
fn what_is_no_folder_of_texts_is_refused() {
    refused(&[], "texts: found a folder without files; expected texts, one document a file");
    refused(
        &[("a.txt", b"aa"), ("b.txt", b"bb\ncaf\xe9")],
        "texts/b.txt, line 2: found byte 6 (0xe9), which is no UTF-8, after `caf`; expected text in UTF-8 (if it is Latin-1 or \
         Windows-1252, `iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW` makes it so)",
    );
    refused(
        &[("a.txt", b"aa"), ("b.png", b"\x89PNG\0\0")],
        "texts/b.png, line 1: found a NUL byte (byte 4); expected text (every file of the folder is read as a text; take \
         others out)",
    );
    refused(
        &[("a.txt", b"\xff\xfea\0")],
        "texts/a.txt: found text in UTF-16; expected text in UTF-8 (`iconv -f UTF-16 -t UTF-8 FILE > NEW` makes it so)",
    );
    refused(
        &[("a.txt", b"aa"), ("t.csv", b"1")],
        "texts: found the data file `t.csv` in a folder; expected a folder of texts, one document a file (`--data \
         NAME=texts/t.csv` reads that file)",
    );
    refused(
        &[("a.txt", b""), ("b.txt", b" \n")],
        "texts: found 2 files without a word; expected words of two letters or more (words are parted by blanks and punctuation; Chinese, Japanese and Thai have to be cut into words beforehand)",
    );
    refused(
        &[("matrix.mtx", b""), ("genes.tsv", b"")],
        "texts: found a 10x folder without barcodes.tsv; expected it beside the matrix (`--data NAME=texts/matrix.mtx` reads the matrix \
         alone)",
    );
}

proptest! {
    /// Every word is counted once: it stays, or is left out for one reason.
    #[test]
    fn every_word_is_accounted_for(
        text in "([abcAé]{1,3}[ ,.\n]{1,2}|the |can't ){1,60}",
        min_docs in 1usize..4,
        max_docs in prop::option::of(1usize..5),
        words in prop::option::of(1usize..8),
    ) {
        let max_docs = max_docs.map(MostDocuments::Count);
        let options = TextOptions { min_docs, max_docs, words, ..TextOptions::default() };
        if let Ok(content) = lines(&text, &options, None) {
            let counts = coordinates(Ok(content));
            let tally = counts.texts.as_ref().unwrap().tally.clone();
            let kept: f64 = counts.values.iter().sum();
            let left_out = tally.stopped + tally.rare.0 + tally.common.0 + tally.beyond.0;
            prop_assert_eq!(tally.words, left_out + kept as u64);
            // Words that are kept, given beforehand, have the same counts.
            let kept = counts.labels(1).unwrap().to_vec();
            let again = coordinates(lines(&text, &options, Some(&kept)));
            prop_assert_eq!((&again.indices, &again.values), (&counts.indices, &counts.values));
            let unknown = again.texts.unwrap().tally.unknown;
            prop_assert_eq!(unknown.0 + tally.stopped, left_out);
        }
    }
}
