//! What a lesson can be asked for: parameters described once, read from text in one place.
//!
//! The terminal makes its flags and the page its form from the same [`ParamSpec`]s, and both hand the text they were given to
//! [`Params::parse`], so that a value means the same and is refused with the same words on either side.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::nearest::nearest;

mod error;
#[cfg(test)]
mod tests;

pub use error::ParamError;

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
