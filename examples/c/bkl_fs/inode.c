/* A file's blocks, and its attributes. */
#include "bkl_fs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The way to a block: which pointer of the inode, and which of each indirect block below it. Returns the blocks on
 * it. */
static int path_to_block(uint32_t index, uint32_t way[3])
{
	if (index < DIRECT) {
		way[0] = index;
		return 1;
	}
	index -= DIRECT;
	if (index < POINTERS) {
		way[0] = DIRECT;
		way[1] = index;
		return 2;
	}
	index -= POINTERS;
	way[0] = DIRECT + 1;
	way[1] = index / POINTERS;
	way[2] = index % POINTERS;
	return 3;
}

static block_t *pointers_in(block_t block)
{
	return (block_t *)block_data(block);
}

/* Where the next block of the file should be: after the last one before it. */
static block_t find_goal(struct inode *inode, uint32_t index)
{
	if (index == 0 || index > DIRECT)
		return inode->prealloc_count ? inode->prealloc_next : 0;
	return inode->block[index - 1] ? inode->block[index - 1] + 1 : 0;
}

/* Blocks that are freed together, as they follow each other. */
struct run {
	block_t first;
	uint32_t count;
};

static void free_run(struct inode *inode, struct run *run)
{
	if (run->count)
		ext2_free_blocks(inode, run->first, run->count);
	run->count = 0;
}

static void free_one(struct inode *inode, struct run *run, block_t block)
{
	if (run->count && run->first + run->count == block && block % BLOCKS_PER_GROUP) {
		run->count++;
		return;
	}
	free_run(inode, run);
	run->first = block;
	run->count = 1;
}

static void free_branch(struct inode *inode, struct run *run, block_t block, int below)
{
	for (int i = 0; below && i < POINTERS; i++)
		if (pointers_in(block)[i])
			free_branch(inode, run, pointers_in(block)[i], below - 1);
	if (below)
		test_and_clear_buffer_dirty(block);
	free_one(inode, run, block);
}

/* Blocks that are missing on the way are made from the end of the way upwards, and put in place by one store. Nobody
 * else adds blocks: the caller has i_sem. */
CALL_SITE block_t ext2_get_block(struct inode *inode, uint32_t index, bool create)
{
	uint32_t way[3];
	int depth = path_to_block(index, way);
	bool meta = patches.get_block;

	if (meta)
		lw_qrwlock_read_lock(&inode->i_meta_lock);
	else
		lock_kernel();

	block_t *slot = &inode->block[way[0]];
	block_t parent = 0;
	int level = 1;

	for (; *slot && level < depth; level++) {
		parent = *slot;
		slot = pointers_in(parent) + way[level];
	}

	block_t block = *slot;
	block_t goal = find_goal(inode, index);

	if (meta)
		lw_qrwlock_read_unlock(&inode->i_meta_lock);

	if (!block && create) {
		block_t top = block = ext2_new_block(inode, goal, inode->type == S_FILE);

		for (int below = depth; block && below > level; below--) {
			block_t indirect = ext2_new_block(inode, top, false);

			if (!indirect) {
				struct run run = {0, 0};

				free_branch(inode, &run, top, depth - below);
				free_run(inode, &run);
				block = 0;
				break;
			}
			memset(block_data(indirect), 0, BLOCK_SIZE);
			pointers_in(indirect)[way[below - 1]] = top;
			mark_buffer_dirty(indirect);
			top = indirect;
		}
		if (block) {
			if (meta)
				lw_qrwlock_write_lock(&inode->i_meta_lock);
			*slot = top;
			if (meta)
				lw_qrwlock_write_unlock(&inode->i_meta_lock);
			if (parent)
				mark_buffer_dirty(parent);
			atomic_store(&inode->dirty, true);
		}
	}
	if (!meta)
		unlock_kernel();
	return block;
}

/* What was preallocated and not used is free again. */
CALL_SITE void ext2_discard_prealloc(struct inode *inode)
{
	bool meta = patches.get_block;

	if (meta)
		lw_qrwlock_write_lock(&inode->i_meta_lock);
	else
		lock_kernel();

	block_t first = inode->prealloc_next;
	uint32_t count = inode->prealloc_count;

	inode->prealloc_count = 0;
	if (meta)
		lw_qrwlock_write_unlock(&inode->i_meta_lock);
	if (count)
		ext2_free_blocks(inode, first, count);
	if (!meta)
		unlock_kernel();
}

/* Frees all blocks. The caller has the big kernel lock, and i_sem or the only reference. */
static void ext2_truncate(struct inode *inode)
{
	block_t was[DIRECT + 2];
	struct run run = {0, 0};

	ext2_discard_prealloc(inode);
	if (patches.get_block)
		lw_qrwlock_write_lock(&inode->i_meta_lock);
	memcpy(was, inode->block, sizeof(was));
	memset(inode->block, 0, sizeof(was));
	if (patches.get_block)
		lw_qrwlock_write_unlock(&inode->i_meta_lock);

	for (int i = 0; i < DIRECT + 2; i++)
		if (was[i]) {
			/* A directory's blocks may be waiting to be written. */
			if (i < DIRECT)
				test_and_clear_buffer_dirty(was[i]);
			free_branch(inode, &run, was[i], i < DIRECT ? 0 : i - DIRECT + 1);
		}
	free_run(inode, &run);
	atomic_store(&inode->size, 0);
	if (inode->pages)
		memset(inode->pages, 0, inode->page_slots * sizeof(*inode->pages));
	atomic_store(&inode->dirty, true);
}

CALL_SITE void ext2_delete_inode(struct inode *inode)
{
	lock_kernel();
	ext2_truncate(inode);
	ext2_free_inode(inode);
	unlock_kernel();
}

void dquot_initialize(struct inode *inode)
{
	if (!inode->quota) {
		inode->quota = true;
		super.dquot[inode->owner].uses++;
	}
}

CALL_SITE int inode_change_ok(struct inode *inode, const struct iattr *attr, int owner)
{
	int error = 0;

	if (patches.notify_change)
		lock_kernel();
	if (attr->set_mode && owner != 0 && inode->owner != owner)
		error = -EPERM;
	if (attr->truncate && !(inode->mode & 2))
		error = -EACCES;
	if (patches.notify_change)
		unlock_kernel();
	return error;
}

CALL_SITE void inode_setattr(struct inode *inode, const struct iattr *attr)
{
	if (patches.notify_change)
		lock_kernel();
	if (attr->truncate)
		ext2_truncate(inode);
	if (attr->set_mode)
		inode->mode = attr->mode;
	atomic_store(&inode->dirty, true);
	if (patches.notify_change)
		unlock_kernel();
}

/* The caller has i_sem. */
CALL_SITE int notify_change(struct inode *inode, const struct iattr *attr, int owner)
{
	if (!patches.notify_change)
		lock_kernel();

	int error = inode_change_ok(inode, attr, owner);

	if (!error)
		inode_setattr(inode, attr);
	if (!patches.notify_change)
		unlock_kernel();
	return error;
}
