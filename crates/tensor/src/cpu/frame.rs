//! A program at work: its scratch memory and the addresses of its slots.

use super::operand::Operand;
use super::program::{Number, Program};
use super::strided::{gather, scatter};
use super::tile::Tile;
use crate::dtype::DType;
use std::cell::RefCell;

/// Elements that a block holds at most.
pub(crate) const BLOCK: usize = 4096;

/// Bytes from one register to the next. The odd cache lines keep registers from falling on the same places of the
/// cache, which is indexed by the low bits of an address.
const PITCH: usize = BLOCK * 8 + 3 * 64;

/// Elements of this size that share an address when everything is aligned.
type Line = [u64; 8];

thread_local! {
    /// Scratch memory of this thread, kept from launch to launch.
    static SPARE: RefCell<Vec<Vec<Line>>> = const { RefCell::new(Vec::new()) };
}

/// One thread's use of a program during one launch.
pub(crate) struct Frame<'a> {
    program: &'a Program,
    memory: Vec<Line>,
    base: *mut u8,
    slots: Vec<*mut u8>,
    /// What the block of each read operand holds at the moment, so that what is the same for the next box (a
    /// broadcast row) is not fetched again.
    held: Vec<Option<(*const u8, Tile)>>,
}

impl<'a> Frame<'a> {
    /// Take scratch memory for boxes of up to `block` elements, and compute what is the same for every index.
    pub(crate) fn new(program: &'a Program, scalars: &[f64], block: usize) -> Frame<'a> {
        debug_assert!(block <= BLOCK);
        let lines = program.slots() * PITCH / size_of::<Line>();
        let mut memory = SPARE.with_borrow_mut(Vec::pop).unwrap_or_default();
        if memory.len() < lines {
            memory.resize(lines, [0; 8]);
        }
        let base: *mut u8 = memory.as_mut_ptr().cast();
        let slots: Vec<*mut u8> = (0..program.slots())
            .map(|i| base.wrapping_add(i * PITCH))
            .collect();
        for &(slot, number, dtype) in &program.numbers {
            let value = match number {
                Number::Const(x) => x,
                Number::Scalar(n) => scalars.get(n as usize).copied().unwrap_or(0.0),
            };
            // SAFETY: a register has room for a block of any type, and is this frame's own.
            unsafe { fill(slots[slot as usize], value, dtype, block) };
        }
        let frame = Frame {
            program,
            memory,
            base,
            slots,
            held: vec![None; program.reads.len()],
        };
        for step in &program.once {
            // SAFETY: registers hold whole blocks, and no loop writes to its own source.
            unsafe {
                (step.run)(
                    step.src.map(|s| frame.slots[s as usize].cast_const()),
                    frame.slots[step.dst as usize],
                    block,
                )
            };
        }
        frame
    }

    fn own(&self, slot: usize) -> *mut u8 {
        self.base.wrapping_add(slot * PITCH)
    }

    /// Point the read operands at one box: at memory itself where its elements lie side by side, else at a copy.
    ///
    /// # Safety
    /// Every index of the box lies inside the operands, which nobody else writes to.
    pub(crate) unsafe fn fetch(&mut self, tile: &Tile, operands: &[Operand]) {
        for (i, read) in self.program.reads.iter().enumerate() {
            let operand = &operands[read.operand];
            let slot = self.program.registers + i;
            let at = operand
                .at
                .wrapping_offset(tile.offset(&operand.strides) * read.bytes as isize);
            self.slots[slot] = if tile.is_dense(&operand.strides) {
                at
            } else {
                let own = self.own(slot);
                let same = self.held[i]
                    .is_some_and(|(held, of)| held == at.cast_const() && of.size == tile.size);
                if !same {
                    // SAFETY: the caller's promise; the block has room for a box.
                    unsafe { gather(read.bytes, tile, at, &operand.strides, own) };
                    self.held[i] = Some((at, *tile));
                }
                own
            };
        }
    }

    /// Take values for a read operand from elsewhere.
    pub(crate) fn lend(&mut self, read: usize, from: *mut u8) {
        self.slots[self.program.registers + read] = from;
    }

    /// Point the written operands at one box: at memory itself where that is dense and nothing else of the launch is
    /// there, else at a block of its own that [`Frame::store`] copies out.
    pub(crate) fn aim(&mut self, tile: &Tile, operands: &[Operand], direct: &[bool]) {
        for (i, write) in self.program.writes.iter().enumerate() {
            let operand = &operands[write.operand];
            let slot = self.program.registers + self.program.reads.len() + i;
            self.slots[slot] = if direct[i] && tile.is_dense(&operand.strides) {
                operand
                    .at
                    .wrapping_offset(tile.offset(&operand.strides) * write.bytes as isize)
            } else {
                self.own(slot)
            };
        }
    }

    /// Run the program on `n` values.
    ///
    /// # Safety
    /// All slots hold, or have room for, `n` values.
    pub(crate) unsafe fn run(&self, n: usize) {
        for step in &self.program.each {
            let src = step.src.map(|s| self.slots[s as usize].cast_const());
            // SAFETY: the caller's promise; no loop writes to its own source.
            unsafe { (step.run)(src, self.slots[step.dst as usize], n) };
        }
    }

    /// Run a program with one output on `n` values and say where they are: for one that only copies its operand, the
    /// operand itself.
    ///
    /// # Safety
    /// As for [`Frame::run`].
    pub(crate) unsafe fn values(&self, n: usize) -> *const u8 {
        if let Some(read) = self.program.copies {
            return self.slots[self.program.registers + read];
        }
        // SAFETY: the caller's promise.
        unsafe { self.run(n) };
        self.slots[self.program.registers + self.program.reads.len()]
    }

    /// Copy out what was not computed in place.
    ///
    /// # Safety
    /// Every index of the box lies inside the operands, and no other thread touches it.
    pub(crate) unsafe fn store(&self, tile: &Tile, operands: &[Operand]) {
        for (i, write) in self.program.writes.iter().enumerate() {
            let operand = &operands[write.operand];
            let slot = self.program.registers + self.program.reads.len() + i;
            if self.slots[slot] == self.own(slot) {
                let at = operand
                    .at
                    .wrapping_offset(tile.offset(&operand.strides) * write.bytes as isize);
                // SAFETY: the caller's promise.
                unsafe { scatter(write.bytes, tile, self.slots[slot], at, &operand.strides) };
            }
        }
    }
}

impl Drop for Frame<'_> {
    fn drop(&mut self) {
        SPARE.with_borrow_mut(|spare| spare.push(std::mem::take(&mut self.memory)));
    }
}

/// # Safety
/// `to` has room for `n` values of `dtype`.
unsafe fn fill(to: *mut u8, value: f64, dtype: DType, n: usize) {
    macro_rules! block {
        ($t:ty, $x:expr) => {
            // SAFETY: the caller's promise.
            unsafe { std::slice::from_raw_parts_mut(to.cast::<$t>(), n) }.fill($x)
        };
    }
    match dtype {
        DType::Bool => block!(u8, u8::from(value != 0.0)),
        DType::U8 => block!(u8, value as i32 as u8),
        DType::I32 => block!(i32, value as i32),
        DType::I64 => block!(i64, value as i64),
        DType::F64 => block!(f64, value),
        _ => block!(f32, value as f32),
    }
}
