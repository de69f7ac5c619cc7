//! The version of the trainer with the commit that it was built from: a crate of its own, so that finding out costs
//! nothing but this.

/// Such as `0.1.0+0123456789`; without the commit where the sources were changed since, or git was not there.
pub const VERSION: &str = env!("VERSION_WITH_COMMIT");
