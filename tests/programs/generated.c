// Code that is made at run time calls for locks; what it is called stands in a perf map.
//
//   generated both      two locks in both orders, by two threads, one after the other
//   generated one       in one order
//   generated nameless  as both, without a perf map
//   generated linked F  as both; the map is a link to F
//   generated nested    as both; one order by code that is called by other such code
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

typedef void work(void (*)(void));

static void forwards(void) {
    pthread_mutex_lock(&first);
    pthread_mutex_lock(&second);
    pthread_mutex_unlock(&second);
    pthread_mutex_unlock(&first);
}

static void backwards(void) {
    pthread_mutex_lock(&second);
    pthread_mutex_lock(&first);
    pthread_mutex_unlock(&first);
    pthread_mutex_unlock(&second);
}

static unsigned char *code;

// push rbp; mov rbp, rsp; call rdi; pop rbp; ret
static const unsigned char stub[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};

// push rbp; mov rbp, rsp; mov rax, rdi; mov rdi, rsi; call rax; pop rbp; ret
static const unsigned char outer[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48,
                                      0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
static int is_nested;

static void *run_forwards(void *unused) {
    if (is_nested)
        ((void (*)(void *, void (*)(void)))(code + 128))(code, forwards);
    else
        ((work *)code)(forwards);
    return unused;
}

static void *run_backwards(void *unused) {
    ((work *)(code + 64))(backwards);
    return unused;
}

static void in_a_thread(void *(*run)(void *)) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
}

// Nothing that orders the threads for the tool.
static volatile int done;

static void *after(void *unused) {
    while (!done) usleep(1000);
    return run_backwards(unused);
}

static void *before(void *unused) {
    run_forwards(unused);
    done = 1;
    return unused;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "both";
    code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, stub, sizeof stub);
    memcpy(code + 64, stub, sizeof stub);
    memcpy(code + 128, outer, sizeof outer);
    is_nested = strcmp(how, "nested") == 0;
    char name[64];
    snprintf(name, sizeof name, "/tmp/perf-%d.map", (int)getpid());
    if (strcmp(how, "linked") == 0) {
        unlink(name);
        if (symlink(argv[2], name)) perror(name);
    } else if (strcmp(how, "nameless") != 0) {
        // The file of an earlier process of this number.
        unlink(name);
        FILE *map = fopen(name, "w");
        fprintf(map, "%lx %zx JS:~forth /srv/app.js:3:1\n", (long)code, sizeof stub);
        fprintf(map, "%lx %zx back_stub\n", (long)code + 64, sizeof stub);
        if (is_nested) fprintf(map, "%lx %zx JS:~outer /srv/app.js:9:1\n", (long)code + 128, sizeof outer);
        fclose(map);
    }
    if (strcmp(how, "one") == 0) {
        in_a_thread(run_forwards);
        in_a_thread(run_forwards);
        return 0;
    }
    pthread_t one, two;
    pthread_create(&one, NULL, before, NULL);
    pthread_create(&two, NULL, after, NULL);
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
