//! How a conversation begins, in both eras, and how a server of both tells them apart.

mod dual;
mod features;
mod legacy;
mod modern;
mod versions;

pub use dual::legacy_client;
pub use legacy::parameters;

use crate::check::Check;

pub const CHECKS: &[&[Check]] = &[
    legacy::CHECKS,
    versions::CHECKS,
    modern::CHECKS,
    features::CHECKS,
    dual::CHECKS,
];
