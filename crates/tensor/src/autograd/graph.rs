//! What the graph holds: a picture of one, and a count of all.

use super::node::{Edge, Node};
use crate::tensor::Tensor;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

static NODES: AtomicI64 = AtomicI64::new(0);
static SAVED: AtomicI64 = AtomicI64::new(0);

pub(super) fn count(nodes: i64, saved_bytes: i64) {
    NODES.fetch_add(nodes, Ordering::Relaxed);
    SAVED.fetch_add(saved_bytes, Ordering::Relaxed);
}

/// Recorded operations of the whole process that are alive, and the bytes that they keep for backward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Live {
    /// Recorded operations.
    pub nodes: usize,
    /// Bytes kept, counting a tensor once for each operation that keeps it.
    pub saved_bytes: usize,
}

/// Count them.
pub fn live() -> Live {
    Live {
        nodes: NODES.load(Ordering::Relaxed).max(0) as usize,
        saved_bytes: SAVED.load(Ordering::Relaxed).max(0) as usize,
    }
}

/// One operation of a [`Snapshot`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodePicture {
    /// Its sequence number, or, for a leaf, 0.
    pub sequence: u64,
    /// `AddBackward0`, or `AccumulateGrad` for a leaf.
    pub name: &'static str,
    /// Shape of its output.
    pub shape: Vec<usize>,
    /// Element type of its output.
    pub dtype: &'static str,
    /// Device of its output.
    pub device: String,
    /// Bytes that it keeps for backward.
    pub saved_bytes: usize,
    /// Shapes of what it keeps.
    pub saved: Vec<Vec<usize>>,
}

/// The graph behind one tensor. Edges point from an operation to those that made its inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Snapshot {
    /// Operations and leaves; the first made the tensor.
    pub nodes: Vec<NodePicture>,
    /// Pairs of indices into `nodes`.
    pub edges: Vec<(usize, usize)>,
    /// Bytes kept by the whole graph, each storage counted once.
    pub saved_bytes: usize,
}

/// Draw the graph behind `root`. Empty if nothing was recorded.
pub fn snapshot(root: &Tensor) -> Snapshot {
    let mut picture = Snapshot {
        nodes: Vec::new(),
        edges: Vec::new(),
        saved_bytes: 0,
    };
    let Some(first) = root.grad_fn() else {
        return picture;
    };
    let mut number: HashMap<(bool, u64), usize> = HashMap::new();
    let mut storages = HashSet::new();
    let mut pending = vec![first.clone()];
    number.insert((false, first.sequence()), 0);
    picture.nodes.push(draw(&first));
    while let Some(node) = pending.pop() {
        let from = number[&(false, node.sequence())];
        for (shape, dtype, storage) in node.saved_shapes() {
            if storages.insert(storage) {
                picture.saved_bytes += shape.iter().product::<usize>() * dtype.size();
            }
        }
        for edge in node.edges().iter().flatten() {
            let (key, drawn) = match edge {
                Edge::Node(next) => ((false, next.sequence()), draw(next)),
                Edge::Leaf(leaf) => ((true, leaf.id()), leaf_picture(leaf)),
            };
            let to = *number.entry(key).or_insert_with(|| {
                picture.nodes.push(drawn);
                if let Edge::Node(next) = edge {
                    pending.push(next.clone());
                }
                picture.nodes.len() - 1
            });
            picture.edges.push((from, to));
        }
    }
    picture
}

fn draw(node: &Arc<Node>) -> NodePicture {
    NodePicture {
        sequence: node.sequence(),
        name: node.name(),
        shape: node.shape.clone(),
        dtype: node.dtype.name(),
        device: node.device.to_string(),
        saved_bytes: node.saved_bytes(),
        saved: node
            .saved_shapes()
            .into_iter()
            .map(|(shape, ..)| shape)
            .collect(),
    }
}

fn leaf_picture(leaf: &Tensor) -> NodePicture {
    NodePicture {
        sequence: 0,
        name: "AccumulateGrad",
        shape: leaf.shape().to_vec(),
        dtype: leaf.dtype().name(),
        device: leaf.device().id().to_string(),
        saved_bytes: 0,
        saved: Vec::new(),
    }
}
