//! Each shape of endpoint gets what it takes, and the sums of all requests are those of the report.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::program::{Pushed, lines};
use super::server::{Profile, Received, Server, Sums, pushed, sums, well};
use crate::harness::{Scratch, due, installed, run, target_tmp, tool, until};
use crate::output::speedscope::fetched;

/// A run that pushes to a server whose URL begins so; the requests, and the sums of the report.
fn requests(named: &str, options: &[&str]) -> (Vec<Received>, Sums) {
    let server = Server::start(|_, _| well());
    let url = format!("{named}://{}", server.address);
    // One of them by the other command.
    let command = if named == "parca+http" { "run" } else { "meter" };
    let running = Pushed::under(command, &url, options);
    until("two pushes", || (server.received().len() >= 2).then_some(()));
    let ended = running.end();
    assert_eq!(ended.run.code(), 0, "{}", ended.run.stderr);
    assert_eq!(lines(&ended.run), [""; 0], "all is well");
    assert_eq!(ended.kept(), None, "the server has everything");
    let received = server.received();
    for request in &received {
        assert!(request.header("user-agent").unwrap().starts_with("lockwright/"), "{request:?}");
    }
    (received, ended.sums())
}

#[test]
fn pyroscope_gets_messages_of_its_push_service() {
    let labels = ["--push-label", "region=\"e,u\" {=}", "--push-name", "shop/é"];
    let (requests, expected) = requests("pyroscope+http", &labels);
    assert_eq!(sums(&requests), expected);
    let mut end = 0;
    for request in &requests {
        assert_eq!(request.path, "/push.v1.PusherService/Push");
        assert_eq!(request.header("content-type"), Some("application/proto"));
        let (profile, labels, _) = pushed(request);
        let of = |name: &str| {
            let found = labels.iter().find(|label| label.name == name);
            found.map(|label| label.value.as_str())
        };
        assert_eq!((of("__name__"), of("__delta__")), (Some("mutex"), Some("false")));
        assert_eq!((of("service_name"), of("region")), (Some("shop/é"), Some("\"e,u\" {=}")));
        // One follows the other.
        assert!(profile.time >= end && profile.duration > 0, "{end} {profile:?}");
        end = profile.time + profile.duration;
    }
}

/// The content of the part `name` of a form.
fn part<'r>(request: &'r Received, name: &str) -> &'r [u8] {
    let kind = request.header("content-type").unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").expect("a form");
    let find = |from: usize, text: &str| {
        let at = request.body[from..].windows(text.len()).position(|it| it == text.as_bytes());
        from + at.unwrap_or_else(|| panic!("no {text}"))
    };
    let head = find(0, &format!("name=\"{name}\""));
    let begin = find(head, "\r\n\r\n") + 4;
    &request.body[begin..find(begin, &format!("\r\n--{boundary}"))]
}

#[test]
fn older_servers_get_forms_at_ingest_and_pprof_reads_them() {
    let (requests, expected) = requests("ingest+http", &["--push-label", "region=e u&'\"é"]);
    let mut sums = Sums::new();
    let scratch = Scratch::new();
    let mut files = Vec::new();
    for (number, request) in requests.iter().enumerate() {
        let (path, query) = request.path.split_once('?').expect("a query");
        assert_eq!(path, "/ingest");
        assert!(
            query.starts_with("name=pushed%7Bregion%3De%20u%26%27%22%C3%A9%7D&from="),
            "{query}"
        );
        let config: Value = serde_json::from_slice(part(request, "sample_type_config")).unwrap();
        assert_eq!(config["delay"]["display-name"], "mutex_duration");
        let profile = part(request, "profile");
        Profile::read(profile).add_to(&mut sums);
        files.push(scratch.join(format!("{number}.pb.gz")));
        fs::write(&files[number], profile).unwrap();
    }
    assert_eq!(sums, expected);
    // Newer versions of Go build pprof first.
    let Some(()) = due([()], 3).next() else { return };
    let Some(go) = installed(&["go"], "golang-go") else { return };
    let mut pprof = Command::new(go);
    pprof.args(["tool", "pprof", "-raw", "-symbolize=none"]).args(&files);
    pprof.env("PPROF_TMPDIR", scratch.path()).env("GOCACHE", target_tmp().join("go-cache"));
    let shown = run(pprof);
    assert_eq!(shown.code(), 0, "{}", shown.stderr);
    // It adds the files up.
    let text = shown.text();
    let (_, samples) = text.split_once("contentions/count delay/nanoseconds[dflt]\n").unwrap();
    let (samples, _) = samples.split_once("Locations").unwrap();
    let numbers = samples.lines().filter_map(|line| {
        let mut numbers = line.split_once(':')?.0.split_whitespace().map(|it| it.parse::<u64>());
        Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
    });
    let all = numbers.fold((0, 0), |sum: (u64, u64), it| (sum.0 + it.0, sum.1 + it.1));
    let whole = expected.values().fold((0, 0), |sum: (u64, u64), it| (sum.0 + it.0, sum.1 + it.1));
    assert_eq!(all, whole, "{text}");
}

#[test]
fn parca_gets_json() {
    let (requests, expected) = requests("parca+http", &["--push-label", "region=\"eu\""]);
    let mut sums = Sums::new();
    for request in &requests {
        assert_eq!(request.path, "/api/profiles/writeraw");
        assert_eq!(request.header("content-type"), Some("application/json"));
        let message: Value = serde_json::from_slice(&request.body).unwrap();
        let series = &message["series"][0];
        let region = serde_json::json!({ "name": "region", "value": "\"eu\"" });
        assert!(series["labels"]["labels"].as_array().unwrap().contains(&region), "{message}");
        Profile::read(&decoded(series["samples"][0]["rawProfile"].as_str().unwrap()))
            .add_to(&mut sums);
    }
    assert_eq!(sums, expected);
}

/// Base64.
fn decoded(text: &str) -> Vec<u8> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => c - b'A',
        b'a'..=b'z' => c - b'a' + 26,
        b'0'..=b'9' => c - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().fold(0u32, |bits, &c| bits << 6 | u32::from(digit(c)));
        let bits = bits << (6 * (4 - four.len()));
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    bytes
}

/// Prints what OpenTelemetry's messages have: the service, and for each sample the kind of its profile, the lock, the value,
/// the innermost function and its module's build id.
const READ_OTLP: &str = "
import gzip, json, sys
sys.path.insert(0, sys.argv[1])
from opentelemetry.proto.collector.profiles.v1development import profiles_service_pb2 as service
rows = []
for file in sys.argv[2:]:
    request = service.ExportProfilesServiceRequest()
    sent = gzip.open(file).read()
    request.ParseFromString(sent)
    request.DiscardUnknownFields()
    assert len(request.SerializeToString()) == len(sent), 'fields that this version does not know'
    tables, strings = request.dictionary, request.dictionary.string_table
    for table in (tables.mapping_table, tables.location_table, tables.function_table, tables.link_table, tables.stack_table,
                  tables.attribute_table):
        assert table[0] == type(table[0])(), table[0]
    assert strings[0] == '' and len(set(strings)) == len(strings)
    [resource] = request.resource_profiles
    attributes = {it.key: it.value.string_value for it in resource.resource.attributes}
    [scope] = resource.scope_profiles
    ids = {profile.profile_id for profile in scope.profiles}
    assert len(ids) == len(scope.profiles) == 2 and all(len(it) == 16 for it in ids)
    for profile in scope.profiles:
        kind = strings[profile.sample_type.type_strindex], strings[profile.sample_type.unit_strindex]
        for sample in profile.samples:
            [label] = [tables.attribute_table[it] for it in sample.attribute_indices]
            assert strings[label.key_strindex] == 'lock'
            location = tables.location_table[tables.stack_table[sample.stack_index].location_indices[0]]
            mapping = tables.mapping_table[location.mapping_index]
            [build] = [tables.attribute_table[it] for it in mapping.attribute_indices]
            assert strings[build.key_strindex] == 'process.executable.build_id.gnu'
            function = strings[tables.function_table[location.lines[0].function_index].name_strindex]
            [value] = sample.values
            rows.append([attributes, kind, label.value.string_value, value, function, build.value.string_value])
print(json.dumps(rows))
";

type Row = (Value, (String, String), String, u64, String, String);

#[test]
fn opentelemetrys_own_messages_have_the_sums() {
    let (requests, expected) = requests("otlp+http", &["--push-label", "region=\"eu\""]);
    for request in &requests {
        assert_eq!(request.path, "/v1development/profiles");
        assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
        assert_eq!(request.header("content-encoding"), Some("gzip"));
    }
    let Some(python) = installed(&["python3"], "python3") else { return };
    let messages = "opentelemetry/proto/profiles/v1development/profiles_pb2.py";
    let Some(messages) = fetched("otlp", messages) else { return };
    let scratch = Scratch::new();
    let read = |cut: usize| {
        let mut command = Command::new(&python);
        command.args(["-c", READ_OTLP]).arg(messages.ancestors().nth(5).unwrap());
        for (number, request) in requests.iter().enumerate() {
            let file = scratch.join(format!("{number}.gz"));
            fs::write(&file, &request.body[..request.body.len() - cut]).unwrap();
            command.arg(file);
        }
        run(command)
    };
    let shown = read(0);
    assert_eq!(shown.code(), 0, "{}", shown.stderr);
    let rows: Vec<Row> = serde_json::from_str(shown.text().trim()).unwrap();
    let mut sums = Sums::new();
    for (attributes, (kind, unit), lock, value, function, build) in rows {
        assert_eq!(attributes["service.name"], "pushed");
        assert_eq!(attributes["region"], "\"eu\"");
        let sum = sums.entry(lock).or_default();
        match (kind.as_str(), unit.as_str()) {
            ("contentions", "count") => sum.0 += value,
            ("delay", "nanoseconds") => sum.1 += value,
            other => panic!("{other:?}"),
        }
        assert!(["append", "insert", "main"].contains(&function.as_str()), "{function}");
        assert_eq!(build.len(), 40, "{build}");
    }
    assert_eq!(sums, expected);
    assert_ne!(read(9).code(), 0, "a message that is cut off is none");
}

#[test]
fn urls_and_labels_that_cannot_be_had_are_errors_before_the_program_starts() {
    for (options, why) in [
        (&["--push", "http://127.0.0.1:4040"][..], "does not say what the server takes"),
        (&["--push", "otlp+http://me:secret@127.0.0.1"], "no secret"),
        (&["--push", "ingest+http://h", "--push-label", "a={b}"], "/ingest takes none of"),
        (&["--push", "ingest+http://h", "--push-name", "a b"], "/ingest takes letters"),
        (&["--push", "otlp+http://h", "--push-label", "a=1", "--push-label", "a=2"], "twice"),
        (&["--push", "otlp+http://h", "--push-label", "a-b=1"], "no name of a label"),
        (&["--push-interval", "1s"], "--push <URL>"),
        (&["--push", "otlp+http://h", "--push-interval", "1"], "number with a unit"),
        (&["--push", "otlp+http://h", "--push-headers", "/nowhere"], "cannot read the headers"),
        (&["--push", "otlp+https://h", "--push-ca", "/nowhere"], "cannot use the certificates"),
    ] {
        let mut command = tool();
        command.arg("meter").args(options).args(["--", "echo", "started"]);
        let run = run(command);
        assert!([2, 125].contains(&run.code()), "{options:?}: {}", run.stderr);
        assert_eq!(run.text(), "", "{options:?}");
        assert!(run.stderr.contains(why) && !run.stderr.contains("secret@"), "{}", run.stderr);
    }
}
