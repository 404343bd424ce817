//! The tools, listed and called.
mod support;

use serde_json::{Value, json};
use support::{ERAS, Modern, contract, device};

#[test]
fn pages_give_the_contract_in_order() {
    for era in ERAS {
        let device = device();
        let (mut tools, mut pages, mut params) = (Vec::new(), 0, json!({}));
        loop {
            let answer = era.request("tools/list", params).to(&device).json();
            let mut result = answer["result"].clone();
            assert_eq!(
                result["ttlMs"],
                if era == Modern { json!(60000) } else { Value::Null }
            );
            assert_eq!(
                result["cacheScope"],
                if era == Modern {
                    json!("public")
                } else {
                    Value::Null
                }
            );
            let page = result["tools"].take();
            pages += 1;
            assert!(page.as_array().unwrap().len() <= 4);
            tools.extend(page.as_array().unwrap().clone());
            match result.get("nextCursor") {
                Some(cursor) => params = json!({"cursor": cursor.as_str().unwrap()}),
                None => break,
            }
        }
        assert_eq!(pages, 3);
        assert_eq!(Value::Array(tools), contract()["tools"]);
    }
}
