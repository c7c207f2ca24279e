//! The rules that every page must keep, whatever is on it.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A page may be so large.
pub const MOST: usize = 1 << 20;

/// Elements that have no end tag.
const VOID: &[&str] = &["meta", "input", "br", "hr"];

/// What is wrong with a page: nothing, if it is as it should be.
pub fn faults(page: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if page.len() > MOST {
        faults.push(format!("{} bytes", page.len()));
    }
    let inline = |name: &str| {
        let (_, rest) = page.split_once(&format!("<{name}>"))?;
        rest.split_once(&format!("</{name}>")).map(|(text, _)| text)
    };
    for (name, directive) in [("style", "style-src"), ("script", "script-src")] {
        let hash = inline(name).map(|text| STANDARD.encode(Sha256::digest(text)));
        let allowed = hash.map(|hash| format!("{directive} 'sha256-{hash}'"));
        if !allowed.is_some_and(|allowed| page.contains(&allowed)) {
            faults.push(format!("the policy does not name this {name}"));
        }
    }
    if !page.contains("content=\"default-src 'none'; ") {
        faults.push("the policy allows something else".to_owned());
    }
    let tags = tags(page, &mut faults);
    let mut ids = HashSet::new();
    for tag in &tags {
        for (name, value) in &tag.attributes {
            if name == "id" && !ids.insert(value.clone()) {
                faults.push(format!("two of id {value}"));
            }
            if name.starts_with("on") || name == "style" || name == "src" {
                faults.push(format!("{} has {name}", tag.name));
            }
            if name == "href" && !value.starts_with('#') {
                faults.push(format!("a link to {value}"));
            }
            if value.contains("url(") && !value.starts_with("url(#") {
                faults.push(format!("{name} is {value}"));
            }
        }
    }
    let count = |name: &str| tags.iter().filter(|tag| tag.name == name).count();
    for (name, most) in [("script", 1), ("style", 1), ("h1", 1)] {
        if count(name) != most {
            faults.push(format!("{} of {name}", count(name)));
        }
    }
    for none in ["iframe", "img", "link", "object", "embed", "form", "base"] {
        if count(none) > 0 {
            faults.push(format!("a {none}"));
        }
    }
    for tag in &tags {
        let link = tag.attributes.iter().find(|(name, _)| name == "href");
        if let Some((_, value)) = link
            && !ids.contains(value.trim_start_matches('#'))
        {
            faults.push(format!("{value} leads nowhere"));
        }
    }
    let hostile = |c: char| {
        (c.is_control() && c != '\n')
            || ('\u{202a}'..='\u{202e}').contains(&c)
            || ('\u{2066}'..='\u{2069}').contains(&c)
    };
    if let Some(c) = page.chars().find(|&c| hostile(c)) {
        faults.push(format!("{c:?} is in it"));
    }
    faults
}

struct Tag {
    name: String,
    attributes: Vec<(String, String)>,
}

/// All start tags; adds to `faults` the tags that are not closed in their order.
fn tags(page: &str, faults: &mut Vec<String>) -> Vec<Tag> {
    let (mut tags, mut open) = (Vec::new(), Vec::new());
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        if let Some(end) = after.strip_prefix('/') {
            let (name, after) = end.split_once('>').unwrap_or((end, ""));
            if open.pop().as_deref() != Some(name) {
                faults.push(format!("</{name}> closes nothing"));
            }
            rest = after;
            continue;
        }
        let (tag, mut after) = tag(after);
        if tag.name == "style" || tag.name == "script" {
            after = after.find(&format!("</{}>", tag.name)).map_or("", |end| &after[end..]);
        }
        let is_void = VOID.contains(&tag.name.as_str()) || tag.name.starts_with('!');
        if !is_void && !tag.attributes.iter().any(|(name, _)| name == "/") {
            open.push(tag.name.clone());
        }
        tags.push(tag);
        rest = after;
    }
    if !open.is_empty() {
        faults.push(format!("not closed: {open:?}"));
    }
    tags
}

/// A start tag, and what comes after it.
fn tag(text: &str) -> (Tag, &str) {
    let end = text.find(|c: char| c.is_whitespace() || c == '>' || c == '/').unwrap_or(text.len());
    let mut tag = Tag { name: text[..end].to_owned(), attributes: Vec::new() };
    let mut rest = &text[end..];
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('>') {
            return (tag, after);
        }
        if let Some(after) = rest.strip_prefix('/') {
            tag.attributes.push(("/".to_owned(), String::new()));
            rest = after;
            continue;
        }
        let end = rest.find(|c: char| c.is_whitespace() || "=>/".contains(c)).unwrap_or(rest.len());
        if end == 0 {
            return (tag, "");
        }
        let name = rest[..end].to_owned();
        rest = &rest[end..];
        let value = match rest.strip_prefix("=\"").and_then(|rest| rest.split_once('"')) {
            Some((value, after)) => {
                rest = after;
                value.to_owned()
            }
            None => String::new(),
        };
        tag.attributes.push((name, value));
    }
}
