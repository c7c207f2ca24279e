/* What works by path. */
#include "bkl_fs.h"

#include <errno.h>
#include <string.h>

/* ---- what is known of a directory's names ---- */

static struct dentry *slot_of(struct inode *dir, const char *name)
{
	uint32_t hash = 2166136261u;

	for (; *name; name++)
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	return &dir->dentries[hash % DENTRIES];
}

/* Whether the name is known; if so `found` is what it names, null for nothing. */
static bool cached_lookup(struct inode *dir, const char *name, struct inode **found)
{
	struct dentry *dentry = slot_of(dir, name);

	lw_mutex_lock(&dir->d_lock);
	bool known = dentry->known && !strcmp(dentry->name, name);
	if (known)
		/* The name is forgotten before the inode is. */
		*found = dentry->ino ? iget(dentry->ino) : NULL;
	lw_mutex_unlock(&dir->d_lock);
	return known;
}

static void d_add(struct inode *dir, const char *name, uint32_t ino)
{
	struct dentry *dentry = slot_of(dir, name);

	lw_mutex_lock(&dir->d_lock);
	strncpy(dentry->name, name, NAME - 1);
	dentry->ino = ino;
	dentry->known = true;
	lw_mutex_unlock(&dir->d_lock);
}

/* Asks the directory itself. The caller has its i_sem, and the big kernel lock. */
static struct inode *ext2_lookup(struct inode *dir, const char *name)
{
	uint32_t ino = dir->links ? ext2_find_entry(dir, name) : 0;
	struct inode *inode = ino ? iget(ino) : NULL;

	d_add(dir, name, ino);
	return inode;
}

/* The caller has the directory's i_sem. */
static CALL_SITE struct inode *lookup_hash(struct inode *dir, const char *name)
{
	struct inode *inode;

	if (cached_lookup(dir, name, &inode))
		return inode;
	lock_kernel();
	inode = ext2_lookup(dir, name);
	unlock_kernel();
	return inode;
}

static CALL_SITE struct inode *real_lookup(struct inode *dir, const char *name)
{
	struct inode *inode;

	lw_mutex_lock(&dir->i_sem);
	if (!cached_lookup(dir, name, &inode)) {
		lock_kernel();
		inode = ext2_lookup(dir, name);
		unlock_kernel();
	}
	lw_mutex_unlock(&dir->i_sem);
	return inode;
}

/* ---- paths ---- */

/* The directory that the path's last name is in, and that name. Null: there is none. */
static struct inode *path_parent(const char *path, char last[NAME])
{
	struct inode *at = iget(ROOT);

	for (;;) {
		while (*path == '/')
			path++;
		size_t length = strcspn(path, "/");

		if (length == 0 || length >= NAME || at->type != S_DIR) {
			iput(at);
			return NULL;
		}
		memcpy(last, path, length);
		last[length] = 0;
		path += length;
		if (!*path)
			return at;

		struct inode *next;

		if (!cached_lookup(at, last, &next))
			next = real_lookup(at, last);
		iput(at);
		if (!next)
			return NULL;
		at = next;
	}
}

struct inode *path_walk(const char *path)
{
	char last[NAME];
	struct inode *dir = path_parent(path, last), *inode;

	if (!dir)
		return NULL;
	if (!cached_lookup(dir, last, &inode))
		inode = real_lookup(dir, last);
	iput(dir);
	return inode;
}

/* ---- operations ---- */

/* A name more in the directory, whose i_sem and the big kernel lock the caller has. */
static int add_name(struct inode *dir, const char *name, struct inode *inode)
{
	int error = ext2_add_entry(dir, name, inode->ino);

	if (!error)
		d_add(dir, name, inode->ino);
	return error;
}

static CALL_SITE struct inode *vfs_create(struct inode *dir, const char *name, int owner, int *error)
{
	struct inode *inode;

	DQUOT_INIT(dir);
	lock_kernel();
	*error = dir->links ? 0 : -ENOENT;
	inode = *error ? NULL : ext2_new_inode(dir, S_FILE, owner);
	if (inode) {
		inode_links(inode, 1);
		*error = add_name(dir, name, inode);
		if (*error) {
			inode_links(inode, -1);
			iput(inode);
			inode = NULL;
		}
	} else if (!*error) {
		*error = -ENOSPC;
	}
	unlock_kernel();
	return inode;
}

static CALL_SITE int vfs_mkdir(struct inode *dir, const char *name, int owner)
{
	struct inode *inode;
	int error;

	DQUOT_INIT(dir);
	lock_kernel();
	inode = dir->links ? ext2_new_inode(dir, S_DIR, owner) : NULL;
	error = inode ? 0 : -ENOSPC;
	if (inode) {
		/* Its name and its entry "."; its entry ".." is a link of its parent's. */
		inode_links(inode, 2);
		error = ext2_add_entry(inode, ".", inode->ino);
		if (!error)
			error = ext2_add_entry(inode, "..", dir->ino);
		if (!error)
			error = add_name(dir, name, inode);
		if (error)
			inode_links(inode, -2);
		else
			inode_links(dir, 1);
		ext2_discard_prealloc(inode);
		iput(inode);
	}
	unlock_kernel();
	return error;
}

static CALL_SITE int vfs_unlink(struct inode *dir, const char *name, struct inode *inode)
{
	int error = -ENOENT;

	DQUOT_INIT(dir);
	lock_kernel();
	if (ext2_delete_entry(dir, name)) {
		d_add(dir, name, 0);
		inode_links(inode, -1);
		error = 0;
	}
	unlock_kernel();
	return error;
}

static CALL_SITE int vfs_rmdir(struct inode *dir, const char *name, struct inode *inode)
{
	int error = -ENOTEMPTY;

	DQUOT_INIT(dir);
	lw_mutex_lock(&inode->i_sem);
	lock_kernel();
	if (ext2_count_entries(inode) == 2 && ext2_delete_entry(dir, name)) {
		d_add(dir, name, 0);
		inode_links(inode, -2);
		inode_links(dir, -1);
		error = 0;
	}
	unlock_kernel();
	lw_mutex_unlock(&inode->i_sem);
	return error;
}

static void do_truncate(struct inode *inode, int owner, int *error)
{
	struct iattr attr = {.truncate = true};

	lw_mutex_lock(&inode->i_sem);
	*error = notify_change(inode, &attr, owner);
	lw_mutex_unlock(&inode->i_sem);
}

CALL_SITE struct inode *open_namei(const char *path, int flags, int owner, int *error)
{
	struct inode *inode;
	bool created = false;

	*error = 0;
	if (flags & O_FS_CREATE) {
		char last[NAME];
		struct inode *dir = path_parent(path, last);

		if (!dir) {
			*error = -ENOENT;
			return NULL;
		}
		lw_mutex_lock(&dir->i_sem);
		inode = lookup_hash(dir, last);
		if (!inode) {
			inode = vfs_create(dir, last, owner, error);
			created = true;
		}
		lw_mutex_unlock(&dir->i_sem);
		iput(dir);
	} else {
		inode = path_walk(path);
	}
	if (!inode) {
		*error = *error ? *error : -ENOENT;
		return NULL;
	}
	if (inode->type == S_DIR && flags)
		*error = -EISDIR;
	if (!*error && flags & O_FS_TRUNCATE && !created) {
		DQUOT_INIT(inode);
		do_truncate(inode, owner, error);
	}
	if (!*error && flags & O_FS_WRITE)
		DQUOT_INIT(inode);
	if (*error) {
		iput(inode);
		return NULL;
	}
	return inode;
}

int sys_mkdir(const char *path, int owner)
{
	char last[NAME];
	struct inode *dir = path_parent(path, last);

	if (!dir)
		return -ENOENT;
	lw_mutex_lock(&dir->i_sem);
	struct inode *there = lookup_hash(dir, last);
	int error = there ? -EEXIST : vfs_mkdir(dir, last, owner);
	lw_mutex_unlock(&dir->i_sem);
	if (there)
		iput(there);
	iput(dir);
	return error;
}

/* What is the same of files and of directories. */
static int remove_name(const char *path, int type, int (*remove)(struct inode *, const char *, struct inode *))
{
	char last[NAME];
	struct inode *dir = path_parent(path, last);

	if (!dir)
		return -ENOENT;
	lw_mutex_lock(&dir->i_sem);
	struct inode *inode = lookup_hash(dir, last);
	int error = !inode ? -ENOENT : inode->type != type ? -EINVAL : remove(dir, last, inode);
	lw_mutex_unlock(&dir->i_sem);
	/* Only now, as its blocks may be many. */
	if (inode)
		iput(inode);
	iput(dir);
	return error;
}

int sys_rmdir(const char *path)
{
	return remove_name(path, S_DIR, vfs_rmdir);
}

int sys_unlink(const char *path)
{
	return remove_name(path, S_FILE, vfs_unlink);
}

/* A directory before those in it; others by number. Only renames take two that are not in each other, and a rename
 * between directories is alone. */
static void lock_both(struct inode *a, struct inode *b)
{
	if (a == b) {
		lw_mutex_lock(&a->i_sem);
		return;
	}
	bool first = b->parent == a->ino || (a->parent != b->ino && a->ino < b->ino);

	lw_mutex_lock(first ? &a->i_sem : &b->i_sem);
	lw_mutex_lock(first ? &b->i_sem : &a->i_sem);
}

static void unlock_both(struct inode *a, struct inode *b)
{
	lw_mutex_unlock(&a->i_sem);
	if (a != b)
		lw_mutex_unlock(&b->i_sem);
}

/* A file's name becomes another, which may be another file's. */
static int vfs_rename(struct inode *from, const char *name, struct inode *to, const char *new, struct inode *inode,
		      struct inode *target)
{
	int error = 0;

	if (target)
		ext2_set_entry(to, new, inode->ino);
	else
		error = ext2_add_entry(to, new, inode->ino);
	if (error)
		return error;
	if (target)
		inode_links(target, -1);
	ext2_delete_entry(from, name);
	d_add(from, name, 0);
	d_add(to, new, inode->ino);
	return 0;
}

CALL_SITE int sys_rename(const char *from, const char *to)
{
	char name[NAME], new[NAME];
	struct inode *old_dir = path_parent(from, name), *new_dir = path_parent(to, new);
	int error = -ENOENT;

	if (old_dir && new_dir) {
		bool across = old_dir != new_dir;

		if (across)
			lw_mutex_lock(&s_vfs_rename_sem);
		lock_both(old_dir, new_dir);
		struct inode *inode = lookup_hash(old_dir, name), *target = lookup_hash(new_dir, new);

		if (inode && inode->type == S_FILE && (!target || target->type == S_FILE) && new_dir->links) {
			error = 0;
			if (inode != target) {
				lock_kernel();
				error = vfs_rename(old_dir, name, new_dir, new, inode, target);
				unlock_kernel();
			}
		}
		unlock_both(old_dir, new_dir);
		if (across)
			lw_mutex_unlock(&s_vfs_rename_sem);
		if (inode)
			iput(inode);
		if (target)
			iput(target);
	}
	if (old_dir)
		iput(old_dir);
	if (new_dir)
		iput(new_dir);
	return error;
}
