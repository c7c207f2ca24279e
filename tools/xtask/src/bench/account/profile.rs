//! What callgrind wrote: instructions by object, source file and function.

use std::collections::HashMap;
use std::rc::Rc;

/// How often one instruction was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cost {
    /// The file that the code was loaded from.
    pub object: Rc<str>,
    /// The source file, `???` where none is known. For code that is inlined it is that of the innermost function.
    pub file: Rc<str>,
    /// The function, not those inlined into it.
    pub function: Rc<str>,
    /// The address in the object.
    pub address: u64,
    /// Instructions.
    pub count: u64,
}

/// Names of one kind in a profile: `(7) name` where it comes first, and `(7)` from then on.
#[derive(Default)]
struct Names(HashMap<String, Rc<str>>);

impl Names {
    fn get(&mut self, text: &str) -> Result<Rc<str>, String> {
        let Some((number, name)) = text.strip_prefix('(').and_then(|text| text.split_once(')'))
        else {
            return Ok(text.into());
        };
        let undefined = || format!("callgrind's name ({number}) is not defined");
        match name.trim() {
            "" => self.0.get(number).cloned().ok_or_else(undefined),
            name => Ok(self.0.entry(number.to_owned()).insert_entry(name.into()).get().clone()),
        }
    }
}

/// All costs of a profile with instructions and lines, whose positions are not compressed.
///
/// # Errors
/// If it is none, or the costs are not as many instructions as it says that there are.
pub fn parse(text: &str) -> Result<Vec<Cost>, String> {
    if !text.contains("\npositions: instr line\n") {
        return Err("callgrind's profile has no instructions and lines".to_owned());
    }
    let (mut objects, mut files, mut functions) =
        (Names::default(), Names::default(), Names::default());
    let nothing: Rc<str> = "???".into();
    let (mut object, mut file, mut function) = (nothing.clone(), nothing.clone(), nothing);
    let mut costs: Vec<Cost> = Vec::new();
    let mut total = None;
    // The line after a call is what the callee took.
    let mut is_callees = false;
    for line in text.lines() {
        if let Some((key, value)) = line.split_once('=') {
            match key {
                "ob" => object = objects.get(value)?,
                "fl" | "fi" | "fe" => file = files.get(value)?,
                "fn" => function = functions.get(value)?,
                "cob" => drop(objects.get(value)?),
                "cfi" | "cfl" => drop(files.get(value)?),
                "cfn" => drop(functions.get(value)?),
                "calls" => is_callees = true,
                _ => {}
            }
        } else if let Some(value) = line.strip_prefix("totals:") {
            total = Some(number(value.trim())?);
        } else if let Some(line) = line.strip_prefix("0x") {
            if std::mem::take(&mut is_callees) {
                continue;
            }
            let mut words = line.split(' ');
            let address = words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
            costs.push(Cost {
                object: object.clone(),
                file: file.clone(),
                function: function.clone(),
                address: address.ok_or(format!("no address in callgrind's profile: {line}"))?,
                count: words.nth(1).map_or(Ok(0), number)?,
            });
        }
    }
    let total = total.ok_or("callgrind's profile has no total")?;
    let sum: u64 = costs.iter().map(|cost| cost.count).sum();
    if sum == total {
        Ok(costs)
    } else {
        Err(format!("callgrind counted {total} instructions, and the functions have {sum}"))
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("not a number in callgrind's profile: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `main` calls a function that has another inlined.
    const PROFILE: &str = "creator: callgrind\npositions: instr line\nevents: Ir\nob=(1) /bin/program\nfl=(1) main.c\n\
        fn=(1) main\n0x10 16 5\ncob=(2) /lib/libx.so\ncfi=(2) x.c\ncfn=(2) x\ncalls=1 0x20 3\n0x14 17 40\n0x14 17 2\n\n\
        ob=(2)\nfl=(2)\nfn=(2)\n0x20 3 30\nfi=(3) inlined.h\n0x24 2 8\nfe=(2)\n0x28 2 2\n\ntotals: 47\n";

    #[test]
    fn instructions_are_those_of_the_file_that_they_come_from() {
        let costs = parse(PROFILE).expect("a profile");
        let found: Vec<_> = costs
            .iter()
            .map(|cost| (&*cost.object, &*cost.file, &*cost.function, cost.address, cost.count))
            .collect();
        assert_eq!(
            found,
            [
                ("/bin/program", "main.c", "main", 0x10, 5),
                ("/bin/program", "main.c", "main", 0x14, 2),
                ("/lib/libx.so", "x.c", "x", 0x20, 30),
                ("/lib/libx.so", "inlined.h", "x", 0x24, 8),
                ("/lib/libx.so", "x.c", "x", 0x28, 2),
            ]
        );
    }

    #[test]
    fn a_profile_that_does_not_add_up_is_refused() {
        // A line that was lost, one that counts what a callee took, and a name that nothing defines.
        let lost = PROFILE.replace("0x20 3 30\n", "");
        assert!(
            parse(&lost)
                .is_err_and(|error| error.contains("47 instructions, and the functions have 17"))
        );
        assert!(parse(&PROFILE.replace("calls=1 0x20 3\n", "")).is_err());
        assert!(
            parse(&PROFILE.replace("fl=(1) main.c", "fl=(9)"))
                .is_err_and(|error| error.contains("(9)"))
        );
        assert!(parse(&PROFILE.replace("instr line", "line")).is_err());
        assert!(parse("positions: instr line\n").is_err());
    }
}
