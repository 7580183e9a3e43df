//! The command behind `cargo xtask`.

fn main() {}
