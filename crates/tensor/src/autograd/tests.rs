use super::{graph, no_grad};
use crate::{Device, Error, Tensor};

fn leaf(values: &[f64], shape: &[usize]) -> Tensor {
    let t = Tensor::from_slice(values, shape, &Device::cpu()).unwrap();
    t.requires_grad_(true).unwrap();
    t
}

fn grad(t: &Tensor) -> Vec<f64> {
    t.grad().unwrap().to_f64s_now().unwrap()
}

#[test]
fn the_gradient_of_x_squared_plus_3x_at_2_is_7() {
    let x = leaf(&[2.0], &[]);
    let y = x
        .square()
        .unwrap()
        .add(&x.mul_scalar(3.0).unwrap())
        .unwrap();
    y.backward().unwrap();
    assert_eq!(grad(&x), [7.0]);
}

#[test]
fn gradients_add_up_until_they_are_cleared() {
    let x = leaf(&[1.0, 2.0], &[2]);
    for n in 1..=3 {
        x.square().unwrap().sum_all().unwrap().backward().unwrap();
        assert_eq!(grad(&x), [2.0 * f64::from(n), 4.0 * f64::from(n)]);
    }
    x.set_grad(None);
    assert!(x.grad().is_none());
}

#[test]
fn a_second_backward_needs_the_graph_retained() {
    let x = leaf(&[1.0, 2.0, 3.0], &[3]);
    let y = x.mul(&x).unwrap().sum_all().unwrap();
    y.backward_retain_graph().unwrap();
    y.backward().unwrap();
    assert_eq!(y.backward(), Err(Error::BackwardTwice));
    // What saved nothing can run again.
    let z = x.add(&x).unwrap().sum_all().unwrap();
    z.backward().unwrap();
    z.backward().unwrap();
}

#[test]
fn damage_in_place_is_noticed() {
    let x = leaf(&[1.0, 2.0, 3.0], &[3]);
    let y = x.exp().unwrap();
    y.add_scalar_(1.0).unwrap();
    let e = y.sum_all().unwrap().backward().unwrap_err();
    assert!(
        e.to_string()
            .contains("which is output 0 of ExpBackward0, is at version 1; expected version 0"),
        "{e}"
    );
    assert_eq!(x.add_scalar_(1.0).unwrap_err(), Error::InplaceLeaf);
    no_grad(|| x.add_scalar_(1.0).map(|_| ())).unwrap();
}

#[test]
fn broadcast_operands_get_their_own_shape_back() {
    let (a, b) = (
        leaf(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]),
        leaf(&[10.0, 20.0, 30.0], &[3]),
    );
    a.mul(&b).unwrap().sum_all().unwrap().backward().unwrap();
    assert_eq!(grad(&a), [10.0, 20.0, 30.0, 10.0, 20.0, 30.0]);
    assert_eq!(grad(&b), [5.0, 7.0, 9.0]);
}

#[test]
fn a_chain_of_200_000_additions_overflows_no_stack() {
    let x = leaf(&[1.0], &[1]);
    let mut y = x.alias();
    for _ in 0..200_000 {
        y = y.add_scalar(1.0).unwrap();
    }
    let live = graph::live().nodes;
    assert!(live >= 200_000, "{live}");
    y.sum_all().unwrap().backward().unwrap();
    assert_eq!(grad(&x), [1.0]);
    drop(y);
}

#[test]
fn nothing_is_recorded_under_no_grad_nor_from_detached() {
    let x = leaf(&[1.0], &[1]);
    assert!(!no_grad(|| x.exp()).unwrap().requires_grad());
    assert!(!x.detach().exp().unwrap().requires_grad());
    assert_eq!(
        x.detach().sum_all().unwrap().backward(),
        Err(Error::NoGradFn)
    );
}

#[test]
fn a_gradient_of_another_type_is_converted() {
    let x = leaf(&[1.0, 2.0], &[2]);
    let ones = Tensor::ones(&[2], crate::DType::F16, &Device::cpu()).unwrap();
    x.mul_scalar(3.0)
        .unwrap()
        .backward_with(&ones, false)
        .unwrap();
    assert_eq!(x.grad().unwrap().dtype(), x.dtype());
    assert_eq!(grad(&x), [3.0, 3.0]);
}
