//! Capabilities that are declared, and those that are not.

use crate::check::{BOTH, Check, LEGACY, MODERN, check};
use crate::checks::http::features;
use crate::expect::{self, METHOD_NOT_FOUND};
use crate::lab::{Lab, Stop};
use mcp_hil_harness::revision::Era;
use serde_json::{Value, json};

const LEGACY_NOT: &str = "2025-11-25/lifecycle/unadvertised-feature-method-not-found";
const TYPES: &str = "both/lifecycle/capability-types";
const TRUTHFUL: &str = "2026-07-28/discover/capabilities-truthful";

pub const CHECKS: &[Check] = &[
    check!(
        "lifecycle/unadvertised-features",
        LEGACY,
        unadvertised,
        [LEGACY_NOT]
    ),
    check!("lifecycle/capabilities-truthful", MODERN, truthful, [TRUTHFUL]),
    check!("lifecycle/capability-types", BOTH, types, [TYPES]),
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

/// What is wrong with the types of capabilities. Those that the revision does not know are left alone.
fn fault(capabilities: &Value, era: Era) -> Option<String> {
    let mut objects = vec![
        "/experimental",
        "/logging",
        "/completions",
        "/prompts",
        "/resources",
        "/tools",
    ];
    if era == Era::Legacy {
        objects.extend([
            "/tasks",
            "/tasks/list",
            "/tasks/cancel",
            "/tasks/requests",
            "/tasks/requests/tools",
            "/tasks/requests/tools/call",
        ]);
    }
    let flags = [
        "/prompts/listChanged",
        "/resources/listChanged",
        "/resources/subscribe",
        "/tools/listChanged",
    ];
    let of = |pointer: &&str| Some((pointer[1..].replace('/', "."), capabilities.pointer(pointer)?));
    let experimental = capabilities["experimental"].as_object().into_iter().flatten();
    let no_object = objects
        .iter()
        .filter_map(of)
        .chain(experimental.map(|(name, value)| (format!("experimental.{name}"), value)))
        .find(|(_, value)| !value.is_object())
        .map(|(name, value)| format!("the capability {name} is {value}, no object"));
    let no_flag = || {
        let mut flags = flags.iter().filter_map(of);
        let (name, value) = flags.find(|(_, value)| !value.is_boolean())?;
        Some(format!(
            "the capability {name} is {value}, neither true nor false"
        ))
    };
    no_object.or_else(no_flag)
}

async fn types(lab: &mut Lab) -> Result<(), Stop> {
    let Some(opening) = lab.offer().opened.first().cloned() else {
        return Err(Stop::Skip("the server was not opened".to_owned()));
    };
    if let Some(what) = fault(lab.offer().capabilities(), lab.era()) {
        lab.found(TYPES, what, &[&opening]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_objects_and_their_flags_booleans() {
        let good = json!({"tools": {"listChanged": true}, "experimental": {"x": {}}, "com.example": 7});
        assert_eq!(fault(&good, Era::Legacy), None);
        for bad in [
            json!({"tools": true}),
            json!({"prompts": null}),
            json!({"tools": {"listChanged": "yes"}}),
            json!({"experimental": {"x": 1}}),
        ] {
            assert!(fault(&bad, Era::Modern).is_some(), "{bad}");
        }
        let tasks = json!({"tasks": {"list": true}});
        assert!(fault(&tasks, Era::Legacy).is_some());
        assert_eq!(fault(&tasks, Era::Modern), None);
    }
}
