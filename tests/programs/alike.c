/* Locks of one class in both orders, but no lock in both: what the run says about the others of the class.
   argv[1]: what the objects are. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct object {
    pthread_mutex_t gate, lock, list;
};

enum { MOST = 16 };

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects[MOST];
static const char *how;
static int many = 2;

static int is(const char *what) { return strcmp(how, what) == 0; }

__attribute__((noinline)) static struct object *make(void) {
    struct object *object = malloc(sizeof *object);
    pthread_mutex_init(&object->gate, NULL);
    pthread_mutex_init(&object->lock, NULL);
    pthread_mutex_init(&object->list, NULL);
    return object;
}

__attribute__((noinline)) static void take(pthread_mutex_t *first, pthread_mutex_t *second) {
    pthread_mutex_lock(first);
    pthread_mutex_lock(second);
    pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
}

/* An object of main's, or one of the thread's own, of which it tells others or not. */
static struct object *get(int i) {
    if (is("own")) return make();
    if (is("told")) {
        struct object *object = make();
        pthread_mutex_lock(&table);
        objects[i] = object;
        pthread_mutex_unlock(&table);
    }
    return objects[i];
}

/* The object before the table, or its lock before its list. */
static void *down(void *unused) {
    (void)unused;
    for (int i = 0; i < many / 2; i++) {
        struct object *object = get(i);
        if (is("gated")) pthread_mutex_lock(&object->gate);
        take(&object->lock, is("inside") ? &object->list : &table);
        if (is("gated")) pthread_mutex_unlock(&object->gate);
    }
    return NULL;
}

static void *up(void *unused) {
    (void)unused;
    for (int i = many / 2; i < many; i++) {
        struct object *object = get(i);
        if (is("gated")) pthread_mutex_lock(&object->gate);
        take(is("inside") ? &object->list : &table, &object->lock);
        if (is("gated")) pthread_mutex_unlock(&object->gate);
    }
    return NULL;
}

int main(int argc, char **argv) {
    how = argc > 1 ? argv[1] : "shared";
    if (is("tied")) many = MOST;
    for (int i = 0; i < many; i++) {
        /* Two calls: objects that are made at different places. */
        if (is("places") && i == 0) objects[i] = make();
        else objects[i] = make();
    }
    pthread_t a, b;
    pthread_create(&a, NULL, down, NULL);
    pthread_create(&b, NULL, up, NULL);
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
