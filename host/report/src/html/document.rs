//! The page round the sections: head, contents, style and script, and the policy that keeps it from
//! fetching anything.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::section::Section;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = concat!(include_str!("page.js"), include_str!("wait_lanes.js"));

/// A page about `programs`, made by the command `what`; ends with a newline.
pub fn render(programs: &str, what: &str, sections: &[Section]) -> String {
    let title = format!("{programs} - lockwright {what}");
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#first" { "Skip to the report" }
                header {
                    div.bar {
                        p.brand { "lockwright " b { (what) } }
                        div.tools hidden {
                            label for="search" { "Search" }
                            input #search type="search" placeholder="lock, function, file" autocomplete="off"
                                aria-keyshortcuts="/";
                            output #hits for="search" {}
                        }
                    }
                    nav aria-label="Contents" { (contents(sections)) }
                }
                main {
                    h1 { (programs) }
                    @for section in sections { (one(section)) }
                }
                footer {
                    p { "lockwright " (env!("CARGO_PKG_VERSION")) ". This page is whole: it fetches nothing." }
                    p.keys hidden {
                        kbd { "/" } " search, " kbd { "j" } " " kbd { "k" } " next and previous, "
                        kbd { "Enter" } " open or follow, " kbd { "Esc" } " clear, or whole flame graphs"
                    }
                }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string() + "\n"
}

fn contents(sections: &[Section]) -> Markup {
    html! {
        ul { @for section in sections { li {
            a href={ "#" (section.id) } {
                (section.title)
                @if let Some(count) = &section.count { " " span.count { (count) } }
            }
        } } }
    }
}

fn one(section: &Section) -> Markup {
    let heading = format!("{}-title", section.id);
    html! {
        section id=(section.id) aria-labelledby=(heading) {
            h2 id=(heading) { (section.title) }
            (section.body)
        }
    }
}

/// Nothing may be fetched, and nothing run but what is in this file.
fn policy() -> String {
    format!(
        "default-src 'none'; style-src '{}'; script-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}
