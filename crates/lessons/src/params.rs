//! What a lesson can be asked for: parameters described once, read from text in one place.
//!
//! The terminal makes its flags and the page its form from the same [`ParamSpec`]s, and both hand the text they were given to
//! [`Params::parse`], so that a value means the same and is refused with the same words on either side.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::nearest::nearest;

/// One parameter of a lesson.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParamSpec {
    /// Name, as a flag (`--batch`) and as a key of the report.
    pub name: String,
    /// What it takes, with its range.
    pub kind: ParamKind,
    /// The value when none is given.
    pub default: ParamValue,
    /// Unit of the value; empty for a plain count.
    pub unit: String,
    /// One line on what it does.
    pub help: String,
}

/// What a parameter takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ParamKind {
    /// A whole number from `min` to `max`.
    Int {
        /// Smallest value allowed.
        min: i64,
        /// Largest value allowed.
        max: i64,
    },
    /// A number from `min` to `max`.
    Float {
        /// Smallest value allowed.
        min: f64,
        /// Largest value allowed.
        max: f64,
    },
    /// One of a few words.
    Choice {
        /// The words.
        options: Vec<String>,
    },
    /// Some of a few words, separated by commas, in the order of `options`.
    Subset {
        /// The words.
        options: Vec<String>,
    },
    /// Yes or no.
    Bool,
    /// A list of sizes, separated by commas or spaces.
    Sizes {
        /// Smallest size allowed.
        min: u64,
        /// Largest size allowed.
        max: u64,
        /// Most sizes allowed.
        max_len: usize,
    },
    /// A device name: `auto`, `cpu`, `wgpu:0`. Whether it exists is known when it is opened.
    Device,
    /// A folder natively, a set of chosen files in the browser. Empty for none.
    Folder,
}

/// The value of one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ParamValue {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A word: a choice, a device, a folder.
    Text(String),
    /// A list of sizes.
    Sizes(Vec<u64>),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Bool(v) => write!(f, "{v}"),
            ParamValue::Int(v) => write!(f, "{v}"),
            ParamValue::Float(v) if *v != 0.0 && (v.abs() < 1e-2 || v.abs() >= 1e7) => {
                write!(f, "{v:e}")
            }
            ParamValue::Float(v) => write!(f, "{v}"),
            ParamValue::Text(v) => f.write_str(v),
            ParamValue::Sizes(v) => {
                for (i, size) in v.iter().enumerate() {
                    write!(f, "{}{size}", if i > 0 { "," } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

impl ParamSpec {
    fn new(name: &str, kind: ParamKind, default: ParamValue, help: &str) -> Self {
        ParamSpec {
            name: name.into(),
            kind,
            default,
            unit: String::new(),
            help: help.into(),
        }
    }

    /// A whole number.
    pub fn int(name: &str, range: std::ops::RangeInclusive<i64>, default: i64, help: &str) -> Self {
        let kind = ParamKind::Int {
            min: *range.start(),
            max: *range.end(),
        };
        Self::new(name, kind, ParamValue::Int(default), help)
    }

    /// A number.
    pub fn float(
        name: &str,
        range: std::ops::RangeInclusive<f64>,
        default: f64,
        help: &str,
    ) -> Self {
        let kind = ParamKind::Float {
            min: *range.start(),
            max: *range.end(),
        };
        Self::new(name, kind, ParamValue::Float(default), help)
    }

    /// One of a few words; the first is the default.
    pub fn choice(name: &str, options: &[&str], help: &str) -> Self {
        let default = options.first().copied().unwrap_or_default();
        let options = options.iter().map(|o| o.to_string()).collect();
        Self::new(
            name,
            ParamKind::Choice { options },
            ParamValue::Text(default.into()),
            help,
        )
    }

    /// Some of a few words; all of them by default.
    pub fn subset(name: &str, options: &[&str], help: &str) -> Self {
        let default = options.join(",");
        let options = options.iter().map(|o| o.to_string()).collect();
        Self::new(
            name,
            ParamKind::Subset { options },
            ParamValue::Text(default),
            help,
        )
    }

    /// Yes or no.
    pub fn bool(name: &str, default: bool, help: &str) -> Self {
        Self::new(name, ParamKind::Bool, ParamValue::Bool(default), help)
    }

    /// A list of sizes.
    pub fn sizes(
        name: &str,
        range: std::ops::RangeInclusive<u64>,
        default: &[u64],
        help: &str,
    ) -> Self {
        let kind = ParamKind::Sizes {
            min: *range.start(),
            max: *range.end(),
            max_len: 16,
        };
        Self::new(name, kind, ParamValue::Sizes(default.to_vec()), help)
    }

    /// A device, `auto` by default.
    pub fn device(name: &str, help: &str) -> Self {
        Self::new(
            name,
            ParamKind::Device,
            ParamValue::Text("auto".into()),
            help,
        )
    }

    /// A folder, none by default.
    pub fn folder(name: &str, help: &str) -> Self {
        Self::new(
            name,
            ParamKind::Folder,
            ParamValue::Text(String::new()),
            help,
        )
    }

    /// The same with a unit.
    pub fn unit(mut self, unit: &str) -> Self {
        self.unit = unit.into();
        self
    }

    /// The values allowed, in words: `1 to 4096`, `sgd, adam`.
    pub fn range(&self) -> String {
        match &self.kind {
            ParamKind::Int { min, max } => format!("{min} to {max}"),
            ParamKind::Float { min, max } => {
                format!("{} to {}", ParamValue::Float(*min), ParamValue::Float(*max))
            }
            ParamKind::Choice { options } => options.join(", "),
            ParamKind::Subset { options } => format!("some of {}", options.join(",")),
            ParamKind::Bool => "true or false".into(),
            ParamKind::Sizes { min, max, max_len } => {
                format!(
                    "up to {max_len} sizes of {min} to {max}, such as {}",
                    self.default
                )
            }
            ParamKind::Device => "auto, cpu, wgpu:N".into(),
            ParamKind::Folder => "a folder".into(),
        }
    }

    /// A word of the options.
    fn option(&self, options: &[String], word: &str) -> Result<String, ParamError> {
        if options.iter().any(|o| o == word) {
            return Ok(word.into());
        }
        Err(ParamError::Choice {
            name: self.name.clone(),
            given: word.into(),
            options: options.to_vec(),
            nearest: nearest(word, options.iter().map(String::as_str)),
        })
    }

    /// Reads a value from text.
    pub fn parse(&self, text: &str) -> Result<ParamValue, ParamError> {
        let text = text.trim();
        let refuse = || ParamError::Value {
            name: self.name.clone(),
            given: text.into(),
            allowed: self.range(),
        };
        let outside = || ParamError::Range {
            name: self.name.clone(),
            given: text.into(),
            allowed: self.range(),
        };
        match &self.kind {
            ParamKind::Int { min, max } => {
                let value: i64 = text.parse().map_err(|_| refuse())?;
                if (*min..=*max).contains(&value) {
                    Ok(ParamValue::Int(value))
                } else {
                    Err(outside())
                }
            }
            ParamKind::Float { min, max } => {
                let value: f64 = text.parse().map_err(|_| refuse())?;
                if (*min..=*max).contains(&value) {
                    Ok(ParamValue::Float(value))
                } else {
                    Err(outside())
                }
            }
            ParamKind::Choice { options } => self.option(options, text).map(ParamValue::Text),
            ParamKind::Subset { options } => {
                let words: Vec<&str> = text.split([',', ' ']).filter(|w| !w.is_empty()).collect();
                if words.is_empty() {
                    return Err(refuse());
                }
                for word in &words {
                    self.option(options, word)?;
                }
                let kept: Vec<&str> = options
                    .iter()
                    .map(String::as_str)
                    .filter(|o| words.contains(o))
                    .collect();
                Ok(ParamValue::Text(kept.join(",")))
            }
            ParamKind::Bool => match text {
                "true" | "yes" | "on" | "1" => Ok(ParamValue::Bool(true)),
                "false" | "no" | "off" | "0" => Ok(ParamValue::Bool(false)),
                _ => Err(refuse()),
            },
            ParamKind::Sizes { min, max, max_len } => {
                let parts = text.split([',', ' ']).filter(|p| !p.is_empty());
                let sizes: Vec<u64> = parts
                    .map(str::parse)
                    .collect::<Result<_, _>>()
                    .map_err(|_| refuse())?;
                if sizes.is_empty() {
                    return Err(refuse());
                }
                if sizes.len() > *max_len || sizes.iter().any(|s| !(*min..=*max).contains(s)) {
                    return Err(outside());
                }
                Ok(ParamValue::Sizes(sizes))
            }
            ParamKind::Device if text.is_empty() => Err(refuse()),
            ParamKind::Device | ParamKind::Folder => Ok(ParamValue::Text(text.into())),
        }
    }
}

/// The parameters of one run, each with a value that its description allows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Params(BTreeMap<String, ParamValue>);

impl Params {
    /// Every parameter at its default.
    pub fn defaults(specs: &[ParamSpec]) -> Self {
        Params(
            specs
                .iter()
                .map(|s| (s.name.clone(), s.default.clone()))
                .collect(),
        )
    }

    /// Reads the given texts; what is not given keeps its default.
    pub fn parse<'a>(
        specs: &[ParamSpec],
        given: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ParamError> {
        let mut params = Self::defaults(specs);
        for (name, text) in given {
            let Some(spec) = specs.iter().find(|s| s.name == name) else {
                return Err(ParamError::Unknown {
                    name: name.into(),
                    nearest: nearest(name, specs.iter().map(|s| s.name.as_str())),
                    known: specs.iter().map(|s| s.name.clone()).collect(),
                });
            };
            params.0.insert(spec.name.clone(), spec.parse(text)?);
        }
        Ok(params)
    }

    /// All values by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &ParamValue)> {
        self.0.iter().map(|(k, v)| (k.as_str(), v))
    }

    /// The value of a parameter, if the lesson has it.
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.get(name)
    }

    fn undeclared(name: &str, expected: &str) -> ParamError {
        ParamError::Undeclared {
            name: name.into(),
            expected: expected.into(),
        }
    }

    /// A whole number.
    pub fn int(&self, name: &str) -> Result<i64, ParamError> {
        match self.get(name) {
            Some(ParamValue::Int(v)) => Ok(*v),
            _ => Err(Self::undeclared(name, "a whole number")),
        }
    }

    /// A whole number that is a size or a count; a negative one reads as 0, which ranges rule out.
    pub fn size(&self, name: &str) -> Result<usize, ParamError> {
        Ok(usize::try_from(self.int(name)?).unwrap_or(0))
    }

    /// A number.
    pub fn float(&self, name: &str) -> Result<f64, ParamError> {
        match self.get(name) {
            Some(ParamValue::Float(v)) => Ok(*v),
            Some(ParamValue::Int(v)) => Ok(*v as f64),
            _ => Err(Self::undeclared(name, "a number")),
        }
    }

    /// Yes or no.
    pub fn bool(&self, name: &str) -> Result<bool, ParamError> {
        match self.get(name) {
            Some(ParamValue::Bool(v)) => Ok(*v),
            _ => Err(Self::undeclared(name, "true or false")),
        }
    }

    /// A word: a choice, a device, a folder.
    pub fn text(&self, name: &str) -> Result<&str, ParamError> {
        match self.get(name) {
            Some(ParamValue::Text(v)) => Ok(v),
            _ => Err(Self::undeclared(name, "a word")),
        }
    }

    /// A list of sizes.
    pub fn sizes(&self, name: &str) -> Result<&[u64], ParamError> {
        match self.get(name) {
            Some(ParamValue::Sizes(v)) => Ok(v),
            _ => Err(Self::undeclared(name, "a list of sizes")),
        }
    }
}

/// Why a parameter was refused.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamError {
    /// The lesson has no such parameter.
    Unknown {
        /// The name given.
        name: String,
        /// The closest name, when one is close.
        nearest: Option<String>,
        /// All names.
        known: Vec<String>,
    },
    /// The text is not a value of the right kind.
    Value {
        /// Parameter.
        name: String,
        /// The text given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// The value is of the right kind but outside the range.
    Range {
        /// Parameter.
        name: String,
        /// The text given.
        given: String,
        /// What is allowed.
        allowed: String,
    },
    /// The word is not among the choices.
    Choice {
        /// Parameter.
        name: String,
        /// The word given.
        given: String,
        /// The words allowed.
        options: Vec<String>,
        /// The closest one, when one is close.
        nearest: Option<String>,
    },
    /// The lesson asked for a parameter that it does not declare: a fault of the lesson, not of its user.
    Undeclared {
        /// Parameter.
        name: String,
        /// What the lesson expected it to be.
        expected: String,
    },
}

impl ParamError {
    /// The one-line repair.
    pub fn help(&self) -> String {
        match self {
            ParamError::Unknown {
                nearest: Some(n), ..
            } => format!("did you mean `{n}`?"),
            ParamError::Unknown { known, .. } if known.is_empty() => {
                "this lesson takes no parameters".into()
            }
            ParamError::Unknown { known, .. } => {
                format!("the parameters are: {}", known.join(", "))
            }
            ParamError::Choice {
                nearest: Some(n), ..
            } => format!("did you mean `{n}`?"),
            ParamError::Choice { options, .. } => format!("choose one of: {}", options.join(", ")),
            ParamError::Value { allowed, .. } | ParamError::Range { allowed, .. } => {
                format!("give {allowed}")
            }
            ParamError::Undeclared { name, .. } => {
                format!("declare `{name}` in the lesson's description")
            }
        }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamError::Unknown { name, .. } => write!(f, "unknown parameter `{name}`"),
            ParamError::Value {
                name,
                given,
                allowed,
            } => {
                write!(f, "`{given}` is not a value for `{name}` ({allowed})")
            }
            ParamError::Range {
                name,
                given,
                allowed,
            } => {
                write!(f, "`{name}` = {given} is out of range ({allowed})")
            }
            ParamError::Choice {
                name,
                given,
                options,
                ..
            } => {
                write!(
                    f,
                    "`{given}` is not a choice for `{name}` ({})",
                    options.join(", ")
                )
            }
            ParamError::Undeclared { name, expected } => {
                write!(
                    f,
                    "the lesson reads `{name}` as {expected} but does not declare it so"
                )
            }
        }
    }
}

impl std::error::Error for ParamError {}

#[cfg(test)]
mod tests {
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
}
