// A parent and its child wait for ever, for a semaphore each in memory that both have; with "private", the parent for one of its
// own.

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

static sem_t own;

// Whether a process sleeps in the kernel.
static int is_asleep(pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int file = open(path, O_RDONLY);
    ssize_t n = read(file, line, sizeof line - 1);
    close(file);
    if (n <= 0)
        return 0;
    line[n] = 0;
    const char *end = strrchr(line, ')');
    return end && end[2] == 'S';
}

int main(int argc, char **argv)
{
    sem_t *shared = mmap(NULL, 2 * sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sem_init(&shared[0], 1, 0);
    sem_init(&shared[1], 1, 0);
    sem_init(&own, 0, 0);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sem_wait(&shared[1]);
        return 0;
    }
    for (int seen = 0; seen < 5; seen = is_asleep(child) ? seen + 1 : 0)
        usleep(1000);
    sem_wait(argc > 1 && !strcmp(argv[1], "private") ? &own : &shared[0]);
    return 0;
}
