//! Scripts of what the official suite finds: what a client sends, and what the server says.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a failed test")]

mod support;

use mcp_hil_reference::{Feature, Features, Options, Server};
use serde_json::{Value, json};
use std::time::Duration;
use support::{Client, error, initialize, legacy, legacy_request, modern, modern_request, modern_with};

fn options() -> Options {
    Options {
        features: "official".parse::<Features>().unwrap(),
        ..Options::default()
    }
}

/// A client after the handshake, in which it declared these capabilities.
async fn begun(capabilities: Value) -> Client {
    let mut client = Client::start(options(), 4096, Duration::from_secs(5));
    let mut hello = initialize(0, "2025-11-25");
    hello["params"]["capabilities"] = capabilities;
    let hello = client.ask(hello).await;
    assert_eq!(
        hello["result"]["capabilities"]["resources"],
        json!({"subscribe": true})
    );
    client
}

fn call(name: &str, arguments: Value) -> Value {
    legacy_request(1, "tools/call", json!({"name": name, "arguments": arguments}))
}

#[tokio::test]
async fn a_tool_asks_its_legacy_client() {
    let mut client = begun(json!({"elicitation": {}, "sampling": {}})).await;
    let asked = client
        .ask(call("test_sampling", json!({"prompt": "Which way?"})))
        .await;
    assert_eq!(asked["method"], "sampling/createMessage");
    assert_eq!(asked["params"]["messages"][0]["content"]["text"], "Which way?");
    // who answers something else is not heard
    client
        .send(json!({"jsonrpc": "2.0", "id": "other", "result": {}}).to_string())
        .await;
    let said = json!({"role": "assistant", "model": "m", "content": {"type": "text", "text": "North."}});
    let answer = client
        .ask(json!({"jsonrpc": "2.0", "id": asked["id"], "result": said}))
        .await;
    assert_eq!(answer["id"], 1);
    assert_eq!(answer["result"]["content"][0]["text"], "LLM response: North.");

    let asked = client
        .ask(call("test_elicitation", json!({"message": "Who?"})))
        .await;
    assert_eq!(asked["params"]["message"], "Who?");
    let refusal = json!({"code": -32603, "message": "no user"});
    let answer = client
        .ask(json!({"jsonrpc": "2.0", "id": asked["id"], "error": refusal}))
        .await;
    assert_eq!(answer["result"]["isError"], true);
    client.end().await;
}

#[tokio::test]
async fn a_client_is_not_asked_what_it_did_not_declare() {
    let mut client = begun(json!({"sampling": {}})).await;
    let answer = client
        .ask(call("test_elicitation", json!({"message": "Who?"})))
        .await;
    assert_eq!(answer["result"]["isError"], true, "{answer}");
    client.end().await;
}

/// A modern request for which the client declares elicitation and sampling.
fn with_input(server: &Server, method: &str, mut params: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        params[name] = value.clone();
    }
    let mut message = modern_request(1, method, params);
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"elicitation": {}, "sampling": {}});
    modern(server, 200, message)
}

#[test]
fn a_modern_client_calls_again_with_what_was_needed() {
    let server = Server::new(options());
    let tool = || json!({"name": "test_input_required_result_multi_round"});
    let first = with_input(&server, "tools/call", tool(), json!({}))["result"].take();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["step1"]["method"], "elicitation/create");
    let accept = |content: Value| json!({"action": "accept", "content": content});
    let answers = json!({"step1": accept(json!({"name": "Ada"})), "unknown": 1});
    let again = json!({"inputResponses": answers, "requestState": first["requestState"]});
    let second = with_input(&server, "tools/call", tool(), again)["result"].take();
    assert_eq!(second["inputRequests"]["step2"]["method"], "elicitation/create");
    assert_ne!(second["requestState"], first["requestState"]);

    // a state of the server's own alone is believed
    let answers = json!({"step2": accept(json!({"color": "red"}))});
    let altered = format!("{}0", second["requestState"].as_str().unwrap());
    let again = json!({"inputResponses": answers, "requestState": altered});
    assert_eq!(error(&with_input(&server, "tools/call", tool(), again)).0, -32602);
    let again = json!({"inputResponses": {"step2": 7}, "requestState": second["requestState"]});
    assert_eq!(error(&with_input(&server, "tools/call", tool(), again)).0, -32602);
    let again = json!({"inputResponses": answers, "requestState": second["requestState"]});
    let last = with_input(&server, "tools/call", tool(), again)["result"].take();
    assert_eq!(last["resultType"], "complete");

    // roots were not declared
    let roots = modern_request(
        1,
        "tools/call",
        json!({"name": "test_input_required_result_list_roots"}),
    );
    assert_eq!(error(&modern(&server, 400, roots)).0, -32021);
}

#[test]
fn resources_and_prompts_are_there_in_both_eras() {
    // without sessions, which would be in the way here
    let server = Server::new(Options {
        features: [Feature::Official].into_iter().collect(),
        ..Options::default()
    });
    let template = json!({"uri": "test://template/7/data"});
    let text = r#"{"id":"7","templateTest":true,"data":"Data for ID: 7"}"#;
    let old = legacy(
        &server,
        200,
        legacy_request(1, "resources/read", template.clone()),
    );
    assert_eq!(old["result"]["contents"][0]["text"], text);
    let name = [("mcp-name", "test://template/7/data")];
    let new = modern_with(&server, 200, modern_request(1, "resources/read", template), &name);
    assert_eq!(new["result"]["contents"][0]["text"], text);
    assert_eq!(new["result"]["cacheScope"], "public");

    // the code for what is not there is another in each
    let missing = json!({"uri": "test://none"});
    let old = legacy(&server, 200, legacy_request(1, "resources/read", missing.clone()));
    assert_eq!(error(&old).0, -32002);
    let new = modern_request(1, "resources/read", missing);
    let new = modern_with(&server, 200, new, &[("mcp-name", "test://none")]);
    assert_eq!(error(&new).0, -32602);

    let prompt = |arguments: Value| json!({"name": "test_prompt_with_arguments", "arguments": arguments});
    let get = |arguments: Value| legacy(&server, 200, legacy_request(1, "prompts/get", prompt(arguments)));
    let filled = get(json!({"arg1": "{arg2}", "arg2": "b"}));
    let text = &filled["result"]["messages"][0]["content"]["text"];
    assert_eq!(text, "Prompt with arguments: arg1='{arg2}', arg2='b'");
    assert_eq!(error(&get(json!({"arg1": "a"}))).0, -32602);

    let reference = json!({"type": "ref/prompt", "name": "test_prompt_with_arguments"});
    let complete = |value: &str| {
        let params = json!({"ref": reference, "argument": {"name": "arg1", "value": value}});
        legacy(&server, 200, legacy_request(1, "completion/complete", params))
    };
    assert_eq!(
        complete("part")["result"]["completion"]["values"],
        json!(["party"])
    );
}

#[test]
fn without_the_feature_there_is_nothing_of_it() {
    let server = Server::new(Options::default());
    for method in ["resources/list", "prompts/list", "completion/complete"] {
        let old = legacy(&server, 200, legacy_request(1, method, json!({})));
        assert_eq!(error(&old).0, -32601, "{method}");
        let new = modern_with(
            &server,
            404,
            modern_request(1, method, json!({})),
            &[("mcp-name", "")],
        );
        assert_eq!(error(&new).0, -32601, "{method}");
    }
    let all = Features::all();
    assert!(!all.has(Feature::Official));
}
