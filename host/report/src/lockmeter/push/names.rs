//! What the profiles of a program go by: its name and its labels.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::shape::Shape;

/// A label of all profiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Label {
    /// Letters, digits and underscores.
    pub name: String,
    /// Any text without controls.
    pub value: String,
}

/// Longer values are refused by servers.
const MOST_BYTES: usize = 1024;

impl FromStr for Label {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("a name and a value: region=eu")?;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty()
            || !name.chars().all(is_word)
            || name.starts_with(|c: char| c.is_ascii_digit())
        {
            return Err(format!("`{name}` is no name of a label: letters, digits and underscores"));
        }
        if name.starts_with("__") || name == SERVICE_NAME {
            return Err(format!("the label `{name}` is set by lockwright or the server"));
        }
        Ok(Self { name: name.to_owned(), value: checked(value)? })
    }
}

/// The text, if it can be a value of a label.
fn checked(text: &str) -> Result<String, String> {
    if text.is_empty() || text.len() > MOST_BYTES {
        return Err(format!("a text of 1 to {MOST_BYTES} bytes"));
    }
    match text.chars().any(char::is_control) {
        true => Err("no control characters".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// The label with the program's name.
const SERVICE_NAME: &str = "service_name";

/// What separates names and labels in the only parameter that has them all.
const SEPARATORS: [char; 4] = ['{', '}', ',', '='];

/// What the name of a program may have there.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || ['-', '.', '_'].contains(&c)
}

/// What all profiles of a program go by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The program's name.
    pub name: String,
    /// Labels, in the user's order.
    pub labels: Vec<Label>,
}

impl Identity {
    /// Checks whether endpoints of this shape can have it.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, shape: Shape) -> Result<(), String> {
        checked(&self.name).map_err(|why| format!("the name `{}`: {why}", self.name))?;
        for (at, label) in self.labels.iter().enumerate() {
            if self.labels[..at].iter().any(|other| other.name == label.name) {
                return Err(format!("the label `{}` is given twice", label.name));
            }
        }
        if shape != Shape::Ingest {
            return Ok(());
        }
        if !self.name.chars().all(is_plain) {
            let name = &self.name;
            return Err(format!("the name `{name}`: /ingest takes letters, digits, `-`, `.`, `_`"));
        }
        match self.labels.iter().find(|label| label.value.contains(SEPARATORS)) {
            Some(Label { name, value }) => {
                Err(format!("the label {name}=`{value}`: /ingest takes none of {{}},= in a value"))
            }
            None => Ok(()),
        }
    }

    /// A program's name as any endpoint can have it.
    pub fn plain_name(name: &str) -> String {
        name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
    }

    /// All labels, with the name as one of them.
    pub(super) fn pairs(&self) -> Vec<(&str, &str)> {
        let labels = self.labels.iter().map(|label| (label.name.as_str(), label.value.as_str()));
        std::iter::once((SERVICE_NAME, self.name.as_str())).chain(labels).collect()
    }

    /// The attributes of the resource, by OpenTelemetry's names.
    pub(super) fn attributes(&self) -> Vec<(String, String)> {
        let labels = self.labels.iter().map(|label| (label.name.clone(), label.value.clone()));
        std::iter::once(("service.name".to_owned(), self.name.clone())).chain(labels).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_have_a_name_and_a_value() {
        let label = |text: &str| text.parse::<Label>();
        let quoted = label("region=\"e=u\", 'x'").unwrap();
        assert_eq!((quoted.name.as_str(), quoted.value.as_str()), ("region", "\"e=u\", 'x'"));
        for wrong in ["", "a", "=b", "a=", "1a=b", "a-b=c", "__name__=x", "service_name=x", "a=\n"]
        {
            assert!(label(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_identity_fits_its_endpoint() {
        let with = |value: &str| Identity {
            name: "app".into(),
            labels: vec![Label { name: "a".into(), value: value.into() }],
        };
        assert!(with("x y").check(Shape::Ingest).is_ok());
        assert!(with("x,y").check(Shape::Ingest).is_err());
        assert!(with("x,y").check(Shape::Pusher).is_ok());
        let mut twice = with("x");
        twice.labels.push(twice.labels[0].clone());
        assert!(twice.check(Shape::Otlp).is_err());
        assert_eq!(Identity::plain_name("a{b}\n=c"), "a_b___c");
    }
}
