//! Compiled programs, kept by the structure of what they were compiled from.

use super::program::Program;
use super::simd::Level;
use crate::error::Result;
use crate::kernel::{Map, Reduce};
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

/// Every program that this process has needed so far.
#[derive(Default)]
pub(crate) struct Programs {
    maps: Mutex<HashMap<Arc<Map>, Arc<Program>>>,
    reductions: Mutex<HashMap<Arc<Reduce>, Arc<Reduction>>>,
}

/// The two halves of a reduction: what is combined, and what is stored of the result.
#[derive(Debug)]
pub(crate) struct Reduction {
    pub pre: Program,
    pub post: Program,
}

impl Programs {
    /// The program of an elementwise kernel.
    pub(crate) fn map(&self, map: &Arc<Map>) -> Result<Arc<Program>> {
        look_up(&self.maps, map, || {
            Program::compile(map.name, &map.operands, &map.outputs, Level::here())
        })
    }

    /// The programs of a reduction. The first stores what is combined to an operand after its inputs, in the compute
    /// type in which it accumulates; the second reads the combined value as its operand 0 and stores to operand 1.
    pub(crate) fn reduction(&self, reduce: &Arc<Reduce>) -> Result<Arc<Reduction>> {
        look_up(&self.reductions, reduce, || {
            let acc = reduce.acc.compute();
            let mut operands = reduce.inputs.clone();
            operands.push(acc);
            let value = (reduce.inputs.len() as u8, reduce.pre.clone());
            let result = (1, reduce.post.clone());
            Ok(Reduction {
                pre: Program::compile(reduce.name, &operands, &[value], Level::here())?,
                post: Program::compile(reduce.name, &[acc, reduce.out], &[result], Level::here())?,
            })
        })
    }
}

fn look_up<K: Hash + Eq, V>(
    table: &Mutex<HashMap<Arc<K>, Arc<V>>>,
    key: &Arc<K>,
    compile: impl FnOnce() -> Result<V>,
) -> Result<Arc<V>> {
    let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = table.get(key) {
        return Ok(found.clone());
    }
    let compiled = Arc::new(compile()?);
    table.insert(key.clone(), compiled.clone());
    Ok(compiled)
}
