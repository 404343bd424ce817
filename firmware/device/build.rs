//! Turns the contract into compact JSON and a table of its tools, so that flash holds no white space and the
//! device reads the very bytes that `tools/list` shows.
use std::{env, error::Error, fmt::Write, fs, path::Path};

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
struct Contract {
    tools: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool<'a> {
    name: String,
    #[serde(borrow)]
    input_schema: &'a RawValue,
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=tools.json");
    let contract: Contract = serde_json::from_str(&fs::read_to_string("tools.json")?)?;
    let mut table = String::from("&[\n");
    for tool in &contract.tools {
        let json = minify(tool.get());
        let Tool { name, input_schema } = serde_json::from_str(&json)?;
        writeln!(
            table,
            "Tool {{ name: {name:?}, json: {json:?}, input_schema: {:?} }},",
            input_schema.get()
        )?;
    }
    table.push_str("]\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("tools.rs"), table)?;
    Ok(())
}

/// Valid JSON without the white space between tokens.
fn minify(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|&c| {
            let keep = in_string || !c.is_ascii_whitespace();
            if c == '"' && !escaped {
                in_string = !in_string;
            }
            escaped = in_string && c == '\\' && !escaped;
            keep
        })
        .collect()
}
