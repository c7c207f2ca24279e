/* Free blocks and inodes, by bitmaps, a group of both each. All of it is the big kernel lock's.
 *
 * A file that grows is given the free blocks after the one that it wanted as well: they are its own until it has used
 * them, or gives them back.
 */
#include "bkl_fs.h"

#include <stdlib.h>
#include <string.h>

/* Bitmaps that are in memory at a time; the others are read from the disk, for which the caller sleeps. */
enum { LOADED = 16, DISK_NS = 100000 };

static int loaded[LOADED];
static int loaded_next;

/* The group's bitmap is in memory afterwards. It may be another's turn meanwhile: nothing that was true before is. */
static void load_block_bitmap(int group)
{
	for (;;) {
		for (int i = 0; i < LOADED; i++)
			if (loaded[i] == group + 1)
				return;
		schedule(DISK_NS);
		loaded[loaded_next++ % LOADED] = group + 1;
	}
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

/* A block that was free or preallocated is the inode's now. */
static void account_block(struct inode *inode)
{
	super.used_blocks++;
	super.dquot[inode->owner].blocks++;
	inode->blocks++;
	atomic_store(&inode->dirty, true);
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

/* Takes a block of the group, near the goal, and those that follow for the inode if it wants them. */
static block_t take_from_group(struct inode *inode, int number, uint32_t near, bool prealloc)
{
	struct group *group = &super.group[number];

	load_block_bitmap(number);
	if (!group->free_blocks)
		return 0;
	uint32_t bit = find_next_zero(group->blocks, near, BLOCKS_PER_GROUP);
	if (bit == BLOCKS_PER_GROUP)
		bit = find_next_zero(group->blocks, 0, near);

	block_t block = (block_t)(number * BLOCKS_PER_GROUP + bit);
	uint32_t ahead = 0;

	group->blocks[bit / 64] |= 1ull << (bit % 64);
	if (prealloc)
		while (ahead + 1 < PREALLOC && bit + ahead + 1 < BLOCKS_PER_GROUP &&
		       !is_set(group->blocks, bit + ahead + 1)) {
			ahead++;
			group->blocks[(bit + ahead) / 64] |= 1ull << ((bit + ahead) % 64);
		}
	group->free_blocks -= 1 + ahead;
	if (ahead) {
		if (patches.get_block)
			lw_qrwlock_write_lock(&inode->i_meta_lock);
		inode->prealloc_next = block + 1;
		inode->prealloc_count = ahead;
		if (patches.get_block)
			lw_qrwlock_write_unlock(&inode->i_meta_lock);
	}
	account_block(inode);
	return block;
}

/* Only one thread at a time does this for an inode: it has its i_sem. ext2_get_block has the big kernel lock here
 * until --get-block takes it away there. */
CALL_SITE block_t ext2_new_block(struct inode *inode, block_t goal, bool prealloc)
{
	bool locks = patches.get_block;
	block_t block = prealloc ? next_preallocated(inode) : 0;

	if (block) {
		if (locks)
			lock_kernel();
		account_block(inode);
		if (locks)
			unlock_kernel();
		return block;
	}

	if (goal == 0 || goal >= BLOCKS)
		goal = (inode->ino / INODES_PER_GROUP) * BLOCKS_PER_GROUP;
	int first = (int)(goal / BLOCKS_PER_GROUP);

	if (locks)
		lock_kernel();
	block = take_from_group(inode, first, goal % BLOCKS_PER_GROUP, prealloc);
	if (locks)
		unlock_kernel();
	if (block)
		return block;

	if (locks)
		lock_kernel();
	for (int i = 1; i < GROUPS && !block; i++)
		block = take_from_group(inode, (first + i) % GROUPS, 0, prealloc);
	if (locks)
		unlock_kernel();
	return block;
}

CALL_SITE void ext2_free_blocks(struct inode *inode, block_t first, uint32_t count, bool preallocated)
{
	struct group *group = &super.group[first / BLOCKS_PER_GROUP];
	uint32_t bit = first % BLOCKS_PER_GROUP;

	if (patches.get_block)
		lock_kernel();
	load_block_bitmap((int)(first / BLOCKS_PER_GROUP));
	for (uint32_t i = bit; i < bit + count; i++) {
		if (!is_set(group->blocks, i)) {
			fprintf(stderr, "bkl_fs: block %u is freed twice\n", first + i - bit);
			abort();
		}
		group->blocks[i / 64] &= ~(1ull << (i % 64));
	}
	group->free_blocks += count;
	if (!preallocated) {
		super.used_blocks -= count;
		super.dquot[inode->owner].blocks -= count;
		inode->blocks -= count;
	}
	if (patches.get_block)
		unlock_kernel();
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
	int g = find_group(dir, type);

	if (g < 0)
		return NULL;

	struct group *group = &super.group[g];
	uint32_t bit = find_next_zero(group->inodes, 0, INODES_PER_GROUP);
	struct inode *inode = &inodes[(uint32_t)g * INODES_PER_GROUP + bit];

	group->inodes[bit / 64] |= 1ull << (bit % 64);
	group->free_inodes--;
	group->directories += type == S_DIR;
	super.used_inodes++;
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

	if (!is_set(group->inodes, bit)) {
		fprintf(stderr, "bkl_fs: inode %u is freed twice\n", inode->ino);
		abort();
	}
	if (inode->quota)
		super.dquot[inode->owner].uses--;
	super.dquot[inode->owner].inodes--;
	super.used_inodes--;
	group->directories -= inode->type == S_DIR;
	group->free_inodes++;
	inode->type = S_FREE;
	atomic_store(&inode->dirty, false);
	/* Last: from here on it may be another file's. */
	group->inodes[bit / 64] &= ~(1ull << (bit % 64));
}
