//! Names form a directed acyclic graph.

use std::collections::{BTreeMap, BTreeSet};

use cavi_algebra::{ArrayKind, LetterId, Support};
use cavi_syntax::ast::{self, Program, StatementKind};
use cavi_syntax::{Diagnostic, Span};
use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::reads::visit_references;
use super::{Named, Resolver};

impl<'a> Resolver<'a> {
    /// Reports every cycle among the names: what stands on a left depends on what stands on the right of it.
    ///
    /// Returns the others so that each comes after what it reads, and otherwise in the order of the text. When names
    /// are resolved in this order, everything that one needs has been resolved before it.
    pub fn check_order(&mut self, program: &'a Program) -> Vec<Named> {
        let mut graph: DiGraph<&'a str, ()> = DiGraph::new();
        let mut nodes: BTreeMap<&'a str, NodeIndex> = BTreeMap::new();
        let mut places: BTreeMap<(&'a str, &'a str), Span> = BTreeMap::new();
        for statement in &program.statements {
            let mut reads: Vec<&'a ast::Expression> = Vec::new();
            let target = match &statement.kind {
                StatementKind::Distribution(distribution) => {
                    reads.extend(distribution.arguments.iter().map(|argument| &argument.value));
                    &distribution.target.name
                }
                StatementKind::Definition { target, value } => {
                    reads.push(value);
                    &target.name
                }
                StatementKind::Data(data) => {
                    reads.extend(&data.value);
                    &data.name
                }
                StatementKind::Const(constant) => {
                    reads.extend(&constant.value);
                    &constant.name
                }
                StatementKind::Model(_)
                | StatementKind::Axis(_)
                | StatementKind::Posterior(_)
                | StatementKind::Init(_)
                | StatementKind::Fit(_)
                | StatementKind::Report(_)
                | StatementKind::Notation(_) => continue,
            };
            let own = *nodes.entry(&target.text).or_insert_with(|| graph.add_node(&target.text));
            for read in reads {
                visit_references(read, &mut |reference, in_subscript| {
                    let name = reference.name.text.as_str();
                    let letter =
                        in_subscript && reference.subscripts.is_none() && self.letters.contains_key(name);
                    if letter || !matches!(self.names.get(name), Some(Named::Array(_) | Named::Definition(_)))
                    {
                        return;
                    }
                    let node = *nodes.entry(name).or_insert_with(|| graph.add_node(name));
                    graph.update_edge(own, node, ());
                    places.entry((target.text.as_str(), name)).or_insert(reference.span);
                });
            }
        }
        let mut cycles: Vec<Vec<&'a str>> = Vec::new();
        let mut cyclic: BTreeSet<NodeIndex> = BTreeSet::new();
        for component in kosaraju_scc(&graph) {
            let members: BTreeSet<NodeIndex> = component.iter().copied().collect();
            // The cycle is shown from the name that comes first in the text, so that the message does not depend on
            // the order of the search.
            let Some(start) = members.first().copied() else { continue };
            if members.len() > 1 || graph.contains_edge(start, start) {
                cyclic.extend(&members);
                let cycle = shortest_cycle(&graph, start, &members);
                cycles.push(cycle.into_iter().map(|node| graph[node]).collect());
            }
        }
        cycles.sort();
        for cycle in cycles {
            self.report_cycle(&cycle, &places);
        }
        let order = after_what_they_read(&graph);
        order
            .into_iter()
            .filter(|node| !cyclic.contains(node))
            .filter_map(|node| self.names.get(graph[node]).copied())
            .collect()
    }

    fn report_cycle(&mut self, cycle: &[&str], places: &BTreeMap<(&str, &str), Span>) {
        let mut steps: Vec<&str> = cycle.to_vec();
        steps.push(cycle[0]);
        let chain: Vec<String> = steps.iter().map(|name| format!("`{name}`")).collect();
        let chain = chain.join(" -> ");
        let drafted = |name: &str| match self.names.get(name) {
            Some(Named::Array(id)) => self.facts[id.index()].draft.is_some(),
            _ => false,
        };
        let statement = cycle.iter().any(|name| drafted(name));
        let defined = cycle.iter().all(|name| matches!(self.names.get(*name), Some(Named::Definition(_))));
        let (code, message, help) = match (statement, defined, cycle) {
            (true, _, [name]) => (
                "E0211",
                format!("`{name}` stands on the right of its own statement"),
                format!(
                    "Markov chains and autoregressions are outside the class: a variable depends only on others{}",
                    self.smooth_path(name)
                ),
            ),
            (true, _, _) => (
                "E0211",
                format!("the statements form a cycle: {chain}"),
                "names form a directed acyclic graph: break the cycle at one of these".to_owned(),
            ),
            (false, true, _) => (
                "E0212",
                format!("the definition of `{}` is recursive: {chain}", cycle[0]),
                "a deterministic name is written out at its use, so it cannot hold itself".to_owned(),
            ),
            (false, false, _) => (
                "E0213",
                format!("these values are defined by each other: {chain}"),
                "give one of them a value of its own".to_owned(),
            ),
        };
        let mut diagnostic = Diagnostic::error(code, message).help(help);
        for pair in steps.windows(2) {
            let Some(span) = places.get(&(pair[0], pair[1])) else { continue };
            let label = format!("`{}` reads `{}`", pair[0], pair[1]);
            diagnostic = match diagnostic.primary {
                None => diagnostic.at(*span, label),
                Some(_) => diagnostic.also(*span, label),
            };
        }
        self.report(diagnostic);
    }
}

impl Resolver<'_> {
    /// A process in place of a chain of real latents; its covariance falls off exponentially, as that of an autoregression.
    fn smooth_path(&self, name: &str) -> String {
        let Some(Named::Array(id)) = self.names.get(name).copied() else { return String::new() };
        let array = self.symbols.array(id);
        let draft = self.facts[id.index()].draft.map(|draft| &self.drafts[draft]);
        let family = draft.and_then(|draft| cavi_families::family(&draft.ast.family.text));
        let real = family.is_some_and(|family| family.latent() == Some(Support::Real));
        let ragged = array.letters.iter().any(|letter| self.symbols.letter(*letter).parent.is_some());
        let process = cavi_families::families().iter().find(|family| family.has_kernel());
        let (Some((last, plates)), Some(process), true, ArrayKind::Latent, false) =
            (array.letters.split_last(), process, real, array.kind, ragged)
        else {
            return String::new();
        };
        let letter = |letter: &LetterId| self.symbols.letter(*letter).name.clone();
        let mut letters: Vec<String> = plates.iter().map(letter).collect();
        letters.push(format!(":{}", letter(last)));
        format!(
            "; for a smooth path write `{name}[{}] ~ {}(exponential(length = 5))` with `posterior {{ point {name} }}`",
            letters.join(", "),
            process.name()
        )
    }
}

/// Every node after its neighbours (those on a cycle somewhere), without recursion: chains may be long.
fn after_what_they_read(graph: &DiGraph<&str, ()>) -> Vec<NodeIndex> {
    let mut order = Vec::new();
    let mut seen = vec![false; graph.node_count()];
    for root in graph.node_indices() {
        let mut stack = vec![(root, false)];
        while let Some((node, finished)) = stack.pop() {
            if finished {
                order.push(node);
                continue;
            }
            if std::mem::replace(&mut seen[node.index()], true) {
                continue;
            }
            stack.push((node, true));
            stack.extend(graph.neighbors(node).map(|next| (next, false)));
        }
    }
    order
}

/// The shortest way from `start` back to itself inside a strongly connected set.
fn shortest_cycle(
    graph: &DiGraph<&str, ()>,
    start: NodeIndex,
    members: &BTreeSet<NodeIndex>,
) -> Vec<NodeIndex> {
    let mut before: BTreeMap<NodeIndex, NodeIndex> = BTreeMap::new();
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        let mut next: Vec<NodeIndex> = graph.neighbors(node).filter(|next| members.contains(next)).collect();
        next.sort();
        for to in next {
            if to == start {
                let mut path = vec![node];
                while path[path.len() - 1] != start {
                    path.push(before[&path[path.len() - 1]]);
                }
                path.reverse();
                return path;
            }
            if to != start && !before.contains_key(&to) {
                before.insert(to, node);
                queue.push_back(to);
            }
        }
    }
    vec![start]
}
