//! `tensorscope`: the lessons in the terminal.
fn main() {}
