//! A parser of the DOT language, strict: of what our graphs use, and nothing else. Every node of an
//! edge has to be declared before.

use std::collections::BTreeMap;
use std::iter::Peekable;

/// Attributes by name.
pub type Attributes = BTreeMap<String, String>;

/// A graph, its clusters thrown together.
#[derive(Debug, Default)]
pub struct Graph {
    /// By id.
    pub nodes: BTreeMap<String, Attributes>,
    /// From, to.
    pub edges: Vec<(String, String, Attributes)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Id(String),
    Quoted(String),
    Sign(char),
    Arrow,
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut chars = text.chars().peekable();
    let mut tokens = Vec::new();
    while let Some(c) = chars.next() {
        tokens.push(match c {
            c if c.is_whitespace() => continue,
            '{' | '}' | '[' | ']' | ';' | '=' | ',' => Token::Sign(c),
            '-' if chars.next_if_eq(&'>').is_some() => Token::Arrow,
            '"' => {
                let mut quoted = String::new();
                loop {
                    match chars.next().ok_or("a string without end")? {
                        '"' => break,
                        '\\' => quoted.push(chars.next().ok_or("a string without end")?),
                        c => quoted.push(c),
                    }
                }
                Token::Quoted(quoted)
            }
            c if c.is_ascii_alphanumeric() || c == '_' => {
                let mut id = c.to_string();
                while let Some(c) = chars.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    id.push(c);
                }
                Token::Id(id)
            }
            c => return Err(format!("a stray {c:?}")),
        });
    }
    Ok(tokens)
}

/// Parses a digraph.
pub fn parse(text: &str) -> Result<Graph, String> {
    let mut parser =
        Parser { tokens: tokens(text)?.into_iter().peekable(), graph: Graph::default() };
    parser.expect(&Token::Id("digraph".into()))?;
    parser.id()?;
    parser.block()?;
    match parser.tokens.next() {
        None => Ok(parser.graph),
        Some(more) => Err(format!("{more:?} after the end")),
    }
}

struct Parser<I: Iterator<Item = Token>> {
    tokens: Peekable<I>,
    graph: Graph,
}

impl<I: Iterator<Item = Token>> Parser<I> {
    fn next(&mut self) -> Result<Token, String> {
        self.tokens.next().ok_or_else(|| "it ends too early".into())
    }

    fn expect(&mut self, wanted: &Token) -> Result<(), String> {
        let seen = self.next()?;
        if seen == *wanted { Ok(()) } else { Err(format!("{seen:?} in place of {wanted:?}")) }
    }

    fn id(&mut self) -> Result<String, String> {
        match self.next()? {
            Token::Id(id) => Ok(id),
            other => Err(format!("{other:?} is no id")),
        }
    }

    fn block(&mut self) -> Result<(), String> {
        self.expect(&Token::Sign('{'))?;
        while self.tokens.next_if_eq(&Token::Sign('}')).is_none() {
            self.statement()?;
        }
        Ok(())
    }

    fn statement(&mut self) -> Result<(), String> {
        let id = self.id()?;
        if id == "subgraph" {
            self.id()?;
            return self.block();
        }
        if self.tokens.next_if_eq(&Token::Sign('=')).is_some() {
            self.value()?;
        } else if self.tokens.next_if_eq(&Token::Arrow).is_some() {
            let to = self.id()?;
            if let Some(unknown) =
                [&id, &to].into_iter().find(|id| !self.graph.nodes.contains_key(*id))
            {
                return Err(format!("{unknown} is not declared"));
            }
            let attributes = self.attributes()?;
            self.graph.edges.push((id, to, attributes));
        } else {
            let attributes = self.attributes()?;
            if id != "node" && self.graph.nodes.insert(id.clone(), attributes).is_some() {
                return Err(format!("{id} is declared twice"));
            }
        }
        self.expect(&Token::Sign(';'))
    }

    fn value(&mut self) -> Result<String, String> {
        match self.next()? {
            Token::Id(text) | Token::Quoted(text) => Ok(text),
            other => Err(format!("{other:?} is no value")),
        }
    }

    fn attributes(&mut self) -> Result<Attributes, String> {
        let mut attributes = Attributes::new();
        if self.tokens.next_if_eq(&Token::Sign('[')).is_none() {
            return Ok(attributes);
        }
        loop {
            let name = self.id()?;
            self.expect(&Token::Sign('='))?;
            let value = self.value()?;
            attributes.insert(name, value);
            match self.next()? {
                Token::Sign(']') => return Ok(attributes),
                Token::Sign(',') => {}
                other => return Err(format!("{other:?} among attributes")),
            }
        }
    }
}
