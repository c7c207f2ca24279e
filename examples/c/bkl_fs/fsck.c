/* Is what the file system has in itself consistent? If two were in it at a time, where one should have been, it is not. */
#include "bkl_fs.h"

#include <stdlib.h>
#include <string.h>

static unsigned faults;

/* What was seen, to compare with what is recorded. */
static unsigned char *block_used;
static uint32_t *names_seen;
static uint32_t blocks_of[OWNERS], inodes_of[OWNERS], used_blocks, used_inodes;

#define FAULT(...) (faults++, fprintf(stderr, "fsck: " __VA_ARGS__), fputc('\n', stderr))

static void use_block(struct inode *inode, block_t block)
{
	if (block == 0 || block >= BLOCKS) {
		FAULT("inode %u has block %u, which does not exist", inode->ino, block);
		return;
	}
	if (block_used[block]++)
		FAULT("block %u is in two places, one of them inode %u", block, inode->ino);
	if (!(super.group[block / BLOCKS_PER_GROUP].blocks[block % BLOCKS_PER_GROUP / 64] >> (block % 64) & 1))
		FAULT("block %u of inode %u is free in the bitmap", block, inode->ino);
}

/* Returns the blocks of a branch, its own included. */
static uint32_t walk(struct inode *inode, block_t block, int below)
{
	uint32_t count = 1;

	use_block(inode, block);
	if (block == 0 || block >= BLOCKS)
		return 0;
	for (int i = 0; below && i < POINTERS; i++) {
		block_t next = ((block_t *)block_data(block))[i];

		if (next)
			count += walk(inode, next, below - 1);
	}
	return count;
}

static void check_inode(struct inode *inode)
{
	uint32_t count = 0;

	for (int i = 0; i < DIRECT + 2; i++)
		if (inode->block[i])
			count += walk(inode, inode->block[i], i < DIRECT ? 0 : i - DIRECT + 1);
	if (count != inode->blocks)
		FAULT("inode %u has %u blocks, and %u on record", inode->ino, count, inode->blocks);
	if (inode->prealloc_count)
		FAULT("inode %u has %u preallocated blocks, though nobody writes", inode->ino, inode->prealloc_count);
	used_blocks += count;
	used_inodes++;
	blocks_of[inode->owner] += count;
	inodes_of[inode->owner]++;
}

static void check_directory(struct inode *dir);

static void check_name(void *with, const char *name, uint32_t ino)
{
	struct inode *dir = with;

	if (ino >= INODES || inodes[ino].type == S_FREE) {
		FAULT("`%s` in directory %u names inode %u, which is free", name, dir->ino, ino);
		return;
	}
	names_seen[ino]++;
	if (name[0] == '.') {
		if (ino != (strcmp(name, ".") ? dir->parent : dir->ino))
			FAULT("`%s` of directory %u is inode %u", name, dir->ino, ino);
		return;
	}
	if (inodes[ino].type == S_DIR) {
		if (inodes[ino].parent != dir->ino || names_seen[ino] > 1)
			FAULT("directory %u has several parents", ino);
		else
			check_directory(&inodes[ino]);
	}
}

static void check_directory(struct inode *dir)
{
	ext2_for_entries(dir, check_name, dir);
}

static void check_groups(void)
{
	for (int g = 0; g < GROUPS; g++) {
		struct group *group = &super.group[g];
		uint32_t blocks = BLOCKS_PER_GROUP, free_inodes = INODES_PER_GROUP;

		for (int i = 0; i < BLOCKS_PER_GROUP / 64; i++)
			blocks -= (uint32_t)__builtin_popcountll(group->blocks[i]);
		for (int i = 0; i < INODES_PER_GROUP / 64; i++)
			free_inodes -= (uint32_t)__builtin_popcountll(group->inodes[i]);
		if (blocks != group->free_blocks)
			FAULT("group %d has %u free blocks, and %u on record", g, blocks, group->free_blocks);
		if (free_inodes != group->free_inodes)
			FAULT("group %d has %u free inodes, and %u on record", g, free_inodes, group->free_inodes);
		if (group->checksum != group_checksum(group))
			FAULT("group %d has a wrong checksum", g);
	}
	/* What is in the bitmap and in no file is lost. */
	for (block_t block = 1; block < BLOCKS; block++)
		if (!block_used[block] &&
		    super.group[block / BLOCKS_PER_GROUP].blocks[block % BLOCKS_PER_GROUP / 64] >> (block % 64) & 1)
			FAULT("block %u is lost", block);
}

static void check_sums(void)
{
	if (used_blocks != super.used_blocks)
		FAULT("%u blocks are in use, and %u on record", used_blocks, super.used_blocks);
	if (used_inodes != super.used_inodes)
		FAULT("%u inodes are in use, and %u on record", used_inodes, super.used_inodes);
	for (int i = 0; i < OWNERS; i++) {
		if (blocks_of[i] != super.dquot[i].blocks)
			FAULT("owner %d has %u blocks, and a quota of %u", i, blocks_of[i], super.dquot[i].blocks);
		if (inodes_of[i] != super.dquot[i].inodes)
			FAULT("owner %d has %u inodes, and a quota of %u", i, inodes_of[i], super.dquot[i].inodes);
	}
	for (int i = 0; i < SEMAPHORES; i++)
		if (semaphores[i])
			FAULT("semaphore %d is %d after all is undone", i, semaphores[i]);
}

unsigned fsck(void)
{
	faults = 0;
	used_blocks = used_inodes = 0;
	memset(blocks_of, 0, sizeof(blocks_of));
	memset(inodes_of, 0, sizeof(inodes_of));
	block_used = calloc(BLOCKS, 1);
	names_seen = calloc(INODES, sizeof(*names_seen));
	if (!block_used || !names_seen)
		abort();
	/* The root's own name, and its parent's, are in no directory. */
	names_seen[ROOT] = 2;
	check_directory(&inodes[ROOT]);
	for (uint32_t ino = 1; ino < INODES; ino++) {
		struct inode *inode = &inodes[ino];
		bool in_use = super.group[ino / INODES_PER_GROUP].inodes[ino % INODES_PER_GROUP / 64] >> (ino % 64) & 1;

		if (in_use != (inode->type != S_FREE))
			FAULT("inode %u is %s in the bitmap", ino, in_use ? "in use" : "free");
		if (inode->type == S_FREE)
			continue;
		check_inode(inode);
		if (inode->links != names_seen[ino])
			FAULT("inode %u has %u names, and %u links", ino, names_seen[ino], inode->links);
		if (inode->count)
			FAULT("inode %u has %u users, though there are none", ino, inode->count);
	}
	check_groups();
	check_sums();
	free(block_used);
	free(names_seen);
	return faults;
}

static void last_of(void *ino, const char *name, uint32_t found)
{
	(void)name;
	*(uint32_t *)ino = found;
}

bool break_fs(const char *how)
{
	uint32_t ino = ROOT, inside = 0;

	/* A file of the last directory's. */
	ext2_for_entries(&inodes[ROOT], last_of, &ino);
	ext2_for_entries(&inodes[ino], last_of, &inside);
	struct inode *dir = &inodes[ino], *file = &inodes[inside];

	if (!strcmp(how, "block"))
		file->block[0] = dir->block[0];
	else if (!strcmp(how, "link"))
		file->links++;
	else if (!strcmp(how, "bitmap"))
		super.group[GROUPS - 1].blocks[BLOCKS_PER_GROUP / 64 - 1] |= 1ull << 63;
	else if (!strcmp(how, "quota"))
		super.dquot[file->owner].blocks++;
	else if (!strcmp(how, "name"))
		ext2_add_entry(dir, "nothing", INODES - 1);
	else if (!strcmp(how, "semaphore"))
		semaphores[0]++;
	else
		return false;
	return true;
}
