//! Trunks in the processor's tiles, in several threads with small stacks, while signals come whose handler has other
//! tiles: the system keeps those of every thread.

#![cfg(all(target_os = "linux", target_arch = "x86_64"))]
#![expect(unsafe_code, reason = "signals, and tiles in their handler")]

use std::{
    arch::asm,
    mem, ptr,
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use common::Case;
use learner_kernels::{TileUnit, TrunkShape};

#[expect(dead_code, reason = "other tests look at more of it")]
mod common;

const SHAPE: TrunkShape<'static> = TrunkShape {
    channels: 4,
    height: 36,
    width: 28,
    convolutions: &[[32, 8, 4], [64, 4, 2], [64, 2, 1]],
    hidden: Some(64),
    norm: false,
};
const THREADS: usize = 4;
/// Signals that come while a thread has something in its tiles.
const ENOUGH: usize = 500;
static INTERRUPTED: AtomicUsize = AtomicUsize::new(0);

#[repr(align(64))]
struct Aligned([u8; 1024]);

/// Eight tiles of 16 rows of 64 bytes, and what is loaded into them.
static CONFIGURATION: Aligned = {
    let mut bytes = [0; 1024];
    bytes[0] = 1;
    let mut tile = 0;
    while tile < 8 {
        bytes[16 + 2 * tile] = 64;
        bytes[48 + tile] = 16;
        tile += 1;
    }
    Aligned(bytes)
};

extern "C" fn use_tiles(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    const TILES: u64 = 1 << 18;
    // SAFETY: the system's frame has the processor's state as `xsave` writes it; behind 512 bytes it says which parts of
    // it are in use. A handler may have tiles of its own.
    unsafe {
        let context = context.cast::<libc::ucontext_t>();
        let state = (*context).uc_mcontext.fpregs.cast::<u64>();
        if state.add(64).read() & TILES != 0 {
            INTERRUPTED.fetch_add(1, Ordering::Relaxed);
        }
        asm!(
            "ldtilecfg [{start}]",
            "tileloadd tmm0, [{start} + {row}]; tileloadd tmm1, [{start} + {row}]",
            "tileloadd tmm2, [{start} + {row}]; tileloadd tmm3, [{start} + {row}]",
            "tileloadd tmm4, [{start} + {row}]; tileloadd tmm5, [{start} + {row}]",
            "tileloadd tmm6, [{start} + {row}]; tileloadd tmm7, [{start} + {row}]",
            "tilerelease",
            start = in(reg) CONFIGURATION.0.as_ptr(),
            row = in(reg) 64_usize,
            out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
            out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
            options(nostack, readonly),
        );
    }
}

/// Has `SIGUSR1` call the handler on the stack that a thread has for signals.
fn install() {
    // SAFETY: it may be zero, and the handler does nothing but what one may.
    let status = unsafe {
        let mut action: libc::sigaction = mem::zeroed();
        action.sa_sigaction = use_tiles as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
        libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut())
    };
    assert_eq!(status, 0);
}

/// Gives this thread a stack for signals, and says who it is.
fn enter(stack: &mut [u8]) -> libc::pthread_t {
    let stack = libc::stack_t {
        ss_sp: stack.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: stack.len(),
    };
    // SAFETY: the stack outlives the thread.
    let status = unsafe { libc::sigaltstack(&raw const stack, ptr::null_mut()) };
    assert_eq!(status, 0);
    // SAFETY: it always is somebody.
    unsafe { libc::pthread_self() }
}

#[test]
fn threads_and_signals_leave_tiles_as_they_are() {
    let Some(unit) = TileUnit::processor() else {
        return;
    };
    let case = Case::new(SHAPE, 33);
    let expected = case.run(unit).bits();
    let end = Instant::now() + Duration::from_secs(30);
    let is_over = || INTERRUPTED.load(Ordering::Relaxed) >= ENOUGH || Instant::now() > end;
    // SAFETY: it only reads.
    let least = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    let size = least + 4096;
    let mut stacks = vec![0; THREADS * size];
    let (sender, ids) = mpsc::channel();
    install();
    thread::scope(|scope| {
        let start = |stack| {
            let (case, expected, is_over, sender) = (&case, &expected, &is_over, sender.clone());
            let work = move || {
                sender.send(enter(stack)).unwrap();
                while !is_over() && case.run(unit).bits() == *expected {}
                is_over()
            };
            let thread = thread::Builder::new().stack_size(96 << 10);
            thread.spawn_scoped(scope, work).unwrap()
        };
        let threads: Vec<_> = stacks.chunks_mut(size).map(start).collect();
        let ids: Vec<_> = ids.iter().take(THREADS).collect();
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            for id in &ids {
                // SAFETY: nobody has joined it yet.
                unsafe { libc::pthread_kill(*id, libc::SIGUSR1) };
            }
            thread::sleep(Duration::from_micros(200));
        }
        for thread in threads {
            assert!(thread.join().unwrap(), "a pass differs from the first");
        }
    });
    let interrupted = INTERRUPTED.load(Ordering::Relaxed);
    assert!(
        interrupted >= ENOUGH,
        "{interrupted} signals came while tiles were in use"
    );
}
