//! A server as small as can be, which does with each request what the test says.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use prost::Message;

/// A request.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// The path with its query.
    pub path: String,
    /// All headers, their names in small letters.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

impl Received {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(it, _)| it == name).map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub enum Reaction {
    /// It answers this.
    Answer(String),
    /// It takes the request and closes the connection.
    Cut,
    /// It never answers.
    Silence,
    /// It answers without end.
    Flood,
}

/// An answer with this status and these headers, a line each.
pub fn answer(status: &str, headers: &str) -> Reaction {
    let text = "because of a planted fault\n";
    let length = text.len();
    Reaction::Answer(format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{headers}\r\n{text}"
    ))
}

/// The answer that everything is well.
pub fn well() -> Reaction {
    Reaction::Answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_owned())
}

/// What a connection is to the server: itself, or with TLS around it.
pub trait Connection: Read + Write {}

impl<T: Read + Write> Connection for T {}

/// Makes one of an accepted stream.
pub type Accept = Box<dyn Fn(TcpStream) -> Option<Box<dyn Connection>> + Send>;

/// The server, until it is dropped.
pub struct Server {
    /// Its address and port.
    pub address: String,
    received: Arc<Mutex<Vec<Received>>>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// One that reacts so to its requests, of which it is given the number and the text.
    pub fn start(react: impl FnMut(usize, &Received) -> Reaction + Send + 'static) -> Self {
        Self::at("127.0.0.1:0", react)
    }

    /// As [`Self::start`], at this address.
    pub fn at(
        address: &str,
        react: impl FnMut(usize, &Received) -> Reaction + Send + 'static,
    ) -> Self {
        let accept: Accept = Box::new(|stream| Some(Box::new(stream)));
        Self::with(TcpListener::bind(address).unwrap(), accept, react)
    }

    /// As [`Self::start`], with connections that `accept` makes.
    pub fn with(
        listener: TcpListener,
        accept: Accept,
        mut react: impl FnMut(usize, &Received) -> Reaction + Send + 'static,
    ) -> Self {
        let address = listener.local_addr().unwrap().to_string();
        let received = Arc::new(Mutex::new(Vec::new()));
        let is_over = Arc::new(AtomicBool::new(false));
        let (all, until) = (Arc::clone(&received), Arc::clone(&is_over));
        let thread = std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                if until.load(Ordering::SeqCst) {
                    return;
                }
                let Some(mut connection) = stream.ok().and_then(&accept) else { continue };
                let Some(request) = read(&mut connection) else { continue };
                let number = {
                    let mut all = all.lock().unwrap();
                    all.push(request.clone());
                    all.len() - 1
                };
                match react(number, &request) {
                    Reaction::Answer(text) => {
                        let text = text.replacen("\r\n", "\r\nConnection: close\r\n", 1);
                        let _ = connection.write_all(text.as_bytes());
                        let _ = connection.flush();
                    }
                    Reaction::Cut => {}
                    Reaction::Silence => silent.push(connection),
                    Reaction::Flood => {
                        let _ = connection.write_all(b"HTTP/1.1 500 No\r\n\r\n");
                        while connection.write_all(&[b'x'; 4096]).is_ok() {}
                    }
                }
            }
        });
        Self { address, received, is_over, thread: Some(thread) }
    }

    /// The requests so far.
    pub fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(&self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The request, with as much body as it says.
fn read(connection: &mut Box<dyn Connection>) -> Option<Received> {
    let mut reader = BufReader::new(connection);
    let mut line = || {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        Some(line.trim_end().to_owned())
    };
    let path = line()?.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Received { path, headers, body: Vec::new() };
    let length = request.header("content-length").map_or(0, |text| text.parse().unwrap());
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

/// The sums of a profile, by lock: waits and ns.
pub type Sums = std::collections::BTreeMap<String, (u64, u64)>;

/// What a test looks at of a profile.
#[derive(prost::Message)]
pub struct Profile {
    #[prost(message, repeated, tag = "2")]
    pub sample: Vec<Sample>,
    #[prost(message, repeated, tag = "3")]
    pub mapping: Vec<Mapping>,
    #[prost(message, repeated, tag = "4")]
    pub location: Vec<Location>,
    #[prost(message, repeated, tag = "5")]
    pub function: Vec<Function>,
    #[prost(string, repeated, tag = "6")]
    pub strings: Vec<String>,
    #[prost(int64, tag = "9")]
    pub time: i64,
    #[prost(int64, tag = "10")]
    pub duration: i64,
}

#[derive(prost::Message)]
pub struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    pub location: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub label: Vec<Label>,
}

#[derive(prost::Message)]
pub struct Label {
    #[prost(int64, tag = "1")]
    pub key: i64,
    #[prost(int64, tag = "2")]
    pub text: i64,
}

#[derive(prost::Message)]
pub struct Mapping {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "6")]
    pub build_id: i64,
}

#[derive(prost::Message)]
pub struct Location {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(uint64, tag = "2")]
    pub mapping: u64,
    #[prost(uint64, tag = "3")]
    pub address: u64,
    #[prost(message, repeated, tag = "4")]
    pub line: Vec<Line>,
}

#[derive(prost::Message)]
pub struct Line {
    #[prost(uint64, tag = "1")]
    pub function: u64,
    #[prost(int64, tag = "2")]
    pub line: i64,
}

#[derive(prost::Message)]
pub struct Function {
    #[prost(uint64, tag = "1")]
    pub id: u64,
    #[prost(int64, tag = "2")]
    pub name: i64,
    #[prost(int64, tag = "4")]
    pub file: i64,
}

impl Profile {
    /// The one that is gzipped in `bytes`.
    pub fn read(bytes: &[u8]) -> Self {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(bytes).read_to_end(&mut text).expect("gzip");
        Self::decode(text.as_slice()).expect("a profile")
    }

    /// A string of the table.
    pub fn string(&self, index: i64) -> &str {
        &self.strings[index as usize]
    }

    /// The lock of a sample.
    pub fn lock(&self, sample: &Sample) -> String {
        let [label] = sample.label.as_slice() else { panic!("{sample:?}") };
        assert_eq!(self.string(label.key), "lock");
        self.string(label.text).to_owned()
    }

    /// Adds its sums.
    pub fn add_to(&self, sums: &mut Sums) {
        for sample in &self.sample {
            let &[count, ns] = sample.value.as_slice() else { panic!("{sample:?}") };
            let sum = sums.entry(self.lock(sample)).or_default();
            *sum = (sum.0 + count as u64, sum.1 + ns as u64);
        }
    }
}

/// A request to `push.v1.PusherService/Push`.
#[derive(prost::Message)]
pub struct Push {
    #[prost(message, repeated, tag = "1")]
    pub series: Vec<Series>,
}

#[derive(prost::Message)]
pub struct Series {
    #[prost(message, repeated, tag = "1")]
    pub labels: Vec<Pair>,
    #[prost(message, repeated, tag = "2")]
    pub samples: Vec<Raw>,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Pair {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

#[derive(prost::Message)]
pub struct Raw {
    #[prost(bytes = "vec", tag = "1")]
    pub profile: Vec<u8>,
    #[prost(string, tag = "2")]
    pub id: String,
}

/// The only profile of such a request, its labels, and its id.
pub fn pushed(request: &Received) -> (Profile, Vec<Pair>, String) {
    let push = Push::decode(request.body.as_slice()).expect("a push");
    let [series] = push.series.as_slice() else { panic!("{push:?}") };
    let [raw] = series.samples.as_slice() else { panic!("{series:?}") };
    (Profile::read(&raw.profile), series.labels.clone(), raw.id.clone())
}

/// The sums of such requests; a server counts each id once.
pub fn sums<'r>(requests: impl IntoIterator<Item = &'r Received>) -> Sums {
    let (mut sums, mut seen) = (Sums::new(), std::collections::HashSet::new());
    for request in requests {
        let (profile, _, id) = pushed(request);
        if seen.insert(id) {
            profile.add_to(&mut sums);
        }
    }
    sums
}

/// The same by the JSON report of the run.
pub fn reported(report: &serde_json::Value) -> Sums {
    let locks = report["locks"].as_array().expect("locks").iter();
    let mut sums = Sums::new();
    for lock in locks {
        for site in lock["sites"].as_array().expect("sites") {
            let wait = &site["numbers"]["wait"];
            let count = wait["count"].as_u64().expect("a count");
            if count > 0 {
                let sum = sums.entry(lock["name"].as_str().unwrap().to_owned()).or_default();
                let ns = wait["total_ns"].as_f64().expect("a time") as u64;
                *sum = (sum.0 + count, sum.1 + ns);
            }
        }
    }
    sums
}
