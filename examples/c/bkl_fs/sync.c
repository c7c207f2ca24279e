/* What kupdate does from time to time: what has changed goes to the disk. */
#include "bkl_fs.h"

#include <string.h>

uint64_t written_blocks, written_inodes;

/* An inode as the disk has it. */
struct disk_inode {
	uint32_t type, mode, owner, links, size, blocks, generation, checksum;
	block_t block[DIRECT + 2];
};

/* What a disk of 256 blocks' cache has been sent last. */
static unsigned char queue[256][BLOCK_SIZE];
static struct disk_inode inode_queue[256];

static uint32_t checksum(const void *data, size_t bytes)
{
	const uint32_t *words = data;
	uint32_t a = 1, b = 0;

	for (size_t i = 0; i < bytes / 4; i++) {
		a += words[i];
		b += a;
	}
	return b;
}

/* A thread that changes a file's block meanwhile marks it afterwards: it is sent again. */
static uint32_t send_block(const void *data)
{
	unsigned char *to = queue[written_blocks++ % 256];

	memcpy(to, data, BLOCK_SIZE);
	return checksum(to, BLOCK_SIZE);
}

static void send_inode(struct inode *inode)
{
	struct disk_inode *to = &inode_queue[written_inodes++ % 256];

	if (patches.get_block)
		lw_qrwlock_read_lock(&inode->i_meta_lock);
	memcpy(to->block, inode->block, sizeof(to->block));
	if (patches.get_block)
		lw_qrwlock_read_unlock(&inode->i_meta_lock);
	to->type = inode->type;
	to->mode = inode->mode;
	to->owner = inode->owner;
	to->links = inode->links;
	to->size = atomic_load(&inode->size);
	to->blocks = inode->blocks;
	to->generation = inode->generation;
	to->checksum = checksum(to->block, sizeof(to->block));
}

CALL_SITE void sync_old_buffers(void)
{
	static uint32_t sums[GROUPS];

	lock_kernel();
	lock_super();
	for (int g = 0; g < GROUPS; g++)
		sums[g] = checksum(&super.group[g], sizeof(super.group[g]));
	unlock_super();
	for (uint32_t ino = 1; ino < INODES; ino++)
		if (atomic_load(&inodes[ino].dirty) && atomic_exchange(&inodes[ino].dirty, false))
			send_inode(&inodes[ino]);
	for (block_t block = 1; block < BLOCKS; block++)
		if (test_and_clear_buffer_dirty(block))
			sums[block % GROUPS] ^= send_block(block_data(block));
	unlock_kernel();
}
