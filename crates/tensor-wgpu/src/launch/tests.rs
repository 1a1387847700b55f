//! Cutting, folding, and the forms of a product.

use super::*;
use crate::device::Rates;
use tensor::device::Backend;
use tensor::kernels::matmul::{MATMUL, MatmulParams};

/// On a device that is reckoned to be slow, work is cut into dispatches; the results are the same.
#[test]
fn long_work_is_cut() {
    let Ok(device) = pollster::block_on(crate::open::open_raw(0, Default::default())) else {
        println!("skipped: no adapter");
        return;
    };
    let n = 96usize;
    let values: Vec<f32> = (0..n * n).map(|i| (i % 7) as f32 - 3.0).collect();
    let want: Vec<f32> = (0..n * n)
        .map(|i| {
            (0..n)
                .map(|k| values[i / n * n + k] * values[k * n + i % n])
                .sum()
        })
        .collect();
    let side = n as u32;
    let params = MatmulParams::dense(side, side, side);
    let a = device.alloc(4 * n * n).unwrap();
    let out = device.alloc(4 * n * n).unwrap();
    device.upload(&a, 0, bytemuck::cast_slice(&values)).unwrap();
    let bind = |buffer| Binding {
        buffer,
        dtype: DType::F32,
        offset: 0,
        span: (0, n * n),
        strides: &[],
    };
    let flops = 2 * (n * n * n) as u64;
    for form in matmul::Tuned::ALL {
        let before = {
            let mut state = device.lock();
            state.matmul = form;
            // The whole product would take three seconds.
            state.rates = Rates {
                flops_per_ms: flops as f64 / 3000.0,
                bytes_per_ms: 1e12,
            };
            state.batch.submissions
        };
        device.upload(&out, 0, &vec![0; 4 * n * n]).unwrap();
        let work = Work::Kernel {
            kernel: &MATMUL,
            params: bytemuck::bytes_of(&params),
            grid: Grid::Invocations(n * n),
            check: None,
        };
        device
            .launch(&Launch {
                work,
                bindings: &[bind(&a), bind(&a), bind(&a), bind(&out)],
                bytes: 0,
                flops,
            })
            .unwrap();
        let mut bytes = vec![0; 4 * n * n];
        pollster::block_on(device.read(&out, 0, &mut bytes)).unwrap();
        let got: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
        assert_eq!(got, want, "{form:?}");
        let submissions = device.lock().batch.submissions - before;
        // As many as there are workgroups to share out.
        assert!(submissions >= 3, "{form:?}: {submissions} submissions");
    }
}

#[test]
fn folded_grids_cover_their_groups() {
    for groups in [1, 65_535, 65_536, 131_071, 1 << 24] {
        let (grid, row) = fold(groups);
        assert!(grid[0] as usize * grid[1] as usize >= groups);
        assert!(grid[0] <= WIDEST && grid[1] <= WIDEST);
        assert_eq!(grid[0], row);
    }
}

/// Every form of the product, with all that may become of a sum, against plain loops: a software adapter would never choose
/// the tile by itself, a GPU never the registers.
#[test]
fn every_form_of_a_product_finishes_its_sums() {
    let Ok(device) = pollster::block_on(crate::open::open_raw(0, Default::default())) else {
        println!("skipped: no adapter");
        return;
    };
    for [m, n, k] in [[5, 3, 4], [64, 128, 20], [66, 72, 36], [130, 67, 9]] {
        for (bias, relu) in [(false, false), (true, false), (false, true), (true, true)] {
            let value = |i: usize| ((i * 37) % 23) as f32 / 8.0 - 1.25;
            let a: Vec<f32> = (0..m * k).map(value).collect();
            let b: Vec<f32> = (0..k * n).map(|i| value(i + 5)).collect();
            let added: Vec<f32> = (0..n).map(|i| value(i + 11)).collect();
            let want: Vec<f32> = (0..m * n)
                .map(|i| {
                    let (row, col) = (i / n, i % n);
                    let sum: f32 = (0..k).map(|x| a[row * k + x] * b[x * n + col]).sum();
                    let sum = if bias { sum + added[col] } else { sum };
                    if relu { sum.max(0.0) } else { sum }
                })
                .collect();
            let filled = |values: &[f32]| {
                let buffer = device.alloc(4 * values.len()).unwrap();
                let bytes = bytemuck::cast_slice(values);
                device.upload(&buffer, 0, bytes).unwrap();
                (buffer, values.len())
            };
            let buffers = [a, b, added, vec![f32::NAN; m * n]].map(|v| filled(&v));
            let bindings = buffers.each_ref().map(|(buffer, length)| Binding {
                buffer,
                dtype: DType::F32,
                offset: 0,
                span: (0, *length),
                strides: &[],
            });
            let params = MatmulParams {
                bias: u32::from(bias),
                relu: u32::from(relu),
                ..MatmulParams::dense(m as u32, n as u32, k as u32)
            };
            for (form, forced) in [
                (matmul::Tuned::Register, false),
                (matmul::Tuned::Register, true),
                (matmul::Tuned::Tile, false),
                (matmul::Tuned::Tile, true),
            ] {
                let mut state = device.lock();
                (state.matmul, state.tuning) = (form, forced);
                drop(state);
                let work = Work::Kernel {
                    kernel: &MATMUL,
                    params: bytemuck::bytes_of(&params),
                    grid: Grid::Invocations(m * n),
                    check: None,
                };
                device
                    .launch(&Launch {
                        work,
                        bindings: &bindings,
                        bytes: 0,
                        flops: 0,
                    })
                    .unwrap();
                let mut bytes = vec![0; 4 * m * n];
                pollster::block_on(device.read(&buffers[3].0, 0, &mut bytes)).unwrap();
                let got: Vec<f32> = bytemuck::pod_collect_to_vec(&bytes);
                for (i, (got, want)) in got.iter().zip(&want).enumerate() {
                    assert!(
                        (got - want).abs() < 1e-4,
                        "{m}x{n}x{k} bias {bias} relu {relu} {form:?} {forced}: {i}: {got}, not {want}"
                    );
                }
            }
            buffers.iter().for_each(|(b, _)| device.free(b));
        }
    }
}
