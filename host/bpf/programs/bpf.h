/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The parts of the kernel's BPF interface that these programs need: helpers by their numbers
 * (bpf(2), bpf-helpers(7)), maps as BTF describes them. No header of the kernel is included, so
 * that an object depends on clang alone.
 */
#ifndef LOCKWRIGHT_BPF_H
#define LOCKWRIGHT_BPF_H

typedef unsigned char u8;
typedef unsigned int u32;
typedef int s32;
typedef unsigned long long u64;
typedef long long s64;

#define SEC(name) __attribute__((section(name), used))
#define INLINE static inline __attribute__((always_inline))

/* The kernel lets programs call stack and memory helpers only under a licence that it knows as
 * compatible with its own. */
#define LICENCE char licence[] SEC("license") = "Dual MIT/GPL"

#define UINT(name, value) int (*name)[value]
#define TYPE(name, value) value *name

enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PERCPU_HASH = 5,
	MAP_PERCPU_ARRAY = 6,
	MAP_STACK_TRACE = 7,
	MAP_LRU_HASH = 9,
	MAP_RINGBUF = 27,
};

enum { ANY = 0, NOEXIST = 1 };

static void *(*map_lookup)(void *map, const void *key) = (void *)1;
static s64 (*map_update)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static s64 (*map_delete)(void *map, const void *key) = (void *)3;
static u64 (*now_ns)(void) = (void *)5;
static u64 (*pid_tgid)(void) = (void *)14;
static s64 (*get_comm)(void *to, u32 size) = (void *)16;
static s64 (*get_stack_id)(void *context, void *map, u64 flags) = (void *)27;
static s64 (*read_user)(void *to, u32 size, const void *from) = (void *)112;
static s64 (*read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static s64 (*ns_pid_tgid)(u64 device, u64 inode, void *ids, u32 size) = (void *)120;
static s64 (*ring_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*ring_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static s64 (*loop)(u32 times, void *function, void *context, u64 flags) = (void *)181;
static void (*ring_submit)(void *data, u64 flags) = (void *)132;

/* struct bpf_pidns_info: the numbers of a thread in a PID namespace. */
struct ns_ids {
	u32 pid;
	u32 tgid;
};

/* The ids of the calling thread, as pid_tgid() has them, in the PID namespace that nsfs has as this inode of this
 * device; of no inode, in the initial one. 0: it has none there. */
INLINE u64 ids_in(u64 device, u64 inode)
{
	struct ns_ids ids = { 0 };

	if (!inode)
		return pid_tgid();
	if (ns_pid_tgid(device, inode, &ids, sizeof(ids)))
		return 0;
	return (u64)ids.tgid << 32 | ids.pid;
}

/* A structure of the kernel of which some fields are read: the loader puts in where this kernel has them. */
#define OF_KERNEL __attribute__((preserve_access_index))
/* Whether it has such a field. */
#define HAS(field) __builtin_preserve_field_info(field, 2)

/* Arguments of a raw tracepoint. */
struct raw_args {
	u64 args[0];
};

#endif
