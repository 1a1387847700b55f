//! From the names in `ops.json` to the engine's functions.

use crate::golden::Case;
use serde_json::{Map, Value};
use tensor::{ClassLoss, Reduction, Result, Tensor};

fn f(attrs: &Map<String, Value>, key: &str) -> f64 {
    attrs[key]
        .as_f64()
        .unwrap_or_else(|| panic!("attribute {key}"))
}

fn i(attrs: &Map<String, Value>, key: &str) -> isize {
    attrs[key]
        .as_i64()
        .unwrap_or_else(|| panic!("attribute {key}")) as isize
}

fn b(attrs: &Map<String, Value>, key: &str, default: bool) -> bool {
    attrs.get(key).map_or(default, |v| v.as_bool().unwrap())
}

/// A list of numbers; `null` and an absent key are the empty one.
fn list(attrs: &Map<String, Value>, key: &str) -> Vec<isize> {
    match attrs.get(key) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(a)) => a.iter().map(|v| v.as_i64().unwrap() as isize).collect(),
        Some(v) => vec![v.as_i64().unwrap() as isize],
    }
}

fn class_loss<'a>(attrs: &Map<String, Value>, weight: Option<&'a Tensor>) -> ClassLoss<'a> {
    let number = |key: &str, default: f64| attrs.get(key).map_or(default, |v| v.as_f64().unwrap());
    ClassLoss {
        weight,
        ignore_index: number("ignore_index", -100.0) as i32,
        label_smoothing: number("label_smoothing", 0.0),
        reduction: match attrs["reduction"].as_str().unwrap() {
            "none" => Reduction::None,
            "sum" => Reduction::Sum,
            _ => Reduction::Mean,
        },
    }
}

/// One number for rows and columns, or one for each.
fn pair(attrs: &Map<String, Value>, key: &str) -> Option<[usize; 2]> {
    match list(attrs, key)[..] {
        [] => None,
        [both] => Some([both as usize; 2]),
        [rows, columns, ..] => Some([rows as usize, columns as usize]),
    }
}

/// Run a case's operation; `None` if the engine has none of this name.
pub fn apply(case: &Case, x: &[Tensor]) -> Option<Result<Vec<Tensor>>> {
    let a = &case.attrs;
    let one = |t: Result<Tensor>| t.map(|t| vec![t]);
    Some(match case.op.as_str() {
        "neg" => one(x[0].neg()),
        "abs" => one(x[0].abs()),
        "exp" => one(x[0].exp()),
        "log" => one(x[0].log()),
        "sqrt" => one(x[0].sqrt()),
        "rsqrt" => one(x[0].rsqrt()),
        "reciprocal" => one(x[0].reciprocal()),
        "sin" => one(x[0].sin()),
        "cos" => one(x[0].cos()),
        "tanh" => one(x[0].tanh()),
        "erf" => one(x[0].erf()),
        "sigmoid" => one(x[0].sigmoid()),
        "relu" => one(x[0].relu()),
        "square" => one(x[0].square()),
        "silu" => one(x[0].silu()),
        "softplus" => one(x[0].softplus()),
        "gelu" if a["approximate"] == "tanh" => one(x[0].gelu_tanh()),
        "gelu" => one(x[0].gelu()),
        "leaky_relu" => one(x[0].leaky_relu(f(a, "negative_slope"))),
        "clamp" => one(x[0].clamp(f(a, "min"), f(a, "max"))),
        "pow_scalar" => one(x[0].pow_scalar(f(a, "exponent"))),
        "add" => one(x[0].add(&x[1])),
        "sub" => one(x[0].sub(&x[1])),
        "mul" => one(x[0].mul(&x[1])),
        "div" => one(x[0].div(&x[1])),
        "maximum" => one(x[0].maximum(&x[1])),
        "minimum" => one(x[0].minimum(&x[1])),
        "pow" => one(x[0].pow(&x[1])),
        "eq" => one(x[0].eq(&x[1])),
        "ne" => one(x[0].ne(&x[1])),
        "lt" => one(x[0].lt(&x[1])),
        "le" => one(x[0].le(&x[1])),
        "gt" => one(x[0].gt(&x[1])),
        "ge" => one(x[0].ge(&x[1])),
        "where" => one(x[0].where_(&x[1], &x[2])),
        "masked_fill" => one(x[0].masked_fill(&x[1], f(a, "value"))),
        "sum" => one(x[0].sum(&list(a, "dim"), b(a, "keepdim", false))),
        "mean" => one(x[0].mean(&list(a, "dim"), b(a, "keepdim", false))),
        "amax" => one(x[0].amax(&list(a, "dim"), b(a, "keepdim", false))),
        "amin" => one(x[0].amin(&list(a, "dim"), b(a, "keepdim", false))),
        "logsumexp" => one(x[0].logsumexp(&list(a, "dim"), b(a, "keepdim", false))),
        "var" => one(x[0].var(
            &list(a, "dim"),
            b(a, "unbiased", true),
            b(a, "keepdim", false),
        )),
        "prod" => one(x[0].prod(list(a, "dim")[0], b(a, "keepdim", false))),
        "matmul" => one(x[0].matmul(&x[1])),
        "matmul_tn" => one(x[0].t().and_then(|t| t.matmul(&x[1]))),
        "matmul_nt" => one(x[1].t().and_then(|t| x[0].matmul(&t))),
        "matmul_tt" => one(x[0].t().and_then(|a| a.matmul(&x[1].t()?))),
        "linear" => one(x[0].linear(&x[1], x.get(2))),
        "conv2d" => {
            let options = tensor::Conv2dOptions {
                stride: pair(a, "stride").unwrap_or([1, 1]),
                padding: pair(a, "padding").unwrap_or([0, 0]),
                dilation: pair(a, "dilation").unwrap_or([1, 1]),
                groups: a.get("groups").map_or(1, |g| g.as_u64().unwrap() as usize),
            };
            one(x[0].conv2d(&x[1], x.get(2), options))
        }
        "max_pool2d" | "avg_pool2d" => {
            let kernel = pair(a, "kernel_size").unwrap();
            let (stride, padding) = (pair(a, "stride"), pair(a, "padding").unwrap_or([0, 0]));
            if case.op == "max_pool2d" {
                one(x[0].max_pool2d(kernel, stride, padding))
            } else {
                one(x[0].avg_pool2d(kernel, stride, padding))
            }
        }
        "adaptive_avg_pool2d" => one(x[0].adaptive_avg_pool2d(pair(a, "output_size").unwrap())),
        "batch_norm" => {
            let (mean, var) = (&x[3], &x[4]);
            let y = x[0].batch_norm(
                Some(&x[1]),
                Some(&x[2]),
                Some(mean),
                Some(var),
                b(a, "training", false),
                f(a, "momentum"),
                f(a, "eps"),
            );
            y.map(|y| vec![y, mean.alias(), var.alias()])
        }
        "layer_norm" => one(x[0].layer_norm(x[1].shape(), Some(&x[1]), x.get(2), f(a, "eps"))),
        "flip" => one(x[0].flip(&list(a, "dims"))),
        "narrow" => one(x[0].narrow(i(a, "dim"), i(a, "start"), i(a, "length") as usize)),
        "select" => one(x[0].select(i(a, "dim"), i(a, "index"))),
        "slice" => one(x[0].slice(i(a, "dim"), i(a, "start"), i(a, "stop"), i(a, "step"))),
        "expand" => one(x[0].expand(&list(a, "shape"))),
        "permute" => one(x[0].permute(&list(a, "dims"))),
        "transpose" => one(x[0].transpose(i(a, "dim0"), i(a, "dim1"))),
        "diagonal" => one(x[0].diagonal(0, 0, 1)),
        "argmax" => one(x[0].argmax(Some(i(a, "dim")), false)),
        "argmin" => one(x[0].argmin(Some(i(a, "dim")), false)),
        "cumsum" => one(x[0].cumsum(i(a, "dim"))),
        "topk" => x[0]
            .topk(i(a, "k") as usize, i(a, "dim"), true)
            .map(|(v, n)| vec![v, n]),
        "softmax" => one(x[0].softmax(i(a, "dim"))),
        "log_softmax" => one(x[0].log_softmax(i(a, "dim"))),
        "cross_entropy" | "cross_entropy_weight" => {
            one(x[0].cross_entropy(&x[1], class_loss(a, x.get(2))))
        }
        "nll_loss" => one(x[0].nll_loss(&x[1], class_loss(a, None))),
        "mse_loss" => one(x[0].mse_loss(&x[1], Reduction::Mean)),
        "l1_loss" => one(x[0].l1_loss(&x[1], Reduction::Mean)),
        "smooth_l1_loss" => one(x[0].smooth_l1_loss(&x[1], Reduction::Mean)),
        "bce_with_logits" => one(x[0].binary_cross_entropy_with_logits(&x[1], Reduction::Mean)),
        "gather" => one(x[0].gather(i(a, "dim"), &x[1])),
        "index_select" => one(x[0].index_select(i(a, "dim"), &x[1])),
        "embedding" => one(x[0].embedding(&x[1])),
        "one_hot" => one(x[0].one_hot(i(a, "num_classes") as usize)),
        "cat" => one(Tensor::cat(&x.iter().collect::<Vec<_>>(), i(a, "dim"))),
        "stack" => one(Tensor::stack(&x.iter().collect::<Vec<_>>(), i(a, "dim"))),
        "pad" => one(x[0].pad(&list(a, "pad"), f(a, "value"))),
        "tril" => one(x[0].tril(0)),
        _ => return None,
    })
}
