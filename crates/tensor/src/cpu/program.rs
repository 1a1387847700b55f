//! Expressions compiled to a short list of inner loops over blocks of values.
//!
//! A block's values lie in *slots*: registers (scratch memory that stays in the first-level cache), then the operands
//! that are read, then those that are written. Equal subexpressions are evaluated once; what is the same for every
//! index is evaluated once a launch.

use super::frame::BLOCK;
use super::simd::Level;
use super::single::{self, Side};
use super::steps::{self, StepFn};
use crate::device::DeviceId;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::expr::{Binary, Expr, Unary};
use std::collections::HashMap;
use std::sync::Arc;

/// Bytes of the caches that a program may take for itself: of the first level; in WebAssembly, where calling a loop costs
/// more than its values' way from the second, of both.
const FIRST_LEVEL: usize = if cfg!(target_arch = "wasm32") {
    128 << 10
} else {
    32 << 10
};

/// Where a block of values lies; an index into the frame's table of addresses.
pub(crate) type Slot = u16;

/// One inner loop and the slots that it works on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub run: StepFn,
    pub src: [Slot; 3],
    pub dst: Slot,
}

/// A number that fills a register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Const(f64),
    Scalar(u8),
}

/// The compiled form of some expressions.
#[derive(Debug)]
pub(crate) struct Program {
    /// Registers to fill before anything else.
    pub numbers: Vec<(Slot, Number, DType)>,
    /// What is the same for every index.
    pub once: Vec<Step>,
    /// What is done for each block.
    pub each: Vec<Step>,
    /// How many slots are registers; they come first.
    pub registers: usize,
    /// Operands that are read, in the order of their slots.
    pub reads: Vec<Read>,
    /// Operands that are written, in the order of their slots, which follow.
    pub writes: Vec<Write>,
    /// The read operand that a program with one output does nothing but copy.
    pub copies: Option<usize>,
}

/// An operand that is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Read {
    pub operand: usize,
    pub bytes: usize,
}

/// An operand that is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub operand: usize,
    pub bytes: usize,
    /// Whether it is read as well: its values must then not be overwritten before the block is done.
    pub also_read: bool,
}

impl Program {
    /// How many slots there are.
    pub(crate) fn slots(&self) -> usize {
        self.registers + self.reads.len() + self.writes.len()
    }

    /// Elements of a block that keep all slots in the first-level cache: fewer for a longer expression.
    pub(crate) fn block(&self) -> usize {
        let moving = self.slots() - self.numbers.len();
        let fitting = FIRST_LEVEL / (4 * moving.max(1));
        (fitting / 64 * 64).clamp(256, BLOCK / 2)
    }

    /// Compile `outputs`, each for one of the operands.
    pub(crate) fn compile(
        op: &'static str,
        operands: &[DType],
        outputs: &[(u8, Expr)],
        level: Level,
    ) -> Result<Program> {
        let mut graph = Graph {
            op,
            operands,
            level,
            nodes: Vec::new(),
            known: HashMap::new(),
            seen: HashMap::new(),
        };
        let mut roots = Vec::with_capacity(outputs.len());
        for (operand, expr) in outputs {
            let stored = *operands
                .get(*operand as usize)
                .ok_or_else(|| graph.unsupported(DType::F32))?;
            let value = graph.value(expr)?;
            let value = graph.cast(value, stored.compute());
            let value = match stored {
                DType::F16 | DType::BF16 => {
                    graph.add(stored, Kind::Narrow(value), steps::narrow(stored, level))
                }
                _ => value,
            };
            roots.push((*operand as usize, value, stored));
        }
        Ok(graph.emit(&roots))
    }
}

type Id = usize;

/// What a node computes: equal ones are one node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Operand(usize),
    Const(u64),
    Scalar(u8),
    Widen(Id),
    Narrow(Id),
    Unary(Unary, Id),
    Binary(Binary, Id, Id),
    Select(Id, Id, Id),
    Cast(Id),
}

impl Kind {
    fn sources(self) -> impl Iterator<Item = Id> {
        let list = match self {
            Kind::Operand(_) | Kind::Const(_) | Kind::Scalar(_) => [None; 3],
            Kind::Widen(a) | Kind::Narrow(a) | Kind::Unary(_, a) | Kind::Cast(a) => {
                [Some(a), None, None]
            }
            Kind::Binary(_, a, b) => [Some(a), Some(b), None],
            Kind::Select(c, a, b) => [Some(c), Some(a), Some(b)],
        };
        list.into_iter().flatten()
    }
}

struct Node {
    kind: Kind,
    dtype: DType,
    run: Option<StepFn>,
    /// Whether it is the same for every index.
    uniform: bool,
}

struct Graph<'a> {
    op: &'static str,
    operands: &'a [DType],
    level: Level,
    /// Sources before what uses them.
    nodes: Vec<Node>,
    known: HashMap<(Kind, DType), Id>,
    /// Shared subexpressions by address, so that a graph of them is walked once.
    seen: HashMap<*const Expr, Id>,
}

impl Graph<'_> {
    fn unsupported(&self, dtype: DType) -> Error {
        Error::UnsupportedDType {
            op: self.op,
            dtype,
            device: DeviceId::CPU,
        }
    }

    fn add(&mut self, dtype: DType, kind: Kind, run: StepFn) -> Id {
        self.node(dtype, kind, Some(run))
    }

    fn node(&mut self, dtype: DType, kind: Kind, run: Option<StepFn>) -> Id {
        if let Some(id) = self.known.get(&(kind, dtype)) {
            return *id;
        }
        let uniform =
            !matches!(kind, Kind::Operand(_)) && kind.sources().all(|s| self.nodes[s].uniform);
        self.nodes.push(Node {
            kind,
            dtype,
            run,
            uniform,
        });
        self.known.insert((kind, dtype), self.nodes.len() - 1);
        self.nodes.len() - 1
    }

    fn shared(&mut self, expr: &Arc<Expr>) -> Result<Id> {
        if let Some(id) = self.seen.get(&Arc::as_ptr(expr)) {
            return Ok(*id);
        }
        let id = self.value(expr)?;
        self.seen.insert(Arc::as_ptr(expr), id);
        Ok(id)
    }

    fn value(&mut self, expr: &Expr) -> Result<Id> {
        match expr {
            Expr::Arg(n) => {
                let n = *n as usize;
                let stored = *self
                    .operands
                    .get(n)
                    .ok_or_else(|| self.unsupported(DType::F32))?;
                let raw = self.node(stored, Kind::Operand(n), None);
                Ok(match stored {
                    DType::F16 | DType::BF16 => self.add(
                        DType::F32,
                        Kind::Widen(raw),
                        steps::widen(stored, self.level),
                    ),
                    _ => raw,
                })
            }
            Expr::Scalar(n, dtype) => Ok(self.node(dtype.compute(), Kind::Scalar(*n), None)),
            Expr::Const(bits, dtype) => Ok(self.node(dtype.compute(), Kind::Const(*bits), None)),
            Expr::Unary(f, x) => {
                let x = self.shared(x)?;
                let dtype = self.nodes[x].dtype;
                let run =
                    steps::unary(*f, dtype, self.level).ok_or_else(|| self.unsupported(dtype))?;
                let result = match f {
                    Unary::Not | Unary::IsNan | Unary::IsFinite => DType::Bool,
                    _ => dtype,
                };
                Ok(self.add(result, Kind::Unary(*f, x), run))
            }
            Expr::Binary(f, a, b) => {
                let (a, b) = (self.shared(a)?, self.shared(b)?);
                let dtype = match f {
                    Binary::And | Binary::Or => DType::Bool,
                    _ => self.nodes[a].dtype,
                };
                let (a, b) = (self.cast(a, dtype), self.cast(b, dtype));
                self.binary(*f, a, b, dtype)
            }
            Expr::Select(c, a, b) => {
                let (c, a, b) = (self.shared(c)?, self.shared(a)?, self.shared(b)?);
                let dtype = self.nodes[a].dtype;
                let (c, b) = (self.cast(c, DType::Bool), self.cast(b, dtype));
                Ok(self.add(
                    dtype,
                    Kind::Select(c, a, b),
                    steps::select(dtype, self.level),
                ))
            }
            Expr::Cast(dtype, x) => {
                let x = self.shared(x)?;
                Ok(self.cast(x, dtype.compute()))
            }
        }
    }

    fn binary(&mut self, f: Binary, a: Id, b: Id, dtype: DType) -> Result<Id> {
        // Squares and cubes are what most powers are; multiplying is a hundred times quicker, and as exact.
        if let (Binary::Pow, Kind::Const(bits), true) = (f, self.nodes[b].kind, dtype.is_float()) {
            let exponent = f64::from_bits(bits);
            if exponent == 1.0 {
                return Ok(a);
            }
            if exponent == 2.0 {
                return self.binary(Binary::Mul, a, a, dtype);
            }
            if exponent == 3.0 {
                let square = self.binary(Binary::Mul, a, a, dtype)?;
                return self.binary(Binary::Mul, square, a, dtype);
            }
        }
        let side = match (self.nodes[a].uniform, self.nodes[b].uniform) {
            (true, false) => Some(Side::First),
            (false, true) => Some(Side::Second),
            _ => None,
        };
        let run = side
            .and_then(|side| single::binary(f, dtype, side, self.level))
            .or_else(|| steps::binary(f, dtype, self.level))
            .ok_or_else(|| self.unsupported(dtype))?;
        let result = if f.compares() { DType::Bool } else { dtype };
        Ok(self.add(result, Kind::Binary(f, a, b), run))
    }

    fn cast(&mut self, x: Id, dtype: DType) -> Id {
        let from = self.nodes[x].dtype;
        if from == dtype {
            x
        } else {
            self.add(dtype, Kind::Cast(x), steps::cast(from, dtype, self.level))
        }
    }

    /// Give every value a slot and list the loops.
    fn emit(&self, roots: &[(usize, Id, DType)]) -> Program {
        let mut reads = Vec::new();
        let mut read_of = HashMap::new();
        for (id, node) in self.nodes.iter().enumerate() {
            if let Kind::Operand(operand) = node.kind {
                read_of.insert(id, reads.len());
                reads.push(Read {
                    operand,
                    bytes: node.dtype.size(),
                });
            }
        }
        let writes: Vec<Write> = roots
            .iter()
            .map(|&(operand, _, stored)| Write {
                operand,
                bytes: stored.size(),
                also_read: reads.iter().any(|r| r.operand == operand),
            })
            .collect();

        // Registers are counted first; slots of operands come after them, so they are named from the end for now.
        let mut last_use = vec![0; self.nodes.len()];
        for (id, node) in self.nodes.iter().enumerate() {
            for source in node.kind.sources() {
                last_use[source] = id;
            }
        }
        for &(_, id, _) in roots {
            last_use[id] = usize::MAX;
        }
        // A value that is stored once is computed right where it is stored.
        let mut place: Vec<Option<Place>> = vec![None; self.nodes.len()];
        for (w, &(_, id, _)) in roots.iter().enumerate() {
            if place[id].is_none() && self.nodes[id].run.is_some() && !self.nodes[id].uniform {
                place[id] = Some(Place::Write(w));
            }
        }
        let (mut free, mut registers) = (Vec::new(), 0u16);
        let mut numbers = Vec::new();
        let (mut once, mut each) = (Vec::new(), Vec::new());
        for (id, node) in self.nodes.iter().enumerate() {
            if let Some(read) = read_of.get(&id) {
                place[id] = Some(Place::Read(*read));
                continue;
            }
            let dst = place[id].unwrap_or_else(|| {
                // What is computed once keeps its register for the whole launch.
                let recycled = if node.uniform { None } else { free.pop() };
                Place::Register(recycled.unwrap_or_else(|| {
                    registers += 1;
                    registers - 1
                }))
            });
            place[id] = Some(dst);
            match (node.kind, node.run) {
                (Kind::Const(bits), _) => {
                    numbers.push((dst, Number::Const(f64::from_bits(bits)), node.dtype))
                }
                (Kind::Scalar(n), _) => numbers.push((dst, Number::Scalar(n), node.dtype)),
                (kind, Some(run)) => {
                    let mut src = [dst; 3];
                    for (s, source) in src.iter_mut().zip(kind.sources()) {
                        *s = place[source].unwrap_or(dst);
                    }
                    if node.uniform { &mut once } else { &mut each }.push((run, src, dst));
                }
                _ => {}
            }
            // Only now may what it read be overwritten: a loop never writes to its own source.
            let mut sources: Vec<Id> = node.kind.sources().collect();
            sources.dedup();
            sources.sort_unstable();
            sources.dedup();
            for source in sources {
                if let (Some(Place::Register(r)), true) = (place[source], last_use[source] == id)
                    && !self.nodes[source].uniform
                {
                    free.push(r);
                }
            }
        }
        let copies = match roots {
            [(_, id, _)] => read_of.get(id).copied(),
            _ => None,
        };
        for (w, &(_, id, stored)) in roots.iter().enumerate() {
            let from = place[id].unwrap_or(Place::Write(w));
            if from != Place::Write(w) {
                each.push((steps::copy(stored.size()), [from; 3], Place::Write(w)));
            }
        }
        let slot = |place: Place| match place {
            Place::Register(r) => r,
            Place::Read(r) => registers + r as u16,
            Place::Write(w) => registers + (reads.len() + w) as u16,
        };
        let list = |steps: Vec<(StepFn, [Place; 3], Place)>| {
            steps
                .into_iter()
                .map(|(run, src, dst)| Step {
                    run,
                    src: src.map(slot),
                    dst: slot(dst),
                })
                .collect()
        };
        Program {
            numbers: numbers
                .into_iter()
                .map(|(place, n, d)| (slot(place), n, d))
                .collect(),
            once: list(once),
            each: list(each),
            registers: registers as usize,
            reads,
            writes,
            copies,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Register(u16),
    Read(usize),
    Write(usize),
}
