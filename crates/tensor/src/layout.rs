//! Where the elements of a view lie in its storage: pure functions over `{shape, stride, offset}`.
//!
//! Everything here counts in elements, never bytes, and touches no data. The rules, including which `view` works and
//! which fails, are PyTorch's (`aten/src/ATen/TensorUtils.cpp` is their reference, `layout.json` the proof).

use crate::error::{Error, Result};

/// Shape, strides and offset of a view into a storage, in elements.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Vec<usize>,
    stride: Vec<isize>,
    offset: usize,
}

impl Layout {
    /// Row-major and dense, from the storage's start.
    pub fn contiguous(shape: &[usize]) -> Layout {
        Layout {
            shape: shape.to_vec(),
            stride: contiguous_strides(shape),
            offset: 0,
        }
    }

    /// Any strides and offset.
    pub fn new(shape: Vec<usize>, stride: Vec<isize>, offset: usize) -> Layout {
        debug_assert_eq!(shape.len(), stride.len());
        Layout {
            shape,
            stride,
            offset,
        }
    }

    /// Size of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements to step in the storage per step of each dimension.
    pub fn stride(&self) -> &[isize] {
        &self.stride
    }

    /// Element of the storage at which the view begins.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    /// Dense and row-major; strides of dimensions of size one do not matter, and a view without elements is dense.
    pub fn is_contiguous(&self) -> bool {
        if self.numel() == 0 {
            return true;
        }
        let mut expected = 1isize;
        for (&n, &s) in self.shape.iter().zip(&self.stride).rev() {
            if n != 1 {
                if s != expected {
                    return false;
                }
                expected *= n as isize;
            }
        }
        true
    }

    /// First and one past the last element of the storage that the view touches; `None` when it has no elements.
    pub fn span(&self) -> Option<(usize, usize)> {
        if self.numel() == 0 {
            return None;
        }
        let (mut low, mut high) = (self.offset as isize, self.offset as isize);
        for (&n, &s) in self.shape.iter().zip(&self.stride) {
            let reach = (n as isize - 1) * s;
            if reach < 0 {
                low += reach
            } else {
                high += reach
            }
        }
        Some((low as usize, high as usize + 1))
    }

    /// Whether two indices of the view can name the same element (as after `expand`).
    pub fn overlaps_itself(&self) -> bool {
        let mut dims: Vec<(usize, usize)> = self
            .shape
            .iter()
            .zip(&self.stride)
            .filter(|(n, _)| **n > 1)
            .map(|(n, s)| (s.unsigned_abs(), *n))
            .collect();
        dims.sort_unstable();
        let mut reach = 0usize;
        for (stride, n) in dims {
            if stride <= reach {
                return true;
            }
            reach += stride * (n - 1);
        }
        false
    }

    /// A dimension counted from the front or, negative, from the back.
    pub fn dim(&self, dim: isize) -> Result<usize> {
        wrap_dim(dim, self.rank())
    }

    /// A dimension that an operation walks along, which a tensor without dimensions does not have.
    fn dim_with_extent(&self, op: &'static str, dim: isize) -> Result<usize> {
        if self.rank() == 0 {
            return Err(Error::ZeroDim { op });
        }
        self.dim(dim)
    }

    /// Swap two dimensions.
    pub fn transpose(&self, a: isize, b: isize) -> Result<Layout> {
        let (a, b) = (self.dim(a)?, self.dim(b)?);
        let mut out = self.clone();
        if a != b {
            out.shape.swap(a, b);
            out.stride.swap(a, b);
        }
        Ok(out)
    }

    /// Reorder all dimensions.
    pub fn permute(&self, dims: &[isize]) -> Result<Layout> {
        if dims.len() != self.rank() {
            return Err(Error::PermuteRank {
                rank: self.rank(),
                dims: dims.to_vec(),
            });
        }
        let dims = dims
            .iter()
            .map(|&d| self.dim(d))
            .collect::<Result<Vec<_>>>()?;
        for (i, d) in dims.iter().enumerate() {
            if dims[..i].contains(d) {
                return Err(Error::DuplicateDim {
                    op: "permute",
                    dim: *d,
                });
            }
        }
        Ok(Layout {
            shape: dims.iter().map(|&d| self.shape[d]).collect(),
            stride: dims.iter().map(|&d| self.stride[d]).collect(),
            offset: self.offset,
        })
    }

    /// `length` steps of `dim` from `start`.
    pub fn narrow(&self, dim: isize, start: isize, length: usize) -> Result<Layout> {
        let d = self.dim_with_extent("narrow", dim)?;
        let size = self.shape[d];
        let begin = if start < 0 {
            start + size as isize
        } else {
            start
        };
        if begin < 0 || begin as usize > size {
            return Err(Error::NarrowStart { start, size });
        }
        let begin = begin as usize;
        if length > size - begin {
            return Err(Error::NarrowLength {
                start: begin,
                length,
                size,
            });
        }
        let mut out = self.clone();
        out.shape[d] = length;
        out.offset = self.step_offset(d, begin);
        Ok(out)
    }

    /// One index of `dim`, which disappears.
    pub fn select(&self, dim: isize, index: isize) -> Result<Layout> {
        let d = self.dim_with_extent("select", dim)?;
        let size = self.shape[d];
        let i = if index < 0 {
            index + size as isize
        } else {
            index
        };
        if i < 0 || i as usize >= size {
            return Err(Error::IndexOutOfBounds {
                index,
                dim: d,
                size,
            });
        }
        let mut out = self.clone();
        out.offset = self.step_offset(d, i as usize);
        out.shape.remove(d);
        out.stride.remove(d);
        Ok(out)
    }

    /// `start..stop` of `dim` in steps, clamped to its size as Python's slices are.
    pub fn slice(&self, dim: isize, start: isize, stop: isize, step: isize) -> Result<Layout> {
        let d = self.dim_with_extent("slice", dim)?;
        if step <= 0 {
            return Err(Error::SliceStep);
        }
        let size = self.shape[d] as isize;
        let clamp = |i: isize| (if i < 0 { i.saturating_add(size) } else { i }).clamp(0, size);
        let (start, stop) = (clamp(start), clamp(stop));
        let length = if stop > start {
            (stop - start - 1) / step + 1
        } else {
            0
        };
        let mut out = self.clone();
        out.offset = self.step_offset(d, start as usize);
        out.shape[d] = length as usize;
        out.stride[d] = self.stride[d].saturating_mul(step);
        Ok(out)
    }

    /// Repeat dimensions of size one, and new leading ones, by a stride of zero. `-1` keeps a size.
    pub fn expand(&self, target: &[isize]) -> Result<Layout> {
        if target.len() < self.rank() {
            return Err(Error::ExpandRank {
                target: target.to_vec(),
                shape: self.shape.clone(),
            });
        }
        let lead = target.len() - self.rank();
        let mut shape = Vec::with_capacity(target.len());
        let mut stride = Vec::with_capacity(target.len());
        for (i, &want) in target.iter().enumerate() {
            let own = i.checked_sub(lead).map(|d| (self.shape[d], self.stride[d]));
            match own {
                None if want >= 0 => {
                    shape.push(want as usize);
                    stride.push(0);
                }
                Some((n, s)) if want == -1 || want == n as isize => {
                    shape.push(n);
                    stride.push(s);
                }
                Some((1, _)) if want >= 0 => {
                    shape.push(want as usize);
                    stride.push(0);
                }
                Some((n, _)) if want >= 0 => {
                    return Err(Error::Expand {
                        want: want as usize,
                        have: n,
                        dim: i,
                        target: target.to_vec(),
                        shape: self.shape.clone(),
                    });
                }
                _ => {
                    return Err(Error::ExpandNegative {
                        dim: i,
                        target: target.to_vec(),
                    });
                }
            }
        }
        if checked_numel(&shape).is_none() {
            return Err(Error::NumelOverflow { shape });
        }
        Ok(Layout {
            shape,
            stride,
            offset: self.offset,
        })
    }

    /// Drop `dim` if its size is one.
    pub fn squeeze(&self, dim: isize) -> Result<Layout> {
        let rank = self.rank().max(1);
        let d = wrap_dim(dim, rank)?;
        let mut out = self.clone();
        if self.shape.get(d) == Some(&1) {
            out.shape.remove(d);
            out.stride.remove(d);
        }
        Ok(out)
    }

    /// Insert a dimension of size one before `dim`.
    pub fn unsqueeze(&self, dim: isize) -> Result<Layout> {
        let d = wrap_dim(dim, self.rank() + 1)?;
        let mut out = self.clone();
        // PyTorch gives the new dimension the stride that makes it look dense.
        let stride = if d < self.rank() {
            self.shape[d] as isize * self.stride[d]
        } else {
            1
        };
        out.shape.insert(d, 1);
        out.stride.insert(d, stride);
        Ok(out)
    }

    /// The diagonal of two dimensions as a new last dimension.
    pub fn diagonal(&self, shift: isize, dim1: isize, dim2: isize) -> Result<Layout> {
        let (a, b) = (self.dim(dim1)?, self.dim(dim2)?);
        if a == b {
            return Err(Error::DuplicateDim {
                op: "diagonal",
                dim: a,
            });
        }
        let (rows, cols) = (self.shape[a] as isize, self.shape[b] as isize);
        let length = if shift >= 0 {
            rows.min(cols - shift)
        } else {
            (rows + shift).min(cols)
        }
        .max(0);
        let mut out = self.clone();
        if length > 0 {
            out.offset = if shift >= 0 {
                self.step_offset(b, shift as usize)
            } else {
                self.step_offset(a, shift.unsigned_abs())
            };
        }
        for d in [a.max(b), a.min(b)] {
            out.shape.remove(d);
            out.stride.remove(d);
        }
        out.shape.push(length as usize);
        out.stride
            .push(self.stride[a].saturating_add(self.stride[b]));
        Ok(out)
    }

    /// Walk some dimensions backwards. Only inside the engine: like PyTorch, `flip` copies what this describes.
    pub(crate) fn reversed(&self, dims: &[usize]) -> Layout {
        let mut out = self.clone();
        for &d in dims {
            if self.shape.get(d).is_some_and(|&size| size > 0) {
                out.offset = out.step_offset(d, self.shape[d] - 1);
                out.stride[d] = -out.stride[d];
            }
        }
        out
    }

    /// The same elements under another shape without moving any, or `None` where the strides do not allow it.
    pub fn view(&self, shape: &[usize]) -> Option<Layout> {
        let stride = view_strides(&self.shape, &self.stride, shape)?;
        Some(Layout {
            shape: shape.to_vec(),
            stride,
            offset: self.offset,
        })
    }

    /// Resolve one `-1` and check the count of elements.
    pub fn resolve_shape(&self, target: &[isize]) -> Result<Vec<usize>> {
        infer_shape(target, self.numel())
    }

    /// Position in the storage of the element with this row-major number.
    pub fn position(&self, mut linear: usize) -> usize {
        let mut at = self.offset as isize;
        for (&n, &s) in self.shape.iter().zip(&self.stride).rev() {
            at += (linear % n) as isize * s;
            linear /= n;
        }
        at as usize
    }

    fn step_offset(&self, dim: usize, steps: usize) -> usize {
        // Saturating: a stride can be as large as a slice's step, but then only an empty view begins beyond it.
        let reach = self.stride[dim].saturating_mul(steps as isize);
        (self.offset as isize).saturating_add(reach) as usize
    }
}

/// Number of elements of a shape, unless it is more than an address can count.
pub fn checked_numel(shape: &[usize]) -> Option<usize> {
    let numel = shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d))?;
    (numel <= isize::MAX as usize).then_some(numel)
}

/// Row-major strides of a dense tensor; a dimension of size zero counts as one, as in PyTorch.
pub fn contiguous_strides(shape: &[usize]) -> Vec<isize> {
    let mut stride = vec![0; shape.len()];
    let mut next = 1isize;
    for (s, &n) in stride.iter_mut().zip(shape).rev() {
        *s = next;
        next = next.saturating_mul(n.max(1) as isize);
    }
    stride
}

/// A dimension counted from the front or, negative, from the back. A tensor without dimensions counts as having one.
pub fn wrap_dim(dim: isize, rank: usize) -> Result<usize> {
    let range = rank.max(1) as isize;
    if dim < -range || dim >= range {
        return Err(Error::DimOutOfRange {
            dim,
            rank: range as usize,
        });
    }
    Ok(if dim < 0 { dim + range } else { dim } as usize)
}

/// The shape of an elementwise result; `a` and `b` are aligned at their last dimensions.
pub fn broadcast(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| (i + s.len()).checked_sub(rank).map_or(1, |d| s[d]);
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Ok(x),
            (1, y) => Ok(y),
            (x, 1) => Ok(x),
            (x, y) => Err(Error::Broadcast {
                a: x,
                b: y,
                dim: i,
                left: a.to_vec(),
                right: b.to_vec(),
            }),
        })
        .collect()
}

/// Resolve one `-1` in a target shape and check that it holds `numel` elements.
pub fn infer_shape(target: &[isize], numel: usize) -> Result<Vec<usize>> {
    let invalid = || Error::InvalidShape {
        target: target.to_vec(),
        numel,
    };
    let mut known = 1usize;
    let mut unknown = None;
    for (i, &n) in target.iter().enumerate() {
        match n {
            -1 if unknown.is_some() => return Err(Error::TwoInferred),
            -1 => unknown = Some(i),
            n if n < 0 => {
                return Err(Error::NegativeShape {
                    dim: n,
                    target: target.to_vec(),
                });
            }
            n => known = known.checked_mul(n as usize).ok_or_else(invalid)?,
        }
    }
    let mut shape: Vec<usize> = target.iter().map(|&n| n.max(0) as usize).collect();
    match unknown {
        Some(_) if known == 0 => {
            return Err(Error::InferFromEmpty {
                target: target.to_vec(),
            });
        }
        Some(i) if numel.is_multiple_of(known) => shape[i] = numel / known,
        None if known == numel => {}
        _ => return Err(invalid()),
    }
    Ok(shape)
}

/// Strides under which `new` walks the same elements in the same order, if there are such.
///
/// Adjacent old dimensions that continue one another form a chunk; each chunk must be filled exactly by new dimensions.
fn view_strides(shape: &[usize], stride: &[isize], new: &[usize]) -> Option<Vec<isize>> {
    let numel: usize = shape.iter().product();
    if numel != new.iter().product::<usize>() {
        return None;
    }
    if numel == 0 {
        return Some(if shape == new {
            stride.to_vec()
        } else {
            contiguous_strides(new)
        });
    }
    let mut out = vec![0isize; new.len()];
    let mut filled = new.len();
    if shape.is_empty() {
        return Some(vec![1; new.len()]);
    }
    let mut chunk_stride = stride[shape.len() - 1];
    let mut chunk = 1usize;
    let mut taken = 1usize;
    for d in (0..shape.len()).rev() {
        chunk *= shape[d];
        let ends = d == 0 || (shape[d - 1] != 1 && stride[d - 1] != chunk as isize * chunk_stride);
        if !ends {
            continue;
        }
        while filled > 0 && (taken < chunk || new[filled - 1] == 1) {
            filled -= 1;
            out[filled] = taken as isize * chunk_stride;
            taken *= new[filled];
        }
        if taken != chunk {
            return None;
        }
        if d > 0 {
            chunk_stride = stride[d - 1];
            chunk = 1;
            taken = 1;
        }
    }
    (filled == 0).then_some(out)
}

/// Merge neighbouring dimensions that every operand walks without a jump, and drop those of size one.
///
/// All operands have the same shape; kernels loop over far fewer dimensions afterwards (usually one).
pub fn collapse(shape: &[usize], strides: &[&[isize]]) -> (Vec<usize>, Vec<Vec<isize>>) {
    let mut out_shape: Vec<usize> = Vec::with_capacity(shape.len());
    let mut out: Vec<Vec<isize>> = vec![Vec::with_capacity(shape.len()); strides.len()];
    for (d, &n) in shape.iter().enumerate() {
        if n == 1 {
            continue;
        }
        let merges = !out_shape.is_empty()
            && strides
                .iter()
                .zip(&out)
                .all(|(s, o)| o.last().copied() == s[d].checked_mul(n as isize));
        if merges {
            if let Some(last) = out_shape.last_mut() {
                // Beyond all counting only beside a dimension without elements, where nothing is visited.
                *last = last.saturating_mul(n);
            }
            for (s, o) in strides.iter().zip(&mut out) {
                if let Some(last) = o.last_mut() {
                    *last = s[d];
                }
            }
        } else {
            out_shape.push(n);
            for (s, o) in strides.iter().zip(&mut out) {
                o.push(s[d]);
            }
        }
    }
    (out_shape, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposed_cannot_be_viewed_flat() {
        let t = Layout::contiguous(&[3, 4]).transpose(0, 1).unwrap();
        assert_eq!(t.view(&[12]), None);
        assert_eq!(t.view(&[4, 3, 1]).unwrap().stride(), [1, 4, 4]);
    }

    #[test]
    fn collapse_merges_what_continues() {
        let (shape, strides) = collapse(&[2, 3, 4], &[&[12, 4, 1], &[12, 4, 1]]);
        assert_eq!((shape, strides), (vec![24], vec![vec![1], vec![1]]));
        let (shape, strides) = collapse(&[2, 3, 4], &[&[12, 4, 1], &[0, 4, 1]]);
        assert_eq!(
            (shape, strides),
            (vec![2, 12], vec![vec![12, 1], vec![0, 1]])
        );
    }

    #[test]
    fn an_expanded_view_overlaps_itself() {
        assert!(
            Layout::contiguous(&[3, 1])
                .expand(&[3, 4])
                .unwrap()
                .overlaps_itself()
        );
        assert!(
            !Layout::contiguous(&[3, 4])
                .transpose(0, 1)
                .unwrap()
                .overlaps_itself()
        );
    }
}
