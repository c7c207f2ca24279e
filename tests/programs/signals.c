/* A lock that a signal's handler takes, and what the signal may interrupt.
 *
 *   same     the lock itself is taken with the signal open
 *   order    a lock that is taken inside it is
 *   opened   the signal is unblocked while the lock is held
 *   blocked  the signal is blocked wherever the lock is taken: nothing to report
 *   apart    it is blocked in every thread that takes the lock, except the one that handles it and takes it
 *            nowhere else: nothing
 *   pselect  the lock is held during a wait that lets the signal through
 *   sigset   as same, with the handler installed by sigset
 *   sighold  as blocked, by sighold and sigrelse
 *   jumped   as same, after the handler was left by a long jump
 *   restored the signal is blocked by the mask that a long jump restores: nothing
 *   thread   the signal is blocked everywhere and taken by a thread that waits for it: nothing either.
 *            That is sigwait; sigwaitinfo, sigtimedwait and signalfd are others to do it
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* sigset and its kin */

static pthread_mutex_t stats = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;

static void take(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

static const char *what = "same";
static sigjmp_buf back;

static void on_usr1(int signal)
{
    (void)signal;
    take(&stats);
    if (strcmp(what, "jumped") == 0)
        siglongjmp(back, 1);
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
    if (strcmp(what, "sigwaitinfo") == 0) {
        signal = sigwaitinfo(&set, NULL);
    } else if (strcmp(what, "sigtimedwait") == 0) {
        struct timespec long_enough = {.tv_sec = 100};
        signal = sigtimedwait(&set, NULL, &long_enough);
    } else if (strcmp(what, "signalfd") == 0) {
        struct signalfd_siginfo info;
        int fd = signalfd(-1, &set, 0);
        signal = read(fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
        close(fd);
    } else {
        sigwait(&set, &signal);
    }
    if (signal == SIGUSR1)
        take(&stats);
    return unused;
}

static void *takes_blocked(void *unused)
{
    usr1(SIG_BLOCK);
    take(&stats);
    return unused;
}

static void wait_open(void)
{
    struct timespec soon = {.tv_nsec = 1000 * 1000};
    sigset_t none;
    sigemptyset(&none);
    pselect(0, NULL, NULL, NULL, &soon, &none);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    struct sigaction action = {.sa_handler = on_usr1};

    if (argc > 1)
        what = argv[1];
    if (strcmp(what, "thread") == 0 || strncmp(what, "sigwait", 7) == 0 || strncmp(what, "sigtimed", 8) == 0 ||
        strcmp(what, "signalfd") == 0) {
        sigaction(SIGUSR1, &action, NULL);
        usr1(SIG_BLOCK);
        pthread_create(&thread, NULL, waits, NULL);
        take(&stats);
        pthread_kill(thread, SIGUSR1);
        pthread_join(thread, NULL);
        return 0;
    }
    if (strcmp(what, "sigset") == 0)
        sigset(SIGUSR1, on_usr1);
    else
        sigaction(SIGUSR1, &action, NULL);
    if (sigsetjmp(back, 1) == 0)
        raise(SIGUSR1);
    if (strcmp(what, "same") == 0 || strcmp(what, "sigset") == 0 || strcmp(what, "jumped") == 0) {
        take(&stats);
    } else if (strcmp(what, "apart") == 0) {
        pthread_create(&thread, NULL, takes_blocked, NULL);
        pthread_join(thread, NULL);
    } else if (strcmp(what, "pselect") == 0) {
        usr1(SIG_BLOCK);
        pthread_mutex_lock(&stats);
        wait_open();
        pthread_mutex_unlock(&stats);
    } else if (strcmp(what, "sighold") == 0) {
        sighold(SIGUSR1);
        take(&stats);
        sigrelse(SIGUSR1);
    } else if (strcmp(what, "restored") == 0) {
        usr1(SIG_BLOCK);
        if (sigsetjmp(back, 1) == 0) {
            usr1(SIG_UNBLOCK);
            siglongjmp(back, 1);
        }
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
