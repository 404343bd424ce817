//! How a conversation begins, in both eras, and how a server of both tells them apart.

mod dual;
mod features;
mod legacy;
mod modern;
mod versions;

use crate::check::Check;

pub const CHECKS: &[&[Check]] = &[
    legacy::CHECKS,
    versions::CHECKS,
    modern::CHECKS,
    features::CHECKS,
    dual::CHECKS,
];
