//! Sentences about what a thread does while others wait for it.

use lockwright_analysis::finding::doing::{Blocked, File};

/// The descriptor that a thread is blocked on, and the process that has its other end.
pub fn blocked(blocked: &Blocked) -> String {
    let Blocked { call, descriptor, file, other_ends } = blocked;
    let what = match file {
        File::Pipe => ", a pipe",
        File::Eventfd => ", an eventfd",
        File::Socket => ", a socket",
        File::Epoll => ", an epoll instance",
        File::Other => "",
    };
    let ends = match (file, other_ends.as_slice()) {
        (File::Pipe, []) => "; no descriptor of its process has the other end".to_owned(),
        (File::Pipe, ends) => {
            format!("; its process has the other end, too: {}", descriptors(ends))
        }
        (File::Eventfd, ends) if ends.len() > 1 => {
            format!("; any thread of its process may write to it: {}", descriptors(ends))
        }
        (File::Eventfd, _) => "; any thread of its process may write to it".to_owned(),
        (File::Socket | File::Epoll | File::Other, _) => String::new(),
    };
    format!("it waits in {call} of descriptor {descriptor}{what}{ends}")
}

fn descriptors(all: &[u32]) -> String {
    let numbers: Vec<String> = all.iter().map(u32::to_string).collect();
    let noun = if all.len() == 1 { "descriptor" } else { "descriptors" };
    format!("{noun} {}", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_is_told_where_it_is_known() {
        let told = |file, other_ends: &[u32]| {
            let other_ends = other_ends.to_vec();
            blocked(&Blocked { call: "read", descriptor: 3, file, other_ends })
        };
        for (file, ends, words) in [
            (File::Pipe, [].as_slice(), "a pipe; no descriptor of its process has the other end"),
            (File::Pipe, &[4], "a pipe; its process has the other end, too: descriptor 4"),
            (File::Pipe, &[4, 9], "the other end, too: descriptors 4, 9"),
            (File::Eventfd, &[3], "an eventfd; any thread of its process may write to it"),
            (File::Eventfd, &[3, 5], "may write to it: descriptors 3, 5"),
            (File::Socket, &[], "it waits in read of descriptor 3, a socket"),
            (File::Other, &[], "it waits in read of descriptor 3"),
        ] {
            assert!(told(file, ends).ends_with(words), "{}", told(file, ends));
        }
    }
}
