//! What programs mean: the statements of the printed model, and what is said about them.

use cavi_model::{dot, factor_graph, print, resolve, resolve_schedule, svg, tikz};
use cavi_syntax::{Diagnostic, parse, render};

fn rendered(text: &str, diagnostics: &[Diagnostic]) -> String {
    diagnostics
        .iter()
        .map(|diagnostic| render(diagnostic, "program.cavi", text, false))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The lines of the printed model.
fn model(text: &str) -> Vec<String> {
    let (program, syntax) = parse(text);
    assert!(syntax.is_empty(), "{}", rendered(text, &syntax));
    let (model, diagnostics) = resolve(&program);
    let model = model.unwrap_or_else(|| panic!("{}", rendered(text, &diagnostics)));
    print(&model).lines().map(|line| line.trim().to_owned()).collect()
}

fn check(text: &str, lines: &[&str]) {
    let printed = model(text);
    for line in lines {
        assert!(printed.iter().any(|own| own == line), "no line `{line}` in\n{}", printed.join("\n"));
    }
}

/// The codes of everything that is said about a program, in the order of the text.
fn codes(text: &str) -> Vec<&'static str> {
    let (program, syntax) = parse(text);
    assert!(syntax.is_empty(), "{}", rendered(text, &syntax));
    resolve(&program).1.iter().map(|diagnostic| diagnostic.code).collect()
}

const GFA: &str = "
model gfa
axis sample[n]
axis view[m, p]
axis feature[j] in view[m]
axis factor[k] = 15
data x[n, m, j] : real, absent = NA
z[n, k] ~ Normal(0, sd = 1)
alpha[m, k] ~ Gamma(shape = 1e-14, rate = 1e-14)
w[m, j, k] ~ Normal(0, prec = alpha[m, k])
tau[m] ~ Gamma(shape = 1e-14, rate = 1e-14)
x[n, m, j] ~ Normal(sum[k](w[m, j, k] * z[n, k]), prec = tau[m])
posterior {
  q(z[n, :k])
  q(w[m, j, :k])
}
fit {
  sweep z, (w, alpha) repeat 2, [tau]
}
";

#[test]
fn ancestors_of_a_ragged_letter_fold_into_it() {
    check(
        GFA,
        &[
            "feature[j] in view[m]",
            "data x[n, j] : real, absent = NA",
            "w[j, k] ~ Normal(mean = 0, prec = alpha[m, k])",
            "q (w[j, :k])",
            "sweep z, (w, alpha) repeat 2, [tau]",
        ],
    );
}

#[test]
fn a_ragged_letter_inside_another_letter_is_one_of_its_own() {
    let text = GFA
        .replace("w[m, j, k] ~ Normal(0, prec = alpha[m, k])", "w[p, j, k] ~ Normal(0, prec = alpha[p, k])");
    let printed = model(&text.replace("q(w[m, j, :k])", ""));
    let line = printed.iter().find(|line| line.starts_with("w[")).expect("the statement of w");
    assert_eq!(line, "w[j', k] ~ Normal(mean = 0, prec = alpha[p, k])");
}

#[test]
fn the_left_of_data_may_use_other_letters() {
    check(
        "axis node[i, j]\ndata a[i, j] : binary, absent = 0, i != j\nu[i] ~ Beta(1, 1)\na[j, i] ~ Bernoulli(u[j])\n",
        &["data a[i, j] : binary, absent = 0, i != j", "a[i, j] (observed) ~ Bernoulli(p = u[i])"],
    );
}

#[test]
fn a_summed_letter_that_stands_for_another_is_kept_apart() {
    check(
        "axis node[i, j]\ndata a[i] : real\nu[i] ~ Normal(0, sd = 1)\na[j] ~ Normal(u[j] + sum[i](u[i]), sd = 1)\n",
        &["a[i] (observed) ~ Normal(mean = u[i] + sum[i'](u[i']), sd = 1)"],
    );
}

#[test]
fn definitions_are_written_out_without_capture() {
    check(
        "axis row[i]\naxis group[g, h]\ndata x[i] : real\ndata home[i] : index group\nb[g] ~ Normal(0, sd = 1)\n\
         gap[g] = b[g] - sum[h](b[h])\nx[i] ~ Normal(gap[home[i]] + sum[h](gap[h]), sd = 1)\n",
        &[
            "x[i] (observed) ~ Normal(mean = b[home[i]] - sum[h](b[h]) + sum[h](b[h] - sum[h'](b[h'])), sd = 1)",
        ],
    );
}

#[test]
fn vectors_are_written_in_several_ways() {
    let program = |left: &str, value: &str| {
        format!(
            "axis doc[d]\naxis word[v]\naxis topic[k, l]\ndata n[d, v] : count, absent = 0\nconst alpha\nconst a[k]\n\
             t[d, :k] ~ Dirichlet({value})\nb[k, :v] ~ Dirichlet(alpha)\n\
             n[d, {left}] ~ Multinomial(p = sum[k](t[d, k] * b[k, v]))\n"
        )
    };
    for value in ["a", "a[k]", "a[:k]", "a[:l]"] {
        let text = program(":v", value).replace("const alpha\n", "const alpha\nconst unused_here = 1\n");
        check(&text, &["t[d, :k] ~ Dirichlet(concentration[:k] = a[k])"]);
    }
    for (probabilities, printed) in [
        ("p", "p[k]"),
        ("p[:k]", "p[k]"),
        ("p[:l]", "p[l]"),
        ("c[e[i]]", "c[e[i], k]"),
        ("c[e[i], :k]", "c[e[i], k]"),
    ] {
        let letter = if printed.contains('l') { "l" } else { "k" };
        let text = format!(
            "axis row[i]\naxis kind[s]\naxis topic[k, l] = 2\ndata e[i] : index kind\ndata x[i] : real\nm[k] ~ Normal(0, sd = 1)\n\
             p[:k] ~ Dirichlet(1)\nc[s, :k] ~ Dirichlet(1)\nz[i] ~ Categorical({probabilities})\nx[i] ~ Normal(m[z[i]], sd = 1)\n"
        );
        check(
            &text,
            &[&format!("z[i] ~ Categorical(p[:{letter}] = {printed})"), "latent z[i] : index topic"],
        );
    }
}

#[test]
fn statements_come_in_any_order() {
    check(
        "axis row[i]\naxis topic[k] = 2\nx[i] ~ Normal(m[z[i]], sd = s)\ns = exp(c)\nz[i] ~ Categorical(p)\n\
         p[:k] ~ Dirichlet(c)\nm[k] ~ Normal(0, sd = 1)\nconst c = 0.5\ndata x[i] : real\n",
        &["x[i] (observed) ~ Normal(mean = m[z[i]], sd = exp(c))"],
    );
}

#[test]
fn sums_over_a_ragged_axis_run_inside_their_ancestor() {
    let inner = GFA.replace(
        "tau[m] ~ Gamma(shape = 1e-14, rate = 1e-14)",
        "tau[m] ~ Gamma(1, rate = sum[j, k](w[m, j, k]^2))",
    );
    check(&inner, &["tau[m] ~ Gamma(shape = 1, rate = sum[j, k](w[j, k]^2))"]);
    let both = GFA.replace(
        "z[n, k] ~ Normal(0, sd = 1)",
        "c[m, j] ~ Gamma(1, rate = 1)\nz[n, k] ~ Normal(0, prec = sum[m, j](c[m, j]))",
    );
    check(&both, &["z[n, k] ~ Normal(mean = 0, prec = sum[m, j](c[j]))"]);
}

#[test]
fn independent_mistakes_are_all_reported() {
    let text = "axis row[i]\ndata x[i] : reel\nm ~ Normla(0, sd = 1)\ns ~ Gamma(1, rat = 1)\nx[i] ~ Normal(m + q1, prec = s[i])\n";
    assert_eq!(codes(text), ["E0210", "E0208", "E0501", "E0201", "E0301"]);
    let text = "axis row[i]\ndata x[i] : real\nx[i] ~ Normal(m, prec = t)\nx2[i] ~ Normal(m * t, prec = t)\n";
    assert_eq!(codes(text), ["E0201", "E0201"]);
}

#[test]
fn warnings_and_notes_do_not_stop_a_program() {
    assert_eq!(
        codes("axis row[i]\ndata x[i] : count\nm ~ Normal(0, sd = 1)\nx[i] ~ Normal(m, sd = 1)\n"),
        ["W0501"]
    );
    assert_eq!(codes("axis row[i]\ndata x[i] : unit\np ~ Beta(1, 1)\nx[i] ~ Bernoulli(p)\n"), ["N0501"]);
    assert_eq!(
        codes(
            "axis row[i]\ndata x[i] : real\ndata y[i] : real\nm ~ Normal(0, sd = 1)\nM ~ Normal(0, sd = 1)\nx[i] ~ Normal(m + M, sd = 1)\n"
        ),
        ["W0202", "W0201"]
    );
}

#[test]
fn constants_set_from_outside_are_not_judged() {
    let text = "axis row[i]\nconst a = -1\ndata x[i] : count\nr ~ Gamma(a, rate = 1)\nx[i] ~ Poisson(r)\n";
    let (program, _) = parse(text);
    assert!(resolve(&program).0.is_none());
    assert!(cavi_model::resolve_with(&program, &[cavi_model::Set { name: "a", value: None }]).0.is_some());
}

#[test]
fn a_schedule_of_an_option_is_resolved() {
    let (program, _) = parse(GFA);
    let (model, _) = resolve(&program);
    let model = model.expect("the program is right");
    let items = |text: &str| cavi_syntax::parse_schedule(text).expect("the schedule parses");
    assert_eq!(resolve_schedule(&model, &items("w, (z, tau)")).expect("all are latents").len(), 2);
    let mistakes = resolve_schedule(&model, &items("ww, (zz, x)")).expect_err("two are unknown");
    assert_eq!(mistakes.len(), 2);
}

#[test]
fn drawings_are_the_same_whatever_the_names_are() {
    let (program, _) = parse(GFA);
    let (model, _) = resolve(&program);
    let graph = factor_graph(&model.expect("the program is right"));
    let (picture, text) = (svg(&graph), dot(&graph));
    assert!(picture.starts_with("<svg") && picture.trim_end().ends_with("</svg>"));
    assert!(picture.contains(">w[m, j, k]</text>") && picture.contains(">factor k = 15</text>"));
    assert!(text.starts_with("digraph \"gfa\" {") && text.contains("subgraph cluster_"));
    // No plate is left out, whether it nests or crosses another.
    for plate in &graph.plates {
        assert!(text.contains(&format!("label = \"{}\"; labelloc", plate.label())), "{}", plate.label());
    }
    let for_latex = tikz(&graph);
    assert!(for_latex.contains("{$w_{mjk}$}") && for_latex.contains("{factor $k$ = 15}"), "{for_latex}");
    assert!(for_latex.contains("{$\\alpha_{mk}$}"), "{for_latex}");
    assert_eq!(
        for_latex.matches(" rectangle ").count(),
        graph.plates.len() + picture.matches("fill=\"#111\"").count(),
        "{for_latex}"
    );
    // Another name of the same width: the same picture but for the name.
    let renamed = GFA.replace("alpha", "alpho");
    let (program, _) = parse(&renamed);
    let other = svg(&factor_graph(&resolve(&program).0.expect("the program is right")));
    assert_eq!(picture.replace("alpha", "alpho"), other);
}

/// Every prefix of the lines, and every line left out, of a program must be answered without a panic.
#[test]
fn broken_programs_are_answered() {
    let gmm = "axis row[n]\naxis dim[j]\naxis cluster[k] = 3\ndata x[n, j] : real, center over n\nconst a = 1\nconst b[j] : positive = 2\n\
        pi[:k] ~ Dirichlet(a)\nz[n] ~ Categorical(pi)\ntau[k, j] ~ Gamma(a, rate = b[j])\nmu[k, j] ~ Normal(0, prec = a * tau[k, j])\n\
        r[n, j] = mu[z[n], j]\nx[n, j] ~ Normal(r[n, j], prec = tau[z[n], j])\nposterior {\n  q(mu[k, j], tau[k, j])\n  implicit z\n}\n\
        init {\n  mu ~ Normal(0, sd = 1)\n  pi = a\n}\nfit {\n  sweep mu, pi\n}\nreport {\n  top 3 cluster in mu\n}\n";
    for text in [GFA, gmm] {
        let (program, syntax) = parse(text);
        assert!(syntax.is_empty(), "{}", rendered(text, &syntax));
        let (model, diagnostics) = resolve(&program);
        assert!(model.is_some(), "{}", rendered(text, &diagnostics));
        let lines: Vec<&str> = text.lines().collect();
        for cut in 0..lines.len() {
            let mut without: Vec<&str> = lines.clone();
            without.remove(cut);
            resolve(&parse(&without.join("\n")).0);
            resolve(&parse(&lines[..cut].join("\n")).0);
        }
        // One word for another.
        let words: Vec<&str> =
            ["n", "j", "k", "m", "x", "z", "mu", "pi", "a", "row", "view", "Gamma", ":k", "1"].to_vec();
        for (start, _) in text.char_indices().filter(|(_, letter)| letter.is_alphanumeric()) {
            for word in &words {
                let changed = format!("{}{word}{}", &text[..start], &text[start + 1..]);
                let (program, _) = parse(&changed);
                if let (Some(model), _) = resolve(&program) {
                    print(&model);
                }
            }
        }
    }
}
