/* A lock that a signal's handler takes, and what the signal may interrupt.
 *
 *   same     the lock itself is taken with the signal open
 *   order    a lock that is taken inside it is
 *   opened   the signal is unblocked while the lock is held
 *   blocked  the signal is blocked wherever the lock is taken: nothing to report
 *   thread   the signal is blocked everywhere and taken by a thread that waits for it: nothing either
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>

static pthread_mutex_t stats = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void take(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

static void on_usr1(int signal)
{
    (void)signal;
    take(&stats);
}

static void usr1(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(how, &set, NULL);
}

static void *nests(void *unused)
{
    usr1(SIG_BLOCK);
    pthread_mutex_lock(&stats);
    take(&table);
    pthread_mutex_unlock(&stats);
    return unused;
}

static void *waits(void *unused)
{
    sigset_t set;
    int signal;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    if (sigwait(&set, &signal) == 0)
        take(&stats);
    return unused;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "same";
    pthread_t thread;

    if (strcmp(what, "thread") == 0) {
        usr1(SIG_BLOCK);
        pthread_create(&thread, NULL, waits, NULL);
        take(&stats);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
        return 0;
    }
    struct sigaction action = {.sa_handler = on_usr1};
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    if (strcmp(what, "same") == 0) {
        take(&stats);
    } else if (strcmp(what, "order") == 0) {
        pthread_create(&thread, NULL, nests, NULL);
        take(&table);
        pthread_join(thread, NULL);
    } else if (strcmp(what, "opened") == 0) {
        usr1(SIG_BLOCK);
        pthread_mutex_lock(&stats);
        usr1(SIG_UNBLOCK);
        pthread_mutex_unlock(&stats);
    } else if (strcmp(what, "blocked") == 0) {
        usr1(SIG_BLOCK);
        take(&stats);
        usr1(SIG_UNBLOCK);
    }
    return 0;
}
