/* Free blocks and inodes, by bitmaps, a group of both each. They are s_lock's; quotas the big kernel lock's.
 *
 * A file that grows is given the free blocks after the one that it wanted as well: they are its own until it has used
 * them, or gives them back.
 */
#include "bkl_fs.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bitmaps that are in memory at a time; the others are read from the disk, for which the caller sleeps. */
enum { LOADED = 16, DISK_NS = 100000 };

static int loaded[LOADED];
static int loaded_next;

static void down_super(void *result)
{
	*(int *)result = lw_mutex_lock(&s_lock);
}

void lock_super(void)
{
	int busy = lw_mutex_trylock(&s_lock);

	if (busy)
		schedule(down_super, &busy);
}

void unlock_super(void)
{
	lw_mutex_unlock(&s_lock);
}

static void wait_for_disk(void *unused)
{
	struct timespec time = {.tv_nsec = DISK_NS};

	(void)unused;
	nanosleep(&time, NULL);
}

static void load_block_bitmap(int group)
{
	for (int i = 0; i < LOADED; i++)
		if (loaded[i] == group + 1)
			return;
	schedule(wait_for_disk, NULL);
	loaded[loaded_next++ % LOADED] = group + 1;
}

/* Fletcher's, of 32 bits. */
uint32_t group_checksum(const struct group *group)
{
	const unsigned char *at = (const unsigned char *)group, *end = at + offsetof(struct group, checksum);
	uint32_t a = 1, b = 0;

	for (; at < end; at += 2) {
		a = (a + at[0] + 256u * at[1]) % 65535;
		b = (b + a) % 65535;
	}
	return b << 16 | a;
}

void seal_group(struct group *group)
{
	group->checksum = group_checksum(group);
}

static bool is_set(const uint64_t *map, uint32_t bit)
{
	return map[bit / 64] >> (bit % 64) & 1;
}

/* The first bit that is clear, from `from` on; `end`: none. */
static uint32_t find_next_zero(const uint64_t *map, uint32_t from, uint32_t end)
{
	for (uint32_t bit = from; bit < end;) {
		uint64_t clear = ~map[bit / 64] >> (bit % 64);

		if (clear)
			return bit + (uint32_t)__builtin_ctzll(clear);
		bit = (bit / 64 + 1) * 64;
	}
	return end;
}

static block_t next_preallocated(struct inode *inode)
{
	block_t block = 0;

	if (patches.get_block)
		lw_qrwlock_write_lock(&inode->i_meta_lock);
	if (inode->prealloc_count) {
		inode->prealloc_count--;
		block = inode->prealloc_next++;
	}
	if (patches.get_block)
		lw_qrwlock_write_unlock(&inode->i_meta_lock);
	return block;
}

/* A block of the group, near the goal, and those that follow for the inode if it wants them. The caller has s_lock. */
static block_t take_from_group(struct inode *inode, int number, uint32_t near, bool prealloc)
{
	struct group *group = &super.group[number];

	load_block_bitmap(number);
	if (!group->free_blocks)
		return 0;
	uint32_t bit = find_next_zero(group->blocks, near, BLOCKS_PER_GROUP);
	if (bit == BLOCKS_PER_GROUP)
		bit = find_next_zero(group->blocks, 0, near);

	block_t block = (block_t)(number * BLOCKS_PER_GROUP + (int)bit);
	uint32_t ahead = 0;

	group->blocks[bit / 64] |= 1ull << (bit % 64);
	if (prealloc)
		while (ahead + 1 < PREALLOC && bit + ahead + 1 < BLOCKS_PER_GROUP &&
		       !is_set(group->blocks, bit + ahead + 1)) {
			ahead++;
			group->blocks[(bit + ahead) / 64] |= 1ull << ((bit + ahead) % 64);
		}
	group->free_blocks -= 1 + ahead;
	seal_group(group);
	super.used_blocks += 1 + ahead;
	if (ahead) {
		if (patches.get_block)
			lw_qrwlock_write_lock(&inode->i_meta_lock);
		inode->prealloc_next = block + 1;
		inode->prealloc_count = ahead;
		if (patches.get_block)
			lw_qrwlock_write_unlock(&inode->i_meta_lock);
	}
	return block;
}

/* Only one thread at a time does this for an inode: it has its i_sem. */
CALL_SITE block_t ext2_new_block(struct inode *inode, block_t goal, bool prealloc)
{
	block_t block = prealloc ? next_preallocated(inode) : 0;

	if (block)
		return block;
	if (goal == 0 || goal >= BLOCKS)
		goal = (inode->ino / INODES_PER_GROUP) * BLOCKS_PER_GROUP;
	int first = (int)(goal / BLOCKS_PER_GROUP);

	/* In advance; each of the blocks ahead when it is known that there are any. */
	DQUOT_BLOCKS(inode, 1);
	lock_super();
	block = take_from_group(inode, first, goal % BLOCKS_PER_GROUP, prealloc);
	for (int i = 1; i < GROUPS && !block; i++)
		block = take_from_group(inode, (first + i) % GROUPS, 0, prealloc);
	unlock_super();
	if (!block) {
		DQUOT_BLOCKS(inode, -1);
		return 0;
	}
	for (uint32_t ahead = prealloc ? inode->prealloc_count : 0; ahead; ahead--)
		DQUOT_BLOCKS(inode, 1);
	return block;
}

CALL_SITE void ext2_free_blocks(struct inode *inode, block_t first, uint32_t count)
{
	struct group *group = &super.group[first / BLOCKS_PER_GROUP];
	uint32_t bit = first % BLOCKS_PER_GROUP;

	lock_super();
	load_block_bitmap((int)(first / BLOCKS_PER_GROUP));
	for (uint32_t i = bit; i < bit + count; i++) {
		if (!is_set(group->blocks, i)) {
			fprintf(stderr, "bkl_fs: block %u is freed twice\n", first + i - bit);
			abort();
		}
		group->blocks[i / 64] &= ~(1ull << (i % 64));
	}
	group->free_blocks += count;
	seal_group(group);
	super.used_blocks -= count;
	unlock_super();
	DQUOT_BLOCKS(inode, -(int)count);
}

/* Directories are spread, files are where their directory is. */
static int find_group(struct inode *dir, int type)
{
	static int last;
	int best = dir ? (int)(dir->ino / INODES_PER_GROUP) : 0;

	if (type == S_DIR && dir) {
		best = last;
		for (int i = 1; i <= GROUPS; i++) {
			int g = (last + i) % GROUPS;

			if (super.group[g].free_inodes &&
			    (best == last || super.group[g].directories < super.group[best].directories))
				best = g;
		}
		last = best;
	}
	for (int i = 0; i < GROUPS; i++) {
		int g = (best + i) % GROUPS;

		if (super.group[g].free_inodes)
			return g;
	}
	return -1;
}

struct inode *ext2_new_inode(struct inode *dir, int type, int owner)
{
	lock_super();
	int g = find_group(dir, type);

	if (g < 0) {
		unlock_super();
		return NULL;
	}

	struct group *group = &super.group[g];
	uint32_t bit = find_next_zero(group->inodes, 0, INODES_PER_GROUP);
	struct inode *inode = &inodes[(uint32_t)g * INODES_PER_GROUP + bit];

	group->inodes[bit / 64] |= 1ull << (bit % 64);
	group->free_inodes--;
	group->directories += type == S_DIR;
	seal_group(group);
	super.used_inodes++;
	unlock_super();
	super.dquot[owner].inodes++;

	inode->parent = dir ? dir->ino : 0;
	inode->generation++;
	inode->type = (uint8_t)type;
	inode->mode = 6;
	inode->owner = (uint8_t)owner;
	inode->quota = false;
	atomic_store(&inode->size, 0);
	inode->blocks = 0;
	memset(inode->block, 0, sizeof(inode->block));
	inode->prealloc_count = 0;
	inode->count = 1;
	inode->links = 0;
	if (type == S_DIR) {
		if (!inode->dentries)
			inode->dentries = malloc(DENTRIES * sizeof(*inode->dentries));
		if (!inode->dentries)
			abort();
		memset(inode->dentries, 0, DENTRIES * sizeof(*inode->dentries));
	}
	atomic_store(&inode->dirty, true);
	return inode;
}

void ext2_free_inode(struct inode *inode)
{
	struct group *group = &super.group[inode->ino / INODES_PER_GROUP];
	uint32_t bit = inode->ino % INODES_PER_GROUP;

	if (inode->quota)
		super.dquot[inode->owner].uses--;
	super.dquot[inode->owner].inodes--;
	atomic_store(&inode->dirty, false);
	lock_super();
	if (!is_set(group->inodes, bit)) {
		fprintf(stderr, "bkl_fs: inode %u is freed twice\n", inode->ino);
		abort();
	}
	super.used_inodes--;
	group->directories -= inode->type == S_DIR;
	group->free_inodes++;
	inode->type = S_FREE;
	group->inodes[bit / 64] &= ~(1ull << (bit % 64));
	seal_group(group);
	unlock_super();
}
