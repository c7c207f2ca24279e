//! A simulation from its preparation to its outcome.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};
use std::rc::Rc;

use lockwright::event::Event;
use lockwright::platform::PerCpu;

use crate::account::{Place, TaskTimes};
use crate::arena::{self, Arena};
use crate::delays::Delays;
use crate::machine::Machine;
use crate::platform::{Entered, drain};
use crate::task::{Fiber, Task};
use crate::time::{SECOND, Time};
use crate::world::{World, place};

/// How much longer than it should a simulation may take to end: a thread that still waits then
/// waits for ever.
const GRACE: Time = SECOND;

/// A simulation reports its progress once in so many turns of its fibers.
const TURNS: u64 = 1 << 14;

/// A callback for the progress of a simulation: a part of its length, from 0 to 1.
#[derive(Clone, Default)]
pub struct Tell(Option<Rc<dyn Fn(f64)>>);

impl Tell {
    /// This one is.
    pub fn by(tell: impl Fn(f64) + 'static) -> Self {
        Self(Some(Rc::new(tell)))
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Tell" } else { "Nobody" })
    }
}

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Config {
    /// The machine.
    pub machine: Machine,
    /// CPUs of it that are used, from the first one on; none: all.
    pub cpus: Option<u32>,
    /// Threads are virtual CPUs' kernels, below a hypervisor.
    pub guest: bool,
    /// What is random.
    pub seed: u64,
    /// Spinning threads are parked. They come to the same without, in more time.
    pub parks: bool,
    /// Where threads are held up, for explorers.
    pub delays: Delays,
    /// The callback for its progress. It does not change what is simulated.
    pub tell: Tell,
}

impl Config {
    /// All of a machine.
    pub const fn new(machine: Machine) -> Self {
        Self {
            machine,
            cpus: None,
            guest: false,
            seed: 1,
            parks: true,
            delays: Delays::None,
            tell: Tell(None),
        }
    }
}

/// What has come of a simulation.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Each thread's time.
    pub tasks: Vec<TaskTimes>,
    /// How far each thread has come, in picoseconds.
    pub clocks: Vec<Time>,
    /// The traffic of each place.
    pub places: Vec<Place>,
    /// Threads that have not ended: they wait for something that does not come.
    pub stuck: Vec<usize>,
    /// Operations on memory, except those of parked threads.
    pub operations: u64,
    counts: Vec<u64>,
}

impl Outcome {
    /// How often a lock event was counted.
    pub fn count(&self, event: Event) -> u64 {
        self.counts[event as usize]
    }
}

type Body<'s> = Box<dyn FnOnce() + 's>;

/// A simulation that is being prepared. What it places and spawns lives as long as `'s`.
pub struct Setup<'s> {
    config: Config,
    inner: RefCell<Inner<'s>>,
    /// Invariant, so that nothing of one simulation gets into another.
    scope: PhantomData<fn(&'s ()) -> &'s ()>,
}

struct Inner<'s> {
    arena: Arena,
    bodies: Vec<Body<'s>>,
    regions: Vec<(usize, usize, u32)>,
    places: Vec<Place>,
    names: Vec<String>,
    /// A library's lock is placed.
    has_library: bool,
}

/// Prepares a simulation, and runs it where `prepare` says so. Simulations of a process take turns.
pub fn simulate<R>(config: Config, prepare: impl for<'s> FnOnce(&'s Setup<'s>) -> R) -> R {
    let inner = Inner {
        arena: Arena::take(),
        bodies: Vec::new(),
        regions: Vec::new(),
        places: Vec::new(),
        names: Vec::new(),
        has_library: false,
    };
    let setup = Setup { config, inner: RefCell::new(inner), scope: PhantomData };
    // It outlives all references that `prepare` can get, which end with it.
    let setup_ref: &Setup<'_> = &setup;
    // SAFETY: only makes the lifetime of the borrow that of the scope. Nothing in `setup` has a
    // destructor that looks at what was placed or spawned: bodies that were not run are only freed.
    prepare(unsafe { &*ptr::from_ref(setup_ref).cast() })
}

impl<'s> Setup<'s> {
    /// Puts a value on cache lines of its own, which accounts of traffic call `name`. It is not
    /// dropped.
    pub fn place<T: Send + Sync + 's>(&'s self, name: &str, value: T) -> &'s T {
        let mut inner = self.inner.borrow_mut();
        let at = inner.arena.place(value);
        inner.region(name, at.addr().get(), size_of::<T>());
        // SAFETY: written just now, and nobody else's until this simulation ends.
        unsafe { at.as_ref() }
    }

    /// As [`Setup::place`], of a library's lock: so many bytes, which are zero.
    pub(crate) fn place_of_library(&'s self, name: &str, size: usize, align: usize) -> NonNull<u8> {
        let mut inner = self.inner.borrow_mut();
        inner.has_library = true;
        let at = inner.arena.place_zeros(size, align);
        inner.region(name, at.addr().get(), size);
        at
    }

    /// Adds a thread. All threads begin within a microsecond.
    pub fn spawn(&'s self, body: impl FnOnce() + 's) {
        self.inner.borrow_mut().bodies.push(Box::new(body));
    }

    /// CPUs that are used.
    pub fn cpus(&self) -> u32 {
        let all = self.config.machine.cpus();
        self.config.cpus.map_or(all, |cpus| cpus.clamp(1, all))
    }

    /// Runs the threads until they end; [`crate::Sim::is_over`] tells them after `length`.
    ///
    /// # Panics
    /// If there are more threads than can be simulated.
    pub fn run(&'s self, length: Time) -> Outcome {
        let Config { machine, guest, parks, delays, seed, .. } = &self.config;
        let mut world = World::new(machine, self.cpus(), *guest, *parks, delays.clone(), *seed);
        world.end = length;
        let bodies = std::mem::take(&mut self.inner.borrow_mut().bodies);
        self.make_per_cpu(&mut world, bodies.len());
        let at: *mut World = &raw mut world;
        let entered = Entered::new(at);
        for (number, body) in bodies.into_iter().enumerate() {
            let stack = self.inner.borrow().arena.stack(number);
            // SAFETY: `at` is there as long as fibers run. What the body refers to lives for 's,
            // and is outlived by no fiber: all end, or are reset, below.
            unsafe {
                let fiber: Fiber = corosensei::Coroutine::with_stack_unchecked(
                    stack,
                    move |yielder: &corosensei::Yielder<(), ()>, ()| {
                        (&mut (*at).tasks)[number].yielder = yielder;
                        body();
                        drain();
                    },
                );
                let pauses = (*at).pause_loop();
                (*at).tasks.push(Task::new(fiber, pauses));
            }
        }
        // SAFETY: only this thread uses the world; no reference to it lives while a fiber runs.
        unsafe {
            (*at).begin();
            let mut turns: u64 = 0;
            while let Some(task) = (*at).next_fiber(length.saturating_add(GRACE)) {
                let mut fiber = (&mut (*at).tasks)[task].fiber.take().expect("it has not ended");
                let ended = fiber.resume(()).as_return().is_some();
                (*at).running = None;
                turns += 1;
                if let (Some(tell), true) = (&self.config.tell.0, turns.is_multiple_of(TURNS)) {
                    let clock = (&(*at).tasks)[task].clock;
                    tell((clock as f64 / length.max(1) as f64).min(1.0));
                }
                if ended {
                    (*at).end_task(task);
                    if (*at).is_over() {
                        break;
                    }
                } else {
                    (&mut (*at).tasks)[task].fiber = Some(fiber);
                }
            }
            for task in &mut (*at).tasks {
                if let Some(mut fiber) = task.fiber.take() {
                    // What is on its stack is not dropped.
                    fiber.force_reset();
                }
            }
        }
        drop(entered);
        outcome(world)
    }

    /// What the locks keep per CPU, for so many threads.
    fn make_per_cpu(&'s self, world: &mut World, threads: usize) {
        let mut inner = self.inner.borrow_mut();
        for cpu in 0..threads {
            let kept = inner.arena.keep_for_cpu(cpu, PerCpu::new());
            let address = ptr::from_ref(kept).addr();
            inner.region("queue nodes and the like, per CPU", address, size_of_val(kept));
            world.per_cpu.push(kept);
        }
        if inner.has_library {
            for cpu in 0..threads {
                let page = arena::library_page(cpu).addr().get();
                inner.region("what the library keeps per CPU", page, arena::PAGE);
            }
        }
        inner.regions.sort_unstable();
        let first = world.places.len() as u32;
        world.regions =
            inner.regions.iter().map(|(from, to, place)| (*from, *to, first + place)).collect();
        world.places.append(&mut inner.places);
    }
}

impl Inner<'_> {
    fn region(&mut self, name: &str, address: usize, size: usize) {
        let number = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.places.push(place(name));
            self.names.len() - 1
        });
        let line = |address| arena::line(address).expect("it was placed");
        self.regions.push((line(address), line(address + size.max(1) - 1), number as u32));
    }
}

fn outcome(world: World) -> Outcome {
    let ended = |task: &Task| task.state == crate::task::State::Ended;
    Outcome {
        tasks: world.tasks.iter().map(|task| task.times).collect(),
        clocks: world.tasks.iter().map(|task| task.clock).collect(),
        stuck: (0..world.tasks.len()).filter(|task| !ended(&world.tasks[*task])).collect(),
        places: world.places,
        operations: world.steps,
        counts: world.counts,
    }
}
