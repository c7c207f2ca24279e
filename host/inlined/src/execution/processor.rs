//! Some pages with code and data, and a way to run that code with all registers as wanted.

use std::ptr;

/// Bytes of each part.
const PART: usize = 1 << 14;

/// The parts, in their order.
const NATIVE: usize = 0;
const BLOCK: usize = PART;
const STUBS: usize = 2 * PART;
const DATA: usize = 3 * PART;
const LOCKS: usize = 4 * PART;
const STACK: usize = 5 * PART;
const ALL: usize = 6 * PART;

/// All that code can change in a processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// `rax` to `r15`, by number.
    pub registers: [u64; 16],
    /// The flags.
    pub flags: u64,
    /// Halves of `xmm0` to `xmm15`.
    pub vectors: [[u64; 2]; 16],
}

/// Offsets in the data.
const IN: usize = DATA;
const OUT: usize = DATA + 0x400;
const FLAGS: usize = 0x80;
const VECTORS: usize = 0x100;
const ENTRY: usize = DATA + 0x800;
const HOST_STACK: usize = DATA + 0x808;
const EXIT: usize = DATA + 0x810;
const SEQUENCE: usize = DATA + 0x818;
const SCRATCH: usize = DATA + 0x820;
/// Words of code under test.
pub const WORD: usize = DATA + 0x840;
const RECORDS: usize = DATA + 0x1000;
const RECORD: usize = 0x40;

/// What a stub has seen: how often it was called, and of the last call the order, arguments and stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Record {
    pub count: u64,
    pub order: u64,
    pub rdi: u64,
    pub rsi: u64,
    pub rdx: u64,
    pub rcx: u64,
    pub stack: u64,
    pub word: u64,
}

/// The pages.
pub struct Processor {
    base: *mut u8,
    stubs: usize,
    enter: usize,
    records: usize,
}

impl Drop for Processor {
    fn drop(&mut self) {
        // SAFETY: these are the pages that `new` has mapped, and nothing refers to them any more.
        unsafe { libc::munmap(self.base.cast(), ALL) };
    }
}

impl Processor {
    pub fn new() -> Self {
        let protection = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new pages are asked for, at an address that the kernel chooses.
        let base = unsafe { libc::mmap(ptr::null_mut(), ALL, protection, kind, -1, 0) };
        assert_ne!(base, libc::MAP_FAILED, "pages for code");
        let mut new = Self { base: base.cast(), stubs: STUBS, enter: 0, records: 0 };
        new.enter = new.make_enter();
        new
    }

    pub fn native(&self) -> u64 {
        self.address(NATIVE)
    }

    pub fn block(&self) -> u64 {
        self.address(BLOCK)
    }

    /// Address and size of the memory for locks.
    pub fn locks(&self) -> (u64, usize) {
        (self.address(LOCKS), 256)
    }

    /// The middle of the stack.
    pub fn stack(&self) -> u64 {
        self.address(STACK + PART / 2)
    }

    pub fn address(&self, offset: usize) -> u64 {
        self.base as u64 + offset as u64
    }

    /// Puts bytes at an address of the pages.
    pub fn put(&mut self, address: u64, bytes: &[u8]) {
        let at = (address - self.base as u64) as usize;
        assert!(at + bytes.len() <= ALL, "it is within the pages");
        // SAFETY: the bytes lie in the pages, and no reference to them exists.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.base.add(at), bytes.len()) };
    }

    /// The bytes at an address of the pages.
    pub fn get(&self, address: u64, len: usize) -> Vec<u8> {
        let at = (address - self.base as u64) as usize;
        assert!(at + len <= ALL, "it is within the pages");
        // SAFETY: the bytes lie in the pages, and nothing changes them while they are copied.
        unsafe { std::slice::from_raw_parts(self.base.add(at), len) }.to_vec()
    }

    fn word(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.get(self.address(offset), 8).try_into().expect("it has 8 bytes"))
    }

    fn set_word(&mut self, offset: usize, word: u64) {
        self.put(self.address(offset), &word.to_le_bytes());
    }

    /// Appends a stub's bytes.
    fn emit(&mut self, bytes: &[u8]) {
        self.put(self.address(self.stubs), bytes);
        self.stubs += bytes.len();
    }

    /// Appends an instruction that ends with the distance of its operand, and with `after` after that.
    fn emit_relative(&mut self, code: &[u8], operand: usize, after: &[u8]) {
        self.emit(code);
        let next = self.stubs + 4 + after.len();
        let distance = i32::try_from(operand as i64 - next as i64).expect("the pages are near");
        self.emit(&distance.to_le_bytes());
        self.emit(after);
    }

    fn register(&mut self, code: u8, register: usize, operand: usize) {
        let rex = 0x48 | ((register as u8 >> 3) << 2);
        self.emit_relative(&[rex, code, 0x05 | ((register as u8 & 7) << 3)], operand, &[]);
    }

    fn store(&mut self, register: usize, operand: usize) {
        self.register(0x89, register, operand);
    }

    fn load(&mut self, register: usize, operand: usize) {
        self.register(0x8b, register, operand);
    }

    fn vector(&mut self, code: u8, register: usize, operand: usize) {
        let rex = 0x40 | ((register as u8 >> 3) << 2);
        self.emit_relative(&[rex, 0x0f, code, 0x05 | ((register as u8 & 7) << 3)], operand, &[]);
    }

    fn make_enter(&mut self) -> usize {
        const RSP: usize = 4;
        let start = self.stubs;
        self.emit(&[0x53, 0x55, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57]);
        self.store(RSP, HOST_STACK);
        for vector in 0..16 {
            self.vector(0x10, vector, IN + VECTORS + 16 * vector);
        }
        self.emit_relative(&[0xff, 0x35], IN + FLAGS, &[]);
        self.emit(&[0x9d]);
        for register in (0..16).filter(|&register| register != RSP).chain([RSP]) {
            self.load(register, IN + 8 * register);
        }
        self.emit_relative(&[0xff, 0x25], ENTRY, &[]);
        start
    }

    /// A stub that keeps the state, and ends the run.
    pub fn exit(&mut self, number: u32) -> u64 {
        const RSP: usize = 4;
        let start = self.address(self.stubs);
        for register in 0..16 {
            self.store(register, OUT + 8 * register);
        }
        self.emit(&[0x9c]);
        self.emit_relative(&[0x8f, 0x05], OUT + FLAGS, &[]);
        for vector in 0..16 {
            self.vector(0x11, vector, OUT + VECTORS + 16 * vector);
        }
        self.emit_relative(&[0xc7, 0x05], EXIT, &number.to_le_bytes());
        self.load(RSP, HOST_STACK);
        self.emit(&[0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5d, 0x5b, 0xc3]);
        start
    }

    /// A function that records its arguments, the stack pointer and the word above it at a distance, and changes all registers that it
    /// may: these general ones, and vectors. Its address, and the number of its record. `rax` is set if it is given.
    pub fn stub(
        &mut self,
        up: i32,
        changes: &[u8],
        vectors: bool,
        rax: Option<u64>,
    ) -> (u64, usize) {
        let start = self.address(self.stubs);
        let number = self.records;
        self.records += 1;
        let record = RECORDS + RECORD * number;
        self.store(0, SCRATCH);
        // inc of the count and the order, and the order's copy
        self.emit_relative(&[0x48, 0xff, 0x05], record, &[]);
        self.emit_relative(&[0x48, 0xff, 0x05], SEQUENCE, &[]);
        self.load(0, SEQUENCE);
        self.store(0, record + 8);
        for (nth, register) in [7, 6, 2, 1, 4].into_iter().enumerate() {
            self.store(register, record + 16 + 8 * nth);
        }
        // mov rax, [rsp + up]
        self.emit(&[0x48, 0x8b, 0x84, 0x24]);
        self.emit(&up.to_le_bytes());
        self.store(0, record + 56);
        self.load(0, SCRATCH);
        for &register in changes {
            // mov r, imm
            let rex = 0x48 | (register >> 3);
            self.emit(&[rex, 0xb8 | (register & 7)]);
            let number = 0x5a5a_0000_0000_0000 | u64::from(register) << 8 | number as u64;
            self.emit(&number.to_le_bytes());
        }
        if vectors {
            for vector in 0..16_u8 {
                // pcmpeqb xmm, xmm
                let rex = 0x40 | ((vector >> 3) * 5);
                self.emit(&[0x66, rex, 0x0f, 0x74, 0xc0 | ((vector & 7) * 9)]);
            }
        }
        if let Some(rax) = rax {
            self.emit(&[0x48, 0xb8]);
            self.emit(&rax.to_le_bytes());
        }
        // All flags: add of something to the stack below, which nobody reads.
        self.emit(&[0x48, 0x83, 0x6c, 0x24, 0xf0, 0x7f]);
        self.emit(&[0xc3]);
        (start, number)
    }

    /// What a stub has seen.
    pub fn record(&self, number: usize) -> Record {
        let word = |nth: usize| self.word(RECORDS + RECORD * number + 8 * nth);
        Record {
            count: word(0),
            order: word(1),
            rdi: word(2),
            rsi: word(3),
            rdx: word(4),
            rcx: word(5),
            stack: word(6),
            word: word(7),
        }
    }

    /// Runs code from an address on, up to an exit: its number, and the state there.
    pub fn run(&mut self, entry: u64, state: &State) -> (u32, State) {
        self.set_word(ENTRY, entry);
        self.set_word(SEQUENCE, 0);
        for number in 0..self.records {
            self.put(self.address(RECORDS + RECORD * number), &[0; RECORD]);
        }
        for (nth, word) in state.registers.iter().enumerate() {
            self.set_word(IN + 8 * nth, *word);
        }
        self.set_word(IN + FLAGS, state.flags);
        for (nth, word) in state.vectors.as_flattened().iter().enumerate() {
            self.set_word(IN + VECTORS + 8 * nth, *word);
        }
        let enter = self.address(self.enter) as *const ();
        // SAFETY: `make_enter` has written a function there that keeps what a callee must. It ends by an exit, as what is under test
        // goes to one.
        let enter: unsafe extern "C" fn() = unsafe { std::mem::transmute(enter) };
        // SAFETY: as above.
        unsafe { enter() };
        let mut after = State::default();
        for nth in 0..16 {
            after.registers[nth] = self.word(OUT + 8 * nth);
            after.vectors[nth] = [0, 1].map(|half| self.word(OUT + VECTORS + 16 * nth + 8 * half));
        }
        after.flags = self.word(OUT + FLAGS);
        (self.word(EXIT) as u32, after)
    }
}
