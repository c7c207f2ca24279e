//! The end of a thread, as something that the thread holds from its beginning on.
//!
//! A joiner waits for the thread's end as for a lock that the thread holds all the time. So for a
//! thread that was joined with a lock held, the trie gets more contexts. One is "the end of T is
//! waited for while L is held", by the joiner. For each M that T took, one is "M is acquired while
//! the end of T is held", by T. With these, the search for cycles finds a join of a thread that
//! needs the joiner's lock. It finds cycles of any length, also through threads that join threads,
//! and grades them like cycles of locks.
//!
//! When T took M does not matter: T must be done with it before it ends, and in another run it may
//! come to it later. What does matter is what orders the two in every run. A condition wait takes its
//! mutex again at its end, however it was taken before.

use std::collections::{HashMap, HashSet};

use lockwright_ledger::Ledger;
use lockwright_ledger::rows::{
    Class, Evidence, Lock, Node, Segment, Thread, WRITTEN, mode, node_flag, segment_kind,
    thread_state,
};

use super::given_up::GivenUp;

/// Contexts added at most.
const MOST: usize = 1 << 20;

/// Instances from here on are ends of threads, by the thread's row. Locks are numbered from 1.
const FIRST_INST: u32 = 1 << 31;

/// Classes from here on are those of ends of threads. No ledger has as many rows.
pub(super) const FIRST_CLASS: u32 = 1 << 31;

/// Their kind, which no lock of a ledger has.
pub(super) const KIND: u8 = u8::MAX;

/// The thread of which `inst` is the end.
pub fn thread_of(inst: u32) -> Option<u32> {
    inst.checked_sub(FIRST_INST)
}

/// The contexts that were added.
#[derive(Default)]
pub(super) struct ThreadEnds {
    /// Id of the first of them.
    pub first: u32,
    /// Node and segment, as in the ledger's evidence.
    pub evidence: Vec<(u32, u32)>,
    /// There were more than could be added.
    pub cut: bool,
    /// By class of ends, from [`FIRST_CLASS`] on: the stack of the threads' creation.
    pub created: Vec<u32>,
    /// By id from `first` on: the node of the end that is held on this path, 0 if it is none.
    roots: Vec<u32>,
    /// By thread: the class of its end.
    class_of: HashMap<u32, u32>,
}

impl ThreadEnds {
    /// The node of the end that is held in context `id`, where the context is there for that alone:
    /// other held locks have contexts without it, too.
    pub fn root(&self, id: u32) -> Option<u32> {
        let at = id.checked_sub(self.first)?;
        self.roots.get(at as usize).copied().filter(|&root| root != 0)
    }

    /// The class of the end of `thread`, if it is waited for.
    pub fn class_of(&self, thread: u32) -> Option<u32> {
        self.class_of.get(&thread).copied()
    }
}

/// A recorded join: at a context, in a segment, of a thread.
struct Join {
    node: u32,
    segment: u32,
    joiner: u32,
    joined: u32,
}

/// Appends the contexts to the others. The ledger has evidence for the first `recorded` ones.
pub(super) fn append(ledger: &Ledger, nodes: &mut Vec<Node>, recorded: u32) -> ThreadEnds {
    let added = ThreadEnds { first: nodes.len() as u32, ..ThreadEnds::default() };
    let joins = joins(ledger, nodes, recorded);
    let followed = worth_following(ledger, nodes, &joins);
    if followed.is_empty() || nodes.iter().any(|node| node.inst >= FIRST_INST) {
        return added;
    }
    let single = single_locks(ledger);
    let mut adding = Adding {
        ledger,
        nodes,
        added,
        single,
        classes: HashMap::new(),
        roots: HashMap::new(),
        within: HashMap::new(),
        waits: HashMap::new(),
    };
    for join in joins.iter().filter(|join| followed.contains(&join.joined)) {
        adding.join(join, followed.contains(&join.joiner));
    }
    let given_up = GivenUp::new(ledger);
    for (_, Evidence { node, segment, .. }) in ledger.rows::<Evidence>() {
        let taken = adding.nodes.get(node as usize).filter(|_| node < recorded);
        let waits = taken.is_some_and(|row| row.class != 0 && row.mode & mode::TRY == 0);
        let gives_up = taken.is_some_and(|row| row.class == 0 && row.mode & mode::COND_WAIT != 0);
        let mutex = taken.and_then(|wait| adding.nodes.get(wait.parent as usize));
        let mutex = mutex.map(|mutex| mutex.inst);
        let thread = ledger.get::<Segment>(segment).map_or(0, |row| row.thread);
        let id = match followed.contains(&thread) {
            true if waits => Some(adding.within(thread, node)),
            true if gives_up => adding.again(thread, node),
            _ => None,
        };
        let at = match mutex.filter(|_| gives_up) {
            Some(mutex) => given_up.after(thread, mutex, segment),
            None => segment,
        };
        adding.added.evidence.extend(id.map(|id| (id, at)));
        if adding.added.roots.len() >= MOST {
            adding.added.cut = true;
            break;
        }
    }
    adding.added
}

/// The recorded joins.
fn joins(ledger: &Ledger, nodes: &[Node], recorded: u32) -> Vec<Join> {
    let is_join = |id: u32| {
        let node = nodes.get(id as usize).filter(|node| id < recorded && node.state != 0);
        node.is_some_and(|node| node.class == 0 && node.mode & mode::JOIN != 0)
    };
    if !(1..recorded).any(is_join) {
        return Vec::new();
    }
    // By the segment in which a thread waited: which thread it joined then.
    let mut targets: HashMap<u32, u32> = HashMap::new();
    let segment = |id: u32| ledger.get::<Segment>(id);
    for (_, row) in ledger.rows::<Segment>().filter(|(_, row)| row.kind == segment_kind::JOINED) {
        let Some(joined) = segment(row.peer).map(|peer| peer.thread) else { continue };
        let mut before = row.prev;
        // What the joiner holds may have ended holds meanwhile: segments in which it did nothing.
        while targets.insert(before, joined).is_none()
            && let Some(row) = segment(before).filter(|row| row.kind == segment_kind::PASSED)
        {
            before = row.prev;
        }
    }
    for (_, row) in ledger.rows::<Thread>() {
        let is_joining = row.wait_seq & 1 == 1 && row.wait_mode & u32::from(mode::JOIN) != 0;
        if is_joining && row.state == thread_state::LIVE {
            targets.insert(row.segment, row.wait_addr as u32);
        }
    }
    // A thread that has learned that another died with a robust mutex does not wait for its end: by both, the first segment.
    let mut learned: HashMap<(u32, u32), u32> = HashMap::new();
    for (id, row) in ledger.rows::<Segment>() {
        if row.kind == segment_kind::OWNER_DIED
            && let Some(dead) = segment(row.peer)
        {
            learned.entry((row.thread, dead.thread)).or_insert(id);
        }
    }
    let join = |(_, row): (u32, Evidence)| {
        let joined = targets.get(&row.segment).copied().filter(|_| is_join(row.node))?;
        let joiner = segment(row.segment)?.thread;
        let waits = learned.get(&(joiner, joined)).is_none_or(|&first| row.segment < first);
        waits.then_some(Join { node: row.node, segment: row.segment, joiner, joined })
    };
    ledger.rows::<Evidence>().filter_map(join).collect()
}

/// The threads that were joined with a lock held, those that these joined, and so on; and those that
/// were created likewise: what one of them did, another may do.
fn worth_following(ledger: &Ledger, nodes: &[Node], joins: &[Join]) -> HashSet<u32> {
    let holds = |join: &&Join| nodes[join.node as usize].parent != 0;
    let mut open: Vec<u32> = joins.iter().filter(holds).map(|join| join.joined).collect();
    if open.is_empty() {
        return HashSet::new();
    }
    let mut by_joiner: HashMap<u32, Vec<u32>> = HashMap::new();
    for join in joins {
        by_joiner.entry(join.joiner).or_default().push(join.joined);
    }
    let mut alike: HashMap<u32, Vec<u32>> = HashMap::new();
    for (id, row) in ledger.rows::<Thread>().filter(|(_, row)| row.create_stack != 0) {
        alike.entry(row.create_stack).or_default().push(id);
    }
    let mut found = HashSet::new();
    while let Some(thread) = open.pop() {
        if found.insert(thread) {
            open.extend(by_joiner.get(&thread).into_iter().flatten());
            let stack = ledger.get::<Thread>(thread).map_or(0, |row| row.create_stack);
            open.extend(alike.remove(&stack).into_iter().flatten());
        }
    }
    found
}

/// The one lock of each class that has no more: what is taken with nothing held is only known by
/// its class.
fn single_locks(ledger: &Ledger) -> HashMap<u32, u32> {
    let single = |class| ledger.get::<Class>(class).is_some_and(|row| row.locks == 1);
    let locks = ledger.rows::<Lock>().filter(|(_, lock)| single(lock.class));
    locks.map(|(_, lock)| (lock.class, lock.inst)).collect()
}

/// What is added, by what it is made of.
struct Adding<'l> {
    ledger: &'l Ledger,
    nodes: &'l mut Vec<Node>,
    added: ThreadEnds,
    single: HashMap<u32, u32>,
    /// By the stack of the threads' creation.
    classes: HashMap<u32, u32>,
    /// By thread.
    roots: HashMap<u32, u32>,
    /// By thread and node: the same with the end of the thread held around it.
    within: HashMap<(u32, u32), u32>,
    /// By node of a join and thread: the wait for the end of the thread there.
    waits: HashMap<(u32, u32), u32>,
}

impl Adding<'_> {
    /// The end of `thread` as a lock, and the stack of the thread's creation.
    fn end(&mut self, thread: u32) -> Node {
        let stack = self.ledger.get::<Thread>(thread).map_or(0, |row| row.create_stack);
        let created = &mut self.added.created;
        let class = *self.classes.entry(stack).or_insert_with(|| {
            created.push(stack);
            FIRST_CLASS + created.len() as u32 - 1
        });
        self.added.class_of.insert(thread, class);
        Node { state: WRITTEN, class, inst: FIRST_INST + thread, stack, ..Node::default() }
    }

    /// A thread waits for the end of another; it may be one that is joined itself.
    fn join(&mut self, join: &Join, is_joined: bool) {
        if self.nodes[join.node as usize].parent != 0 {
            let id = self.wait(join.node, join.joined);
            self.added.evidence.push((id, join.segment));
        }
        if is_joined {
            let within = self.within(join.joiner, join.node);
            let id = self.wait(within, join.joined);
            self.added.evidence.push((id, join.segment));
        }
    }

    /// The wait at `node` as one for the end of `thread`.
    fn wait(&mut self, node: u32, thread: u32) -> u32 {
        if let Some(&id) = self.waits.get(&(node, thread)) {
            return id;
        }
        let end = self.end(thread);
        let Node { class, inst, .. } = end;
        let root = self.added.root(node).unwrap_or(0);
        let id = self.push(Node { class, inst, ..self.nodes[node as usize] }, root);
        self.waits.insert((node, thread), id);
        id
    }

    /// The node with the end of `thread` held around it, and around those on its path.
    fn within(&mut self, thread: u32, node: u32) -> u32 {
        let mut path = Vec::new();
        let mut at = node;
        let mut parent = loop {
            if let Some(&known) = self.within.get(&(thread, at)) {
                break known;
            }
            let row = self.nodes[at as usize];
            path.push(at);
            // A sound ledger's parents have smaller ids; so this ends on any.
            if row.parent == 0 || row.parent >= at {
                break self.root(thread);
            }
            at = row.parent;
        };
        let root = self.root(thread);
        for at in path.into_iter().rev() {
            let mut row = self.nodes[at as usize];
            if row.inst == 0 {
                row.inst = self.single.get(&row.class).copied().unwrap_or(0);
            }
            parent = self.push(Node { parent, ..row }, root);
            self.within.insert((thread, at), parent);
        }
        parent
    }

    /// The end of the condition wait at `node`, which takes the mutex again, if nothing else is held
    /// meanwhile. Otherwise the ledger has it as an acquisition.
    fn again(&mut self, thread: u32, node: u32) -> Option<u32> {
        if let Some(&known) = self.within.get(&(thread, node)) {
            return Some(known);
        }
        let wait = self.nodes[node as usize];
        let mutex = *self.nodes.get(wait.parent as usize)?;
        let is_alone = mutex.state != 0 && mutex.class != 0 && mutex.parent == 0;
        if !is_alone || mutex.flags & node_flag::TRUNCATED != 0 {
            return None;
        }
        let parent = self.root(thread);
        let mode = mode::COND_REACQUIRE;
        let Node { site, stack, .. } = wait;
        let id = self.push(Node { parent, mode, site, stack, ..mutex }, parent);
        self.within.insert((thread, node), id);
        Some(id)
    }

    fn root(&mut self, thread: u32) -> u32 {
        if let Some(&root) = self.roots.get(&thread) {
            return root;
        }
        let end = self.end(thread);
        let root = self.push(end, 0);
        self.roots.insert(thread, root);
        root
    }

    fn push(&mut self, node: Node, root: u32) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(Node { lock: 0, folded: 0, evidence: 0, evidence_len: 0, ..node });
        self.added.roots.push(root);
        id
    }
}
