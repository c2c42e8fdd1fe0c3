//! A graph of dependencies between transactions, and its smallest cycles.

use std::ops::BitOr;

/// A set of kinds of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    /// The target replaces what the source wrote.
    pub const WW: Self = Self(1);
    /// The target has read what the source wrote.
    pub const WR: Self = Self(2);
    /// The target replaces what the source has read: an anti-dependency.
    pub const RW: Self = Self(4);
    /// The target changes which keys are in a range that the source has read.
    pub const RW_PREDICATE: Self = Self(8);
    /// The source had ended when the target began.
    pub const REAL_TIME: Self = Self(16);
    /// The source comes before the target in the order of commit numbers.
    pub const COMMITS: Self = Self(32);
    /// Every kind.
    pub const ALL: Self = Self(63);

    fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Why one transaction must come before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    pub from: usize,
    pub to: usize,
    /// Exactly one kind.
    pub kind: Kinds,
    /// The key over which; empty where it is not about a key.
    pub key: String,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Graph {
    /// By the node they leave.
    edges: Vec<Vec<Edge>>,
}

impl Graph {
    pub fn new(nodes: usize) -> Self {
        Self { edges: vec![Vec::new(); nodes] }
    }

    /// Adds an edge, unless it would lead to where it starts.
    pub fn add(&mut self, from: usize, to: usize, kind: Kinds, key: &str) {
        let edge = Edge { from, to, kind, key: key.to_owned() };
        if from != to && !self.edges[from].contains(&edge) {
            self.edges[from].push(edge);
        }
    }

    /// The smallest cycle within `component` that starts with an edge of `first` and goes on with
    /// edges of `rest`.
    pub fn smallest_cycle(
        &self,
        component: &[usize],
        first: Kinds,
        rest: Kinds,
    ) -> Option<Vec<Edge>> {
        let mut search = Search::new(self, component, rest);
        let mut smallest: Option<Vec<Edge>> = None;
        let starts = component.iter().flat_map(|&node| &self.edges[node]);
        for start in starts.filter(|edge| first.has(edge.kind)) {
            if !search.inside[start.to] {
                continue;
            }
            let longest = smallest.as_ref().map_or(usize::MAX, |cycle| cycle.len() - 2);
            if let Some(way) = search.shortest_way(start.to, start.from, longest) {
                smallest = Some(std::iter::once(start.clone()).chain(way).collect());
            }
        }
        smallest
    }

    /// The strongly connected components of more than one node (Tarjan 1972), with a stack of our
    /// own, since a history is deeper than a thread's.
    pub fn components(&self) -> Vec<Vec<usize>> {
        const NEW: usize = usize::MAX;
        let nodes = self.edges.len();
        let mut tarjan =
            Tarjan { index: vec![NEW; nodes], low: vec![NEW; nodes], ..Tarjan::default() };
        for root in 0..nodes {
            if tarjan.index[root] != NEW {
                continue;
            }
            let mut path = vec![(tarjan.enter(root), 0)];
            while let Some((node, next)) = path.last_mut() {
                if let Some(edge) = self.edges[*node].get(*next) {
                    *next += 1;
                    if tarjan.index[edge.to] == NEW {
                        path.push((tarjan.enter(edge.to), 0));
                    } else if tarjan.is_open[edge.to] {
                        tarjan.low[*node] = tarjan.low[*node].min(tarjan.index[edge.to]);
                    }
                    continue;
                }
                let node = *node;
                path.pop();
                tarjan.leave(node);
                if let Some((parent, _)) = path.last() {
                    tarjan.low[*parent] = tarjan.low[*parent].min(tarjan.low[node]);
                }
            }
        }
        tarjan.components
    }
}

#[derive(Default)]
struct Tarjan {
    /// When a node was reached.
    index: Vec<usize>,
    /// The earliest open node that can be reached from a node.
    low: Vec<usize>,
    is_open: Vec<bool>,
    open: Vec<usize>,
    reached: usize,
    components: Vec<Vec<usize>>,
}

impl Tarjan {
    fn enter(&mut self, node: usize) -> usize {
        self.is_open.resize(self.index.len(), false);
        self.index[node] = self.reached;
        self.low[node] = self.reached;
        self.reached += 1;
        self.open.push(node);
        self.is_open[node] = true;
        node
    }

    fn leave(&mut self, node: usize) {
        if self.low[node] != self.index[node] {
            return;
        }
        let start = self.open.iter().rposition(|&open| open == node).unwrap_or(0);
        let component = self.open.split_off(start);
        component.iter().for_each(|&node| self.is_open[node] = false);
        if component.len() > 1 {
            self.components.push(component);
        }
    }
}

/// Breadth-first searches within one component.
struct Search<'a> {
    graph: &'a Graph,
    kinds: Kinds,
    inside: Vec<bool>,
    /// By which search a node was reached last; so nothing is cleared between searches.
    reached: Vec<usize>,
    searches: usize,
}

impl<'a> Search<'a> {
    fn new(graph: &'a Graph, component: &[usize], kinds: Kinds) -> Self {
        let nodes = graph.edges.len();
        let mut inside = vec![false; nodes];
        component.iter().for_each(|&node| inside[node] = true);
        Self { graph, kinds, inside, reached: vec![0; nodes], searches: 0 }
    }

    /// The shortest way of at most `longest` edges.
    fn shortest_way(&mut self, from: usize, to: usize, longest: usize) -> Option<Vec<Edge>> {
        self.searches += 1;
        self.reached[from] = self.searches;
        // Every node that was reached: by which edge, from which entry of this list, how far.
        let mut queue: Vec<(Option<&Edge>, usize, usize)> = vec![(None, 0, 0)];
        let mut at = 0;
        while let Some(&(by, _, length)) = queue.get(at) {
            let node = by.map_or(from, |edge| edge.to);
            if length < longest {
                for edge in &self.graph.edges[node] {
                    if !self.kinds.has(edge.kind) || !self.inside[edge.to] {
                        continue;
                    }
                    if edge.to == to {
                        return Some(trace(&queue, at, edge));
                    }
                    if self.reached[edge.to] != self.searches {
                        self.reached[edge.to] = self.searches;
                        queue.push((Some(edge), at, length + 1));
                    }
                }
            }
            at += 1;
        }
        None
    }
}

/// The way to entry `at` of a search's queue, and `last` after it.
fn trace(queue: &[(Option<&Edge>, usize, usize)], mut at: usize, last: &Edge) -> Vec<Edge> {
    let mut way = vec![last.clone()];
    while let (Some(edge), before, _) = queue[at] {
        way.push(edge.clone());
        at = before;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(usize, usize, Kinds)]) -> Graph {
        let nodes = edges.iter().map(|&(from, to, _)| from.max(to) + 1).max().unwrap_or(0);
        let mut graph = Graph::new(nodes);
        edges.iter().for_each(|&(from, to, kind)| graph.add(from, to, kind, "x"));
        graph
    }

    #[test]
    fn components_are_found() {
        let ww = Kinds::WW;
        let graph = graph(&[
            (0, 1, ww),
            (1, 2, ww),
            (2, 0, ww),
            (2, 3, ww),
            (3, 4, ww),
            (4, 3, ww),
            (4, 5, ww),
            (6, 5, ww),
        ]);
        let mut components = graph.components();
        components.iter_mut().for_each(|component| component.sort_unstable());
        components.sort();
        assert_eq!(components, [vec![0, 1, 2], vec![3, 4]]);
    }

    #[test]
    fn a_long_chain_does_not_overflow_the_stack() {
        let edges: Vec<_> = (0..200_000).map(|node| (node, node + 1, Kinds::WW)).collect();
        assert_eq!(graph(&edges).components(), [[0; 0]; 0]);
    }

    #[test]
    fn the_smallest_cycle_of_the_kinds_that_are_asked_for_is_found() {
        let (ww, wr, rw) = (Kinds::WW, Kinds::WR, Kinds::RW);
        let graph = graph(&[
            (0, 1, ww),
            (1, 2, wr),
            (2, 3, wr),
            (3, 0, rw),
            (2, 0, rw),
            (1, 0, rw),
            (3, 2, ww),
        ]);
        let component = graph.components().pop().unwrap();
        let nodes = |first, rest| -> Option<Vec<usize>> {
            let cycle = graph.smallest_cycle(&component, first, rest)?;
            Some(cycle.iter().map(|edge| edge.from).collect())
        };
        assert_eq!(nodes(rw, ww), Some(vec![1, 0]));
        assert_eq!(nodes(wr, ww | wr), Some(vec![2, 3]));
        assert_eq!(nodes(ww, ww), None);
        assert_eq!(graph.smallest_cycle(&component[..1], Kinds::ALL, Kinds::ALL), None);
    }
}
