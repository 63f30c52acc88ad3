//! Programs to try: those in folders, and some that stand here.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cavi_algebra::{Equations, Mode};
use cavi_executor::{Item, Schedule, Step};
use cavi_model::{Model, ScheduleItem, ScheduleKind};
use cavi_verification::Subject;

/// A program and what was derived from it.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file, without folder and suffix, or a name given here.
    pub name: String,
    /// Its text.
    pub text: String,
    /// Names resolved.
    pub model: Model,
    /// Derived.
    pub equations: Equations,
}

/// Compiles a program, or says what is wrong with it.
pub fn compile(name: &str, text: &str) -> Result<Program, String> {
    let (program, mut diagnostics) = cavi_syntax::parse(text);
    let failed = |diagnostics: &[cavi_syntax::Diagnostic]| {
        let texts: Vec<String> = diagnostics
            .iter()
            .filter(|diagnostic| diagnostic.is_error())
            .map(|diagnostic| cavi_syntax::render(diagnostic, name, text, false))
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    if let Some(text) = failed(&diagnostics) {
        return Err(text);
    }
    let (model, more) = cavi_model::resolve(&program);
    diagnostics.extend(more);
    if let Some(text) = failed(&diagnostics) {
        return Err(text);
    }
    let model = model.ok_or("no model and no diagnostic")?;
    let (equations, more) = cavi_derivation::derive(&model);
    diagnostics.extend(more);
    if let Some(text) = failed(&diagnostics) {
        return Err(text);
    }
    let equations = equations.ok_or("no equations and no diagnostic")?;
    Ok(Program { name: name.to_owned(), text: text.to_owned(), model, equations })
}

impl Program {
    /// What of it is verified.
    pub fn subject(&self) -> Subject<'_> {
        Subject { model: &self.model, equations: &self.equations }
    }

    /// The program's sweep.
    pub fn schedule(&self) -> Schedule {
        match &self.model.fit.sweep {
            Some(items) => Schedule { items: items.iter().filter_map(|item| self.item(item)).collect() },
            None => Schedule::of(&self.equations),
        }
    }

    fn item(&self, item: &ScheduleItem) -> Option<Item> {
        let members = |items: &[ScheduleItem]| items.iter().filter_map(|item| self.item(item)).collect();
        let step = match &item.kind {
            ScheduleKind::Variable(array) => {
                let block = self.equations.block_of(*array)?;
                // As in a fit: no sweep updates what is fixed.
                if self.equations.block(block).mode == Mode::Fixed {
                    return None;
                }
                Step::Block(block)
            }
            ScheduleKind::Group(items) => Step::Group(members(items)),
            ScheduleKind::Sequence(items) => Step::Sequence(members(items)),
        };
        Some(Item { step, repeat: item.repeat, reset: item.reset })
    }

    /// All blocks of the default sweep as one group.
    pub fn one_group(&self) -> Schedule {
        let items = self.equations.sweep.iter().copied().map(Item::block).collect();
        Schedule { items: vec![Item::group(items)] }
    }

    /// Whether a point moves by L-BFGS.
    pub fn climbs(&self) -> bool {
        let by_gradient = |own: &cavi_algebra::Ascent| own.curvature.is_none();
        self.equations.blocks.iter().any(|block| block.ascent.as_ref().is_some_and(by_gradient))
    }

    /// Whether a log of a sum, or the softplus of log odds, is bounded anywhere.
    pub fn is_bounded(&self) -> bool {
        !(self.equations.sites.is_empty() && self.equations.auxiliaries.is_empty())
    }
}

/// Whether tests go through all variants of their runs (`CAVI_THOROUGH=1`, which `tests/long/thorough` says), not some of them.
pub fn thorough() -> bool {
    std::env::var_os("CAVI_THOROUGH").is_some()
}

/// Every program of `tests/models` and `examples`, and those of this file.
///
/// # Panics
///
/// Where a program does not compile.
pub fn programs() -> Vec<Program> {
    // They are compiled once for all tests of a process.
    static ALL: OnceLock<Vec<Program>> = OnceLock::new();
    ALL.get_or_init(compiled).clone()
}

fn compiled() -> Vec<Program> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = cavi_files_in(&root.join("models"));
    files.extend(cavi_files_in(&root.join("../examples")));
    let only = std::env::var("CAVI_PROGRAM").ok();
    let mut programs = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a program is readable");
        let name = file.file_stem().expect("a file has a name").to_string_lossy().into_owned();
        match compile(&name, &text) {
            Ok(program) => programs.push(program),
            // While a program is being written, the others can be tested.
            Err(_) if std::env::var_os("CAVI_KEEP_GOING").is_some() => eprintln!("skipped: {name}"),
            Err(problem) => panic!("{}: {problem}", file.display()),
        }
    }
    programs.extend(inline_programs());
    programs.retain(|program| only.as_ref().is_none_or(|only| program.name.contains(only.as_str())));
    programs
}

/// The programs of this file.
///
/// # Panics
///
/// Where a program does not compile.
pub fn inline_programs() -> Vec<Program> {
    INLINE
        .iter()
        .map(|(name, text)| compile(name, text).unwrap_or_else(|problem| panic!("{name}: {problem}")))
        .collect()
}

/// All `.cavi` files in a folder and below it, in the order of their paths.
fn cavi_files_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return found };
    for entry in entries {
        let path = entry.expect("a folder is readable").path();
        if path.is_dir() {
            found.extend(cavi_files_in(&path));
        } else if path.extension().is_some_and(|suffix| suffix == "cavi") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Small programs that hold one thing each.
const INLINE: &[(&str, &str)] = &[
    (
        "inline_lda",
        "axis doc[d]\naxis word[v]\naxis topic[k] = 3\ndata n[d, v] : count, absent = 0\nconst alpha = 0.3\n\
         const eta = 0.4\ntheta[d, :k] ~ Dirichlet(alpha)\nbeta[k, :v] ~ Dirichlet(eta)\n\
         n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\nfit {\n  sweep (theta, beta)\n}\n",
    ),
    (
        "inline_nmf_gamma",
        "axis row[i]\naxis column[j]\naxis factor[k] = 3\ndata x[i, j] : nonnegative, absent = 0\n\
         const a = 0.7\nconst b = 1.2\nconst c = 0.9\nconst d = 0.8\n\
         w[i, k] ~ Gamma(a, rate = b)\nh[k, j] ~ Gamma(c, rate = d)\n\
         x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n",
    ),
    (
        "inline_nmf_kl",
        "axis row[i]\naxis column[j]\naxis factor[k] = 3\ndata x[i, j] : nonnegative, absent = 0\n\
         w[i, k] ~ Flat(nonnegative)\nh[k, j] ~ Flat(nonnegative)\n\
         x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\nposterior {\n  point w\n  point h\n}\n",
    ),
    (
        "inline_nmf_masked",
        "axis row[i]\naxis column[j]\naxis factor[k] = 3\ndata x[i, j] : count, absent = NA\n\
         w[i, k] ~ Gamma(0.7, rate = 1.1)\nh[k, j] ~ Gamma(1.3, rate = 0.8)\n\
         x[i, j] ~ Poisson(sum[k](w[i, k] * h[k, j]))\n",
    ),
    (
        "inline_gfa",
        "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k] = 2\n\
         data x[n, m, j] : real, absent = NA\nz[n, k] ~ Normal(0, sd = 1)\n\
         alpha[m, k] ~ Gamma(shape = 1.5, rate = 0.7)\nw[m, j, k] ~ Normal(0, prec = alpha[m, k])\n\
         tau[m] ~ Gamma(shape = 1.2, rate = 0.9)\n\
         x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])\n\
         posterior {\n  q(z[n, :k])\n  q(w[m, j, :k])\n}\n",
    ),
    (
        "inline_gfa_complete",
        "axis sample[n]\naxis view[m]\naxis feature[j] in view[m]\naxis factor[k] = 2\n\
         data x[n, m, j] : real\nz[n, k] ~ Normal(0, sd = 1)\n\
         alpha[m, k] ~ Gamma(shape = 1.5, rate = 0.7)\nw[m, j, k] ~ Normal(0, prec = alpha[m, k])\n\
         tau[m] ~ Gamma(shape = 1.2, rate = 0.9)\n\
         x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])\n\
         posterior {\n  q(z[n, :k])\n  q(w[m, j, :k])\n}\n",
    ),
    (
        "inline_factorised",
        "axis sample[n]\naxis feature[j]\naxis factor[k] = 3\ndata x[n, j] : real, absent = NA\n\
         z[n, k] ~ Normal(0, sd = 1)\nw[j, k] ~ Normal(0, prec = alpha[k])\nalpha[k] ~ Gamma(1.5, rate = 0.7)\n\
         mu[j] ~ Normal(0.5, sd = 2)\npsi[j] ~ Gamma(1.2, rate = 0.9)\n\
         x[n, j] ~ Normal(mu[j] + sum[k](w[j, k] * z[n, k]), prec = psi[j])\n",
    ),
    (
        "inline_mixture",
        "axis item[n]\naxis trait[j]\naxis class[c] = 3\ndata x[n, j] : real\npi[:c] ~ Dirichlet(0.8)\n\
         z[n] ~ Categorical(pi)\nmu[c, j] ~ Normal(0, sd = 2)\ntau[j] ~ Gamma(1.1, rate = 0.6)\n\
         x[n, j] ~ Normal(mu[z[n], j], prec = tau[j])\n",
    ),
    (
        "inline_missing_labels",
        "axis item[n]\naxis trait[j]\naxis class[c] = 3\ndata y[n] : index class, absent = NA\n\
         data x[n, j] : binary, absent = NA\npi[:c] ~ Dirichlet(0.8)\ny[n] ~ Categorical(pi)\n\
         odds[c, j] ~ Beta(1.3, 0.6)\nx[n, j] ~ Bernoulli(odds[y[n], j])\n",
    ),
    (
        "inline_normal_gamma",
        "axis item[n]\naxis trait[j]\naxis class[c] = 2\ndata x[n, j] : real\npi[:c] ~ Dirichlet(0.8)\n\
         z[n] ~ Categorical(pi)\ntau[c, j] ~ Gamma(1.1, rate = 0.6)\nmu[c, j] ~ Normal(0.3, prec = 0.4 * tau[c, j])\n\
         x[n, j] ~ Normal(mu[z[n], j], prec = tau[z[n], j])\nposterior {\n  q(mu[c, j], tau[c, j])\n}\n",
    ),
    (
        "inline_weighted_lda",
        "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata n[d, v] : count, absent = 0\ndata weight[d] : multiplicity\n\
         theta[d, :k] ~ Dirichlet(0.5)\nbeta[k, :v] ~ Dirichlet(0.4)\n\
         n[d, :v] ~ Multinomial(p = sum[k](theta[d, k] * beta[k, v]))\nfit {\n  sweep (theta, beta)\n}\n",
    ),
    (
        "inline_square_in_a_rate",
        "axis item[n]\naxis cause[p] = 2\ndata x[n] : count\ndata c[n, p] : positive\nu[p] ~ Gamma(1.2, rate = 0.9)\n\
         v ~ Gamma(0.8, rate = 1.3)\nx[n] ~ Poisson(0.3 + sum[p](c[n, p] * u[p] * v))\n",
    ),
    (
        "inline_two_levels",
        "axis region[r]\naxis school[s] in region\naxis pupil[i] in school\naxis factor[k] = 2\n\
         data y[r, s, i] : real, absent = NA\nm[r, k] ~ Normal(0, sd = 2)\nb[r, s, k] ~ Normal(m[r, k], prec = t[k])\n\
         t[k] ~ Gamma(1.2, rate = 0.8)\ng[r, s, i, k] ~ Normal(0, sd = 1)\nnoise[r] ~ Gamma(1.5, rate = 0.7)\n\
         y[r, s, i] ~ Normal(sum[k](b[r, s, k] * g[r, s, i, k]), prec = noise[r])\n",
    ),
    (
        "inline_index_data",
        "axis item[n]\naxis group[g]\naxis cause[p]\ndata y[n] : real\ndata at[n] : index group\n\
         data c[n, p] : real\nu[g] ~ Normal(0, prec = tau)\nslope[p] ~ Normal(0, sd = 1.5)\n\
         tau ~ Gamma(1.5, rate = 0.8)\nnoise ~ Gamma(1.2, rate = 0.7)\n\
         y[n] ~ Normal(u[at[n]] + sum[p](c[n, p] * slope[p]), prec = noise)\n",
    ),
    (
        "inline_background",
        "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata n[d, v] : count, absent = 0\ndata e[d] : positive\n\
         const low = 0.2\nbg[v] ~ Gamma(0.8, rate = 1)\nscale[d] ~ Gamma(1.1, rate = 0.9)\n\
         theta[d, k] ~ Gamma(0.6, rate = 1.2)\nbeta[k, v] ~ Gamma(0.9, rate = 0.7)\n\
         n[d, v] ~ Poisson(e[d] * (low + scale[d] * bg[v] + sum[k](theta[d, k] * beta[k, v])))\n",
    ),
    (
        "inline_hpf",
        "axis user[u]\naxis item[i]\naxis taste[k] = 2\ndata y[u, i] : count, absent = 0\n\
         theta[u, k] ~ Gamma(0.5, rate = xi[u])\nxi[u] ~ Gamma(1.1, rate = 0.8)\n\
         beta[i, k] ~ Gamma(0.6, rate = eta[i])\neta[i] ~ Gamma(1.3, rate = 0.7)\n\
         y[u, i] ~ Poisson(sum[k](theta[u, k] * beta[i, k]))\nfit {\n  sweep (theta, beta), xi, eta\n}\n",
    ),
    (
        "inline_tensor",
        "axis one[i]\naxis two[j]\naxis three[l]\naxis factor[k] = 2\ndata y[i, j, l] : count, absent = 0\n\
         a[i, k] ~ Gamma(0.6, rate = 0.5)\nb[j, k] ~ Gamma(0.9, rate = 1.1)\nc[l, k] ~ Gamma(1.4, rate = 0.8)\n\
         y[i, j, l] ~ Poisson(sum[k](a[i, k] * b[j, k] * c[l, k]))\nfit {\n  sweep (a, b), c\n}\n",
    ),
    (
        "inline_plsa",
        "axis doc[d]\naxis word[v]\naxis topic[k] = 2\ndata n[d, v] : count, absent = 0\n\
         w[k, :v] ~ Flat(simplex)\nh[d, :k] ~ Flat(simplex)\n\
         n[d, :v] ~ Multinomial(p = sum[k](w[k, v] * h[d, k]))\nposterior {\n  point w\n  point h\n}\n\
         fit {\n  sweep (w, h)\n}\n",
    ),
];
