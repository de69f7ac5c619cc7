//! How malloc gets memory from the kernel and keeps it.
//!
//! libtorch gets the memory of each result anew and frees it soon. As glibc comes, a large piece is mapped
//! each time, page by page, and unmapped again, and threads other than the first have arenas of their own that
//! give back what is free at once: 100 page faults an agent step of PPO, an eighth of its CPU time
//! (`docs/performance.md`). Here all threads share one heap, which keeps what it once got, and its first
//! gibibyte may lie in pages of 2 MiB.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    /// Of which the kernel is told that pages may be large. Only addresses: what is not written to takes no
    /// memory.
    const IN_LARGE_PAGES: usize = 1 << 30;
    const PAGE: usize = 1 << 21;

    #[expect(unsafe_code, reason = "the settings of malloc are C's")]
    pub(super) fn prepare() {
        // SAFETY: mallopt takes any numbers and may be called while there is no other thread; the advice
        // covers whole pages inside a piece that was just got, which nobody else knows and which is freed
        // once.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1);
            libc::mallopt(libc::M_MMAP_MAX, 0);
            libc::mallopt(libc::M_TRIM_THRESHOLD, -1); // never
            let piece = libc::malloc(IN_LARGE_PAGES).cast::<u8>();
            if piece.is_null() {
                return;
            }
            let skipped = piece.align_offset(PAGE);
            let length = (IN_LARGE_PAGES - skipped) / PAGE * PAGE;
            libc::madvise(piece.add(skipped).cast(), length, libc::MADV_HUGEPAGE);
            libc::free(piece.cast());
        }
    }
}

/// Sets malloc up for training, unless the user has set it up by `GLIBC_TUNABLES`; to be called at the start of
/// `main`, before there is another thread. Does nothing where malloc is not glibc's: it is a matter of speed
/// alone.
pub fn prepare() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if std::env::var_os("GLIBC_TUNABLES").is_none() {
        glibc::prepare();
    }
}
