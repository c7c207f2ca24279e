/* The disk, which is memory, and the inodes. */
#include "bkl_fs.h"

#include <stdlib.h>
#include <string.h>

struct super super;
lw_mutex_t s_lock = LW_MUTEX_INIT, s_vfs_rename_sem = LW_MUTEX_INIT;
struct inode *inodes;

static unsigned char *disk;
static atomic_bool *dirty;

unsigned char *block_data(block_t block)
{
	return disk + (size_t)block * BLOCK_SIZE;
}

void mark_buffer_dirty(block_t block)
{
	atomic_store_explicit(&dirty[block], true, memory_order_relaxed);
}

bool test_and_clear_buffer_dirty(block_t block)
{
	return atomic_load_explicit(&dirty[block], memory_order_relaxed) &&
	       atomic_exchange_explicit(&dirty[block], false, memory_order_relaxed);
}

void mount_fs(void)
{
	disk = calloc(BLOCKS, BLOCK_SIZE);
	dirty = calloc(BLOCKS, sizeof(*dirty));
	inodes = calloc(INODES, sizeof(*inodes));
	if (!disk || !dirty || !inodes) {
		fputs("bkl_fs: no memory for the disk\n", stderr);
		exit(2);
	}
	for (int g = 0; g < GROUPS; g++) {
		super.group[g].free_blocks = BLOCKS_PER_GROUP;
		super.group[g].free_inodes = INODES_PER_GROUP;
	}
	/* Number 0 is none. */
	super.group[0].blocks[0] = 1;
	super.group[0].free_blocks--;
	super.group[0].inodes[0] = 1;
	super.group[0].free_inodes--;
	for (int g = 0; g < GROUPS; g++)
		seal_group(&super.group[g]);
	for (uint32_t ino = 1; ino < INODES; ino++) {
		struct inode *inode = &inodes[ino];

		inode->ino = ino;
		lw_mutex_init(&inode->i_sem);
		lw_qrwlock_init(&inode->i_meta_lock);
		lw_mutex_init(&inode->d_lock);
		lw_mutex_init(&inode->i_lock);
	}

	struct inode *root = ext2_new_inode(NULL, S_DIR, 0);

	/* Its own name and that of its entry "..", which it is itself. */
	root->links = 2;
	root->parent = ROOT;
	root->count = 0;
}

void umount_fs(void)
{
	for (uint32_t ino = 1; ino < INODES; ino++) {
		free(inodes[ino].pages);
		free(inodes[ino].dentries);
	}
	free(inodes);
	free(dirty);
	free(disk);
}

struct inode *iget(uint32_t ino)
{
	struct inode *inode = &inodes[ino];

	lw_mutex_lock(&inode->i_lock);
	inode->count++;
	lw_mutex_unlock(&inode->i_lock);
	return inode;
}

void iput(struct inode *inode)
{
	lw_mutex_lock(&inode->i_lock);
	/* An inode without names is known only to its last user. */
	bool last = --inode->count == 0 && inode->links == 0;
	lw_mutex_unlock(&inode->i_lock);

	if (last)
		ext2_delete_inode(inode);
}

void inode_links(struct inode *inode, int by)
{
	lw_mutex_lock(&inode->i_lock);
	inode->links += by;
	lw_mutex_unlock(&inode->i_lock);
	atomic_store(&inode->dirty, true);
}
