//! A validator that knows exactly the keywords which our schemas use, and fails on any other.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// A schema of docs/.
pub fn load(name: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    serde_json::from_str(&fs::read_to_string(root.join("docs").join(name)).unwrap()).unwrap()
}

/// What is wrong with `value`, as "where: what".
pub fn errors(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (keyword, rule) in schema.as_object().expect("a schema is an object") {
        let fits = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                let target = root.pointer(pointer).unwrap_or_else(|| panic!("dangling {rule}"));
                wrong.extend(errors(root, target, value, at));
                true
            }
            "anyOf" => {
                let mut any = rule.as_array().unwrap().iter();
                any.any(|rule| errors(root, rule, value, at).is_empty())
            }
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "type" => match rule {
                Value::Array(types) => types.iter().any(|name| is_a(value, name)),
                name => is_a(value, name),
            },
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "required" => rule.as_array().unwrap().iter().all(|name| {
                let there = !value.is_object() || value.get(name.as_str().unwrap()).is_some();
                if !there {
                    wrong.push(format!("{at}: {name} is missing"));
                }
                there
            }),
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(part) = value.get(name) {
                        wrong.extend(errors(root, rule, part, &format!("{at}/{name}")));
                    }
                }
                // Fields may be added, but not behind the schema's back.
                for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
                    if rule.get(name).is_none() {
                        wrong.push(format!("{at}: {name} is not in the schema"));
                    }
                }
                true
            }
            "items" => {
                for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                    wrong.extend(errors(root, rule, item, &format!("{at}/{i}")));
                }
                true
            }
            other => panic!("the validator does not know `{other}`"),
        };
        if !fits {
            wrong.push(format!("{at}: {value} breaks {keyword} {rule}"));
        }
    }
    wrong
}

fn is_a(value: &Value, name: &Value) -> bool {
    match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no JSON type: {other}"),
    }
}
