//! A server of directories and its clients.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::servers::Short;
use super::{Outcome, Place, digest};
use crate::harness::{Job, signal, until};

const CLIENTS: usize = 4;

/// Entries added and looked up by several clients at once; tens of thousands of mutexes.
pub fn slapd(job: Job, place: &Place) -> Outcome {
    let short = Short::of(&place.scratch);
    let folder = place.path().display();
    let schemas = ["core", "cosine", "inetorgperson"];
    let mut configuration = String::new();
    for schema in schemas {
        writeln!(configuration, "include /etc/ldap/schema/{schema}.schema").expect("written");
    }
    write!(
        configuration,
        "modulepath /usr/lib/ldap\nmoduleload back_mdb\npidfile {folder}/pid\ndatabase mdb\nsuffix dc=test\n\
         rootdn cn=root,dc=test\nrootpw secret\ndirectory {folder}\nmaxsize 16777216\ndbnosync\nindex uid eq\n"
    )
    .expect("written");
    let file = place.scratch.join("conf");
    fs::write(&file, configuration).expect("written");
    let url = format!("ldapi://{}", short.join("s").display().to_string().replace('/', "%2F"));
    // With a level of debugging, if only none, it stays in the foreground.
    let mut running = job.args(["-d", "0", "-h", &url, "-f"]).arg(&file).spawn();
    until("slapd to listen", || {
        assert!(running.is_running(), "{}", running.stderr());
        let mut command = Command::new("ldapsearch");
        command.args(["-x", "-H", &url, "-s", "base"]).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("installed").success().then_some(())
    });

    let top = "dn: dc=test\nobjectClass: dcObject\nobjectClass: organization\no: test\n\n";
    client("ldapadd", &url, [] as [&str; 0], top);
    let entries = |client: usize| {
        (0..50).fold(String::new(), |text, n| {
            text + &format!("dn: uid={client}.{n},dc=test\nobjectClass: inetOrgPerson\ncn: {n}\nsn: {client}\n\n")
        })
    };
    let work = |number: usize| {
        client("ldapadd", &url, [] as [&str; 0], &entries(number));
        let mut found = String::new();
        for n in 0..8 {
            let uid = format!("(uid={number}.{n})");
            found += &client("ldapsearch", &url, ["-LLL", "-b", "dc=test", &uid, "cn", "sn"], "");
        }
        let first = format!("uid={number}.0,dc=test");
        client("ldapdelete", &url, [&first], "");
        digest(found.as_bytes())
    };
    let mut results: String = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|n| scope.spawn(move || work(n))).collect();
        clients.into_iter().map(|client| client.join().expect("a client") + "\n").collect()
    });
    let left = client("ldapsearch", &url, ["-LLL", "-b", "dc=test", "(uid=*)", "dn"], "");
    write!(results, "{} are left", left.matches("dn: ").count()).expect("written");
    signal(running.id(), libc::SIGINT);
    Outcome { results, run: running.wait() }
}

/// Runs a client to its end; what it says.
fn client<S: AsRef<OsStr>>(
    program: impl AsRef<Path>,
    url: &str,
    arguments: impl IntoIterator<Item = S>,
    input: &str,
) -> String {
    let mut command = Command::new(program.as_ref());
    command.args(["-x", "-H", url, "-D", "cn=root,dc=test", "-w", "secret"]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("installed");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let out = child.wait_with_output().expect("its end");
    assert!(out.status.success(), "{command:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8_lossy(&out.stdout).into_owned()
}
