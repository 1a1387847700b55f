//! Elementwise kernels.

use super::operand::Operand;
use super::scalar::{Value, evaluate};
use crate::error::Result;
use crate::kernel::{Binding, Map};

/// Evaluate every output at every index of `shape`.
pub(crate) fn run(
    map: &Map,
    shape: &[usize],
    scalars: &[f64],
    bindings: &[Binding<'_>],
) -> Result<()> {
    let operands = bindings
        .iter()
        .map(|b| Operand::new(map.name, b, shape))
        .collect::<Result<Vec<_>>>()?;
    let mut index = vec![0usize; shape.len()];
    for _ in 0..shape.iter().product() {
        let at = |o: &Operand| {
            let step: isize = index
                .iter()
                .zip(&o.strides)
                .map(|(i, s)| *i as isize * s)
                .sum();
            o.at.wrapping_offset(step * o.dtype.size() as isize)
        };
        // SAFETY: every index of the shape was checked to lie inside the buffers.
        unsafe {
            let args: Vec<Value> = operands
                .iter()
                .map(|o| Value::load(at(o), o.dtype))
                .collect();
            let values: Vec<Value> = map
                .outputs
                .iter()
                .map(|(_, e)| evaluate(e, &args, scalars))
                .collect();
            for ((o, _), value) in map.outputs.iter().zip(values) {
                let o = &operands[*o as usize];
                value.store(at(o), o.dtype);
            }
        }
        advance(&mut index, shape);
    }
    Ok(())
}

pub(crate) fn advance(index: &mut [usize], shape: &[usize]) {
    for (i, &n) in index.iter_mut().zip(shape).rev() {
        *i += 1;
        if *i < n {
            return;
        }
        *i = 0;
    }
}
