//! Compiles the worlds of all protocols into this crate, so that programs and tests that play them
//! link to this code in builds with shared generics (those with debug assertions), instead of
//! compiling it again. Unit tests play few worlds, and an optimized program compiles its own copy
//! anyway.

use crate::shrink::{SmallFailure, shrink};
use crate::sweep::{CountsOf, Outcome, Sweep};
use crate::violation::Violation;

macro_rules! compile {
    ($($module:ident $name:ident $about:literal;)+) => {
        $(const _: () = {
            use crate::$module::Worlds;
            #[used]
            static RUN: fn(&Sweep<Worlds>) -> Outcome<CountsOf<Worlds>> = Sweep::run;
            #[used]
            static SHRINK: fn(&Worlds, u64, Violation, u64) -> SmallFailure = shrink;
        };)+
    };
}
crate::protocols!(compile);
