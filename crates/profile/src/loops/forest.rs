//! Loops and their nesting in any graph, by Havlak's extension of Tarjan's algorithm.

use tracewright_flow::hash::HashSet;

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loop {
    /// First node.
    pub header: u32,
    /// Number of the enclosing loop.
    pub parent: Option<u32>,
    /// Number of enclosing loops.
    pub depth: u32,
    /// Set if the loop can also be entered elsewhere.
    pub irreducible: bool,
}

/// Finds the loops of a graph, outer ones before inner ones, and the innermost loop of each node. Nodes that `entries`
/// do not reach become entries too.
pub fn forest(successors: &[Vec<u32>], entries: &[u32]) -> (Vec<Loop>, Vec<Option<u32>>) {
    let order = Order::new(successors, entries);
    let len = order.nodes.len();
    // From here on, nodes are preorder numbers.
    let mut back: Vec<Vec<u32>> = vec![Vec::new(); len];
    let mut other: Vec<Vec<u32>> = vec![Vec::new(); len];
    for (from, nodes) in successors.iter().enumerate() {
        for &to in nodes {
            let (from, to) = (order.numbers[from], order.numbers[to as usize]);
            let preds = if order.is_above(to, from) { &mut back } else { &mut other };
            preds[to as usize].push(from);
        }
    }
    let mut header: Vec<Option<u32>> = vec![None; len];
    let mut is_loop = vec![false; len];
    let mut irreducible = vec![false; len];
    let mut sets: Vec<u32> = (0..len as u32).collect();
    for at in (0..len as u32).rev() {
        let mut body: Vec<u32> = Vec::new();
        let mut seen: HashSet<u32> = HashSet::default();
        for &from in &back[at as usize] {
            is_loop[at as usize] = true;
            let from = find(&mut sets, from);
            if from != at && seen.insert(from) {
                body.push(from);
            }
        }
        let mut entered: HashSet<u32> = HashSet::default();
        let mut next = 0;
        while next < body.len() {
            let node = body[next];
            next += 1;
            for i in 0..other[node as usize].len() {
                let from = find(&mut sets, other[node as usize][i]);
                if !order.is_above(at, from) {
                    irreducible[at as usize] = true;
                    if entered.insert(from) {
                        other[at as usize].push(from);
                    }
                } else if from != at && seen.insert(from) {
                    body.push(from);
                }
            }
        }
        for node in body {
            header[node as usize] = Some(at);
            sets[node as usize] = at;
        }
    }
    // Outer loops are reached first.
    let mut loops: Vec<Loop> = Vec::new();
    let mut number: Vec<Option<u32>> = vec![None; len];
    for at in (0..len).filter(|&at| is_loop[at]) {
        let parent = header[at].and_then(|header| number[header as usize]);
        let depth = parent.map_or(0, |parent| loops[parent as usize].depth + 1);
        number[at] = Some(loops.len() as u32);
        loops.push(Loop { header: order.nodes[at], parent, depth, irreducible: irreducible[at] });
    }
    let innermost = order.numbers.iter().map(|&at| {
        let at = at as usize;
        number[at].or_else(|| header[at].and_then(|header| number[header as usize]))
    });
    (loops, innermost.collect())
}

/// Returns the representative of a node's loop.
fn find(sets: &mut [u32], node: u32) -> u32 {
    let mut root = node;
    while sets[root as usize] != root {
        root = sets[root as usize];
    }
    let mut at = node;
    while at != root {
        at = std::mem::replace(&mut sets[at as usize], root);
    }
    root
}

/// Nodes in depth-first preorder.
struct Order {
    nodes: Vec<u32>,
    numbers: Vec<u32>,
    /// Last preorder number below each node.
    last: Vec<u32>,
}

impl Order {
    fn new(successors: &[Vec<u32>], entries: &[u32]) -> Self {
        const NEW: u32 = u32::MAX;
        let len = successors.len();
        let (mut nodes, mut numbers, mut last) = (Vec::with_capacity(len), vec![NEW; len], vec![0; len]);
        let mut todo: Vec<(u32, usize)> = Vec::new();
        for entry in entries.iter().copied().chain(0..len as u32) {
            if numbers[entry as usize] != NEW {
                continue;
            }
            numbers[entry as usize] = nodes.len() as u32;
            nodes.push(entry);
            todo.push((entry, 0));
            while let Some((node, next)) = todo.last_mut() {
                let node = *node as usize;
                let Some(&to) = successors[node].get(*next) else {
                    last[numbers[node] as usize] = nodes.len() as u32 - 1;
                    todo.pop();
                    continue;
                };
                *next += 1;
                if numbers[to as usize] == NEW {
                    numbers[to as usize] = nodes.len() as u32;
                    nodes.push(to);
                    todo.push((to, 0));
                }
            }
        }
        Self { nodes, numbers, last }
    }

    /// Returns whether `node` is `other` or an ancestor of it in the search tree.
    fn is_above(&self, node: u32, other: u32) -> bool {
        node <= other && other <= self.last[node as usize]
    }
}
