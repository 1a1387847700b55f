//! What goes wrong says what PyTorch says.

use conformance::{devices, golden};
use nn::optim::SgdConfig;
use nn::{BatchNorm1d, Conv2d, Init, Linear, Module, ModuleExt, Sgd, StateDict, models};
use serde::Deserialize;
use tensor::random::Generator;
use tensor::{ClassLoss, Conv2dOptions, DType, Device, DeviceId, Error, Tensor};

#[derive(Deserialize)]
struct Case {
    id: String,
    raised: String,
    message: String,
}

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

struct Bench<'a> {
    device: &'a Device,
    generator: Generator,
}

impl Bench<'_> {
    fn x(&self, shape: &[usize]) -> Tensor {
        Tensor::randn(shape, &self.generator, self.device).unwrap()
    }
    fn leaf(&self, shape: &[usize]) -> Tensor {
        let x = self.x(shape);
        x.requires_grad_(true).unwrap();
        x
    }
    fn long(&self, values: &[i64]) -> Tensor {
        Tensor::from_slice(values, &[values.len()], self.device).unwrap()
    }
    fn init(&self) -> Init<'_> {
        Init::new(self.device, &self.generator)
    }
    fn conv(&self) -> Conv2d {
        Conv2d::new(3, 6, [5, 5], Conv2dOptions::default(), true, &self.init()).unwrap()
    }
    fn linear(&self, i: usize, o: usize) -> Linear {
        Linear::new(i, o, true, &self.init()).unwrap()
    }

    /// Make the mistake; `None` if it has no meaning here, `Some(None)` if nothing was raised.
    #[allow(clippy::too_many_lines)] // a table
    fn provoke(&self, id: &str) -> Option<Option<Error>> {
        let f64s = |shape: &[usize]| self.x(shape).to_dtype(DType::F64);
        Some(match id {
            "view_noncontiguous" => self.x(&[3, 4]).t().unwrap().view(&[12]).err(),
            "view_slice" => self.x(&[4, 6]).slice(1, 0, 3, 1).unwrap().view(&[12]).err(),
            "view_size" => self.x(&[3, 4]).view(&[5, 2]).err(),
            "reshape_size" => self.x(&[3, 4]).reshape(&[7, -1]).err(),
            "view_two_infer" => self.x(&[3, 4]).view(&[-1, -1]).err(),
            "matmul_shape" => self.x(&[3, 4]).matmul(&self.x(&[3, 4])).err(),
            "broadcast" => self.x(&[3, 4]).add(&self.x(&[3])).err(),
            "matmul_dtype" => match f64s(&[4, 3]) {
                Ok(b) => self.x(&[3, 4]).matmul(&b).err(),
                Err(_) => return None,
            },
            "linear_dtype" => match f64s(&[3, 10]) {
                Ok(x) => self.linear(10, 2).forward(&x).err(),
                Err(_) => return None,
            },
            "linear_shape" => self.linear(10, 2).forward(&self.x(&[3, 4])).err(),
            "conv_channels" => self.conv().forward(&self.x(&[1, 1, 32, 32])).err(),
            "conv_rank" => self.conv().forward(&self.x(&[32, 32])).err(),
            "conv_kernel_too_big" => self.conv().forward(&self.x(&[1, 3, 4, 4])).err(),
            "lenet_padding0" => {
                let features = models::lenet(64, 0, 10, &self.init()).unwrap();
                let whole = models::lenet(64, 2, 10, &self.init()).unwrap();
                let x = self.x(&[64, 3, 64, 64]);
                let (_, convolutions) = features.children().next().unwrap();
                let (_, classifier) = whole.children().nth(2).unwrap();
                classifier
                    .forward(&convolutions.forward(&x).unwrap().flatten(1, -1).unwrap())
                    .err()
            }
            "ce_target_range" => self
                .x(&[3, 4])
                .cross_entropy(&self.long(&[0, 1, 4]), ClassLoss::default())
                .and_then(|loss| pollster::block_on(loss.item()))
                .err(),
            "ce_target_float" => self
                .x(&[3, 4])
                .cross_entropy(&self.x(&[3]), ClassLoss::default())
                .err(),
            "ce_batch" => self
                .x(&[3, 4])
                .cross_entropy(&self.long(&[0, 1]), ClassLoss::default())
                .err(),
            "backward_twice" => {
                let x = self.leaf(&[3]);
                let y = x.mul(&x).unwrap().sum_all().unwrap();
                y.backward().unwrap();
                y.backward().err()
            }
            "backward_nonscalar" => self.leaf(&[3]).mul_scalar(2.0).unwrap().backward().err(),
            "backward_no_grad" => self.x(&[3]).sum_all().unwrap().backward().err(),
            "inplace_modified" => {
                let y = self.leaf(&[3]).exp().unwrap();
                y.add_scalar_(1.0).unwrap();
                y.sum_all().unwrap().backward().err()
            }
            "inplace_leaf" => self.leaf(&[3]).add_scalar_(1.0).err(),
            "numpy_requires_grad" => self.leaf(&[3]).shared::<f32>().err(),
            "item_nonscalar" => pollster::block_on(self.x(&[3, 4]).item()).err(),
            "index_range" => self.x(&[3, 4]).select(0, 3).err(),
            "dim_range" => self.x(&[3, 4]).sum(&[2], false).err(),
            "cat_shape" => Tensor::cat(&[&self.x(&[3, 4]), &self.x(&[3, 5])], 0).err(),
            "stack_shape" => Tensor::stack(&[&self.x(&[3, 4]), &self.x(&[4, 3])], 0).err(),
            "device_string" => DeviceId::parse("gpu").err(),
            "device_index" => DeviceId::parse("cuda:x").err(),
            "device_negative" => DeviceId::parse("cuda:-2").err(),
            "device_leading_zero" => DeviceId::parse("cuda:01").err(),
            "int_mean" => self.long(&[0, 1, 2]).mean_all().err(),
            "int_requires_grad" => self.long(&[0, 1, 2]).requires_grad_(true).err(),
            "expand" => self.x(&[3, 4]).expand(&[3, 5]).err(),
            "load_state_missing" => {
                let mut state = self.linear(2, 2).state_dict();
                state.remove("bias");
                self.linear(2, 2).load_state_dict(&state).err()
            }
            "load_state_shape" => {
                let mut state: StateDict = self.linear(2, 2).state_dict();
                state.insert("weight".into(), self.x(&[3, 2]));
                self.linear(2, 2).load_state_dict(&state).err()
            }
            "bn_one_value" => BatchNorm1d::new(4, &self.init())
                .unwrap()
                .forward(&self.x(&[1, 4]))
                .err(),
            "log_bool" => self.x(&[3]).gt(&self.x(&[3])).unwrap().relu().err(),
            "optimizer_empty" => Sgd::new(Vec::new(), SgdConfig::default()).err(),
            "sgd_lr" => Sgd::new(
                self.linear(2, 2).parameters(),
                SgdConfig {
                    lr: -1.0,
                    ..SgdConfig::default()
                },
            )
            .err(),
            _ => return None,
        })
    }
}

/// Cases of PyTorch's that cannot arise here, each with its reason.
const ELSEWHERE: [(&str, &str); 2] = [
    ("device_index_str", "an index is a number by its type"),
    (
        "cuda_absent",
        "raised by the CUDA device, which this build does not have",
    ),
];

#[test]
fn messages_are_pytorchs() {
    let mut failures = Vec::new();
    for device in devices::under_test() {
        let bench = Bench {
            device: &device,
            generator: Generator::new(1),
        };
        for case in golden::json::<File>("errors.json").cases {
            let label = format!("{} on {}", case.id, device.id());
            let error = match bench.provoke(&case.id) {
                None if ELSEWHERE.iter().any(|(id, _)| *id == case.id) => continue,
                None if !device.backend().supports(DType::F64) && case.id.ends_with("_dtype") => {
                    continue;
                }
                None => {
                    failures.push(format!("{label}: nobody makes this mistake"));
                    continue;
                }
                Some(None) => {
                    failures.push(format!("{label}: nothing was raised"));
                    continue;
                }
                Some(Some(error)) => error,
            };
            // Device names aside: PyTorch lists its own device types, and names tensors by their place.
            let want = match case.id.as_str() {
                "device_string" => {
                    "Expected one of cpu, cuda, wgpu device type at start of device string: gpu"
                        .into()
                }
                _ if !device.is_cpu() => case
                    .message
                    .replace("torch.FloatTensor", "torch.wgpu.FloatTensor"),
                _ => case.message,
            };
            if error.to_string() != want {
                failures.push(format!("{label}:\n  got  {error}\n  want {want}"));
            }
            if error.class() != case.raised {
                failures.push(format!(
                    "{label}: class {}, want {}",
                    error.class(),
                    case.raised
                ));
            }
            if error.help().is_empty() {
                failures.push(format!("{label}: no help"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn two_devices_are_named_with_their_operands() {
    let Some(gpu) = devices::under_test().into_iter().find(|d| !d.is_cpu()) else {
        println!("skipped: a mismatch needs a second device");
        return;
    };
    let cpu = Device::cpu();
    let generator = Generator::new(1);
    let here = |shape: &[usize]| Tensor::randn(shape, &generator, &cpu).unwrap();
    let there = |shape: &[usize]| Tensor::randn(shape, &generator, &gpu).unwrap();
    let (g, c) = (gpu.id(), cpu.id());

    let e = there(&[3]).add(&here(&[3])).unwrap_err();
    let text = format!(
        "Expected all tensors to be on the same device, but found at least two devices, {g} and {c}!"
    );
    assert_eq!(e.to_string(), text);
    assert!(
        e.help().contains(&format!("is on {c}")) && e.help().contains(&format!("is on {g}")),
        "{}",
        e.help()
    );

    let linear = Linear::new(4, 2, true, &Init::new(&gpu, &generator)).unwrap();
    let e = linear.forward(&here(&[3, 4])).unwrap_err();
    assert!(
        e.to_string().contains(&format!(
            "mat1 is on {c}, different from other tensors on {g}"
        )),
        "{e}"
    );

    let conv = Conv2d::new(
        1,
        1,
        [3, 3],
        Conv2dOptions::default(),
        true,
        &Init::new(&gpu, &generator),
    )
    .unwrap();
    let e = conv.forward(&here(&[1, 1, 8, 8])).unwrap_err();
    assert_eq!(
        e.to_string(),
        "Input type (torch.FloatTensor) and weight type (torch.wgpu.FloatTensor) should be the same"
    );

    // A number on the CPU mixes with tensors anywhere.
    let sum = there(&[3])
        .mul(&Tensor::scalar(2.0f32, &cpu).unwrap())
        .unwrap();
    assert_eq!(sum.device().id(), g);
}
