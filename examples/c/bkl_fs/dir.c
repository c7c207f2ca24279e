/* Directories: entries of one size, one after the other, in the blocks of a file. */
#include "bkl_fs.h"

#include <errno.h>
#include <string.h>

struct entry {
	uint32_t ino;				/* 0: free */
	uint32_t length;
	char name[NAME];
};

enum { ENTRIES = BLOCK_SIZE / sizeof(struct entry) };

static struct entry *entries_of(struct inode *dir, uint32_t index)
{
	return (struct entry *)block_data(dir->block[index]);
}

static uint32_t blocks_of(struct inode *dir)
{
	return atomic_load(&dir->size) / BLOCK_SIZE;
}

static struct entry *find(struct inode *dir, const char *name, uint32_t *in)
{
	uint32_t length = (uint32_t)strlen(name);

	for (uint32_t index = 0; index < blocks_of(dir); index++) {
		struct entry *entry = entries_of(dir, index);

		for (int i = 0; i < (int)ENTRIES; i++, entry++)
			if (entry->ino && entry->length == length && !memcmp(entry->name, name, length)) {
				*in = dir->block[index];
				return entry;
			}
	}
	return NULL;
}

uint32_t ext2_find_entry(struct inode *dir, const char *name)
{
	block_t in;
	struct entry *entry = find(dir, name, &in);

	return entry ? entry->ino : 0;
}

static void fill(struct entry *entry, const char *name, uint32_t ino)
{
	entry->ino = ino;
	entry->length = (uint32_t)strlen(name);
	memset(entry->name, 0, NAME);
	memcpy(entry->name, name, entry->length);
}

int ext2_add_entry(struct inode *dir, const char *name, uint32_t ino)
{
	uint32_t index;

	if (strlen(name) >= NAME)
		return -ENAMETOOLONG;
	for (index = 0; index < blocks_of(dir); index++) {
		struct entry *entry = entries_of(dir, index);

		for (int i = 0; i < (int)ENTRIES; i++)
			if (!entry[i].ino) {
				fill(&entry[i], name, ino);
				mark_buffer_dirty(dir->block[index]);
				return 0;
			}
	}
	if (index == DIRECT)
		return -ENOSPC;

	block_t block = ext2_get_block(dir, index, true);

	if (!block)
		return -ENOSPC;
	memset(block_data(block), 0, BLOCK_SIZE);
	fill((struct entry *)block_data(block), name, ino);
	mark_buffer_dirty(block);
	atomic_store(&dir->size, (index + 1) * BLOCK_SIZE);
	return 0;
}

bool ext2_delete_entry(struct inode *dir, const char *name)
{
	return ext2_set_entry(dir, name, 0);
}

bool ext2_set_entry(struct inode *dir, const char *name, uint32_t ino)
{
	block_t in;
	struct entry *entry = find(dir, name, &in);

	if (!entry)
		return false;
	entry->ino = ino;
	mark_buffer_dirty(in);
	return true;
}

void ext2_for_entries(struct inode *dir, void (*each)(void *, const char *, uint32_t), void *with)
{
	for (uint32_t index = 0; index < blocks_of(dir); index++) {
		struct entry *entry = entries_of(dir, index);

		for (int i = 0; i < (int)ENTRIES; i++)
			if (entry[i].ino)
				each(with, entry[i].name, entry[i].ino);
	}
}

static void count_one(void *count, const char *name, uint32_t ino)
{
	(void)name;
	(void)ino;
	++*(uint32_t *)count;
}

uint32_t ext2_count_entries(struct inode *dir)
{
	uint32_t count = 0;

	ext2_for_entries(dir, count_one, &count);
	return count;
}
