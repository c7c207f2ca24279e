/* What works by descriptor. */
#include "bkl_fs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct file *file_of(int fd)
{
	return fd >= 0 && fd < FILES ? current->files[fd] : NULL;
}

int sys_open(const char *path, int flags)
{
	int fd, error;

	for (fd = 0; fd < FILES && current->files[fd]; fd++)
		;
	if (fd == FILES)
		return -EMFILE;

	struct file *file = calloc(1, sizeof(*file));

	if (!file)
		return -ENOMEM;
	file->inode = open_namei(path, flags, current->owner, &error);
	file->flags = flags;
	if (!file->inode) {
		free(file);
		return error;
	}
	current->files[fd] = file;
	return fd;
}

int sys_close(int fd)
{
	struct file *file = file_of(fd);

	if (!file)
		return -EBADF;
	current->files[fd] = NULL;
	if (file->flags & O_FS_WRITE)
		ext2_discard_prealloc(file->inode);
	iput(file->inode);
	free(file);
	return 0;
}

static long seek(struct file *file, long offset, int whence)
{
	long at = whence == SEEK_SET ? 0
		: whence == SEEK_CUR ? (long)atomic_load(&file->position)
		: (long)atomic_load(&file->inode->size);

	if (at + offset < 0)
		return -EINVAL;
	atomic_store(&file->position, (unsigned long)(at + offset));
	return at + offset;
}

/* What is specific to the file system, which the generic code once took the big kernel lock for. */
static long ext2_llseek(struct file *file, long offset, int whence)
{
	lw_mutex_lock(&file->inode->i_sem);
	long at = seek(file, offset, whence);
	lw_mutex_unlock(&file->inode->i_sem);
	return at;
}

CALL_SITE long sys_lseek(int fd, long offset, int whence)
{
	struct file *file = file_of(fd);

	if (!file)
		return -EBADF;
	if (patches.llseek)
		return ext2_llseek(file, offset, whence);
	lock_kernel();
	long at = seek(file, offset, whence);
	unlock_kernel();
	return at;
}

/* Where the inode's page is, if that is known; i_sem's. */
static block_t *page_of(struct inode *inode, uint32_t index)
{
	if (index >= inode->page_slots) {
		uint32_t slots = inode->page_slots ? inode->page_slots : 16;

		while (slots <= index)
			slots *= 2;
		inode->pages = realloc(inode->pages, slots * sizeof(*inode->pages));
		if (!inode->pages)
			abort();
		memset(inode->pages + inode->page_slots, 0, (slots - inode->page_slots) * sizeof(*inode->pages));
		inode->page_slots = slots;
	}
	return &inode->pages[index];
}

/* The block of a page: only what is not in memory asks the file system. */
static block_t map_page(struct inode *inode, uint32_t index, bool create)
{
	block_t *page = page_of(inode, index);

	if (!*page)
		*page = ext2_get_block(inode, index, create);
	return *page;
}

long sys_read(int fd, void *data, uint32_t blocks)
{
	struct file *file = file_of(fd);
	uint32_t done = 0;

	if (!file)
		return -EBADF;
	struct inode *inode = file->inode;

	lw_mutex_lock(&inode->i_sem);
	uint32_t index = (uint32_t)(atomic_load(&file->position) / BLOCK_SIZE);
	uint32_t end = atomic_load(&inode->size) / BLOCK_SIZE;

	for (; done < blocks && index < end; done++, index++) {
		block_t block = map_page(inode, index, false);
		unsigned char *to = (unsigned char *)data + (size_t)done * BLOCK_SIZE;

		if (block)
			memcpy(to, block_data(block), BLOCK_SIZE);
		else
			memset(to, 0, BLOCK_SIZE);
	}
	lw_mutex_unlock(&inode->i_sem);
	atomic_fetch_add(&file->position, (unsigned long)done * BLOCK_SIZE);
	return (long)done;
}

long sys_write(int fd, const void *data, uint32_t blocks)
{
	struct file *file = file_of(fd);
	uint32_t done = 0;

	if (!file || !(file->flags & O_FS_WRITE))
		return -EBADF;
	struct inode *inode = file->inode;

	lw_mutex_lock(&inode->i_sem);
	uint32_t index = (uint32_t)(atomic_load(&file->position) / BLOCK_SIZE);

	for (; done < blocks; done++, index++) {
		block_t block = map_page(inode, index, true);

		if (!block)
			break;
		memcpy(block_data(block), (const unsigned char *)data + (size_t)done * BLOCK_SIZE, BLOCK_SIZE);
	}
	if (index * BLOCK_SIZE > atomic_load(&inode->size))
		atomic_store(&inode->size, index * BLOCK_SIZE);
	atomic_store(&inode->dirty, true);
	lw_mutex_unlock(&inode->i_sem);
	atomic_fetch_add(&file->position, (unsigned long)done * BLOCK_SIZE);
	return done || !blocks ? (long)done : -ENOSPC;
}

CALL_SITE int vfs_readdir(int fd, void (*each)(void *, const char *, uint32_t), void *with)
{
	struct file *file = file_of(fd);

	if (!file || file->inode->type != S_DIR)
		return -ENOTDIR;
	lw_mutex_lock(&file->inode->i_sem);
	lock_kernel();
	ext2_for_entries(file->inode, each, with);
	unlock_kernel();
	lw_mutex_unlock(&file->inode->i_sem);
	return 0;
}

CALL_SITE int vfs_statfs(struct statfs *to)
{
	memset(to, 0, sizeof(*to));
	lock_kernel();
	to->blocks = BLOCKS - 1;
	to->inodes = INODES - 1;
	lock_super();
	for (int g = 0; g < GROUPS; g++) {
		to->free_blocks += super.group[g].free_blocks;
		to->free_inodes += super.group[g].free_inodes;
	}
	unlock_super();
	unlock_kernel();
	return 0;
}

CALL_SITE int do_fcntl(int fd, int flags)
{
	struct file *file = file_of(fd);

	if (!file)
		return -EBADF;
	lock_kernel();
	file->flags = flags;
	unlock_kernel();
	return 0;
}
