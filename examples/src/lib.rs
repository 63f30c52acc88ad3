//! Which programs and data come built in?
//!
//! Each folder beside this package's `src` holds a program and its data; here they are embedded, so that the binary
//! needs no file to show what it does. This crate knows bytes and names of files, and neither reads nor runs anything.

/// A program that comes with the binary, and the data it is shown on.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What `cavi list` shows and commands take in place of a file.
    pub name: &'static str,
    /// The program.
    pub text: &'static str,
    /// Its data.
    pub files: &'static [Bundled],
}

/// A file of an example, and what it is to the program.
#[derive(Clone, Copy, Debug)]
pub struct Bundled {
    /// What it is bound to.
    pub role: Role,
    /// Its name, which states the format.
    pub file: &'static str,
    /// What it holds.
    pub bytes: &'static [u8],
}

/// What a file is to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// What a `report` line compares with, by the name that it has there: one label a line.
    Known(&'static str),
    /// `--data NAME=FILE`, with the name as written there: `x`, `x[pix]`.
    Data(&'static str),
    /// `--labels AXIS=FILE`.
    Labels(&'static str),
}

/// An example in its own folder, its data there too or, with `in`, in the folder of another.
macro_rules! example {
    ($name:literal, $files:tt) => {
        example!($name in $name, $files)
    };
    ($name:literal in $folder:literal, [$($role:expr => $file:literal),* $(,)?]) => {
        Example {
            name: $name,
            text: include_str!(concat!("../", $name, "/", $name, ".cavi")),
            files: &[$(Bundled {
                role: $role,
                file: $file,
                bytes: include_bytes!(concat!("../", $folder, "/data/", $file)),
            }),*],
        }
    };
}

// A static, so that the binary holds the data once.
static EXAMPLES: &[Example] = &[
    example!("lda", [
        Role::Data("n") => "counts.mtx",
        Role::Labels("doc") => "docs.txt",
        Role::Labels("word") => "vocab.txt",
    ]),
    example!("lda_vem" in "lda", [
        Role::Data("x") => "counts.mtx",
        Role::Labels("doc") => "docs.txt",
        Role::Labels("word") => "vocab.txt",
    ]),
    example!("lda_tokens", [
        Role::Data("w") => "tokens.ldac",
        Role::Labels("doc") => "papers.txt",
        Role::Labels("word") => "vocab.txt",
    ]),
    example!("plsa", [
        Role::Data("x") => "counts.mtx",
        Role::Labels("doc") => "docs.txt",
        Role::Labels("word") => "vocab.txt",
    ]),
    example!("dirichlet_poisson", [
        Role::Data("x") => "counts.csv",
        Role::Labels("sample") => "samples.txt",
    ]),
    example!("nmf_kl", [Role::Data("x") => "pixels.csv"]),
    example!("nmf_em" in "nmf_gamma", [
        Role::Data("x") => "counts.csv",
        Role::Labels("genome") => "samples.txt",
    ]),
    example!("nmf_gp", [Role::Data("x") => "relative.csv"]),
    example!("nmf_ls", [
        Role::Data("x") => "magnitude.npy",
        Role::Labels("frequency") => "frequencies.txt",
    ]),
    example!("nmf_joint" in "lda", [
        Role::Data("x") => "counts.mtx",
        Role::Labels("doc") => "docs.txt",
        Role::Labels("word") => "vocab.txt",
    ]),
    example!("nmf_sparse", [Role::Data("x") => "pixels.csv.gz"]),
    example!("nmf_gamma", [
        Role::Data("x") => "counts.csv",
        Role::Labels("genome") => "samples.txt",
    ]),
    example!("nmf_cemgil" in "nmf_ls", [
        Role::Data("x") => "magnitude.npy",
        Role::Labels("frequency") => "frequencies.txt",
    ]),
    example!("nmf_gamma_joint", [
        Role::Data("x") => "counts.mtx.gz",
        Role::Labels("cell") => "cells.txt",
        Role::Labels("gene") => "genes.txt",
    ]),
    example!("hpf", [
        Role::Data("y") => "baskets.mtx",
        Role::Labels("user") => "households.txt",
        Role::Labels("item") => "categories.txt",
    ]),
    example!("poisson_tensor", [
        Role::Data("y") => "flights.tns",
        Role::Labels("destination") => "destinations.txt",
        Role::Labels("carrier") => "carriers.txt",
        Role::Labels("month") => "months.txt",
    ]),
    example!("gfa", [
        Role::Data("x[pix]") => "pix.csv",
        Role::Data("x[zer]") => "zer.csv",
        Role::Data("x[mor]") => "mor.csv",
    ]),
    example!("gfa_lowrank", [
        Role::Data("counts[rna]") => "rna.csv.gz",
        Role::Data("counts[mirna]") => "mirna.csv.gz",
        Role::Data("counts[mutations]") => "mutations.csv",
        Role::Labels("sample") => "patients.txt",
    ]),
    example!("factor_analysis" in "ppca", [
        Role::Data("x") => "microbes.csv",
        Role::Labels("sample") => "samples.txt",
    ]),
    example!("ppca", [
        Role::Data("x") => "lipids.csv",
        Role::Labels("sample") => "samples.txt",
    ]),
    example!("pmf" in "hpf", [
        Role::Data("r") => "log_baskets.mtx.gz",
        Role::Labels("user") => "households.txt",
        Role::Labels("item") => "categories.txt",
    ]),
    example!("gmm" in "gfa", [Role::Data("x") => "mor.csv", Role::Known("digits.txt") => "labels.txt"]),
    example!("linear_regression_ard", [
        Role::Data("x") => "x.csv",
        Role::Data("y") => "y.csv",
        Role::Labels("sample") => "products.txt",
    ]),
];

/// Every built-in program, in the order in which `cavi list` shows them.
pub fn examples() -> &'static [Example] {
    EXAMPLES
}

/// The built-in program of a name.
pub fn example(name: &str) -> Option<&'static Example> {
    examples().iter().find(|example| example.name == name)
}

impl Example {
    /// One line about the program: its first comment, without the full stop.
    pub fn description(&self) -> &'static str {
        let first = self.text.lines().find_map(|line| line.strip_prefix('#')).unwrap_or("");
        first.trim().trim_end_matches('.')
    }

    /// Where the program comes from: its second comment.
    pub fn citation(&self) -> &'static str {
        self.text.lines().filter_map(|line| line.strip_prefix('#')).nth(1).unwrap_or("").trim()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_describes_itself_and_cites_its_source() {
        for example in examples() {
            assert!(example.description().len() > 20, "{}", example.name);
            assert!(example.citation().contains('('), "{}", example.name);
            assert!(example.text.contains(&format!("\nmodel {}\n", example.name)), "{}", example.name);
            assert!(!example.files.is_empty(), "{}", example.name);
        }
    }

    #[test]
    fn the_bundle_is_small() {
        let bytes: usize =
            examples().iter().flat_map(|example| example.files).map(|file| file.bytes.len()).sum();
        assert!(bytes < 8 << 20, "{bytes} bytes");
    }
}
