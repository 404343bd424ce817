//! Capabilities that are declared, and those that are not.

use crate::check::{Check, LEGACY, MODERN, check};
use crate::checks::http::features;
use crate::expect::{self, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use serde_json::json;

const LEGACY_NOT: &str = "2025-11-25/lifecycle/unadvertised-feature-method-not-found";
const TRUTHFUL: &str = "2026-07-28/discover/capabilities-truthful";

pub const CHECKS: &[Check] = &[
    check!(
        "lifecycle/unadvertised-features",
        LEGACY,
        unadvertised,
        [LEGACY_NOT]
    ),
    check!("lifecycle/capabilities-truthful", MODERN, truthful, [TRUTHFUL]),
];

async fn unadvertised(lab: &mut Lab) -> Result<(), Stop> {
    // a server that takes it after all must not fall silent for the other checks
    let level = json!({"level": "debug"});
    for (capability, method, params) in features()
        .into_iter()
        .chain([("logging", "logging/setLevel", level)])
    {
        if lab.offer().has(capability) {
            continue;
        }
        let exchange = lab.ask(method, params).await?;
        let judged = expect::error(&exchange, &[METHOD_NOT_FOUND])
            .map(|_| ())
            .map_err(|what| format!("{method}: {what}"));
        lab.note(LEGACY_NOT, judged, &exchange);
    }
    Ok(())
}

async fn truthful(lab: &mut Lab) -> Result<(), Stop> {
    for (capability, method, params) in features() {
        let exchange = lab.ask(method, params).await?;
        let judged = match (lab.offer().has(capability), method) {
            // what is completed is not there, and the answer may say so
            (true, "completion/complete") => expect::understood(&exchange, &[METHOD_NOT_FOUND]),
            (true, _) => expect::result(&exchange).map(|_| ()),
            (false, _) => expect::error(&exchange, &[METHOD_NOT_FOUND]).map(|_| ()),
        };
        let judged = judged.map_err(|what| format!("{method}: {what}"));
        lab.note(TRUTHFUL, judged, &exchange);
    }
    Ok(())
}
