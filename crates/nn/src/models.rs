//! The networks that lessons and tests train.

use crate::init::Init;
use crate::layers::{Conv2d, Flatten, Linear, MaxPool2d, Relu, Sequential};
use tensor::{Conv2dOptions, Error, Result};

/// A perceptron with one hidden layer of ReLUs.
pub fn mlp(inputs: usize, hidden: usize, classes: usize, init: &Init<'_>) -> Result<Sequential> {
    Ok(Sequential::new()
        .push(Linear::new(inputs, hidden, true, init)?)
        .push(Relu)
        .push(Linear::new(hidden, classes, true, init)?))
}

/// LeNet for colour images: 3 -> 6 -> 16 channels by 5x5 filters, then 120, 84, `classes`. `padding` is that of the
/// first layer; with 2 an image of 32x32 reaches the classifier as 16 x 6 x 6.
pub fn lenet(side: usize, padding: usize, classes: usize, init: &Init<'_>) -> Result<Sequential> {
    let after = |side: usize, padding: usize| {
        let padded = padding.checked_mul(2)?.checked_add(side)?;
        padded.checked_sub(4).map(|n| n / 2)
    };
    let Some(last) = after(side, padding)
        .and_then(|n| after(n, 0))
        .filter(|&n| n > 0 && n < 1 << 28)
    else {
        return Err(Error::argument(
            "lenet",
            format!("images of {side}x{side} do not fit two 5x5 convolutions with pooling"),
            "use images of 16x16 or more",
        ));
    };
    let first = Conv2dOptions {
        padding: [padding; 2],
        ..Conv2dOptions::default()
    };
    let features = Sequential::new()
        .push(Conv2d::new(3, 6, [5, 5], first, true, init)?)
        .push(Relu)
        .push(MaxPool2d::new(2))
        .push(Conv2d::new(
            6,
            16,
            [5, 5],
            Conv2dOptions::default(),
            true,
            init,
        )?)
        .push(Relu)
        .push(MaxPool2d::new(2));
    let classifier = Sequential::new()
        .push(Linear::new(16 * last * last, 120, true, init)?)
        .push(Relu)
        .push(Linear::new(120, 84, true, init)?)
        .push(Relu)
        .push(Linear::new(84, classes, true, init)?);
    Ok(Sequential::new()
        .named("features", features)
        .named("flatten", Flatten)
        .named("classifier", classifier))
}
