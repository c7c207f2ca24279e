/* A file system in memory with ext2's operations, under a big kernel lock as in Linux 2.4.17.
 *
 * Functions have the names that they had there, so that a lockmeter table shows the same call sites. Their code
 * is new.
 *
 * Locks, in the order in which they are taken:
 *
 *     s_vfs_rename_sem    renames between directories
 *     i_sem               a file's data and size; a directory's entries. The parent's before the child's
 *     s_lock              the super block: bitmaps of blocks and inodes
 *     kernel_flag         all the rest: quotas, inodes and their blocks, descriptors' positions
 *     i_meta_lock         a file's block pointers and its preallocated blocks, once --get-block takes them out
 *     d_lock              what is known of a directory's names
 *     i_lock              references and links of an inode
 *
 * A thread that must wait for s_lock gives kernel_flag up meanwhile, as for any sleep.
 */
#ifndef BKL_FS_H
#define BKL_FS_H

#include <lockwright.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What keeps its own name in a table of call sites. */
#define CALL_SITE __attribute__((noinline))
#define INLINE static inline __attribute__((always_inline))

/* ---- kernel_lock.c ---- */

/* What is taken out of the big kernel lock: the four patches. */
struct patches {
	bool do_exit;
	bool get_block;
	bool notify_change;
	bool llseek;
};

extern struct patches patches;
extern lw_bkl_t kernel_flag;

INLINE void lock_kernel(void)
{
	lw_bkl_lock(&kernel_flag);
}

INLINE void unlock_kernel(void)
{
	lw_bkl_unlock(&kernel_flag);
}

/* Sleeps by `sleep`, without the big kernel lock if the caller has it: what that guards is another's meanwhile. */
void schedule(void (*sleep)(void *), void *argument);

/* ---- super.c: what is on the disk, and what is known of all of it ---- */

enum {
	BLOCK_SIZE = 1024,			/* as ext2 had on small disks */
	GROUPS = 32,
	BLOCKS_PER_GROUP = 1024,
	BLOCKS = GROUPS * BLOCKS_PER_GROUP,
	INODES_PER_GROUP = 256,
	INODES = GROUPS * INODES_PER_GROUP,
	POINTERS = BLOCK_SIZE / 4,		/* block numbers in an indirect block */
	DIRECT = 12,
	PREALLOC = 8,
	NAME = 24,
	DENTRIES = 128,				/* names remembered for a directory */
	OWNERS = 64,
	ROOT = 1,
};

typedef uint32_t block_t;			/* 0: none */

enum { S_FREE, S_FILE, S_DIR };

struct dentry {
	char name[NAME];
	uint32_t ino;				/* 0: there is no such name */
	bool known;
};

struct inode {
	uint32_t ino;
	uint32_t parent;			/* a directory's */
	uint32_t generation;
	uint8_t type;
	uint8_t mode;
	uint8_t owner;
	bool quota;				/* its owner's quota is found */
	atomic_bool dirty;
	atomic_uint size;			/* bytes */
	uint32_t blocks;			/* with the indirect and the preallocated ones */
	block_t block[DIRECT + 2];		/* direct, indirect, doubly indirect */

	block_t prealloc_next;
	uint32_t prealloc_count;

	block_t *pages;				/* where its pages are, those that are known: i_sem's */
	uint32_t page_slots;

	struct dentry *dentries;		/* a directory's: d_lock's */

	uint32_t count;				/* references, and names: i_lock's */
	uint32_t links;

	lw_mutex_t i_sem;
	lw_qrwlock_t i_meta_lock;
	lw_mutex_t d_lock;
	lw_mutex_t i_lock;
};

struct dquot {
	uint32_t blocks;			/* with the preallocated ones */
	uint32_t inodes;
	uint32_t uses;
};

struct group {
	uint64_t blocks[BLOCKS_PER_GROUP / 64];	/* 1: in use, or preallocated */
	uint64_t inodes[INODES_PER_GROUP / 64];
	uint32_t free_blocks;
	uint32_t free_inodes;
	uint32_t directories;
	uint32_t checksum;			/* of all above */
};

struct super {
	struct group group[GROUPS];
	uint32_t used_blocks;			/* with the preallocated ones */
	uint32_t used_inodes;
	struct dquot dquot[OWNERS];
};

extern struct super super;
extern lw_mutex_t s_lock, s_vfs_rename_sem;
extern struct inode *inodes;			/* by number; 0 is none */

unsigned char *block_data(block_t block);
/* A block of pointers or names has changed, and goes to the disk with the next sync. */
void mark_buffer_dirty(block_t block);
bool test_and_clear_buffer_dirty(block_t block);
void mount_fs(void);
void umount_fs(void);

struct inode *iget(uint32_t ino);
void iput(struct inode *inode);
/* One name more, or fewer. */
void inode_links(struct inode *inode, int by);

/* ---- balloc.c: the bitmaps. Returns block or inode number, 0: no space ---- */

void lock_super(void);
void unlock_super(void);
uint32_t group_checksum(const struct group *group);
/* A thread that changes a group does this last. */
void seal_group(struct group *group);

block_t ext2_new_block(struct inode *inode, block_t goal, bool prealloc);
void ext2_free_blocks(struct inode *inode, block_t first, uint32_t count);
struct inode *ext2_new_inode(struct inode *dir, int type, int owner);
void ext2_free_inode(struct inode *inode);

/* ---- inode.c ---- */

struct iattr {
	bool truncate;
	bool set_mode;
	uint8_t mode;
};

block_t ext2_get_block(struct inode *inode, uint32_t index, bool create);
void ext2_discard_prealloc(struct inode *inode);
void ext2_delete_inode(struct inode *inode);
int inode_change_ok(struct inode *inode, const struct iattr *attr, int owner);
void inode_setattr(struct inode *inode, const struct iattr *attr);
int notify_change(struct inode *inode, const struct iattr *attr, int owner);
/* Charges the inode to its owner, once. */
void dquot_initialize(struct inode *inode);

/* Macros, as they were: call sites are those that use them. */
#define DQUOT_INIT(inode)                                                                                              \
	do {                                                                                                           \
		lock_kernel();                                                                                         \
		dquot_initialize(inode);                                                                               \
		unlock_kernel();                                                                                       \
	} while (0)

/* Charges blocks to the inode's owner; gives them back, if they are fewer than none. */
#define DQUOT_BLOCKS(inode, count)                                                                                     \
	do {                                                                                                           \
		lock_kernel();                                                                                         \
		super.dquot[(inode)->owner].blocks += (uint32_t)(count);                                               \
		(inode)->blocks += (uint32_t)(count);                                                                  \
		unlock_kernel();                                                                                       \
	} while (0)

/* ---- dir.c: names in a directory, whose i_sem the caller has ---- */

uint32_t ext2_find_entry(struct inode *dir, const char *name);
int ext2_add_entry(struct inode *dir, const char *name, uint32_t ino);
bool ext2_delete_entry(struct inode *dir, const char *name);
bool ext2_set_entry(struct inode *dir, const char *name, uint32_t ino);
uint32_t ext2_count_entries(struct inode *dir);
/* Calls `each` with all entries. */
void ext2_for_entries(struct inode *dir, void (*each)(void *, const char *, uint32_t), void *with);

/* ---- namei.c: what works by path; directories are separated by slashes. Negative errno values ---- */

enum { O_FS_WRITE = 1, O_FS_CREATE = 2, O_FS_TRUNCATE = 4 };

struct inode *open_namei(const char *path, int flags, int owner, int *error);
int sys_mkdir(const char *path, int owner);
int sys_rmdir(const char *path);
int sys_unlink(const char *path);
int sys_rename(const char *from, const char *to);
struct inode *path_walk(const char *path);

/* ---- file.c: what works by descriptor ---- */

enum { FILES = 16 };

struct file {
	struct inode *inode;
	atomic_ulong position;
	int flags;
};

struct statfs {
	uint32_t blocks, free_blocks, inodes, free_inodes;
};

int sys_open(const char *path, int flags);
int sys_close(int fd);
long sys_lseek(int fd, long offset, int whence);
/* Whole blocks at the position, which goes on by what was done. */
long sys_read(int fd, void *data, uint32_t blocks);
long sys_write(int fd, const void *data, uint32_t blocks);
int vfs_readdir(int fd, void (*each)(void *, const char *, uint32_t), void *with);
int vfs_statfs(struct statfs *to);
int do_fcntl(int fd, int flags);

/* ---- exit.c: processes, which are threads here ---- */

enum { SEMAPHORES = 8 };

struct task {
	int owner;
	struct file *files[FILES];
	void *memory;				/* its address space */
	size_t memory_size;
	int undo[SEMAPHORES];			/* what it has done to semaphores, to be undone */
};

extern _Thread_local struct task *current;
extern int semaphores[SEMAPHORES];

int begin_task(struct task *task, int owner, size_t memory);
/* Changes a semaphore; undone at the task's end. */
void sys_semop(int semaphore, int by);
void sem_exit(void);
void do_exit(void);

/* ---- sync.c ---- */

/* Writes what has changed; one round of kupdate. */
void sync_old_buffers(void);
/* As much as `sync_old_buffers` has written so far. */
extern uint64_t written_blocks, written_inodes;

/* ---- fsck.c ---- */

/* Makes the file system inconsistent on purpose: "block", "link", "bitmap", "quota", "name" or "semaphore". */
bool break_fs(const char *how);
/* Looks at all of it, and tells each fault on standard error. Returns how many there are. Nobody else is there. */
unsigned fsck(void);

#endif
