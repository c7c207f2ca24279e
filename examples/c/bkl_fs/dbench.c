/* Clients that work as dbench's did: they make files, write, seek, read, rename and remove them, each mostly in a
 * directory of its own. What they do follows from the seed alone, so two runs do the same. */
#include "bkl_fs.h"

#include <getopt.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
	NAMES = 48,				/* that a client gives to files, in turn */
	LIVE = 24,				/* files that it has at a time */
	BLOCKS_MAX = 20,			/* of a file */
	WORDS = BLOCK_SIZE / 8,			/* of a block */
	MEMORY_MAX = 256 << 20,			/* bytes of a process */
	STAMP = 16,				/* one word in so many tells whose data it is */
};

static struct {
	int clients, processes, units, files, sync_every;
	double seconds;
	uint64_t seed;
	const char *fault;
} options = {.clients = 8, .processes = 24, .units = 20, .files = 192, .sync_every = 100, .seed = 1};

static atomic_ulong operations, units_done, wrong_data, failed, processes_done;
static atomic_bool over;
static lw_semaphore_t kupdate_work;

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

struct doc {
	int name;				/* -1: not there */
	uint64_t key;				/* what its data follow from */
	uint32_t blocks;
	bool aside;				/* in the other directory */
};

struct client {
	int number, process;
	uint64_t random;
	struct doc docs[NAMES];
	int live;
	uint64_t data[WORDS];
};

static uint32_t up_to(struct client *client, uint32_t most)
{
	return (uint32_t)(next_random(&client->random) % (most + 1));
}

static void path_of(struct client *client, const struct doc *doc, char path[64])
{
	if (doc->aside)
		snprintf(path, 64, "/client%d/aside%d/file%d.dat", client->number, client->process, doc->name);
	else
		snprintf(path, 64, "/client%d/file%d.dat", client->number, doc->name);
}

static long must(long result, const char *what)
{
	atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
	if (result < 0) {
		atomic_fetch_add(&failed, 1);
		fprintf(stderr, "bkl_fs: %s fails: %s\n", what, strerror((int)-result));
	}
	return result;
}

static void seek_to(int fd, uint32_t index)
{
	must(sys_lseek(fd, (long)index * BLOCK_SIZE, SEEK_SET), "lseek");
}

static void write_at(struct client *client, const struct doc *doc, int fd, uint32_t index)
{
	for (uint64_t i = 0; i < WORDS; i += STAMP)
		client->data[i] = (doc->key + index) * (2 * i + 1);
	seek_to(fd, index);
	must(sys_write(fd, client->data, 1), "write");
}

static void read_at(struct client *client, const struct doc *doc, int fd, uint32_t index)
{
	bool right = true;

	seek_to(fd, index);
	if (must(sys_read(fd, client->data, 1), "read") != 1)
		right = false;
	for (uint64_t i = 0; i < WORDS; i += STAMP)
		right &= client->data[i] == (doc->key + index) * (2 * i + 1);
	if (!right)
		atomic_fetch_add(&wrong_data, 1);
}

static int open_doc(struct client *client, const struct doc *doc, int flags)
{
	char path[64];

	path_of(client, doc, path);
	return (int)must(sys_open(path, flags), "open");
}

static void rewrite(struct client *client, struct doc *doc, int flags, uint32_t blocks)
{
	int fd;

	doc->key = next_random(&client->random);
	doc->blocks = blocks;
	fd = open_doc(client, doc, O_FS_WRITE | flags);
	for (uint32_t i = 0; i < blocks; i++)
		write_at(client, doc, fd, i);
	must(sys_close(fd), "close");
}

/* A file that is there, or is not. */
static struct doc *pick(struct client *client, bool there)
{
	uint32_t start = up_to(client, NAMES - 1);

	for (uint32_t i = 0; i < NAMES; i++) {
		struct doc *doc = &client->docs[(start + i) % NAMES];

		if ((doc->name >= 0) == there)
			return doc;
	}
	return NULL;
}

static void make_one(struct client *client)
{
	struct doc *doc = pick(client, false);

	doc->name = (int)(doc - client->docs);
	doc->aside = false;
	client->live++;
	rewrite(client, doc, O_FS_CREATE, 3 + up_to(client, BLOCKS_MAX - 3));
}

static void remove_one(struct client *client)
{
	struct doc *doc = pick(client, true);
	char path[64];

	path_of(client, doc, path);
	must(sys_unlink(path), "unlink");
	doc->name = -1;
	client->live--;
}

static void rename_one(struct client *client)
{
	struct doc *doc = pick(client, true), *to = pick(client, false);
	char from[64], path[64];

	path_of(client, doc, from);
	*to = *doc;
	to->name = (int)(to - client->docs);
	to->aside = up_to(client, 5) == 0;
	doc->name = -1;
	path_of(client, to, path);
	must(sys_rename(from, path), "rename");
}

static void use_one(struct client *client, int flags)
{
	struct doc *doc = pick(client, true);
	int fd = open_doc(client, doc, flags);

	for (int i = 0; i < 6; i++) {
		uint32_t index = up_to(client, doc->blocks - 1);

		if (flags & O_FS_WRITE && i == 0)
			write_at(client, doc, fd, index);
		else
			read_at(client, doc, fd, index);
	}
	must(sys_close(fd), "close");
}

/* The mix: of each of these some, in turn. */
static void unit(struct client *client)
{
	for (int i = 0; i < 8; i++) {
		make_one(client);
		while (client->live > LIVE)
			remove_one(client);
		use_one(client, O_FS_WRITE);
		use_one(client, O_FS_WRITE);
		if (i % 3 == 0)
			use_one(client, O_FS_WRITE);
		if (i % 4 == 0)
			rename_one(client);
		if (i % 4 == 3)
			use_one(client, 0);
	}
	rewrite(client, pick(client, true), O_FS_TRUNCATE, 8);
}

/* A round of kupdate for so many units, whichever client did them. */
static void count_unit(void)
{
	if ((atomic_fetch_add(&units_done, 1) + 1) % (unsigned long)options.sync_every == 0)
		lw_semaphore_up(&kupdate_work);
}

/* Few processes are large: the largest has half a MiB for each that there are, the next half of that, the third a third,
 * and so on. */
static size_t memory_of(struct client *client)
{
	uint64_t number = (uint64_t)client->process * (uint64_t)options.clients + (uint64_t)client->number;
	uint64_t all = options.seconds > 0 ? 256 : (uint64_t)(options.clients * options.processes);
	uint64_t bytes = all * 524288 / (1 + (number * 7919 + options.seed) % all);

	return (bytes < MEMORY_MAX ? bytes : MEMORY_MAX) & ~(size_t)4095;
}

static void aside_path(struct client *client, char path[64])
{
	snprintf(path, 64, "/client%d/aside%d", client->number, client->process);
}

static void one_process(struct client *client)
{
	struct task task;
	char path[64];

	must(begin_task(&task, 1 + client->number % (OWNERS - 1), memory_of(client)), "mmap");
	aside_path(client, path);
	must(sys_mkdir(path, task.owner), "mkdir");
	for (int i = 0; i < SEMAPHORES; i++)
		sys_semop(i, 1 + (int)up_to(client, 9));
	for (int i = 0; i < options.units; i++) {
		unit(client);
		count_unit();
	}
	/* Two files are without names, and there until the process ends. */
	for (int i = 0; i < 2; i++)
		open_doc(client, pick(client, true), O_FS_WRITE);
	while (client->live)
		remove_one(client);
	must(sys_rmdir(path), "rmdir");
	do_exit();
	atomic_fetch_add(&processes_done, 1);
}

static bool goes_on(int process)
{
	return options.seconds > 0 ? !atomic_load(&over) : process < options.processes;
}

static void *run_client(void *argument)
{
	struct client *client = argument;

	for (client->process = 0; goes_on(client->process); client->process++) {
		client->random = options.seed * 1000003 + (uint64_t)client->number * 8191 + (uint64_t)client->process;
		for (int i = 0; i < NAMES; i++)
			client->docs[i].name = -1;
		one_process(client);
	}
	return NULL;
}

static void *kupdate(void *unused)
{
	for (;;) {
		lw_semaphore_down(&kupdate_work);
		if (atomic_load(&over))
			return unused;
		sync_old_buffers();
	}
}

/* Directories for all, with files in them that nobody touches. */
static void make_directories(void)
{
	for (int c = 0; c < options.clients; c++) {
		char path[64];

		snprintf(path, sizeof(path), "/client%d", c);
		must(sys_mkdir(path, 0), "mkdir");
		for (int i = 0; i < options.files; i++) {
			snprintf(path, sizeof(path), "/client%d/old%d.doc", c, i);
			must(sys_close((int)must(sys_open(path, O_FS_CREATE | O_FS_WRITE), "open")), "close");
		}
	}
}

static void count_name(void *count, const char *name, uint32_t ino)
{
	(void)name;
	(void)ino;
	++*(unsigned *)count;
}

/* What an administrator looks at. Returns how many names there are. */
static unsigned look_at_all(void)
{
	unsigned names = 0;
	struct statfs statfs;

	for (int c = 0; c < options.clients; c++) {
		char path[64];

		snprintf(path, sizeof(path), "/client%d", c);
		int fd = (int)must(sys_open(path, 0), "open");
		must(do_fcntl(fd, 0), "fcntl");
		must(vfs_readdir(fd, count_name, &names), "readdir");
		must(sys_close(fd), "close");
	}
	must(vfs_statfs(&statfs), "statfs");
	return names;
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void run_clients(void)
{
	struct client *clients = calloc((size_t)options.clients, sizeof(*clients));
	pthread_t *threads = calloc((size_t)options.clients, sizeof(*threads)), flusher;

	if (!clients || !threads)
		abort();
	pthread_create(&flusher, NULL, kupdate, NULL);
	for (int i = 0; i < options.clients; i++) {
		clients[i].number = i;
		pthread_create(&threads[i], NULL, run_client, &clients[i]);
	}
	if (options.seconds > 0) {
		struct timespec time = {.tv_sec = (time_t)options.seconds};

		time.tv_nsec = (long)((options.seconds - (double)time.tv_sec) * 1e9);
		nanosleep(&time, NULL);
		atomic_store(&over, true);
	}
	for (int i = 0; i < options.clients; i++)
		pthread_join(threads[i], NULL);
	atomic_store(&over, true);
	lw_semaphore_up(&kupdate_work);
	pthread_join(flusher, NULL);
	sync_old_buffers();
	free(threads);
	free(clients);
}

static const char usage[] =
	"Usage: bkl_fs [OPTIONS]\n"
	"\n"
	"Clients work on a file system in memory, under one big kernel lock as in Linux 2.4.17.\n"
	"At the end the file system is checked, as fsck would.\n"
	"\n"
	"What is taken out of the big kernel lock:\n"
	"  --do-exit             the end of a process, but for its semaphores\n"
	"  --get-block           finding a file's block: under a lock of the inode's\n"
	"  --notify-change       the caller of the functions that change an inode's attributes\n"
	"  --llseek              seeking: under the inode's own mutex\n"
	"  --rollup              all four\n"
	"\n"
	"Load:\n"
	"  --clients N           clients at a time, 1 to 32 [8]\n"
	"  --processes N         processes that each client is, one after the other [24]\n"
	"  --units N             units of work of each process, of about 430 operations [20]\n"
	"  --seconds N           begin processes for N seconds, in place of --processes\n"
	"  --seed N              what they do follows from it [1]\n"
	"  --files N             files that are in each directory already [192]\n"
	"  --sync-every N        units of work of all between two rounds of kupdate [100]\n"
	"\n"
	"  --break WHAT          break the file system before it is checked: block, link, bitmap, quota, name or\n"
	"                        semaphore\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1: an operation failed, data were wrong or fsck found a fault; 2: wrong options.\n";

static int number(const char *name, const char *text, int least, int most)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end || value < least || value > most) {
		fprintf(stderr, "bkl_fs: --%s takes a number from %d to %d, not `%s`\n", name, least, most, text);
		exit(2);
	}
	return (int)value;
}

static void parse(int argc, char **argv)
{
	static const struct option long_options[] = {
		{"do-exit", 0, NULL, 'e'},   {"get-block", 0, NULL, 'g'}, {"notify-change", 0, NULL, 'n'},
		{"llseek", 0, NULL, 'l'},    {"rollup", 0, NULL, 'r'},    {"clients", 1, NULL, 'c'},
		{"processes", 1, NULL, 'p'}, {"units", 1, NULL, 'u'},     {"seconds", 1, NULL, 't'},
		{"seed", 1, NULL, 's'},      {"files", 1, NULL, 'f'},     {"sync-every", 1, NULL, 'k'},
		{"break", 1, NULL, 'b'},     {"help", 0, NULL, 'h'},      {NULL, 0, NULL, 0},
	};
	int option, index;

	while ((option = getopt_long(argc, argv, "", long_options, &index)) != -1) {
		const char *name = option == '?' ? "" : long_options[index].name;

		switch (option) {
		case 'e': patches.do_exit = true; break;
		case 'g': patches.get_block = true; break;
		case 'n': patches.notify_change = true; break;
		case 'l': patches.llseek = true; break;
		case 'r': patches = (struct patches){true, true, true, true}; break;
		case 'c': options.clients = number(name, optarg, 1, 32); break;
		case 'p': options.processes = number(name, optarg, 1, 1000000); break;
		case 'u': options.units = number(name, optarg, 1, 1000000); break;
		case 't': options.seconds = number(name, optarg, 1, 86400); break;
		case 's': options.seed = (uint64_t)number(name, optarg, 0, 2000000000); break;
		case 'f': options.files = number(name, optarg, 1, 240); break;
		case 'k': options.sync_every = number(name, optarg, 1, 1000000); break;
		case 'b': options.fault = optarg; break;
		case 'h': fputs(usage, stdout); exit(0);
		default: fputs("bkl_fs: see --help\n", stderr); exit(2);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "bkl_fs: `%s` is no option; see --help\n", argv[optind]);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct task init;

	parse(argc, argv);
	mount_fs();
	lw_semaphore_init(&kupdate_work, 0);
	begin_task(&init, 0, 65536);
	make_directories();

	double start = now();

	run_clients();

	double elapsed = now() - start;
	unsigned names = look_at_all();

	do_exit();
	if (options.fault && !break_fs(options.fault)) {
		fprintf(stderr, "bkl_fs: --break does not know `%s`\n", options.fault);
		return 2;
	}
	unsigned faults = fsck();

	printf("%d clients, %lu processes, %lu units, %lu operations in %.2f s\n", options.clients,
	       atomic_load(&processes_done), atomic_load(&units_done), atomic_load(&operations), elapsed);
	printf("%u names in the clients' directories, %lu operations failed, %lu blocks with wrong data, %u faults found by fsck\n", names,
	       atomic_load(&failed), atomic_load(&wrong_data), faults);
	umount_fs();
	return faults || atomic_load(&failed) || atomic_load(&wrong_data);
}
