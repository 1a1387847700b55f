//! Optimisers, schedules, clipping and loss scaling against PyTorch's recorded steps.

use conformance::compare::{Tolerance, differs};
use conformance::{devices, golden};
use nn::optim::{AdamConfig, RmsPropConfig, SgdConfig};
use nn::scheduler::{CosineAnnealingLr, LinearLr, OneCycleLr, Scheduler, StepLr};
use nn::{Adam, AdamW, GradScaler, Optimizer, Parameter, RmsProp, Sgd, clip_grad_norm};
use serde::Deserialize;
use serde_json::{Map, Value};
use tensor::{DType, Tensor};

#[derive(Deserialize)]
struct Schedule {
    name: String,
    args: Map<String, Value>,
}

#[derive(Deserialize)]
struct Case {
    id: String,
    optimizer: String,
    args: Map<String, Value>,
    scheduler: Option<Schedule>,
    clip_grad_norm: Option<f64>,
    lr: Vec<f64>,
    grad_norm: Vec<f64>,
}

fn number(args: &Map<String, Value>, key: &str, default: f64) -> f64 {
    args.get(key).map_or(default, |v| v.as_f64().unwrap())
}

fn optimizer(case: &Case, parameters: Vec<Parameter>) -> Box<dyn Optimizer> {
    let a = &case.args;
    let betas = a.get("betas").map_or((0.9, 0.999), |b| {
        (b[0].as_f64().unwrap(), b[1].as_f64().unwrap())
    });
    let adam = AdamConfig {
        lr: number(a, "lr", 1e-3),
        betas,
        eps: number(a, "eps", 1e-8),
        weight_decay: number(a, "weight_decay", 0.0),
    };
    match case.optimizer.as_str() {
        "SGD" => Box::new(
            Sgd::new(
                parameters,
                SgdConfig {
                    lr: number(a, "lr", 1e-3),
                    momentum: number(a, "momentum", 0.0),
                    dampening: number(a, "dampening", 0.0),
                    weight_decay: number(a, "weight_decay", 0.0),
                    nesterov: a.get("nesterov").is_some_and(|v| v.as_bool().unwrap()),
                },
            )
            .unwrap(),
        ),
        "Adam" => Box::new(Adam::new(parameters, adam).unwrap()),
        "AdamW" => Box::new(AdamW::new(parameters, adam).unwrap()),
        "RMSprop" => Box::new(
            RmsProp::new(
                parameters,
                RmsPropConfig {
                    lr: number(a, "lr", 1e-2),
                    alpha: number(a, "alpha", 0.99),
                    ..RmsPropConfig::default()
                },
            )
            .unwrap(),
        ),
        other => panic!("{other}"),
    }
}

fn scheduler(s: &Schedule, base: f64) -> Box<dyn Scheduler> {
    let n = |key: &str| number(&s.args, key, f64::NAN);
    match s.name.as_str() {
        "StepLR" => Box::new(StepLr::new(base, n("step_size") as usize, n("gamma")).unwrap()),
        "CosineAnnealingLR" => {
            Box::new(CosineAnnealingLr::new(base, n("T_max") as usize, 0.0).unwrap())
        }
        "LinearLR" => Box::new(
            LinearLr::new(base, n("start_factor"), 1.0, n("total_iters") as usize).unwrap(),
        ),
        "OneCycleLR" => Box::new(OneCycleLr::new(n("max_lr"), n("total_steps") as usize).unwrap()),
        other => panic!("{other}"),
    }
}

#[test]
fn optimisers_follow_pytorchs_trajectories() {
    let data = golden::tensors("optim.safetensors");
    let mut failures = Vec::new();
    for device in devices::under_test() {
        for dtype in [DType::F64, DType::F32] {
            if !device.backend().supports(dtype) {
                continue;
            }
            let tol = match dtype {
                DType::F64 => Tolerance::near(1e-9, 1e-9),
                // Twelve steps, each rounding parameter and state once.
                _ => Tolerance::near(1e-5, 2e-6),
            };
            for case in golden::json::<Vec<Case>>("optim.json") {
                let label = format!("{} {} {dtype}", case.id, device.id());
                let key = |what: &str| &data[&format!("{}/{what}", case.id)];
                let p = Parameter::new(key("init").tensor(dtype, &device)).unwrap();
                let mut opt = optimizer(&case, vec![p.clone()]);
                let schedule = case.scheduler.as_ref().map(|s| scheduler(s, opt.lr()));
                if let Some(s) = &schedule {
                    s.start(&mut *opt);
                }
                let grads = key("grads").tensor(dtype, &device);
                let want = key("trajectory");
                let size = want.values.len() / case.lr.len();
                for (step, &lr) in case.lr.iter().enumerate() {
                    if (opt.lr() - lr).abs() > 1e-12 {
                        failures.push(format!("{label} step {step}: rate {}, want {lr}", opt.lr()));
                    }
                    p.tensor()
                        .set_grad(Some(grads.select(0, step as isize).unwrap()));
                    if let Some(max) = case.clip_grad_norm {
                        let norm = clip_grad_norm(std::slice::from_ref(&p), max).unwrap();
                        let norm = pollster::block_on(norm.item()).unwrap();
                        if (norm - case.grad_norm[step]).abs() > 1e-5 * norm {
                            failures.push(format!(
                                "{label} step {step}: norm {norm}, want {}",
                                case.grad_norm[step]
                            ));
                        }
                    }
                    opt.step().unwrap();
                    let got = pollster::block_on(p.tensor().to_f64s()).unwrap();
                    let want = &want.values[step * size..(step + 1) * size];
                    if let Some(d) = differs(&got, want, tol, 1.0) {
                        failures.push(format!("{label} step {step}: {d}"));
                        break;
                    }
                    if let Some(s) = &schedule {
                        s.apply(&mut *opt, step + 1);
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_scaler_follows_pytorchs() {
    #[derive(Deserialize)]
    struct Step {
        found_inf: bool,
        stepped: bool,
        scale_after: f64,
    }
    #[derive(Deserialize)]
    struct File {
        init_scale: f64,
        growth_factor: f64,
        backoff_factor: f64,
        growth_interval: usize,
        steps: Vec<Step>,
    }
    let file: File = golden::json("scaler.json");
    for device in devices::under_test() {
        let p = Parameter::new(Tensor::ones(&[4], DType::F32, &device).unwrap()).unwrap();
        let mut opt = Sgd::new(
            vec![p.clone()],
            SgdConfig {
                lr: 0.1,
                ..SgdConfig::default()
            },
        )
        .unwrap();
        let mut scaler = GradScaler::new(
            file.init_scale,
            file.growth_factor,
            file.backoff_factor,
            file.growth_interval,
        );
        for (i, want) in file.steps.iter().enumerate() {
            let bad = if want.found_inf { f32::INFINITY } else { 1.0 };
            p.tensor().set_grad(Some(
                Tensor::from_slice(&[1.0, bad, 1.0, 1.0], &[4], &device).unwrap(),
            ));
            let before = pollster::block_on(p.tensor().to_vec::<f32>()).unwrap();
            let stepped = pollster::block_on(scaler.step(&mut opt)).unwrap();
            let after = pollster::block_on(p.tensor().to_vec::<f32>()).unwrap();
            scaler.update();
            assert_eq!(stepped, want.stepped, "step {i}");
            assert_eq!(
                before != after,
                want.stepped,
                "step {i}: {before:?} {after:?}"
            );
            assert_eq!(scaler.found_inf(), want.found_inf, "step {i}");
            assert_eq!(scaler.get_scale(), want.scale_after, "step {i}");
        }
    }
}
