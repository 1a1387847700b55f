use super::*;

fn specs() -> Vec<ParamSpec> {
    vec![
        ParamSpec::int("batch", 1..=4096, 64, "images a step"),
        ParamSpec::float("lr", 1e-6..=10.0, 1e-3, "learning rate"),
        ParamSpec::choice("optimizer", &["adam", "sgd"], "how weights change"),
        ParamSpec::sizes("sizes", 1..=8192, &[64, 256], "matrix sizes"),
        ParamSpec::bool("shuffle", true, "shuffle each epoch"),
        ParamSpec::subset("parts", &["a", "b", "c"], "what to do"),
        ParamSpec::device("device", "where it runs"),
    ]
}

#[test]
fn reads_every_kind_and_keeps_defaults() {
    let given = [
        ("batch", "32"),
        ("lr", "1e-2"),
        ("optimizer", "sgd"),
        ("sizes", "8, 16"),
        ("shuffle", "no"),
    ];
    let p = Params::parse(&specs(), given).unwrap();
    assert_eq!(p.int("batch"), Ok(32));
    assert_eq!(p.float("lr"), Ok(0.01));
    assert_eq!(p.text("optimizer"), Ok("sgd"));
    assert_eq!(p.sizes("sizes"), Ok(&[8u64, 16][..]));
    assert_eq!(p.bool("shuffle"), Ok(false));
    assert_eq!(p.text("device"), Ok("auto"));
    assert_eq!(p.text("parts"), Ok("a,b,c"));
    let p = Params::parse(&specs(), [("parts", "c, a")]).unwrap();
    assert_eq!(p.text("parts"), Ok("a,c"));
}

#[test]
fn an_unknown_name_points_to_the_nearest() {
    let e = Params::parse(&specs(), [("bach", "3")]).unwrap_err();
    assert_eq!(e.to_string(), "unknown parameter `bach`");
    assert_eq!(e.help(), "did you mean `batch`?");
    let e = Params::parse(&specs(), [("zzzzzz", "3")]).unwrap_err();
    assert_eq!(
        e.help(),
        "the parameters are: batch, lr, optimizer, sizes, shuffle, parts, device"
    );
}

#[test]
fn a_value_out_of_range_names_the_range() {
    let cases = [
        ("batch", "0", "`batch` = 0 is out of range (1 to 4096)"),
        (
            "batch",
            "many",
            "`many` is not a value for `batch` (1 to 4096)",
        ),
        ("lr", "nan", "`lr` = nan is out of range (1e-6 to 10)"),
        ("lr", "100", "`lr` = 100 is out of range (1e-6 to 10)"),
        (
            "optimizer",
            "adma",
            "`adma` is not a choice for `optimizer` (adam, sgd)",
        ),
        (
            "sizes",
            "",
            "`` is not a value for `sizes` (up to 16 sizes of 1 to 8192, such as 64,256)",
        ),
        (
            "sizes",
            "4 9000",
            "`sizes` = 4 9000 is out of range (up to 16 sizes of 1 to 8192, such as 64,256)",
        ),
    ];
    for (name, text, message) in cases {
        let e = Params::parse(&specs(), [(name, text)]).unwrap_err();
        assert_eq!(e.to_string(), message);
    }
}

#[test]
fn values_survive_json() {
    let p = Params::parse(&specs(), [("lr", "1")]).unwrap();
    let text = serde_json::to_string(&p).unwrap();
    assert_eq!(serde_json::from_str::<Params>(&text).unwrap(), p);
}
