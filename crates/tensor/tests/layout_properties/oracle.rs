//! Every view operation a second time, on a list of elements instead of strides.

use crate::chains::Op;

/// A view as its shape and the original's element behind each of its own, row-major.
#[derive(Clone, Debug)]
pub struct Oracle {
    pub shape: Vec<usize>,
    pub cells: Vec<usize>,
}

/// All indices of a shape in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![vec![]], |heads, &n| {
        heads
            .iter()
            .flat_map(|head| (0..n).map(move |i| [head.as_slice(), &[i]].concat()))
            .collect()
    })
}

fn linear(shape: &[usize], index: &[usize]) -> usize {
    shape.iter().zip(index).fold(0, |at, (&n, &i)| at * n + i)
}

impl Oracle {
    pub fn new(shape: &[usize]) -> Oracle {
        Oracle {
            shape: shape.to_vec(),
            cells: (0..shape.iter().product()).collect(),
        }
    }

    /// The view whose element at an index is this one's at `from(index)`.
    fn gather(&self, shape: Vec<usize>, from: impl Fn(&[usize]) -> Vec<usize>) -> Oracle {
        let cells = indices(&shape)
            .iter()
            .map(|index| self.cells[linear(&self.shape, &from(index))])
            .collect();
        Oracle { shape, cells }
    }

    pub fn apply(&self, op: &Op) -> Oracle {
        let own = &self.shape;
        match op {
            Op::Transpose(a, b) => {
                let swapped = |list: &[usize]| {
                    let mut list = list.to_vec();
                    list.swap(*a, *b);
                    list
                };
                self.gather(swapped(own), swapped)
            }
            Op::Permute(dims) => self.gather(dims.iter().map(|&d| own[d]).collect(), |index| {
                let mut from = vec![0; own.len()];
                dims.iter().zip(index).for_each(|(&d, &i)| from[d] = i);
                from
            }),
            Op::Slice {
                dim,
                start,
                length,
                step,
            } => {
                let mut shape = own.clone();
                shape[*dim] = *length;
                self.gather(shape, |index| {
                    let mut from = index.to_vec();
                    from[*dim] = start + step * index[*dim];
                    from
                })
            }
            Op::Select(dim, at) => {
                let mut shape = own.clone();
                shape.remove(*dim);
                self.gather(shape, |index| {
                    let mut from = index.to_vec();
                    from.insert(*dim, *at);
                    from
                })
            }
            Op::Expand(shape) => {
                let lead = shape.len() - own.len();
                self.gather(shape.clone(), |index| {
                    own.iter()
                        .zip(&index[lead..])
                        .map(|(&n, &i)| if n == 1 { 0 } else { i })
                        .collect()
                })
            }
            Op::Squeeze(dim) if own[*dim] != 1 => self.clone(),
            Op::Squeeze(dim) => {
                let mut shape = own.clone();
                shape.remove(*dim);
                Oracle {
                    shape,
                    cells: self.cells.clone(),
                }
            }
            Op::Unsqueeze(dim) => {
                let mut shape = own.clone();
                shape.insert(*dim, 1);
                Oracle {
                    shape,
                    cells: self.cells.clone(),
                }
            }
            Op::Diagonal { shift, a, b } => {
                let (rows, columns) = (own[*a] as isize, own[*b] as isize);
                let cell = |i: isize| {
                    if *shift >= 0 {
                        (i, i + shift)
                    } else {
                        (i - shift, i)
                    }
                };
                let inside = |i: &isize| cell(*i).0 < rows && cell(*i).1 < columns;
                let length = (0..).take_while(inside).count();
                let others: Vec<usize> = (0..own.len()).filter(|d| d != a && d != b).collect();
                let mut shape: Vec<usize> = others.iter().map(|&d| own[d]).collect();
                shape.push(length);
                self.gather(shape, |index| {
                    let mut from = vec![0; own.len()];
                    others.iter().zip(index).for_each(|(&d, &i)| from[d] = i);
                    let (row, column) = cell(index[index.len() - 1] as isize);
                    (from[*a], from[*b]) = (row as usize, column as usize);
                    from
                })
            }
            Op::Reshape(shape) => Oracle {
                shape: shape.clone(),
                cells: self.cells.clone(),
            },
            Op::Flip(dims) => self.gather(own.clone(), |index| {
                let flipped =
                    |(d, &i): (usize, &usize)| if dims.contains(&d) { own[d] - 1 - i } else { i };
                index.iter().enumerate().map(flipped).collect()
            }),
            Op::Contiguous => self.clone(),
        }
    }

    /// The strides that lead from element to element under `shape`, if there are such; a size of one has none.
    pub fn strides(&self, shape: &[usize]) -> Option<Vec<isize>> {
        let cell = |index: &[usize]| self.cells[linear(shape, index)] as isize;
        let zero = vec![0; shape.len()];
        let steps: Vec<isize> = (0..shape.len())
            .map(|d| {
                let mut one = zero.clone();
                one[d] = 1.min(shape[d] - 1);
                cell(&one) - cell(&zero)
            })
            .collect();
        let fits = |index: &Vec<usize>| {
            let steps: isize = index
                .iter()
                .zip(&steps)
                .map(|(&i, step)| i as isize * step)
                .sum();
            cell(index) == cell(&zero) + steps
        };
        indices(shape).iter().all(fits).then_some(steps)
    }
}
