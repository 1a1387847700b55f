//! The parameter blocks of generated kernels, in the layout that their sources declare.

use crate::dtype::DType;
use crate::print::map::dim_vectors;
use crate::print::sets::set_vectors;
use crate::print::vectors::WIDTH;

/// Two words of a run-time number as this type: what WGSL reads back by `bitcast`.
fn scalar_words(value: f64, dtype: DType) -> [u32; 2] {
    match dtype.compute() {
        DType::F32 => [(value as f32).to_bits(), 0],
        DType::I64 => {
            let bits = value as i64 as u64;
            [bits as u32, (bits >> 32) as u32]
        }
        DType::I32 => [value as i32 as u32, 0],
        DType::U8 => [u32::from(value as i32 as u8), 0],
        DType::Bool => [u32::from(value != 0.0), 0],
        _ => {
            let bits = value.to_bits();
            [bits as u32, (bits >> 32) as u32]
        }
    }
}

fn push_scalars(words: &mut Vec<u32>, slots: &[(u8, DType)], scalars: &[f64]) {
    for &(n, dtype) in slots {
        words.extend(scalar_words(
            scalars.get(n as usize).copied().unwrap_or(0.0),
            dtype,
        ));
    }
    pad(words);
}

fn pad(words: &mut Vec<u32>) {
    words.resize(words.len().next_multiple_of(4), 0);
}

/// For each dimension its size and every operand's stride there, each row padded to whole vectors.
fn push_dims(words: &mut Vec<u32>, shape: &[usize], strides: &[&[isize]]) {
    let row = dim_vectors(strides.len()) * 4;
    for (d, &size) in shape.iter().enumerate() {
        let end = words.len() + row;
        words.push(size as u32);
        // Strides wrap modulo 2^32, so that walking backwards works in unsigned arithmetic.
        words.extend(
            strides
                .iter()
                .map(|s| s.get(d).copied().unwrap_or(0) as u32),
        );
        words.resize(end, 0);
    }
}

/// The block of a contiguous elementwise kernel. `single` tells for each operand whether one element serves all.
pub fn contiguous(n: usize, slots: &[(u8, DType)], scalars: &[f64], single: &[bool]) -> Vec<u32> {
    let mut words = vec![n as u32, 1, 0, 0];
    push_scalars(&mut words, slots, scalars);
    let base = words.len();
    words.extend(single.iter().map(|&s| u32::from(!s)));
    words.resize(base + 8, 0);
    words
}

/// The block of an elementwise kernel over sets of dense operands: of each its length and where its operands begin. Also
/// how many invocations they take.
pub fn sets(
    lengths: &[usize],
    starts: &[Vec<u32>],
    slots: &[(u8, DType)],
    scalars: &[f64],
) -> (Vec<u32>, usize) {
    let mut words = vec![
        lengths.iter().sum::<usize>() as u32,
        lengths.len() as u32,
        0,
        0,
    ];
    push_scalars(&mut words, slots, scalars);
    let mut fours = 0;
    for (&length, starts) in lengths.iter().zip(starts) {
        let end = words.len() + 4 * set_vectors(starts.len());
        words.extend([fours as u32, length as u32]);
        words.extend(starts);
        words.resize(end, 0);
        fours += length.div_ceil(WIDTH);
    }
    (words, fours)
}

/// The block of a strided elementwise kernel.
pub fn strided(
    shape: &[usize],
    strides: &[&[isize]],
    slots: &[(u8, DType)],
    scalars: &[f64],
) -> Vec<u32> {
    let mut words = vec![
        shape.iter().product::<usize>() as u32,
        shape.len() as u32,
        0,
        0,
    ];
    push_scalars(&mut words, slots, scalars);
    push_dims(&mut words, shape, strides);
    words
}

/// The block of a reduction: `kept` of the dimensions are kept, the rest reduced in `chunks` interleaved parts.
pub fn reduction(
    shape: &[usize],
    kept: usize,
    chunks: usize,
    parts_first: bool,
    strides: &[&[isize]],
    slots: &[(u8, DType)],
    scalars: &[f64],
) -> Vec<u32> {
    let outputs: usize = shape[..kept].iter().product();
    let reduced: usize = shape[kept..].iter().product();
    let mut words = vec![
        outputs as u32,
        reduced as u32,
        shape.len() as u32,
        kept as u32,
        chunks as u32,
        u32::from(parts_first),
        0,
        0,
    ];
    push_scalars(&mut words, slots, scalars);
    push_dims(&mut words, shape, strides);
    words
}
